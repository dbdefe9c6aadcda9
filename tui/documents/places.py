"""Where a part of a document is, in words for people and figures for programs: pages, files with lines, headings.

This is the one place that knows how a source is cited.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable, Sequence

import msgspec

from tui.documents.model import Document, Span

Range = tuple[int, int]
"""`text[start:end]` of a document."""

_LINE_END = re.compile(r"\r\n|\r|\n")
_MOST_TITLES = 3
_BY_HEADING = frozenset({"markdown", "docx", "rtf", "html", "epub", "notebook"})


class Lines(msgspec.Struct, frozen=True):
    """Lines of one file, 1-based, both included."""

    file: str
    first: int
    last: int


class Places:
    """Finds places in one document. Cheap to make; lines are counted when they are first asked for."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._heading_starts = [heading.start for heading in document.headings]
        self._line_starts: list[int] | None = None

    def pages(self, start: int, end: int) -> tuple[int, ...]:
        """Numbers of the pages that `text[start:end]` touches; empty where there are none."""
        return tuple(span.number for span in self._document.spans_in(start, end) if span.kind == "page")

    def page_range(self, ranges: Iterable[Range]) -> tuple[int, ...]:
        """Numbers of all pages that the ranges touch, in order, each once."""
        return tuple(sorted({page for start, end in ranges for page in self.pages(start, end)}))

    def lines(self, start: int, end: int) -> tuple[Lines, ...]:
        """The lines that `text[start:end]` touches, file by file. White space at both ends does not count."""
        start, end = self._bare(start, end)
        found = []
        for span in self._document.spans_in(start, end):
            first, last = max(start, span.start), min(end, span.end)
            body = self._body(span)
            if last <= body and span.end > body:
                continue  # only the line that names the file
            base = self._line(body)
            top = self._line(max(first, body)) - base + 1
            bottom = self._line(max(first, body, last - 1)) - base + 1
            found.append(Lines(span.file or span.label, top, bottom))
        return tuple(found)

    def heading(self, place: int) -> str:
        """Title of the innermost heading above `place`; empty where there is none."""
        index = bisect.bisect_right(self._heading_starts, place) - 1
        return self._document.headings[index].title if index >= 0 else ""

    def cite(self, ranges: Sequence[Range]) -> str:
        """The places as they stand in brackets: `p. 12`, `pp. 3, 12-14`, `src/a.py:10-20`, `§ Results`, `line 7`.

        Empty when the ranges are. Pages of a file in a source tree have its path in front.
        """
        if not ranges:
            return ""
        spans = [span for start, end in ranges for span in self._document.spans_in(*self._bare(start, end))]
        if any(span.kind == "page" for span in spans):
            return self._cite_pages(spans, ranges)
        if self._document.kind in _BY_HEADING:
            named = list(
                dict.fromkeys(words for start, end in ranges if (words := self._titles(*self._bare(start, end))))
            )
            if named:
                return "; ".join(named)
        return self._cite_lines(ranges)

    # How it is found

    def _bare(self, start: int, end: int) -> Range:
        return without_space(self._document.text, start, end)

    def _titles(self, start: int, end: int) -> str:
        """`§ A`, `§ A; § B` or, from four on, `§ A to § D`: the headings that a range stands under."""
        first = bisect.bisect_right(self._heading_starts, start)
        last = bisect.bisect_left(self._heading_starts, end)
        within = [heading.title for heading in self._document.headings[first:last]]
        found = list(dict.fromkeys(title for title in [self._title(start), *within] if title))
        if len(found) > _MOST_TITLES:
            return f"§ {found[0]} to § {found[-1]}"
        return "; ".join(f"§ {title}" for title in found)

    def _title(self, start: int) -> str:
        title = self.heading(start)
        if title:
            return title
        return next((span.label for span in self._document.spans_in(start, start) if span.kind == "section"), "")

    def _cite_pages(self, spans: Sequence[Span], ranges: Sequence[Range]) -> str:
        by_file: dict[str, list[int]] = {}
        for span in spans:
            if span.kind == "page":
                by_file.setdefault(span.file, []).append(span.number)
        cited = [f"{file} {page_words(pages)}".strip() for file, pages in by_file.items()]
        rest = [(start, end) for start, end in ranges if not self.pages(start, end)]
        return "; ".join([*cited, self._cite_lines(rest)] if rest else cited)

    def _cite_lines(self, ranges: Sequence[Range]) -> str:
        by_file: dict[str, list[int]] = {}
        for start, end in ranges:
            for lines in self.lines(start, end):
                by_file.setdefault(lines.file, []).extend(range(lines.first, lines.last + 1))
        if self._document.kind in ("tree", "code"):
            return "; ".join(f"{file}:{runs(numbers)}" for file, numbers in by_file.items())
        return "; ".join(
            f"{'lines' if len(set(numbers)) > 1 else 'line'} {runs(numbers)}" for numbers in by_file.values()
        )

    def _body(self, span: Span) -> int:
        """Where the file itself begins in its span: in a tree, after the line with its path."""
        if self._document.kind == "tree" and span.kind == "file":
            head = f"===== {span.label} =====\n"
            if self._document.text.startswith(head, span.start):
                return span.start + len(head)
        return span.start

    def _line(self, place: int) -> int:
        if self._line_starts is None:
            self._line_starts = [0, *(match.end() for match in _LINE_END.finditer(self._document.text))]
        return bisect.bisect_right(self._line_starts, place) - 1


def without_space(text: str, start: int, end: int) -> Range:
    """The range without white space at its ends; an empty one where there is nothing else."""
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def runs(numbers: Iterable[int]) -> str:
    """`3`, `3-5, 9`: numbers in order, neighbours joined."""
    found: list[list[int]] = []
    for number in sorted(set(numbers)):
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in found)


def page_words(numbers: Iterable[int]) -> str:
    """`p. 12`, `pp. 3, 12-14`."""
    pages = sorted(set(numbers))
    return f"{'p.' if len(pages) == 1 else 'pp.'} {runs(pages)}"
