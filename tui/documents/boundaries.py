"""Where a person would cut a text: files, headings, pages, tables, paragraphs, items, sentences, clauses, words."""

from __future__ import annotations

import bisect
import re
from collections.abc import Callable, Iterator, Sequence

from tui.documents.endings import (
    CHARACTER,
    CODE,
    FILE,
    PAGE,
    PAPER,
    PARAGRAPH,
    PDF_LINE,
    PROSE,
    RECORDS,
    SECTION,
    UNIT,
    Form,
    ends_sentence,
)
from tui.documents.graphemes import is_boundary, whole_before
from tui.documents.model import Document, Heading
from tui.documents.units import Units
from tui.documents.written import Written

__all__ = ["Boundaries", "ends_sentence"]

_SETEXT = re.compile(r"[ \t]{0,3}(?:=+|-+)[ \t]*(?=[\r\n]|\Z)")
_SPACE = re.compile(r"\s*")
_TO_LINE_END = re.compile(r"[^\n\r]*(?:\r\n?|\n)?")
# Lines that stand above a definition and belong to it.
_ABOVE_CODE = re.compile(r"[ \t]*(?://|/\*|\*|#|@|--|\[|;|%|\"\"\"|template\b)")
_FORMS: dict[str, Form] = {"code": CODE, "prose": PROSE, "paper": PAPER, "records": RECORDS}
# What a cut before a heading is worth, from the highest level down; code is also cut well at blank lines.
_HEADINGS = (0.92, 0.88, 0.85)
_DEFINITIONS = (0.85, 0.8, 0.7)
# After a table or a fenced block.
_END = 0.72


class Boundaries:
    """The places of one document where a chunk may end, and the choice among them."""

    def __init__(self, document: Document) -> None:
        self._text = document.text
        self._written = Written(document)
        files, sections, pages, torn = _span_starts(document)
        self._files = files
        code = document.kind in ("code", "tree")
        self._strong = [(files, FILE), (sections, SECTION), (pages, PAGE), (torn, PDF_LINE)]
        self._strong += _by_level(document.headings, _DEFINITIONS if code else _HEADINGS)
        self._levels: dict[int, int] = {}
        for heading in document.headings:
            self._levels[heading.start] = min(heading.level, self._levels.get(heading.start, 99))
        self._headings = sorted(self._levels)
        self._bodies = _bodies(document.text, document.headings, self._written)
        self.units = Units(document, files)
        self._strong.append((self.units.ends(), _END))

    def best(self, start: int, limit: int, end: int, fill: Callable[[int], float]) -> int:
        """Where the chunk that begins at `start` should end: in `(start, limit]`, `limit` being below `end`.

        `fill` tells how full the chunk is when it ends at a place, as a share of its budget.
        """
        form = _FORMS[self._written.at(limit - 1)]
        reach = limit
        unit = 0
        for first, last, least in self.units.around(start, limit, code=form is CODE):
            begins = fill(first)
            if begins >= least and fill(last) - begins <= 1:
                unit = reach = first
                break
        best, worth = 0, -2.0
        for place, weight in self._candidates(start, reach, form, unit):
            place, weight = self._whole(start, place, weight, fill)
            place, weight = self._before_heading(start, place, weight, fill)
            place = whole_before(self._text, place, start)
            if start < place <= reach and place < end and is_boundary(self._text, place):
                value = fill(place) + weight
                if value > worth:
                    best, worth = place, value
        if best:
            return best
        return whole_before(self._text, limit, start)

    def _candidates(self, start: int, limit: int, form: Form, unit: int) -> Iterator[tuple[int, float]]:
        if unit:
            yield unit, UNIT
        inside = start
        for places, weight in self._strong:
            index = bisect.bisect_right(places, limit) - 1
            if index >= 0 and places[index] > start:
                yield places[index], weight
        if self._files:
            # Patterns look into the last file only: an earlier one is cut where it ends.
            index = bisect.bisect_left(self._files, limit) - 1
            inside = max(start, self._files[index]) if index >= 0 else start
        if form is not CODE:
            fence = self.units.fence_at(limit)
            if fence is not None:
                yield from self._by_form(CODE, max(inside, fence[0]), limit)
                if fence[0] <= inside:
                    return
                limit = fence[0]
        yield from self._by_form(form, inside, limit)

    def _by_form(self, form: Form, start: int, limit: int) -> Iterator[tuple[int, float]]:
        for pattern, weight in form:
            place = self._last(pattern, start, limit)
            if place:
                yield place, weight
        yield limit, CHARACTER

    def _last(self, pattern: re.Pattern[str], start: int, limit: int) -> int:
        """The last place in `(start, limit]` after a match of `pattern`; 0 when there is none."""
        text = self._text
        # A few characters more than the chunk may hold, so that a look-ahead sees what comes after it.
        for window in (limit + 8, limit + 1, limit):
            match = pattern.match(text, start, window)
            if match is None:
                return 0
            if match.end() <= limit:
                return match.end()
            if text[limit : match.end()].isspace():
                return limit  # it runs into white space beyond the limit and may as well end there
        return 0

    def _whole(self, start: int, place: int, weight: float, fill: Callable[[int], float]) -> tuple[int, float]:
        """A cut inside a row of a table or inside a fenced block moves before it, if that is in the chunk."""
        fence = self.units.fence_at(place)
        if fence is not None and start < fence[0] and fill(fence[1]) - fill(fence[0]) <= 1:
            place, weight = fence[0], UNIT
        table = self.units.table_at(place)
        if table is not None:
            rows = self.units.rows(table)
            index = bisect.bisect_right(rows, place) - 1
            if index <= 0 and start < table.start:
                return table.start, UNIT
            if index >= 0 and start < rows[index]:
                return rows[index], PARAGRAPH
        return place, weight

    def _before_heading(self, start: int, place: int, weight: float, fill: Callable[[int], float]) -> tuple[int, float]:
        """A cut right after a heading moves before it, so that no heading is left at the end of a chunk."""
        index = bisect.bisect_left(self._headings, place) - 1
        while index >= 0 and start < self._headings[index] < place <= self._bodies[index]:
            if self._levels.get(place, 99) <= self._levels[self._headings[index]]:
                return place, weight  # an empty section, and the next one of its kind
            place, weight = self._headings[index], SECTION
            index -= 1
        if index >= 0 and self._headings[index] < place <= self._bodies[index]:
            # Only the heading, or only the comment above a function: worth something when it fills the chunk.
            return place, weight + (CHARACTER if fill(place) < 0.5 else 0)
        return place, weight


