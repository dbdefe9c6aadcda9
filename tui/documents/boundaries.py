"""Where a person would cut a text: files, headings, pages, paragraphs, sentences, lines, clauses, words."""

from __future__ import annotations

import bisect
import re
from collections.abc import Callable, Iterator, Sequence

from tui.documents.graphemes import whole_before
from tui.documents.model import Document, Heading

# A cut is worth the share of the budget that the chunk fills plus this: so a sentence's end wins over a word's unless
# the chunk would be less than 0.35 full, and a paragraph's over a sentence's that fills it 0.1 more.
_FILE, _HEADING, _PAGE, _PARAGRAPH = 0.95, 0.85, 0.75, 0.75
_SENTENCE, _BLOCK, _CODE_LINE, _LINE, _CLAUSE, _WORD = 0.65, 0.55, 0.45, 0.25, 0.15, 0.0
# A line of a PDF ends where the paper ended, mostly inside a sentence.
_PDF_LINE = 0.1
_CHARACTER = -0.5

# One mark and few brackets: the last mark of a row is what ends the sentence, and long rows stay cheap.
_END = r"[.!?…][)\]}\"'’”»]{0,3}+"
_ABBREVIATIONS = (
    "[A-Z]", r"\d", r"\d\d", "Mr", "Ms", "Mrs", "Dr", "St", "vs", "cf", "pp", "No", "al", "ca", "Eq", "Eqs", "Fig",
    "Figs", "Sec", "Sect", "Ch", "Chap", "Vol", "Prof", "Jr", "Sr", r"e\.g", r"i\.e",
)  # fmt: skip
_NOT_ABBREVIATED = "".join(rf"(?<!\b{short}\.)" for short in _ABBREVIATIONS)
_WIDE_END = r"[。！？｡‼⁇⁈⁉।॥؟۔።။៕།][」』）】〉》〕”’\"')\]]{0,3}"
_NEWLINE = r"(?:\r\n|\r(?!\n)|[\n\v\f\x85\u2028\u2029])"
# Scripts that are written without spaces; a line may not begin with what is in the second class.
_WIDE = r"\u2e80-\u303f\u3040-\u30ff\u3100-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff"
_CLOSING = r"、。，．！？；：」』）】〉》〕”’…ーっゃゅょッャュョ々"


def _last(pattern: str) -> re.Pattern[str]:
    """A pattern that finds the last place in a range: the greedy head runs to its end and comes back."""
    return re.compile(rf"(?s:.*)(?:{pattern})")


_LAST_PARAGRAPH = _last(rf"{_NEWLINE}(?:[ \t\u3000]*{_NEWLINE})+")
# In code a blank line before a line that is not indented ends a function or a class.
_LAST_TOP_LEVEL = _last(rf"{_NEWLINE}(?:[ \t]*{_NEWLINE})+(?=[^\s)\]}}])")
_LAST_SENTENCE = _last(rf"{_END}(?:{_NOT_ABBREVIATED})\s++(?![a-z])|{_WIDE_END}\s*")
_LAST_LINE = _last(_NEWLINE)
_LAST_CLAUSE = _last(r"[,;:–—]\s+|[，、；：·]")
_LAST_WORD = _last(rf"\s|(?<=[{_WIDE}])(?![{_CLOSING}])|(?=[{_WIDE}])(?![{_CLOSING}])")

_SENTENCE_ENDS = re.compile(rf"(?:{_END}|{_WIDE_END}|[:：])\s*\Z")
_SETEXT = re.compile(r"[ \t]{0,3}(?:=+|-+)[ \t]*(?=[\r\n]|\Z)")
_SPACE = re.compile(r"\s*")
_TO_LINE_END = re.compile(rf"[^\n\r]*(?:{_NEWLINE})?")

_CODE = ((_LAST_TOP_LEVEL, _PARAGRAPH), (_LAST_PARAGRAPH, _BLOCK), (_LAST_LINE, _CODE_LINE), (_LAST_WORD, _WORD))


def _prose(line: float) -> tuple[tuple[re.Pattern[str], float], ...]:
    return (
        (_LAST_PARAGRAPH, _PARAGRAPH),
        (_LAST_SENTENCE, _SENTENCE),
        (_LAST_LINE, line),
        (_LAST_CLAUSE, _CLAUSE),
        (_LAST_WORD, _WORD),
    )


