"""`longscroll ask -q QUESTION PATH…`"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import rich_click as click

from tui.cli.common import Shared, paths_argument, with_shared
from tui.cli.usage import Temperature, Whole, Words

if TYPE_CHECKING:
    from tui.cli.output import Out
    from tui.context.runtime import Runtime
    from tui.documents.model import Document
    from tui.reading.results import AskOptions, AskResult


@click.command("ask")
@paths_argument
@click.option("-q", "--question", type=Words(), required=True, help="The question.")
@click.option("--max-tokens", type=Whole(0), default=0, metavar="N", help="Longest answer, in tokens.")
@click.option("--temperature", type=Temperature(), metavar="T", help="Sampling temperature.")
@click.option(
    "--on-overflow",
    type=click.Choice(["refuse"]),
    default="refuse",
    show_default=True,
    help="What to do with documents that do not fit the context: refuse, with both numbers and exit code 4.",
)
@click.option("--password", envvar="LONGSCROLL_PASSWORD", default="", help="Password of an encrypted PDF.")
@with_shared
def command(shared: Shared, /, *, paths: tuple[str, ...], question: str, password: str, **wishes: object) -> int:
    """Answer a question from documents that fit the context.

    The documents are processed once: the next question on them, also days later, starts at once.
    """
    from tui.cli.errors import run_async

    return run_async(lambda: _ask(shared, paths, question, password, **wishes))


async def _ask(shared: Shared, paths: tuple[str, ...], question: str, password: str, **wishes: object) -> int:
    import msgspec

    from tui.cli.opening import open_engine, open_ground, read
    from tui.cli.output import Out
    from tui.context.diagnosed import diagnosed
    from tui.errors import ExitCode
    from tui.reading.results import AskOptions
    from tui.server.errors import ServerGone

    options = msgspec.convert(wishes, AskOptions)
    out = Out(as_json=shared.json)
    async with open_ground(shared, out) as ground:
        documents = [await read(ground, path, password) for path in paths]
        async with open_engine(ground, parallel=1) as runtime:
            try:
                result = await _answer(runtime, documents, question, options, out)
            except ServerGone as error:
                raise await diagnosed(runtime, error) from error
            warnings = [*result.warnings, *(text for text in runtime.warnings if text not in result.warnings)]
    told = {warning for document in documents for warning in document.warnings}  # with the path, when it was read
    for warning in warnings:
        if warning not in told:
            out.warn(warning)
    if shared.json:
        out.emit(result)
    return ExitCode.OK


async def _answer(
    runtime: Runtime, documents: list[Document], question: str, options: AskOptions, out: Out
) -> AskResult:
    from tui.cli.pace import Written, prompt_figures
    from tui.reading.ask import ask
    from tui.reading.events import Answered, Restored
    from tui.server.types import PromptProgress, ReasoningDelta, TextDelta
    from tui.units import duration

    result: AskResult | None = None
    written = Written()
    with out.working() as progress:
        async with contextlib.aclosing(ask(runtime, documents, question, options)) as events:
            async for event in events:
                match event:
                    case PromptProgress():
                        progress.update("Reading the documents", event.processed, event.total, prompt_figures(event))
                    case Restored():
                        instead = f" instead of ≈{duration(event.instead_of_s)}" if event.instead_of_s else ""
                        out.note(f"Restored {event.tokens:,} tokens in {duration(event.seconds)}{instead}.")
                    case ReasoningDelta():
                        progress.update("Thinking", figures=written.piece())
                    case TextDelta() if not out.as_json:
                        out.write(event.text)
                    case TextDelta():
                        progress.update("Writing the answer", figures=written.piece())
                    case Answered():
                        result = event.result
                    case _:
                        pass
    assert result is not None
    if not out.as_json:
        out.end_line()
        cached = f", {result.cached_tokens:,} of them kept from earlier" if result.cached_tokens else ""
        speed = f" at {result.tokens_per_second:.1f} tokens/s" if result.tokens_per_second else ""
        out.note(
            f"{result.prompt_tokens:,} prompt tokens{cached}; first word after {duration(result.ttft_s)}; "
            f"{result.completion_tokens:,} tokens{speed}."
        )
    return result
