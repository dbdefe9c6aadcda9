"""What rendering makes: rows of styled text. Behind its message's gutter a row becomes a line of the screen."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip


class Row:
    """One row of a message's body, without gutter and padding.

    `lead` is how many of the first segments are decoration (bars, the indent of a continued line): shown, not copied.
    `glue` is what a copy puts after this row: a newline, or what wrapping swallowed. `silent` rows are never copied.
    `fill` is the style of the padding up to the full width.
    """

    __slots__ = ("cells", "fill", "glue", "lead", "line", "segments", "silent")

    def __init__(
        self,
        segments: list[Segment],
        cells: int,
        *,
        lead: int = 0,
        glue: str = "\n",
        fill: Style | None = None,
        silent: bool = False,
    ) -> None:
        self.segments = segments
        self.cells = cells
        self.lead = lead
        self.glue = glue
        self.fill = fill
        self.silent = silent
        self.line: Line | None = None

    @property
    def text(self) -> str:
        """As it is shown."""
        return "".join(segment.text for segment in self.segments)


class Line:
    """A line of the screen: a strip of exactly the width, and how it is copied."""

    __slots__ = ("glue", "lead", "silent", "strip", "trail")

    def __init__(self, strip: Strip, lead: int, trail: int, glue: str, silent: bool) -> None:
        self.strip = strip
        self.lead = lead
        """First segments that are decoration."""
        self.trail = trail
        """Last segments that are padding."""
        self.glue = glue
        self.silent = silent

    @property
    def text(self) -> str:
        """What can be selected of this line."""
        segments = list(self.strip)
        return "".join(segment.text for segment in segments[self.lead : len(segments) - self.trail])


BLANK = Row([], 0)


def line_of(row: Row, gutter: Sequence[Segment], column: int, width: int, base: Style) -> Line:
    """`row` behind `gutter`, its `fill` up to cell `column` of the line, then blanks up to `width`.

    Remembered in the row, so always call it with the same gutter and widths.
    """
    if row.line is not None:
        return row.line
    segments = [*gutter, *row.segments]
    at = sum(len(segment.text) for segment in gutter) + row.cells
    ready = len(segments)
    if row.fill is not None and at < column:
        segments.append(Segment(" " * (column - at), row.fill))
        at = column
    if at < width:
        segments.append(Segment(" " * (width - at), base))
    strip = Strip(segments, width) if at <= width else Strip(segments, at).crop(0, width)
    line = Line(strip, len(gutter) + row.lead, len(segments) - ready, row.glue, row.silent)
    if row is not BLANK:
        row.line = line
    return line


def indented(rows: Sequence[Row], first: Segment, rest: Segment, *, bar: bool = False) -> list[Row]:
    """`rows` moved right: `first` stands before the first one, `rest` before the others.

    `bar`: the prefix is decoration on every row; else it is decoration only before continued lines and panels.
    """
    first_cells = cell_len(first.text)
    rest_cells = cell_len(rest.text)
    moved: list[Row] = []
    continued = False
    for index, row in enumerate(rows):
        prefix, cells = (first, first_cells) if index == 0 else (rest, rest_cells)
        decoration = bar or row.lead > 0 or continued
        moved.append(
            Row(
                [prefix, *row.segments],
                cells + row.cells,
                lead=row.lead + 1 if decoration else 0,
                glue=row.glue,
                fill=row.fill,
                silent=row.silent,
            )
        )
        continued = row.glue != "\n"
    return moved
