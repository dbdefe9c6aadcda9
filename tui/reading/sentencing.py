"""Sentences with their places: in a document, to say what bears a statement out; in a summary, to give each its place.

A line end inside a paragraph is no end of a sentence: texts of PDFs are wrapped where the paper was.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tui.documents.places import Range, without_space

_ABBREVIATED = (
    r"[A-Z]", "Mr", "Ms", "Mrs", "Dr", "St", "vs", "cf", "p", "pp", "pg", "No", "al", "ca", "Eq", "Fig", "Sec", "Vol",
    "Prof", "Jr", "Sr", r"e\.g", r"i\.e", "approx", "Nr", "bzw", r"z\.B", "etc",
)  # fmt: skip
_NOT_ABBREVIATED = "".join(rf"(?<!\b{short}\.)" for short in _ABBREVIATED)
_CLOSING = r"[\"'”’)\]»*_]{0,4}"
_END = re.compile(
    rf"[.!?…](?<!\.\.){_NOT_ABBREVIATED}{_CLOSING}(?=\s+(?![a-z(\[])|\s*\Z)|[。！？]+[”’」』）]{{0,3}}",
)
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
_STARTS_ANEW = re.compile(r"\s*(?:#{1,6}\s|[-*•·–]\s|\(?\d{1,3}[.):]\s|\||>|```|=====)")
_SHORT_LINE = 40
"""Characters: a shorter line mostly ends because what it says does."""
_LONGEST = 900
"""Characters: what has no end for so long, such as a table without marks, is cut at its lines."""


def sentence_ranges(text: str, start: int = 0, end: int | None = None) -> list[Range]:
    """The sentences of `text[start:end]`, in order, without white space around them; rows and headings are some."""
    found: list[Range] = []
    for first, last in _blocks(text, start, len(text) if end is None else end):
        place = first
        for match in _END.finditer(text, first, last):
            _add(found, text, place, match.end())
            place = match.end()
        _add(found, text, place, last)
    return found


def _blocks(text: str, start: int, end: int) -> Iterator[Range]:
    """Paragraphs, list items and rows."""
    first = place = start
    length = 0
    while place < end:
        match = _LINE.match(text, place, end)
        stop = match.end() if match else end
        line = text[place:stop]
        bare = line.strip()
        if (
            not bare
            or (place > first and (_STARTS_ANEW.match(line) or length < _SHORT_LINE))
            or stop - first > _LONGEST
        ):
            if place > first:
                yield first, place
            first = place
        length = len(bare)
        if stop == place:
            break
        place = stop
    if end > first:
        yield first, end


def _add(found: list[Range], text: str, start: int, end: int) -> None:
    start, end = without_space(text, start, end)
    if end > start:
        found.append((start, end))


def merged(ranges: Sequence[Range], gap: int = 1) -> tuple[Range, ...]:
    """Ranges in order, those that touch (up to `gap` characters apart) joined."""
    joined: list[Range] = []
    for start, end in sorted(ranges):
        if joined and start <= joined[-1][1] + gap:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return tuple(joined)
