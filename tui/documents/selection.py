"""Part of a document: the pages that the user named."""

from __future__ import annotations

import re
from collections.abc import Container

import msgspec

from tui.documents.model import Document, Heading, PageNote, Span, Table
from tui.documents.places import runs
from tui.errors import UsageProblem

_PART = re.compile(r"(\d{1,7})(?:\s*-\s*(\d{1,7})?)?")
_REMEDY = "Name pages such as 5-10,14 or 20-."


def parse_pages(wanted: str) -> tuple[tuple[int, int | None], ...]:
    """`5-10,14,20-` as ranges of page numbers, the last one open. Raises UsageProblem."""
    found: list[tuple[int, int | None]] = []
    for part in wanted.replace("，", ",").replace("–", "-").split(","):
        match = _PART.fullmatch(part.strip())
        if match is None:
            raise UsageProblem(f"--pages {wanted!r}: {part.strip()!r} is no page or range of pages.", _REMEDY)
        first = int(match[1])
        last = int(match[2]) if match[2] else (None if "-" in part else first)
        if first < 1 or (last is not None and last < first):
            raise UsageProblem(f"--pages {wanted!r}: {part.strip()!r} is an empty range.", _REMEDY)
        found.append((first, last))
    return tuple(found)


def select_pages(document: Document, wanted: str) -> Document:
    """The document with only those of its pages, by their numbers in the file, which the spans keep.

    Raises UsageProblem when it has no pages, or when a named page does not exist.
    """
    ranges = parse_pages(wanted)
    pages = [span for span in document.spans if span.kind == "page" and not span.file]
    if not pages:
        raise UsageProblem(f"{document.path} has no pages, so --pages cannot choose among them.", "Leave --pages out.")
    most = pages[-1].number
    beyond = [number for first, last in ranges for number in (first, last or first) if number > most]
    if beyond:
        raise UsageProblem(
            f"--pages {wanted!r}: {document.path} has {most:,} pages, so there is no page {min(beyond):,}.", _REMEDY
        )
    kept = [span for span in pages if any(first <= span.number <= (last or most) for first, last in ranges)]
    if len(kept) == len(document.spans):
        return document
    numbers = runs(span.number for span in kept)
    which = f"page {numbers} of {most:,} was" if len(kept) == 1 else f"pages {numbers} of {most:,} were"
    return _only(document, kept, f"Only {which} taken, as asked.")


def _only(document: Document, kept: list[Span], warning: str) -> Document:
    parts: list[str] = []
    spans: list[Span] = []
    headings: list[Heading] = []
    tables: list[Table] = []
    at = 0
    for span in kept:
        shift = at - span.start
        spans.append(msgspec.structs.replace(span, start=at, end=span.end + shift))
        parts.append(document.text[span.start : span.end])
        headings += [
            msgspec.structs.replace(heading, start=heading.start + shift)
            for heading in document.headings
            if span.start <= heading.start < span.end
        ]
        tables += [
            Table(table.start + shift, table.header_end + shift, table.end + shift)
            for table in document.tables
            if span.start <= table.start and table.end <= span.end
        ]
        at = spans[-1].end
    numbers = {span.number for span in kept}
    said = {note.sentence(): _of_pages(note, numbers) for note in document.page_notes}
    notes = tuple(note for note in said.values() if note is not None)
    warnings = []
    for words in document.warnings:
        if words not in said:
            warnings.append(words)
        elif (note := said[words]) is not None:
            warnings.append(note.sentence())
    return msgspec.structs.replace(
        document,
        text="".join(parts),
        spans=tuple(spans),
        headings=tuple(headings),
        tables=tuple(tables),
        warnings=(*warnings, warning),
        page_notes=notes,
    )


def _of_pages(note: PageNote, numbers: Container[int]) -> PageNote | None:
    """The note about those of its pages that were chosen; None when it is about none of them."""
    pages = tuple(page for page in note.pages if page in numbers)
    return msgspec.structs.replace(note, pages=pages) if pages else None
