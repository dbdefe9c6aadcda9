"""`longscroll summarize PATH…`"""

from __future__ import annotations

import contextlib
import math
from typing import TYPE_CHECKING

import rich_click as click

from tui.cli.common import Shared, paths_argument, with_shared
from tui.cli.usage import Temperature, Whole

if TYPE_CHECKING:
    from tui.cli.opening import Ground
    from tui.cli.output import Out
    from tui.context.runtime import Runtime
    from tui.documents.model import Document
    from tui.reading.results import SummaryOptions, SummaryResult

_SLOTS = 2
"""Parts read side by side where the user says nothing."""

KEPT = "What was finished is kept."
"""Told when a summary is interrupted: the journal holds every part that was read."""


@click.command("summarize")
@paths_argument
@click.option(
    "--strategy",
    type=click.Choice(["auto", "single", "map-reduce"]),
    default="auto",
    show_default=True,
    help="One pass, or parts whose notes are merged; `auto` takes one pass when the document fits.",
)
@click.option("--max-tokens", type=Whole(0), default=0, metavar="N", help="Longest summary, in tokens.")
@click.option("--chunk-tokens", type=Whole(0), default=0, metavar="N", help="Longest part, in tokens.")
@click.option("--language", default="", metavar="NAME", help="Language of the summary.")
@click.option("--focus", default="", metavar="TEXT", help="What to pay attention to above all.")
@click.option("--temperature", type=Temperature(), metavar="T", help="Sampling temperature.")
@click.option("--password", envvar="LONGSCROLL_PASSWORD", default="", help="Password of an encrypted PDF.")
@with_shared
def command(shared: Shared, /, *, paths: tuple[str, ...], password: str, **wishes: object) -> int:
    """Summarize files and folders, read whole whatever their length.

    What is finished is kept: run the same command again after an interruption, and it goes on where it was.
    In a folder, text files are read; documents such as PDFs are named on stderr: give them by their own names.
    """
    from tui.cli.errors import run_async

    return run_async(lambda: summarize(shared, paths, password, **wishes), kept=KEPT)


async def summarize(shared: Shared, paths: tuple[str, ...], password: str = "", **wishes: object) -> int:
    """Summarize each path and print its result. Returns the exit code."""
    import msgspec

    from tui.cli.opening import open_ground
    from tui.cli.output import Out
    from tui.reading.results import SummaryOptions

    options = msgspec.convert(wishes, SummaryOptions)
    out = Out(as_json=shared.json)
    async with open_ground(shared, out) as ground:
        batch = _Batch(ground, options, password, several=len(paths) > 1)
        try:
            for path in paths:
                await batch.take(path)
        finally:
            await batch.close()
    return batch.exit_code


class _Batch:
    """One document after the other on one engine; a failure costs its own document."""

    def __init__(self, ground: Ground, options: SummaryOptions, password: str, *, several: bool) -> None:
        self._ground = ground
        self._options = options
        self._password = password
        self._several = several
        self._engine = contextlib.AsyncExitStack()
        self._runtime: Runtime | None = None
        self._codes: list[int] = []

    @property
    def exit_code(self) -> int:
        """0 when all is done; the failure's own code when every document failed alike; else 1."""
        from tui.errors import ExitCode

        kinds = set(self._codes)
        if len(kinds) == 1:
            return kinds.pop()
        return ExitCode.SOME_FAILED

    async def take(self, path: str) -> None:
        """Read, summarize and print one document."""
        from tui.cli.opening import read
        from tui.context.diagnosed import diagnosed
        from tui.errors import ExitCode, LongscrollError, NoModel, StorageProblem
        from tui.reading.results import failed

        out = self._ground.out
        code: int = ExitCode.OK
        try:
            document = await read(self._ground, path, self._password)
            result = await self._summarize(document)
            code = ExitCode.OK if result.status == "done" else ExitCode.SOME_FAILED
        except LongscrollError as error:
            code = error.exit_code
            if self._runtime is None and isinstance(error, NoModel | StorageProblem):
                raise  # no engine for this document is none for the others
            if self._runtime is not None:
                error = await diagnosed(self._runtime, error)
            result = failed(path, error)
            if isinstance(error, NoModel):
                await self.close()  # the server died: the next document gets a new one
        self._codes.append(code)
        _print(result, out, heading=self._several)

    async def close(self) -> None:
        """Stop the engine."""
        self._runtime = None
        await self._engine.aclose()

    async def _summarize(self, document: Document) -> SummaryResult:
        from tui.cli.opening import open_engine
        from tui.cli.pace import ReadingShown
        from tui.reading.events import Finished
        from tui.reading.summarize import summarize as events_of

        if self._runtime is None:
            self._runtime = await self._engine.enter_async_context(open_engine(self._ground, parallel=_SLOTS))
        result: SummaryResult | None = None
        with self._ground.out.working() as progress:
            shown = ReadingShown(progress)
            async with contextlib.aclosing(events_of(self._runtime, document, self._options)) as events:
                async for event in events:
                    if isinstance(event, Finished):
                        result = event.result
                    else:
                        shown.show(event)
        assert result is not None
        for warning in self._runtime.warnings:
            self._ground.out.warn(warning)
        return result


def _print(result: SummaryResult, out: Out, *, heading: bool) -> None:
    from tui.text import one_line
    from tui.units import duration, plural

    for warning in result.warnings:
        out.warn(warning, about=result.path)
    if result.error:
        out.note(f"longscroll: {result.error}")
    if out.as_json:
        out.emit(result)
        return
    if result.summary:
        if heading:
            out.line(f"# {one_line(result.path)}\n")
        out.line(result.summary.rstrip("\n") + ("\n" if heading else ""))
    if result.strategy is None:
        return
    parts = [
        "in one pass" if result.strategy == "single" else f"in {plural(result.chunks, 'part')}",
        f"{result.tokens:,} tokens",
        f"{math.floor(result.coverage.fraction * 1000) / 10:g} % read",
        duration(result.seconds),
    ]
    if result.pages:
        parts.insert(1, plural(result.pages, "page"))
    if result.reused_chunks:
        parts.insert(1, f"{result.reused_chunks} finished earlier")
    out.note(f"{result.path}: {', '.join(parts)}.")
