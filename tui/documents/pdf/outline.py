"""From the outline's entries to headings in the text: where on its page each title stands."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tui.documents.model import Heading, Span
from tui.documents.pdf.engine import Bookmark

_NUMBERING = re.compile(r"^(?:chapter|part|section|appendix)?\s*[\dIVXLC]+(?:\.\d+)*[.:)]?\s+", re.I)
# Chinese and Japanese are set with and without spaces around figures, as `第 2 章`.
_EAST = "\u3000-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef"
_WORDS = re.compile(rf"[{_EAST}]|[^\s{_EAST}]+")


def headings(entries: Sequence[Bookmark], spans: Sequence[Span], text: str) -> tuple[Heading, ...]:
    """Headings in the order of the text. A title that is not found on its page starts where the page starts."""
    found: list[Heading] = []
    after: dict[int, int] = {}
    for entry in entries:
        span = spans[entry.page - 1]
        start = _locate(entry.title, text, after.get(entry.page, span.start), span.end)
        if start is None:
            start = after.get(entry.page, span.start)
        else:
            after[entry.page] = start
        found.append(Heading(start, entry.level, entry.title))
    return tuple(sorted(found, key=lambda heading: heading.start))


def _locate(title: str, text: str, start: int, end: int) -> int | None:
    for words in dict.fromkeys((title, _NUMBERING.sub("", title))):
        pattern = r"\s*".join(map(re.escape, _WORDS.findall(words)))
        # At the start of a line first: the same words inside a sentence are no heading.
        for form in (rf"^[ \t]*(?:[\dIVXLC.]+[ \t]+)?{pattern}", pattern):
            match = re.compile(form, re.I | re.M).search(text, start, end) if pattern else None
            if match:
                return match.start()
    return None
