"""Sentences of a document with their places, where each row of a table is one: what a row says stands in that row."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator

from tui.documents.model import Document, Table
from tui.documents.places import Range, without_space
from tui.reading.sentencing import sentence_ranges

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")


def said_in(document: Document, start: int, end: int) -> list[Range]:
    """The sentences and table rows of `text[start:end]`, in order, without white space around them."""
    found: list[Range] = []
    place = start
    for table in document.tables:
        if table.end <= place or table.start >= end:
            continue
        first, last = max(table.start, place), min(table.end, end)
        found += sentence_ranges(document.text, place, first)
        rows = (without_space(document.text, *row) for row in _rows(document, table, first, last))
        found += (row for row in rows if row[0] < row[1])
        place = last
    return [*found, *sentence_ranges(document.text, place, end)]


def _rows(document: Document, table: Table, start: int, end: int) -> Iterator[Range]:
    """The rows that `text[start:end]` of a table touches, as far as they lie in it."""
    starts = table.row_starts
    if starts:
        at = max(0, bisect.bisect_right(starts, start) - 1)
        while at < len(starts) and starts[at] < end:
            past = starts[at + 1] if at + 1 < len(starts) else table.end
            yield max(start, starts[at]), min(end, past)
            at += 1
        return
    place = start
    while place < end:
        match = _LINE.match(document.text, place, end)
        past = match.end() if match and match.end() > place else end
        yield place, past
        place = past