def _by_level(headings: Sequence[Heading], weights: Sequence[float]) -> list[tuple[list[int], float]]:
    """Starts of the headings of the highest level, of the two highest, and of all."""
    if not headings:
        return []
    levels = sorted({heading.level for heading in headings})
    found = []
    for rank, weight in enumerate(weights):
        lowest = levels[min(rank, len(levels) - 1)] if rank + 1 < len(weights) else levels[-1]
        found.append((sorted({heading.start for heading in headings if heading.level <= lowest}), weight))
        if lowest == levels[-1]:
            break
    return found


def _span_starts(document: Document) -> tuple[list[int], list[int], list[int], list[int]]:
    """Starts of files, of sections, of pages after one that ends with a sentence, of pages after one torn inside it."""
    files: list[int] = []
    sections: list[int] = []
    pages: list[int] = []
    torn: list[int] = []
    before = ""
    for index, span in enumerate(document.spans):
        owner = span.file or (span.label if span.kind == "file" else "")
        if index == 0:
            pass
        elif owner != before or span.kind == "file":
            files.append(span.start)
        elif span.kind == "section":
            sections.append(span.start)
        elif ends_sentence(document.text[max(0, span.start - 40) : span.start]):
            pages.append(span.start)
        else:
            torn.append(span.start)
        before = owner
    return files, sections, pages, torn


def _bodies(text: str, headings: Sequence[Heading], written: Written) -> list[int]:
    """For each distinct heading start, where the first thing after the heading begins."""
    found: dict[int, int] = {}
    for heading in headings:
        code = written.at(heading.start) == "code"
        place = _after_definition(text, heading) if code else _after_heading(text, heading)
        space = _SPACE.match(text, place)
        found[heading.start] = max(found.get(heading.start, 0), space.end() if space else place)
    return [found[start] for start in sorted(found)]


def _after_heading(text: str, heading: Heading) -> int:
    line = _TO_LINE_END.match(text, min(len(text), heading.start + len(heading.title)))
    place = line.end() if line else heading.start
    rule = _SETEXT.match(text, place)
    if rule:
        line = _TO_LINE_END.match(text, rule.end())
        place = line.end() if line else rule.end()
    return place


def _after_definition(text: str, heading: Heading) -> int:
    """Behind the line that defines, whatever comments and decorators stand above it."""
    place = heading.start
    for _ in range(200):
        line = _TO_LINE_END.match(text, place)
        if line is None or line.end() == place:
            break
        above = _ABOVE_CODE.match(text, place, line.end())
        place = line.end()
        if not above:
            break
    return place