_FORMS = {
    "code": _CODE,
    "tree": _CODE,
    "pdf": _prose(_PDF_LINE),
    "text": _prose(_LINE),
    "markdown": _prose(_LINE),
    "docx": _prose(_LINE),
    "rtf": _prose(_LINE),
    "html": _prose(_LINE),
    "epub": _prose(_LINE),
    "table": _prose(_LINE),
    "notebook": _CODE,
}


def ends_sentence(text: str) -> bool:
    """Whether `text` stops at the end of a sentence, or after a colon."""
    return _SENTENCE_ENDS.search(text) is not None


class Boundaries:
    """The places of one document where a chunk may end, and the choice among them."""

    def __init__(self, document: Document) -> None:
        self._text = document.text
        self._forms = _FORMS[document.kind]
        self._headings = sorted({heading.start for heading in document.headings})
        files, pages, torn = _span_starts(document)
        self._strong = ((self._headings, _HEADING), (files, _FILE), (pages, _PAGE), (torn, _PDF_LINE))
        self._bodies = _bodies(document.text, document.headings)

    def best(self, start: int, limit: int, end: int, fill: Callable[[int], float]) -> int:
        """Where the chunk that begins at `start` should end: in `(start, limit]`, `limit` being below `end`.

        `fill` tells how full the chunk is when it ends at a place, as a share of its budget.
        """
        best, worth = 0, -2.0
        for place, weight in self._candidates(start, limit):
            place, weight = self._before_heading(start, place, weight)
            if start < place <= limit and place < end:
                value = fill(place) + weight
                if value > worth:
                    best, worth = place, value
        if best:
            return best
        return whole_before(self._text, limit, start)

    def _candidates(self, start: int, limit: int) -> Iterator[tuple[int, float]]:
        for places, weight in self._strong:
            index = bisect.bisect_right(places, limit) - 1
            if index >= 0 and places[index] > start:
                yield places[index], weight
        for pattern, weight in self._forms:
            place = self._last(pattern, start, limit)
            if place:
                yield whole_before(self._text, place, start), weight
        yield whole_before(self._text, limit, start), _CHARACTER

    def _last(self, pattern: re.Pattern[str], start: int, limit: int) -> int:
        """The last place in `(start, limit]` after a match of `pattern`; 0 when there is none."""
        text = self._text
        # Two characters more than the chunk may hold, so that a look-ahead sees what comes after it.
        match = pattern.match(text, start, min(len(text), limit + 2))
        if match and match.end() > limit:
            # A match that runs into white space beyond the limit may end at the limit; any other is out of reach.
            if text[limit - 1].isspace() or text[limit].isspace():
                return limit
            match = pattern.match(text, start, limit)
        return match.end() if match else 0

    def _before_heading(self, start: int, place: int, weight: float) -> tuple[int, float]:
        """A cut right after a heading moves before it, so that no heading is left at the end of a chunk."""
        index = bisect.bisect_left(self._headings, place) - 1
        while index >= 0 and start < self._headings[index] < place <= self._bodies[index]:
            place, weight = self._headings[index], _HEADING
            index -= 1
        if index >= 0 and self._headings[index] < place <= self._bodies[index]:
            return place, _CHARACTER
        return place, weight


def _span_starts(document: Document) -> tuple[list[int], list[int], list[int]]:
    """Starts of files, of pages after one that ends with a sentence, and of pages after one that stops inside it."""
    files: list[int] = []
    pages: list[int] = []
    torn: list[int] = []
    for span in document.spans[1:]:
        if span.kind == "file":
            files.append(span.start)
        elif ends_sentence(document.text[max(0, span.start - 40) : span.start]):
            pages.append(span.start)
        else:
            torn.append(span.start)
    return files, pages, torn


def _bodies(text: str, headings: Sequence[Heading]) -> list[int]:
    """For each distinct heading start, where the first thing after the heading begins."""
    found: dict[int, int] = {}
    for heading in headings:
        line = _TO_LINE_END.match(text, min(len(text), heading.start + len(heading.title)))
        place = line.end() if line else heading.start
        rule = _SETEXT.match(text, place)
        if rule:
            line = _TO_LINE_END.match(text, rule.end())
            place = line.end() if line else rule.end()
        space = _SPACE.match(text, place)
        found[heading.start] = max(found.get(heading.start, 0), space.end() if space else place)
    return [found[start] for start in sorted(found)]
