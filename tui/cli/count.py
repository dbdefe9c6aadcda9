"""`longscroll count PATH…`"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
import rich_click as click

from tui.cli.common import ReadWishes, Shared, joint_code, paths_argument, with_reading, with_shared

if TYPE_CHECKING:
    from tui.cli.counting import Counting
    from tui.cli.output import Out
    from tui.documents.model import Document


class Counted(msgspec.Struct, frozen=True, kw_only=True):
    """One line of `count --json`."""

    path: str
    tokens: int
    exact: bool
    characters: int
    pages: int
    context: int | None
    fits: bool | None
    warnings: tuple[str, ...]
    """What was not read and why, in sentences."""
    encoding: str
    """Of a text file, as it was decided; else empty."""


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """A file or folder (with `/` at its end) of a source tree. Counted alone, so the sum may differ from the whole."""

    path: str
    tokens: int
    characters: int
    pages: int
    files: int


class CountedFiles(Counted, frozen=True, kw_only=True):
    """One line of `count --files --json`."""

    files: tuple[Share, ...]
    """Files and folders, largest first; empty for a document that is one file."""


class NotCounted(msgspec.Struct, frozen=True, kw_only=True):
    """The line of a path that could not be read."""

    path: str
    error: str


@click.command("count")
@paths_argument
@click.option("--files", is_flag=True, help="Also count each file and folder of a source tree, largest first.")
@with_reading
@with_shared
def command(shared: Shared, /, *, paths: tuple[str, ...], files: bool, reading: ReadWishes) -> int:
    """Count the tokens of documents, and say whether each fits the context beside an answer.

    FITS: the tokens and the room kept for an answer are at most the context of one conversation.
    PATH is a file, a folder, a pattern such as "reports/*.pdf", or - for standard input. A folder of source code is
    one document; of any other folder each document is counted.
    """
    from tui.cli.errors import run_async

    return run_async(lambda: _count(shared, paths, reading, files=files))


async def _count(shared: Shared, paths: tuple[str, ...], reading: ReadWishes, *, files: bool) -> int:
    from tui.cli.counting import open_counting
    from tui.cli.opening import open_ground, open_inputs, read
    from tui.cli.output import Out
    from tui.errors import ExitCode, LongscrollError
    from tui.settings import default_reserve

    out = Out(as_json=shared.json)
    rows: list[Counted] = []
    codes: list[int] = []
    async with open_ground(shared, out) as ground, contextlib.AsyncExitStack() as stack:
        counting: Counting | None = None
        for item in await stack.enter_async_context(open_inputs(ground, paths)):
            try:
                document = await read(ground, item, reading)
            except LongscrollError as error:
                codes.append(error.exit_code)
                out.error(error)
                if shared.json:
                    out.emit(NotCounted(path=item.shown, error=str(error)))
                continue
            if counting is None:  # not before there is something to count
                counting = await stack.enter_async_context(open_counting(ground))
            reserve = default_reserve(counting.context, ground.settings.reserve) if counting.context else 0
            row = await _counted(document, counting, reserve, files=files)
            codes.append(ExitCode.OK)
            rows.append(row)
            if shared.json:
                out.emit(row)
    if not shared.json and rows:
        _table(rows, out)
        for row in rows:
            if isinstance(row, CountedFiles) and row.files:
                _files_table(row, out)
    unread = len(codes) - len(rows)
    if unread and len(codes) > 1:
        out.note(f"{unread:,} of {len(codes):,} {'was' if unread == 1 else 'were'} not read.")
    return joint_code(codes)


async def _counted(document: Document, counting: Counting, reserve: int, *, files: bool) -> Counted:
    tokens = await counting.count(document.text)
    row = Counted(
        path=document.path,
        tokens=tokens,
        exact=counting.exact,
        characters=len(document.text),
        pages=document.pages,
        context=counting.context,
        fits=None if counting.context is None else tokens + reserve <= counting.context,
        warnings=document.warnings,
        encoding=document.encoding,
    )
    if not files:
        return row
    shares = await _shares(document, counting)
    return CountedFiles(**{**msgspec.structs.asdict(row), "exact": counting.exact}, files=shares)


async def _shares(document: Document, counting: Counting) -> tuple[Share, ...]:
    from tui.documents.parts import file_parts, folders_around

    parts = file_parts(document)
    counts = await counting.count_many([document.text[part.start : part.end] for part in parts])
    shares = []
    folders: dict[str, Counter[str]] = {}
    for part, tokens in zip(parts, counts, strict=True):
        figures = Counter(tokens=tokens, characters=part.end - part.start, pages=part.pages, files=1)
        shares.append(Share(path=part.path, **figures))
        for folder in folders_around(part.path):
            folders.setdefault(folder, Counter(pages=0)).update(figures)
    shares += [Share(path=folder, **figures) for folder, figures in folders.items()]
    return tuple(sorted(shares, key=lambda share: (-share.tokens, share.path)))


def _table(rows: Sequence[Counted], out: Out) -> None:
    from tui.cli.output import columns
    from tui.units import tokens

    cells = [("TOKENS", "CHARACTERS", "PAGES", "CONTEXT", "FITS", "PATH")]
    cells += [
        (
            tokens(row.tokens, exact=row.exact),
            f"{row.characters:,}",
            f"{row.pages:,}" if row.pages else "–",
            "–" if row.context is None else f"{row.context:,}",
            {True: "yes", False: "no", None: "–"}[row.fits],
            row.path,
        )
        for row in rows
    ]
    if len(rows) > 1:
        total = sum(row.tokens for row in rows)
        exact = all(row.exact for row in rows)
        cells.append((tokens(total, exact=exact), f"{sum(row.characters for row in rows):,}", "", "", "", "(together)"))
    columns(out, cells, right=(0, 1, 2, 3))


def _files_table(row: CountedFiles, out: Out) -> None:
    from tui.cli.output import columns
    from tui.units import tokens

    cells = [("TOKENS", "SHARE", "FILES", f"IN {row.path}")]
    cells += [
        (
            tokens(share.tokens, exact=row.exact),
            f"{100 * share.tokens / max(1, row.tokens):.1f} %",
            f"{share.files:,}" if share.path.endswith("/") else "",
            share.path,
        )
        for share in row.files
    ]
    out.line("")
    columns(out, cells, right=(0, 1, 2))
