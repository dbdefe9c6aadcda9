"""`longscroll count PATH…`"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import msgspec
import rich_click as click

from tui.cli.common import ReadWishes, Shared, paths_argument, with_reading, with_shared

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


class NotCounted(msgspec.Struct, frozen=True, kw_only=True):
    """The line of a path that could not be read."""

    path: str
    error: str


@click.command("count")
@paths_argument
@with_reading
@with_shared
def command(shared: Shared, /, *, paths: tuple[str, ...], reading: ReadWishes) -> int:
    """Count the tokens of files and folders, and say whether each fits the context beside an answer.

    FITS: the tokens and the room kept for an answer are at most the context of one conversation.
    PATH is a file, a folder, a pattern such as "reports/*.pdf", or - for standard input. A folder of source code is
    one document; of any other folder each document is counted.
    """
    from tui.cli.errors import run_async

    return run_async(lambda: _count(shared, paths, reading))


async def _count(shared: Shared, paths: tuple[str, ...], reading: ReadWishes) -> int:
    from tui.cli.counting import open_counting
    from tui.cli.opening import open_ground, open_inputs, read
    from tui.cli.output import Out
    from tui.errors import ExitCode, InputProblem, UsageProblem
    from tui.settings import default_reserve

    out = Out(as_json=shared.json)
    rows: list[Counted] = []
    failed = False
    async with open_ground(shared, out) as ground, contextlib.AsyncExitStack() as stack:
        counting: Counting | None = None
        for item in await stack.enter_async_context(open_inputs(ground, paths)):
            try:
                document = await read(ground, item, reading)
            except (InputProblem, UsageProblem) as error:
                failed = True
                out.error(error)
                if shared.json:
                    out.emit(NotCounted(path=item.shown, error=str(error)))
                continue
            if counting is None:  # not before there is something to count
                counting = await stack.enter_async_context(open_counting(ground))
            reserve = default_reserve(counting.context, ground.settings.reserve) if counting.context else 0
            row = await _counted(document, counting, reserve)
            rows.append(row)
            if shared.json:
                out.emit(row)
    if not shared.json and rows:
        _table(rows, out)
    return ExitCode.SOME_FAILED if failed else ExitCode.OK


async def _counted(document: Document, counting: Counting, reserve: int) -> Counted:
    tokens = await counting.count(document.text)
    return Counted(
        path=document.path,
        tokens=tokens,
        exact=counting.exact,
        characters=len(document.text),
        pages=document.pages,
        context=counting.context,
        fits=None if counting.context is None else tokens + reserve <= counting.context,
        warnings=document.warnings,
    )


def _table(rows: list[Counted], out: Out) -> None:
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
