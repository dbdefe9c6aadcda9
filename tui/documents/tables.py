"""Tables in Markdown, and the rows of any table: the places between which it may be cut."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable

from tui.documents.fences import fences
from tui.documents.model import Table

_CELLS = r"[ \t]*:?-+:?[ \t]*"
_RULE = re.compile(rf"\n[ \t]{{0,3}}(?=[^\n]*\|)\|?{_CELLS}(?:\|{_CELLS})*+\|?[ \t]*\r?(?=\n|\Z)")
_ROWS = re.compile(r"(?:[^\n|]*+\|[^\n]*+(?:\n|\Z))*+")
_LINE_END = re.compile(r"\r\n?|\n")


def markdown_tables(text: str) -> tuple[Table, ...]:
    """The pipe tables of a Markdown text (a line of cells, a rule, rows of cells), none from fenced code."""
    found: list[Table] = []
    code = fences(text)
    starts = [start for start, _ in code]
    for match in _RULE.finditer(text):
        above = text.rfind("\n", 0, match.start()) + 1
        header = text[above : match.start()]
        if "|" not in header or _cells(header) != _cells(match[0]) or (found and above < found[-1].end):
            continue
        fence = bisect.bisect_right(starts, above) - 1
        if fence >= 0 and above < code[fence][1]:
            continue
        body = min(match.end() + 1, len(text))
        rows = _ROWS.match(text, body)
        found.append(Table(above, body, rows.end() if rows else body))
    return tuple(found)


def _cells(row: str) -> int:
    return row.strip().strip("|").replace("\\|", "").count("|") + 1


def rows_of(text: str, table: Table) -> list[int]:
    """Starts of the table's rows after its header, in order, and the table's end."""
    if table.row_starts:
        inner: Iterable[int] = table.row_starts
    else:
        inner = (match.end() for match in _LINE_END.finditer(text, table.header_end, table.end))
    return [table.header_end, *(place for place in inner if table.header_end < place < table.end), table.end]
