"""Columns that a file draws row by row: pdfium gives `left right` as one line, here they are read one after the other.

Most files draw column by column, and pdfium keeps their order. A table looks much the same as such columns, so only
what is plainly running text in every column is taken apart, and only when no letter is lost by it.
"""

from __future__ import annotations

import itertools
import re
import statistics
from collections.abc import Sequence
from typing import Any

import msgspec

from tui.documents.pdf.mend import as_printed, with_hyphen_marks

# Below this many rows it may as well be a table.
_ROWS = 8
_MOST_RECTANGLES = 4000
# In line heights: the space between words, what still belongs together, the least width of a gutter.
_WORD = 0.15
_TOGETHER = 0.55
_GUTTER = 0.7
# Of the rows of a column so many are there, and reach so near its right edge; the mean row has so many letters.
_PRESENT = 0.8
_FULL = 0.6
_NEAR_EDGE = 0.2
_LETTERS = 12
_DIGITS = 0.12
_WIDEST = 2.5
_GAP = 1.35
_PROBES = 6
_PROBED_RECTANGLES = 60
_LINE = re.compile(r"[^\r\n]+")
_LETTER = re.compile(r"\S")


_Box = tuple[float, float, float, float]


class _Piece(msgspec.Struct, frozen=True):
    """What stands together in a row: left, bottom, right and top of its rectangles, in points."""

    boxes: tuple[_Box, ...]

    @property
    def left(self) -> float:
        return self.boxes[0][0]

    @property
    def right(self) -> float:
        return max(box[2] for box in self.boxes)


class _Row(msgspec.Struct, frozen=True):
    top: float
    height: float
    pieces: tuple[_Piece, ...]


def in_column_order(text_page: Any, text: str) -> str:
    """`text`, the raw text of a pdfium text page, with rows that run across columns of prose taken apart."""
    if not _looks_like_it(text_page, text):
        return text
    count = text_page.count_rects()
    if not 2 * _ROWS <= count <= _MOST_RECTANGLES:
        return text
    boxes = [text_page.get_rect(index) for index in range(count)]
    rows = _rows(boxes)
    lines = re.split(r"\r?\n", as_printed(text))
    changed = False
    line = 0
    for first, last, bands in _runs(rows):
        run = rows[first:last]
        columns = [[_in_band(row, band) for row in run] for band in bands]
        if not _is_even(run, columns, bands):
            continue
        texts = [[_text(text_page, piece) for piece in column] for column in columns]
        start = _find(lines, line, list(zip(*texts, strict=True))) if all(map(_is_prose, texts)) else None
        if start is None:
            continue
        apart = [text for column in texts for text in column if text]
        lines[start : start + len(run)] = apart
        line = start + len(apart)
        changed = True
    if not changed:
        return text
    ordered = "\r\n".join(lines)
    return with_hyphen_marks(ordered) if _packed(ordered, sort=True) == _packed(as_printed(text), sort=True) else text


