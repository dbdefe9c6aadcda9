"""Chunks with what each must know of its place: pages, files, lines, headings."""

from __future__ import annotations

import bisect
import re
from collections.abc import Callable, Sequence

from tui.documents.model import Chunk, Document, Heading, Span
from tui.documents.places import Places
from tui.documents.written import Written

# Such a line may stand left of the definition it still belongs to.
_STILL_INSIDE = re.compile(r"[ \t]*(?:[)\]}#]|\w+:\s*$|\S*\"\"\")")


def described(document: Document, ranges: Sequence[tuple[int, int, int]], context: Callable[[int], str]) -> list[Chunk]:
    """The chunks of `(start, end, tokens)`, in order."""
    places = Places(document)
    outline = _Outline(document)
    chunks = []
    for index, (start, end, tokens) in enumerate(ranges):
        spans = document.spans_in(start, end)
        paged = [span for span in spans if span.kind == "page"]
        lines = () if paged else places.lines(start, end)
        chunks.append(
            Chunk(
                index=index,
                start=start,
                end=end,
                text=document.text[start:end],
                tokens=tokens,
                pages=_pages(paged),
                files=tuple(dict.fromkeys(span.file or span.label for span in spans))
                if document.kind == "tree"
                else (),
                heading=outline.path(start, end),
                lines=(lines[0].first, lines[-1].last) if lines else None,
                context=context(start),
            )
        )
    return chunks


def _pages(spans: Sequence[Span]) -> tuple[int, int] | None:
    """First and last page; None where pages of several files are touched, which no two numbers can name."""
    if not spans or any(span.file != spans[0].file for span in spans):
        return None
    return spans[0].number, spans[-1].number


class _Outline:
    """The heading path at each place of a document."""

    def __init__(self, document: Document) -> None:
        self._text = document.text
        self._written = Written(document)
        owners = [span.file or span.label for span in document.spans] if document.kind == "tree" else []
        self._file_starts = [
            span.start
            for before, owner, span in zip(["", *owners], owners, document.spans, strict=False)
            if before != owner
        ]
        self._tops = frozenset(self._file_starts)
        self._starts, self._paths = _heading_paths(document.headings)

    def path(self, start: int, end: int) -> str:
        """Titles from the highest level down, ` › ` between them."""
        text = self._text
        # White space before a heading does not belong to the section before it.
        while start < end - 1 and text[start].isspace():
            start += 1
        at = bisect.bisect_right(self._starts, start) - 1
        if at < 0:
            return ""
        path = self._paths[at]
        if self._file_starts:
            floor = self._file_starts[max(0, bisect.bisect_right(self._file_starts, start) - 1)]
            path = tuple(heading for heading in path if heading.start >= floor)
        if self._written.at(start) == "code":
            path = self._holding(path, start)
        return " › ".join(heading.title for heading in path if heading.title)

    def _holding(self, path: tuple[Heading, ...], place: int) -> tuple[Heading, ...]:
        """Without the definitions that have ended before `place`: by indentation, as their levels were found."""
        line = self._text.rfind("\n", max(0, place - 1000), place) + 1
        if path and place > path[-1].start and not _STILL_INSIDE.match(self._text, line, line + 200):
            here = self._indentation(line)
            while path and self._ends(path[-1], line, here):
                path = path[:-1]
        return path

    def _ends(self, heading: Heading, line: int, width: int) -> bool:
        """Whether what `heading` names has ended before `line`, which is indented by `width`. A file has not."""
        return heading.start < line and heading.start not in self._tops and self._indentation(heading.start) >= width

    def _indentation(self, line: int) -> int:
        text = self._text
        width = 0
        while width < 200 and text[line : line + 1] in (" ", "\t"):
            width += 4 - width % 4 if text[line] == "\t" else 1
            line += 1
        return width


def _heading_paths(headings: Sequence[Heading]) -> tuple[list[int], list[tuple[Heading, ...]]]:
    """For each heading its start, and the headings that hold it, itself the last."""
    above: list[Heading] = []
    paths = []
    ordered = sorted(headings, key=lambda heading: heading.start)
    for heading in ordered:
        while above and above[-1].level >= heading.level:
            above.pop()
        above.append(heading)
        paths.append(tuple(above))
    return [heading.start for heading in ordered], paths
