"""Tables: columns as wide as they need and the screen has; below that, one record after the other."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.segment import Segment

from tui.app.widgets.transcript.inline import Inline, inline_rows
from tui.app.widgets.transcript.palette import Palette
from tui.app.widgets.transcript.rows import Row

_BETWEEN = " │ "
_NARROWEST = 8
"""Cells a column keeps for its longest word; longer words are broken."""


Records = dict[tuple[tuple[Inline, ...], tuple[int, ...]], list[Row]]
"""Drawn records by their cells and the columns' widths."""


def _natural(cell: Inline) -> int:
    return max(cell_len(line) for line in cell.text.split("\n"))


def _longest_word(cell: Inline) -> int:
    return max((cell_len(word) for word in cell.text.split()), default=0)


def column_widths(columns: Sequence[Sequence[Inline]], width: int) -> list[int] | None:
    """Cells for each column so that all fit into `width` with their separators, or None when they cannot."""
    room = width - len(_BETWEEN) * (len(columns) - 1)
    natural = [max(1, *(_natural(cell) for cell in column)) for column in columns]
    if sum(natural) <= room:
        return natural
    least = [
        min(wide, max(_NARROWEST, *(min(_longest_word(cell), width // 3) for cell in column)))
        for wide, column in zip(natural, columns, strict=True)
    ]
    spare = room - sum(least)
    if spare < 0:
        return None
    wanted = [wide - small for wide, small in zip(natural, least, strict=True)]
    total = sum(wanted)
    given = [want * spare // total for want in wanted]
    # Rounding leaves a few cells over: the widest columns get them.
    for index in sorted(range(len(given)), key=lambda at: given[at] - wanted[at])[: spare - sum(given)]:
        given[index] += 1
    return [small + more for small, more in zip(least, given, strict=True)]


def table_rows(
    header: Sequence[Inline],
    body: Sequence[Sequence[Inline]],
    aligns: Sequence[str],
    width: int,
    palette: Palette,
    drawn: Records,
) -> list[Row]:
    """The table in rows of at most `width` cells.

    Every record has as many cells as `header`; `aligns` is left, center or right. `drawn` remembers records between
    two drawings of a table that grows.
    """
    columns = [[title, *(record[index] for record in body)] for index, title in enumerate(header)]
    widths = column_widths(columns, width)
    if widths is None:
        return _stacked(header, body, width, palette)
    rows = _record(header, widths, aligns, "table-head", palette)
    rule = palette["rule"]
    line = "─┼─".join("─" * cells for cells in widths)
    rows.append(Row([Segment(line, rule)], cell_len(line)))
    records: list[list[Row]] = []
    for record in body:
        key = (tuple(record), tuple(widths))
        rows_of = drawn.get(key)
        if rows_of is None:
            rows_of = drawn[key] = _record(record, widths, aligns, "text", palette)
        records.append(rows_of)
    for index, lines in enumerate(records):
        # Records of several rows need a line between them, others do not.
        if index and (len(lines) > 1 or len(records[index - 1]) > 1):
            faint = "─┼─".join("┈" * cells for cells in widths)
            rows.append(Row([Segment(faint, rule)], cell_len(faint), silent=True))
        rows.extend(lines)
    return rows


def _record(
    cells: Sequence[Inline], widths: Sequence[int], aligns: Sequence[str], base: str, palette: Palette
) -> list[Row]:
    columns = [inline_rows(cell, wide, base, palette) for cell, wide in zip(cells, widths, strict=True)]
    between = Segment(_BETWEEN, palette["rule"])
    blank = palette.text
    rows: list[Row] = []
    for number in range(max(len(column) for column in columns)):
        segments: list[Segment] = []
        total = 0
        for index, (column, wide, align) in enumerate(zip(columns, widths, aligns, strict=True)):
            part = column[number] if number < len(column) else None
            missing = wide - (part.cells if part else 0)
            left = missing if align == "right" else missing // 2 if align == "center" else 0
            if index:
                segments.append(between)
                total += len(_BETWEEN)
            if left:
                segments.append(Segment(" " * left, blank))
            if part:
                segments.extend(part.segments)
            if missing - left and index < len(columns) - 1:
                segments.append(Segment(" " * (missing - left), blank))
            elif index == len(columns) - 1:
                total -= missing - left
            total += wide
        rows.append(Row(segments, total))
    return rows


def _stacked(header: Sequence[Inline], body: Sequence[Sequence[Inline]], width: int, palette: Palette) -> list[Row]:
    rule = palette["rule"]
    rows: list[Row] = []
    for index, record in enumerate(body):
        if index:
            rows.append(Row([Segment("┈" * min(width, 24), rule)], min(width, 24), silent=True))
        for title, cell in zip(header, record, strict=True):
            rows.extend(inline_rows(title, width, "table-head", palette))
            for row in inline_rows(cell, width - 2, "text", palette):
                indent = Segment("  ", palette.text)
                rows.append(Row([indent, *row.segments], row.cells + 2, lead=1, glue=row.glue))
    if not body:
        for title in header:
            rows.extend(inline_rows(title, width, "table-head", palette))
    return rows