def _looks_like_it(text_page: Any, text: str) -> bool:
    """Whether half of some long lines have a gap in them: all rectangles of a page cost more than its text."""
    long = [match for match in _LINE.finditer(text) if match.end() - match.start() >= 2 * _LETTERS]
    if len(long) < _ROWS:
        return False
    probes = long[:: max(1, len(long) // _PROBES)][:_PROBES]
    gaps = 0
    for match in probes:
        count = text_page.count_rects(match.start(), match.end() - match.start())
        boxes = [text_page.get_rect(index) for index in range(min(count, _PROBED_RECTANGLES))]
        gaps += any(_apart(before, box) for before, box in itertools.pairwise(boxes))
    return 2 * gaps >= len(probes)


def _apart(before: _Box, box: _Box) -> bool:
    """Whether a rectangle stands to the right of another one on the same line, a gutter away."""
    height = max(1.0, min(before[3] - before[1], box[3] - box[1]))
    return box[0] - before[2] > _GUTTER * height and min(before[3], box[3]) - max(before[1], box[1]) > height / 2


def _rows(boxes: Sequence[_Box]) -> list[_Row]:
    """Rectangles that follow each other from left to right on one line, near ones joined."""
    rows: list[_Row] = []
    group: list[_Box] = []

    def close() -> None:
        if not group:
            return
        height = max(1.0, statistics.median(box[3] - box[1] for box in group))
        pieces: list[list[_Box]] = []
        for box in group:
            if pieces and box[0] - max(before[2] for before in pieces[-1]) < _TOGETHER * height:
                pieces[-1].append(box)
            else:
                pieces.append([box])
        rows.append(_Row(max(box[3] for box in group), height, tuple(_Piece(tuple(piece)) for piece in pieces)))
        group.clear()

    for box in boxes:
        if group:
            before = group[-1]
            same = min(before[3], box[3]) - max(before[1], box[1]) > 0.5 * min(before[3] - before[1], box[3] - box[1])
            if not same or box[0] < before[0]:
                close()
        group.append(box)
    close()
    return rows


def _runs(rows: Sequence[_Row]) -> list[tuple[int, int, list[tuple[float, float]]]]:
    """Ranges of rows that keep to the same bands of the page's width, two or more, and these bands."""
    found = []
    first = 0
    while first < len(rows):
        bands = [(piece.left, piece.right) for piece in rows[first].pieces]
        last = first + 1
        if len(bands) < 2:
            first = last
            continue
        while last < len(rows):
            wider = _widened(bands, rows[last])
            if wider is None:
                break
            bands = wider
            last += 1
        # A row with fewer pieces is of no column when it ends the run.
        while last > first and len(rows[last - 1].pieces) < len(bands) and last - first > _ROWS:
            last -= 1
        if last - first >= _ROWS:
            found.append((first, last, bands))
        first = max(last, first + 1)
    return found


def _widened(bands: Sequence[tuple[float, float]], row: _Row) -> list[tuple[float, float]] | None:
    """The bands with a row's pieces taken in, or None when a piece belongs to none or to several of them."""
    wider = list(bands)
    for piece in row.pieces:
        touched = [index for index, (left, right) in enumerate(wider) if piece.left < right and piece.right > left]
        if len(touched) != 1:
            return None
        left, right = wider[touched[0]]
        wider[touched[0]] = (min(left, piece.left), max(right, piece.right))
    gaps = [after[0] - before[1] for before, after in itertools.pairwise(wider)]
    return wider if min(gaps) >= _GUTTER * row.height else None


def _in_band(row: _Row, band: tuple[float, float]) -> _Piece | None:
    """What of a row stands in a band, as one piece."""
    inside = [box for piece in row.pieces if piece.left < band[1] and piece.right > band[0] for box in piece.boxes]
    return _Piece(tuple(inside)) if inside else None


def _text(text_page: Any, piece: _Piece | None) -> str:
    parts: list[str] = []
    edge = 0.0
    for box in piece.boxes if piece is not None else ():
        if parts and box[0] - edge > _WORD * (box[3] - box[1]):
            parts.append(" ")
        parts.append(text_page.get_text_bounded(*box, errors="surrogatepass"))
        edge = box[2]
    return " ".join("".join(parts).split())


def _is_even(run: Sequence[_Row], columns: Sequence[list[_Piece | None]], bands: Sequence[tuple[float, float]]) -> bool:
    """Whether every column has a line in most rows, most of them full, and no rows are set apart by gaps."""
    widths = [right - left for left, right in bands]
    if max(widths) > _WIDEST * min(widths):
        return False
    for column, (_, edge), width in zip(columns, bands, widths, strict=True):
        there = [piece for piece in column if piece is not None]
        full = sum(piece.right > edge - _NEAR_EDGE * width for piece in there)
        if len(there) < _PRESENT * len(run) or full < _FULL * len(there):
            return False
    steps = [before.top - after.top for before, after in itertools.pairwise(run)]
    usual = statistics.median(steps)
    # All columns pause on one line: rows of a table with several lines each.
    return usual > 0 and sum(step > _GAP * usual for step in steps) <= 1


def _is_prose(column: Sequence[str]) -> bool:
    """Whether a column's lines hold many letters and few digits."""
    there = [text for text in column if text]
    packed = _packed("".join(there))
    return len(packed) >= _LETTERS * len(there) and sum(letter.isdigit() for letter in packed) <= _DIGITS * len(packed)


def _find(lines: Sequence[str], start: int, rows: Sequence[tuple[str, ...]]) -> int | None:
    """Where in `lines`, from `start` on, rows with these texts stand one after the other."""
    wanted = [_packed("".join(row)) for row in rows]
    packed = [_packed(line) for line in lines[start:]]
    for offset in range(len(packed) - len(wanted) + 1):
        if packed[offset : offset + len(wanted)] == wanted:
            return start + offset
    return None


def _packed(text: str, *, sort: bool = False) -> str:
    letters = _LETTER.findall(as_printed(text))
    return "".join(sorted(letters) if sort else letters)
