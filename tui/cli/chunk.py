"""`longscroll chunk PATH`"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import rich_click as click

from tui.cli.common import Shared, with_shared
from tui.cli.usage import Readable, Whole

if TYPE_CHECKING:
    from tui.documents.model import Chunk
    from tui.errors import NoModel

_PREVIEW = 60


class ChunkLine(msgspec.Struct, frozen=True, kw_only=True):
    """One line of `chunk --json`. `start` and `end` are offsets into the document's text, in characters."""

    index: int
    start: int
    end: int
    pages: tuple[int, int] | None
    heading: str
    tokens: int
    text: str


@click.command("chunk")
@click.argument("path", type=Readable(), metavar="PATH")
@click.option("--max-tokens", type=Whole(1), default=1024, show_default=True, metavar="N", help="Tokens of a piece.")
@click.option("--password", envvar="LONGSCROLL_PASSWORD", default="", help="Password of an encrypted PDF.")
@with_shared
def command(shared: Shared, /, *, path: str, max_tokens: int, password: str) -> int:
    """Cut a document into pieces of at most N tokens, without losing a character.

    The pieces tile the text: the first starts at 0, each starts where the last one ended. Cuts are made between pages,
    headings, paragraphs, sentences, lines or words, in this order of preference.
    """
    from tui.cli.errors import run_async

    return run_async(lambda: _chunk(shared, path, max_tokens, password))


async def _chunk(shared: Shared, path: str, max_tokens: int, password: str) -> int:
    from tui.cli.counting import open_counting
    from tui.cli.opening import open_ground, read
    from tui.cli.output import Out, columns
    from tui.documents.chunker import chunk_document
    from tui.errors import ExitCode
    from tui.text import one_line

    out = Out(as_json=shared.json)
    async with open_ground(shared, out) as ground:
        document = await read(ground, path, password)
        async with open_counting(ground) as counting:
            if not counting.exact:
                raise _needs_a_model()
            chunks = await chunk_document(document, max_tokens, counting.count_many)
        if not counting.exact:
            raise _needs_a_model()
    if shared.json:
        for chunk in chunks:
            out.emit(_line(chunk))
        return ExitCode.OK
    cells = [("#", "START", "END", "TOKENS", "PAGES", "HEADING", "BEGINS")]
    for chunk in chunks:
        pages = "–" if chunk.pages is None else f"{chunk.pages[0]}–{chunk.pages[1]}"
        begins = one_line(" ".join(chunk.text[: 4 * _PREVIEW].split()), _PREVIEW)
        cells.append(
            (
                str(chunk.index),
                str(chunk.start),
                str(chunk.end),
                f"{chunk.tokens:,}",
                pages,
                one_line(chunk.heading, _PREVIEW) or "–",
                begins,
            )
        )
    columns(out, cells, right=(0, 1, 2, 3))
    return ExitCode.OK


def _needs_a_model() -> NoModel:
    from tui.errors import NoModel

    return NoModel("Pieces of an exact size need a model to count with.", "Name one with --model PATH or --model demo.")


def _line(chunk: Chunk) -> ChunkLine:
    return ChunkLine(
        index=chunk.index,
        start=chunk.start,
        end=chunk.end,
        pages=chunk.pages,
        heading=chunk.heading,
        tokens=chunk.tokens,
        text=chunk.text,
    )
