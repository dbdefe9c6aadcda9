"""What a person would not tear: a function, a class, a section, a fenced block, a table and its rows, a list item."""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Sequence

from tui.documents.endings import ITEM
from tui.documents.fences import fences
from tui.documents.model import Document, Heading, Table
from tui.documents.tables import rows_of

Unit = tuple[int, int, float]
"""Start, end, and how full a chunk must be to end before the unit rather than inside it, as a share of its budget."""

# A larger thing is kept whole where that leaves the chunk half full; a smaller one at nearly any price.
_SECTION, _CLASS, _FUNCTION, _FILE, _TABLE, _ROW, _FENCE = 0.7, 0.5, 0.1, 0.5, 0.5, 0.0, 0.3
_OUTER_ITEM, _ITEM = 0.5, 0.3
_MARKDOWN_LIKE = frozenset({"markdown", "docx", "rtf", "html", "epub", "notebook", "tree"})
_MOST_LINES = 200


class Units:
    """The units of one document, found around a place."""

    def __init__(self, document: Document, file_starts: Sequence[int]) -> None:
        self._text = document.text
        self._headings = document.headings
        self._heading_starts = [heading.start for heading in document.headings]
        self._ends, self._parents = _nesting(document.headings, len(document.text))
        self._children = {parent for parent in self._parents if parent >= 0}
        self._files = [0, *file_starts, len(document.text)]
        self._has_files = bool(file_starts)
        self._tables = document.tables
        self._table_starts = [table.start for table in document.tables]
        self._rows: dict[int, list[int]] = {}
        self._fences = fences(document.text) if document.kind in _MARKDOWN_LIKE else []
        self._fence_starts = [start for start, _ in self._fences]

    def around(self, start: int, limit: int, *, code: bool) -> Iterator[Unit]:
        """Units that begin after `start` and before `limit` and end behind it, the larger ones first."""
        end = len(self._text)
        if self._has_files:
            index = bisect.bisect_right(self._files, limit) - 1
            if index + 1 < len(self._files):
                end = self._files[index + 1]
                if start < self._files[index] < limit:
                    yield self._files[index], end, _FILE
        yield from self._sections(start, limit, end, code=code)
        table = self.table_at(limit)
        if table is not None:
            if start < table.start:
                yield table.start, table.end, _TABLE
            yield from self._row(start, limit, table)
        fence = self.fence_at(limit)
        if fence is not None:
            if start < fence[0]:
                yield fence[0], fence[1], _FENCE
        elif not code and table is None:
            yield from self._items(start, limit, end)

    def table_at(self, place: int) -> Table | None:
        """The table that `place` lies in, its start excluded."""
        index = bisect.bisect_left(self._table_starts, place) - 1
        return self._tables[index] if index >= 0 and place < self._tables[index].end else None

    def fence_at(self, place: int) -> tuple[int, int] | None:
        """The fenced block that `place` lies in, its start excluded."""
        index = bisect.bisect_left(self._fence_starts, place) - 1
        return self._fences[index] if index >= 0 and place < self._fences[index][1] else None

    def ends(self) -> list[int]:
        """Where tables and fenced blocks end, in order."""
        return sorted({table.end for table in self._tables} | {end for _, end in self._fences})

    def rows_inside(self, start: int, end: int) -> bool:
        """Whether a row of a table begins between `start` and `end`."""
        table = self.table_at(start + 1)
        if table is None:
            return False
        rows = self.rows(table)
        index = bisect.bisect_right(rows, start)
        return index < len(rows) and rows[index] < end

    def row_end(self, place: int, table: Table) -> int:
        """Where the row of `table` that `place` lies in ends."""
        rows = self.rows(table)
        return rows[min(bisect.bisect_right(rows, place), len(rows) - 1)]

    def rows(self, table: Table) -> list[int]:
        """Starts of the table's rows and its end."""
        if table.start not in self._rows:
            self._rows[table.start] = rows_of(self._text, table)
        return self._rows[table.start]

    def _sections(self, start: int, limit: int, file_end: int, *, code: bool) -> Iterator[Unit]:
        index = bisect.bisect_left(self._heading_starts, limit) - 1
        chain: list[int] = []
        while index >= 0 and self._heading_starts[index] > start:
            if self._ends[index] > limit:
                chain.append(index)
            index = self._parents[index]
        for index in reversed(chain):
            least = _SECTION if not code else _CLASS if index in self._children else _FUNCTION
            yield self._heading_starts[index], min(self._ends[index], file_end), least

    def _row(self, start: int, limit: int, table: Table) -> Iterator[Unit]:
        rows = self.rows(table)
        index = bisect.bisect_right(rows, limit) - 1
        if index <= 0 and start < table.start:
            # A header is not left alone: it goes with its first row.
            yield table.start, rows[min(1, len(rows) - 1)], _ROW
        elif index >= 0 and start < rows[index] < limit:
            yield rows[index], rows[min(index + 1, len(rows) - 1)], _ROW

    def _items(self, start: int, limit: int, file_end: int) -> Iterator[Unit]:
        """List items, nested ones after those that hold them."""
        text = self._text
        chain: list[tuple[int, int]] = []
        indent = 1000
        line = text.rfind("\n", start, limit) + 1
        for _ in range(_MOST_LINES):
            if line <= start:
                break
            mark = ITEM.match(text, line, line + 60)
            width = _width(text, line)
            if mark:
                if width < indent and line < limit:
                    chain.append((line, width))
                    indent = width
                if indent == 0:
                    break
            above = text.rfind("\n", start, line - 1) + 1
            if not mark and text[line : line + 1].strip() and width == 0 and not text[above : line - 1].strip():
                break  # a paragraph of its own: what stands above it holds it no longer
            line = above
        for number, (item, width) in enumerate(reversed(chain)):
            end = self._item_end(limit, width, min(file_end, limit + 2 * (limit - start)))
            if end > limit:
                yield item, end, _ITEM if number == len(chain) - 1 else _OUTER_ITEM

    def _item_end(self, place: int, width: int, most: int) -> int:
        """Where the item of indentation `width` that `place` lies in ends, `most` at the latest."""
        text = self._text
        line = place if place == 0 or text[place - 1] == "\n" else text.find("\n", place, most) + 1
        blank = False
        while 0 < line < most:
            following = text.find("\n", line, most) + 1 or most
            if not text[line:following].strip():
                blank = True
            else:
                indent = _width(text, line)
                if indent <= width and (blank or ITEM.match(text, line, line + 60)):
                    return line
                blank = False
            line = following
        return most


def _width(text: str, line: int) -> int:
    width = 0
    while width < 200 and text[line : line + 1] in (" ", "\t", "\u3000"):
        width += 4 - width % 4 if text[line] == "\t" else 1
        line += 1
    return width


def _nesting(headings: Sequence[Heading], end: int) -> tuple[list[int], list[int]]:
    """For each heading where its part ends, and the index of the heading that holds it (-1 for none)."""
    ends = [end] * len(headings)
    parents = [-1] * len(headings)
    above: list[int] = []
    for index, heading in enumerate(headings):
        while above and headings[above[-1]].level >= heading.level:
            ends[above.pop()] = heading.start
        parents[index] = above[-1] if above else -1
        above.append(index)
    return ends, parents
