"""CSV and TSV: the file's text, character for character, and where its header and its records are."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from tui.documents.clean import number_list
from tui.documents.encodings import decode
from tui.documents.model import Document, Span, Table
from tui.documents.options import ReadOptions
from tui.documents.refusal import Refusal
from tui.units import plural

_NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar"}
_SAMPLE = 200
_AGREEING = 0.5
"""Share of records that must have the same number of fields for a delimiter to be believed."""
_LONGEST_TITLE = 80
_MOST_NAMED = 20
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")
_EXCEL = re.compile(r"sep=([^\s\"]|\t)(?:\r\n|\r|\n)", re.I)
_FIGURE = re.compile(
    r"[-+(]?\s*[$€£¥]?\s*\d[\d\s.,'’]*(?:e[-+]?\d+)?\s*[%$€£¥)]?"  # amounts
    r"|\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(?:[T ].*)?"  # dates
    r"|true|false|null|none|n/?a|nan",
    re.I,
)


class Record(msgspec.Struct, frozen=True):
    """One record: the offset where it begins, its first line (1-based), its fields."""

    start: int
    line: int
    fields: list[str]


def read_delimited(data: bytes, path: str, name: str, options: ReadOptions) -> Document:
    """The file as a table, with its text unchanged. Delimiter: comma, semicolon, tab or vertical bar, found by trial.

    Raises Refusal for a binary file, an encoding that cannot be decided, or nothing but white space.
    """
    decoded = decode(data, options.encoding or None)
    text = decoded.text
    if not text.strip():
        raise Refusal("holds nothing but white space.", "Give a file with text in it.")
    begin, delimiter = _stated(text)
    delimiter = delimiter or _found(text, begin, "\t" if name.lower().endswith((".tsv", ".tab")) else ",")
    tables, warnings = _table(text, begin, delimiter)
    return Document(
        path=path,
        name=name,
        kind="table",
        text=text,
        spans=(Span("file", name, 1, 0, len(text)),),
        tables=tables,
        warnings=(*decoded.warnings, *warnings),
        encoding=decoded.encoding,
    )


def records(text: str, begin: int, delimiter: str, most: int = 0) -> Iterator[Record]:
    """The records of `text[begin:]`, at most `most` of them unless 0; blank lines are none.

    Raises csv.Error for a quoted field without an end.
    """
    csv.field_size_limit(2**31 - 1)
    starts = [begin]
    reader = csv.reader(_lines(text, begin, starts), delimiter=delimiter)
    before = start = 0
    for count, fields in enumerate(reader, 1):
        start, before = before, reader.line_num
        if fields:
            yield Record(starts[start], start + 1, fields)
        if count == most:
            return
    if before - start > 1:
        # The reader takes the end of the file for the end of a quoted field, unless it is strict.
        try:
            list(csv.reader(_lines(text, starts[start], []), delimiter=delimiter, strict=True))
        except csv.Error as error:
            if "end of data" in str(error):
                raise


def _lines(text: str, begin: int, starts: list[int]) -> Iterator[str]:
    """The lines of `text[begin:]` with their ends; where each one ends is noted in `starts`."""
    for match in _LINE.finditer(text, begin):
        starts.append(match.end())
        yield match[0]


def _stated(text: str) -> tuple[int, str]:
    """Excel's first line `sep=;`: where the records begin, and the delimiter; 0 and nothing without it."""
    match = _EXCEL.match(text)
    return (match.end(), match[1]) if match else (0, "")


def _found(text: str, begin: int, usual: str) -> str:
    """The delimiter that cuts most records into the same number of fields; empty when none does."""
    best, delimiter = (0.0, 0, False), ""
    for candidate in _NAMES:
        try:
            counts = Counter(len(record.fields) for record in records(text, begin, candidate, _SAMPLE))
        except csv.Error:
            counts = Counter(line.count(candidate) + 1 for line in text[begin:].splitlines()[:_SAMPLE] if line.strip())
        if not counts:
            continue
        width, agreeing = max(counts.items(), key=lambda item: (item[1], item[0]))
        share = agreeing / counts.total()
        if width > 1 and share >= _AGREEING and (worth := (round(share, 1), width, candidate == usual)) > best:
            best, delimiter = worth, candidate
    return delimiter


def _table(text: str, begin: int, delimiter: str) -> tuple[tuple[Table, ...], list[str]]:
    """The table with its header, and what is wrong with it."""
    if not delimiter:
        divided = any(mark in text[begin : begin + 10_000] for mark in _NAMES)
        return (), ["Its lines do not have the same columns, so it was read as plain lines."] if divided else []
    warnings = []
    try:
        rows = list(records(text, begin, delimiter))
    except csv.Error:
        warnings.append("A quotation mark has no partner, so each line was taken for a record.")
        rows = [
            Record(match.start(), line, match[0].strip("\r\n").split(delimiter))
            for line, match in enumerate(_LINE.finditer(text, begin), 1)
            if match[0].strip()
        ]
    if not rows:
        return (), []
    starts = [row.start for row in rows]
    header_end = (starts[1] if len(starts) > 1 else len(text)) if _is_header(rows[: _SAMPLE + 1]) else starts[0]
    broken = _rows_have_line_ends(text, rows)
    return (Table(starts[0], header_end, len(text), tuple(starts) if broken else ()),), warnings + _ragged(rows)


def _rows_have_line_ends(text: str, rows: Sequence[Record]) -> bool:
    return any("\n" in field or "\r" in field for row in rows for field in row.fields)


def _ragged(rows: Sequence[Record]) -> list[str]:
    usual, _ = Counter(len(row.fields) for row in rows).most_common(1)[0]
    odd = [row.line for row in rows if len(row.fields) != usual]
    if not odd:
        return []
    more = f" and {len(odd) - _MOST_NAMED:,} more" if len(odd) > _MOST_NAMED else ""
    where = f"{'line' if len(odd) == 1 else 'lines'} {number_list(odd[:_MOST_NAMED])}{more}"
    verb = "has" if len(odd) == 1 else "have"
    return [f"{plural(len(odd), 'record')} {verb} another number of fields than the usual {usual}: {where}."]


def _is_header(rows: Sequence[Record]) -> bool:
    """Whether the first record names columns: distinct short words that are no figures and do not occur below."""
    first, rest = [field.strip() for field in rows[0].fields], rows[1:]
    named = [field for field in first if field]
    # A table that was written with its row numbers has no name for the first column.
    if not rest or not named or len(named) < len(first) - 1 or len(set(named)) < len(named):
        return False
    if any(_FIGURE.fullmatch(field) or len(field) > _LONGEST_TITLE for field in named):
        return False
    columns = [[row.fields[index].strip() for row in rest if index < len(row.fields)] for index in range(len(first))]
    if any(title and title in column for title, column in zip(first, columns, strict=True)):
        return False
    return len(first) > 1 or any(_FIGURE.fullmatch(value) for value in columns[0])
