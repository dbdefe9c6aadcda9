"""Citations for programs: where ranges of a document are, file by file."""

from __future__ import annotations

import os
from collections.abc import Sequence

from tui.documents.model import Document
from tui.documents.places import Places, Range
from tui.reading.results import Citation


def citations(document: Document, places: Places, ranges: Sequence[Range]) -> tuple[Citation, ...]:
    """One for each file with its pages; where there are no pages, one for each range of lines."""
    paged: dict[str, set[int]] = {}
    found: list[Citation] = []
    for start, end in ranges:
        pages = [span for span in document.spans_in(start, end) if span.kind == "page"]
        for span in pages:
            paged.setdefault(span.file, set()).add(span.number)
        if pages:
            continue
        for lines in places.lines(start, end):
            inside = lines.file if document.kind == "tree" else ""
            citation = Citation(
                path=_inside(document.path, inside),
                lines=(lines.first, lines.last),
                heading=places.heading(start),
            )
            if citation not in found:
                found.append(citation)
    by_page = [Citation(path=_inside(document.path, file), pages=tuple(sorted(on))) for file, on in paged.items()]
    return (*by_page, *found)


def _inside(path: str, file: str) -> str:
    return os.path.join(path, file) if file else path
