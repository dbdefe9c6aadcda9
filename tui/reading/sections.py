"""A document as a few dozen sections of about even size, cut where it is divided itself."""

from __future__ import annotations

import re

from tui.documents.model import Document
from tui.documents.places import Range

MOST = 40
"""About so many sections at most: a summary has so many statements, not hundreds."""
_LEAST_CHARACTERS, _LEAST_WIDE = 800, 250
"""Of a section. Chinese and Japanese say as much in a third of the characters."""
_WIDE = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_SAMPLE = 20_000
_PARAGRAPH = re.compile(r"\n[ \t]*\n|\n|(?<=[。！？])|(?<=[.!?]) ")


def sections(document: Document) -> list[Range]:
    """Ranges that tile the text: headings, pages and files begin new ones where that keeps them about even."""
    length = len(document.text)
    if not length:
        return []
    sample = document.text[:_SAMPLE]
    wide = len(_WIDE.findall(sample)) * 3 > len(sample)
    size = max(_LEAST_WIDE if wide else _LEAST_CHARACTERS, -(-length // MOST))
    starts = {heading.start for heading in document.headings} | {span.start for span in document.spans}
    found: list[Range] = []
    begin = 0
    for place in [*sorted(start for start in starts if 0 < start < length), length]:
        # A part that ends here is long enough, or the next one would be far too long.
        while place - begin > 2 * size:
            cut = _cut(document.text, begin + size, place)
            found.append((begin, cut))
            begin = cut
        if place - begin >= size:
            found.append((begin, place))
            begin = place
    if begin < length:
        if found and length - begin < size // 2:
            begin = found.pop()[0]
        found.append((begin, length))
    return found


def _cut(text: str, wanted: int, limit: int) -> int:
    """The first end of a paragraph, line or sentence after `wanted`, or `wanted` itself."""
    match = _PARAGRAPH.search(text, wanted, min(limit, wanted + _LEAST_CHARACTERS))
    return match.end() if match and match.end() > wanted else wanted
