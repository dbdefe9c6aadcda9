"""The table at the end of a batch, on stderr."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import msgspec

from tui.cli.output import aligned
from tui.cli.rendering import percent
from tui.text import one_line
from tui.units import duration, plural

if TYPE_CHECKING:
    from tui.cli.output import Out
    from tui.reading.results import SummaryResult

_HEAD = ("file", "pages", "tokens", "parts", "read", "content", "unsupported", "time", "status")
_LONGEST_NAME = 60
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
        seconds=result.seconds,
        status=status or result.status,
    )


def print_table(out: Out, rows: Sequence[Row], waiting: int, seconds: float) -> None:
    """The rows with a line of sums under them; `waiting` inputs were not begun."""
    cells = [_HEAD, *(_cells(row) for row in rows)]
    for line in aligned(cells, right=range(1, 8)):
        out.note(line)
    counts = {status: sum(row.status == status for row in rows) for status in ("done", "partial", "failed")}
    parts = [plural(len(rows) + waiting, "file")]
    parts.append(", ".join(f"{count} {status}" for status, count in counts.items() if count) or "none done")
    if waiting:
        parts.append(f"{waiting} not begun")
    parts.append(f"{sum(row.tokens for row in rows):,} tokens in {duration(seconds)}")
    out.note(f"{parts[0]}: {'; '.join(parts[1:])}.")


def _cells(row: Row) -> tuple[str, ...]:
    name = one_line(row.path)
    return (
        name if len(name) <= _LONGEST_NAME else f"…{name[1 - _LONGEST_NAME :]}",
        f"{row.pages:,}" if row.pages else "-",
        f"{row.tokens:,}" if row.tokens else "-",
        f"{row.parts:,}" if row.parts else "-",
        f"{percent(row.read)} %" if row.parts else "-",
        f"{row.sections[0]}/{row.sections[1]}" if row.sections else "-",
        f"{row.unsupported}" if row.sections else "-",
        duration(row.seconds),
        row.status,
    )
