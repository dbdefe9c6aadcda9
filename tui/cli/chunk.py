"""`longscroll chunk PATH…`"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import msgspec
import rich_click as click

from tui.cli.common import ReadWishes, Shared, joint_code, paths_argument, with_reading, with_shared
from tui.cli.usage import Whole

if TYPE_CHECKING:
    from tui.cli.counting import Counting
    from tui.documents.model import Chunk
    from tui.errors import NoModel


class ChunkLine(msgspec.Struct, frozen=True, kw_only=True):
    """One line of `chunk --json`. `start` and `end` are offsets into the document's text, in characters."""

    index: int
    start: int
    end: int
    pages: tuple[int, int] | None
    heading: str
    tokens: int
    text: str
    lines: tuple[int, int] | None
    """First line, in the first of `files`, and last line, in the last of them; None with pages."""
    files: tuple[str, ...]
    """Of a source tree."""
    context: str
    """What stands before the text for a reader of this chunk alone: a table's header. `tokens` counts both."""
    path: str


@click.command("chunk")
@paths_argument
@click.option("--max-tokens", type=Whole(1), default=1024, show_default=True, metavar="N", help="Tokens of a piece.")
@with_reading
@with_shared
def command(shared: Shared, /, *, paths: tuple[str, ...], max_tokens: int, reading: ReadWishes) -> int:
    """Cut documents into pieces of at most N tokens, without losing a character.

    The pieces tile the text: the first starts at 0, each starts where the last one ended. Cuts are made where a
    person would cut: between pages, headings, functions, paragraphs, rows, sentences, lines or words, in this order.
    PATH is a file, a folder, a pattern such as "reports/*.pdf", or - for standard input.
    """
    from tui.cli.errors import run_async

    return run_async(lambda: _chunk(shared, paths, max_tokens, reading))


async def _chunk(shared: Shared, paths: tuple[str, ...], max_tokens: int, reading: ReadWishes) -> int:
    from tui.cli.counting import open_counting
    from tui.cli.opening import open_ground, open_inputs, read
    from tui.cli.output import Out
    from tui.cli.pieces import chunk_table
    from tui.documents.chunker import chunk_document
    from tui.errors import ExitCode, LongscrollError
    from tui.text import one_line

    out = Out(as_json=shared.json)
    codes: list[int] = []
    async with open_ground(shared, out) as ground, contextlib.AsyncExitStack() as stack:
        counting: Counting | None = None
        inputs = await stack.enter_async_context(open_inputs(ground, paths))
        for item in inputs:
            try:
                document = await read(ground, item, reading)
            except LongscrollError as error:
                codes.append(error.exit_code)
                out.error(error)
                continue
            if counting is None:
                if not (ground.model or ground.server_url):
                    raise _needs_a_model()
                counting = await stack.enter_async_context(open_counting(ground))
            if not counting.exact:
                raise _needs_a_model()
            chunks = await chunk_document(document, max_tokens, counting.count_many)
            if not counting.exact:
                raise _needs_a_model()
            codes.append(ExitCode.OK)
            if shared.json:
                for chunk in chunks:
                    out.emit(_line(chunk, document.path))
                continue
            if len(inputs) > 1:
                out.line(f"{'' if codes == [ExitCode.OK] else chr(10)}{one_line(item.shown)}")
            chunk_table(chunks, out)
    return joint_code(codes)


def _needs_a_model() -> NoModel:
    from tui.errors import NoModel

    return NoModel("Pieces of an exact size need a model to count with.", "Name one with --model PATH or --model demo.")


def _line(chunk: Chunk, path: str) -> ChunkLine:
    return ChunkLine(
        index=chunk.index,
        start=chunk.start,
        end=chunk.end,
        pages=chunk.pages,
        heading=chunk.heading,
        tokens=chunk.tokens,
        text=chunk.text,
        lines=chunk.lines,
        files=chunk.files,
        context=chunk.context,
        path=path,
    )
