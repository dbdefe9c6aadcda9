"""`longscroll ask -q QUESTION PATH…`"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import rich_click as click

from tui.cli.common import ReadWishes, Shared, paths_argument, with_reading, with_shared
from tui.cli.usage import Temperature, Whole, Words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui.cli.opening import Ground
    from tui.cli.output import Out, Progress
    from tui.cli.parts import PartsShown
    from tui.context.runtime import Runtime
    from tui.documents.model import Document
    from tui.reading.events import AskEvent
    from tui.reading.results import AskOptions, AskResult

_SLOTS = 2
"""When every part is asked: two requests at once use a machine better than one, and more take more memory."""


@click.command("ask")
@paths_argument
@click.option(
    "-q",
    "--question",
    "questions",
    type=Words(),
    required=True,
    multiple=True,
    help="The question. Given several times, each is answered, and the documents are processed once.",
)
@click.option(
    "--strategy",
    type=click.Choice(["auto", "whole", "passages", "map-reduce"]),
    default="auto",
    show_default=True,
    help="How the documents are read: whole; only passages that speak of the question; every part by itself "
    "(map-reduce, for questions such as “list all …”). auto: whole when it fits, else what --on-overflow says.",
)
@click.option(
    "--on-overflow",
    type=click.Choice(["passages", "refuse"]),
    default="passages",
    show_default=True,
    help="What to do with documents that do not fit the context: send passages, or refuse with exit code 4. "
    "Both numbers are said either way.",
)
@click.option("--max-tokens", type=Whole(0), default=0, metavar="N", help="Longest answer, in tokens.")
@click.option("--temperature", type=Temperature(), metavar="T", help="Sampling temperature.")
@with_reading
@with_shared
def command(
    shared: Shared, /, *, paths: tuple[str, ...], questions: tuple[str, ...], reading: ReadWishes, **wishes: object
) -> int:
    """Answer questions from documents, with the places that the answers stand on.

    Documents that fit the context are processed once: the next question on them, also days later, starts at once. For
    longer ones passages are sent that speak of the question; --strategy map-reduce asks every part instead.
    PATH is a file, a folder, a pattern such as "reports/*.pdf", or - for standard input.
    """
    from tui.cli.errors import run_async

    kept = "Parts that were asked are kept." if wishes["strategy"] == "map-reduce" else ""
    return run_async(lambda: _ask(shared, paths, questions, reading, **wishes), kept=kept)


async def _ask(
    shared: Shared, paths: tuple[str, ...], questions: tuple[str, ...], reading: ReadWishes, **wishes: object
) -> int:
    import msgspec

    from tui.cli.opening import open_engine, open_ground, open_inputs
    from tui.cli.output import Out
    from tui.context.diagnosed import diagnosed
    from tui.errors import ExitCode, LongscrollError
    from tui.reading.results import AskOptions

    options = msgspec.convert(wishes, AskOptions)
    out = Out(as_json=shared.json)
    async with open_ground(shared, out) as ground, open_inputs(ground, paths) as inputs:
        documents, missing = await read_all(ground, paths, inputs, reading)
        slots = _SLOTS if options.strategy == "map-reduce" else 1
        async with open_engine(ground, parallel=slots) as runtime:
            shown = _Shown(out, documents, missing, runtime)
            try:
                await _answer(runtime, documents, questions, options, shown)
            except LongscrollError as error:
                better = await diagnosed(runtime, error)
                shown.close(str(better))
                if better is error:
                    raise
                raise better from error
            shown.close()
    return ExitCode.SOME_FAILED if missing or not shown.complete else ExitCode.OK


async def read_all(
    ground: Ground, paths: Sequence[str], inputs: Sequence[object], reading: ReadWishes
) -> tuple[list[Document], list[str]]:
    """All documents, and a sentence for each that cannot be read where it was only found in a folder or by a pattern.

    Raises InputProblem for one that the user named, and when there is none at all.
    """
    from tui.cli.opening import read
    from tui.documents.inputs import Input
    from tui.errors import InputProblem

    documents: list[Document] = []
    missing: list[str] = []
    for item in inputs:
        assert isinstance(item, Input)
        try:
            documents.append(await read(ground, item, reading))
        except InputProblem as error:
            if item.shown in paths or len(inputs) == 1:
                raise
            missing.append(str(error))
    if missing and not documents:
        raise InputProblem(missing[0], f"The other {len(missing) - 1} could not be read either.")
    return documents, missing


async def _answer(
    runtime: Runtime, documents: list[Document], questions: tuple[str, ...], options: AskOptions, shown: _Shown
) -> None:
    from tui.reading.ask import ask_all

    with shown.out.working() as progress:
        async with contextlib.aclosing(ask_all(runtime, documents, questions, options)) as events:
            async for event in events:
                shown.show(event, progress)


class _Shown:
    """What a question's events become on stdout and stderr."""

    def __init__(self, out: Out, documents: list[Document], missing: list[str], runtime: Runtime) -> None:
        from tui.cli.pace import Written

        self.out = out
        self.complete = True
        """Every part that was to be asked was."""
        self._runtime = runtime
        self._missing = missing
        self._told = {warning for document in documents for warning in document.warnings}  # when it was read
        self._broken: list[AskResult] = []
        self._written = Written()
        self._parts: PartsShown | None = None
        for sentence in missing:
            out.warn(sentence)

    def show(self, event: AskEvent, progress: Progress) -> None:
        """Show one event."""
        from tui.cli.pace import Written, prompt_figures
        from tui.cli.parts import PartsShown
        from tui.reading import events as e
        from tui.server.types import PromptProgress, ReasoningDelta, TextDelta
        from tui.units import duration

        out = self.out
        match event:
            case e.AskStarted():
                self._written = Written()
                if not out.as_json:
                    if event.index:
                        out.line()  # below the figures of the question before
                    out.line(f"## {' '.join(event.question.split())}\n")
            case PromptProgress():
                progress.update("Reading the documents", event.processed, event.total, prompt_figures(event))
            case e.Restored():
                instead = f" instead of ≈{duration(event.instead_of_s)}" if event.instead_of_s else ""
                out.note(f"Restored {event.tokens:,} tokens in {duration(event.seconds)}{instead}.")
            case e.PassagesChosen():
                for sentence in event.said:
                    out.warn(sentence)
                progress.update(f"Sending {event.parts:,} of {event.of_parts:,} parts")
            case ReasoningDelta():
                progress.update("Thinking", figures=self._written.piece())
            case TextDelta() if not out.as_json:
                out.write(event.text)
            case TextDelta():
                progress.update("Writing the answer", figures=self._written.piece())
            case e.PlanMade() | e.ChunkStarted() | e.ChunkProgress() | e.ChunkAgain() | e.ChunkDone():
                if self._parts is None or isinstance(event, e.PlanMade):
                    self._parts = PartsShown(progress, "Writing the parts' answers")
                self._parts.show(event)
            case e.Combining():
                figures = self._written.piece()
                progress.update("Combining what the parts say", event.done, event.total, figures)
            case e.GroupDone():
                progress.update("Combining what the parts say", event.done, event.total)
            case e.Answered():
                self.complete = self.complete and event.complete
                self._answered(event.result)
            case _:
                pass

    def _answered(self, result: AskResult) -> None:
        from tui.units import duration

        out = self.out
        if not out.as_json:
            out.end_line()
        if result.error is not None:
            self._broken.append(result)  # the reason is known better when the server has been looked at
            return
        for warning in result.warnings:
            if warning not in self._told:
                out.warn(warning)
        if out.as_json:
            self._emit(result)
            return
        cached = f", {result.cached_tokens:,} of them kept from earlier" if result.cached_tokens else ""
        speed = f" at {result.tokens_per_second:.1f} tokens/s" if result.tokens_per_second else ""
        out.note(
            f"{result.prompt_tokens:,} prompt tokens{cached}; first word after {duration(result.ttft_s)}; "
            f"{result.completion_tokens:,} tokens{speed}."
        )

    def _emit(self, result: AskResult, error: str | None = None) -> None:
        import msgspec

        more = [*self._missing, *self._runtime.warnings]
        warnings = (*result.warnings, *(text for text in more if text not in result.warnings))
        self.out.emit(msgspec.structs.replace(result, warnings=warnings, error=error))

    def close(self, error: str | None = None) -> None:
        """The questions that were not answered, with the reason; what the engine has to say."""
        for result in self._broken:
            for warning in result.warnings:
                if warning not in self._told:
                    self.out.warn(warning)
            if self.out.as_json:
                self._emit(result, error)
        for warning in self._runtime.warnings:
            self.out.warn(warning)
