"""The table at the end of a batch, on stderr."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import msgspec

from tui.cli.output import aligned
from tui.cli.rendering import percent, unchecked_of
from tui.cli.wrapping import terminal_width
from tui.text import one_line
from tui.units import duration, plural

if TYPE_CHECKING:
    from tui.cli.output import Out
    from tui.reading.results import SummaryResult

_HEAD = (
    *("file", "pages", "tokens", "parts", "read", "content"),
    *("unsupported", "unchecked", "strange", "time", "status"),
)
_IF_ANY = ("unchecked", "strange")
"""Columns that are left out where no document has any."""
_LESS = ("parts", "pages", "content", "tokens")
"""Columns that a narrow terminal does without, the first one first; the figures of each document name them too."""
_SHORTEST_NAME = 16
RowStatus = Literal["done", "partial", "failed", "interrupted"]


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One document's figures; 0 where it was not got that far."""

    path: str
    pages: int
    tokens: int
    parts: int
    read: float
    """Share of its characters."""
    sections: tuple[int, int] | None
    """Covered, and in all."""
    unsupported: int
    unchecked: int
    """Statements of which words cannot tell."""
    strange: int
    """Numbers and names in statements that their places do not hold."""
    cut_off: bool
    """In one pass, and the summary ends at its limit: its share of characters read says nothing."""
    seconds: float
    status: RowStatus


def row_of(result: SummaryResult, status: RowStatus | None = None) -> Row:
    """The figures of a result."""
    content = result.content
    return Row(
        path=result.path,
        pages=result.pages,
        tokens=result.tokens,
        parts=result.chunks,
        read=result.coverage.fraction,
        sections=None if content is None else (content.covered, content.sections),
        unsupported=0 if content is None else content.unsupported,
        unchecked=unchecked_of(result),
        strange=0 if content is None else content.strange,
        cut_off=result.cut_off and result.strategy == "single",
        seconds=result.seconds,
        status=status or result.status,
    )


def print_table(out: Out, rows: Sequence[Row], waiting: int, seconds: float) -> None:
    """The rows with a line of sums under them; `waiting` inputs were not begun. A terminal gets rows that fit it."""
    cells = _fitting([_HEAD, *(_cells(row) for row in rows)], terminal_width(sys.stderr))
    for index, line in enumerate(aligned(cells, right=range(1, len(cells[0]) - 1))):
        out.note(line, style="" if index else "bold", wrap=False)
    counts = {status: sum(row.status == status for row in rows) for status in ("done", "partial", "failed")}
    parts = [plural(len(rows) + waiting, "file")]
    parts.append(", ".join(f"{count} {status}" for status, count in counts.items() if count) or "none done")
    if begun := sum(row.status == "interrupted" for row in rows):
        parts.append(f"{begun} not finished")
    if waiting:
        parts.append(f"{waiting} not begun")
    read = sum(row.tokens for row in rows if row.status in ("done", "partial"))
    parts.append(f"{read:,} tokens in {duration(seconds)}")
    out.note(f"{parts[0]}: {'; '.join(parts[1:])}.")


def _fitting(cells: list[tuple[str, ...]], width: int) -> list[tuple[str, ...]]:
    """The table without empty columns; within `width` cells, 0 for any: names shortened, then columns left out."""
    from rich.cells import cell_len

    kept = [
        column
        for column, name in enumerate(_HEAD)
        if name not in _IF_ANY + (("pages",) if width else ())
        or any(row[column] not in ("-", "0") for row in cells[1:])
    ]

    def room() -> int:
        widths = [max(cell_len(row[column]) for row in cells) for column in kept[1:]]
        return width - sum(widths) - 2 * len(widths)

    for name in _LESS if width else ():
        if room() >= _SHORTEST_NAME:
            break
        kept.remove(_HEAD.index(name))
    rows = [tuple(row[column] for column in kept) for row in cells]
    return [(shortened(row[0], max(room(), 4)), *row[1:]) for row in rows] if width else rows


def shortened(name: str, width: int) -> str:
    """`papers/lo…port.pdf`: the middle left out, so that both ends of a name tell it, within `width` cells."""
    from rich.cells import cell_len

    if cell_len(name) <= width:
        return name
    head, tail = "", ""
    while True:
        # The end tells more than the beginning: a folder is named again and again.
        longer = len(tail) < 2 * len(head)
        one = name[len(name) - len(tail) - 1] if longer else name[len(head)]
        if cell_len(head) + cell_len(tail) + cell_len(one) + 1 > width:
            return f"{head}…{tail}"
        head, tail = (head, one + tail) if longer else (head + one, tail)


def _cells(row: Row) -> tuple[str, ...]:
    return (
        one_line(row.path),
        f"{row.pages:,}" if row.pages else "-",
        f"{row.tokens:,}" if row.tokens else "-",
        f"{row.parts:,}" if row.parts else "-",
        "cut off" if row.cut_off else f"{percent(row.read)} %" if row.parts else "-",
        f"{row.sections[0]}/{row.sections[1]}" if row.sections else "-",
        f"{row.unsupported}" if row.sections else "-",
        f"{row.unchecked}" if row.sections else "-",
        f"{row.strange}" if row.sections else "-",
        duration(row.seconds),
        row.status,
    )
