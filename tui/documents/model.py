"""A document as the rest of the program sees it: one text, and spans that say where each part came from."""

from __future__ import annotations

import bisect
from typing import Literal

import msgspec

from tui.documents.clean import pages as page_list

SpanKind = Literal["page", "file", "section"]
DocumentKind = Literal["pdf", "text", "markdown", "code", "tree", "docx", "rtf", "html", "epub", "table", "notebook"]


class Span(msgspec.Struct, frozen=True):
    """A page, a file or a book's section: `text[start:end]`. Spans tile the document's text from 0 to its length."""

    kind: SpanKind
    label: str
    """Printed page label (`xii`, `12`), path relative to the source tree, or the section's title."""
    number: int
    """1-based: page number in its file, or index of the file or section."""
    start: int
    end: int
    file: str = ""
    """For a page or section inside a source tree: the path of its file."""


def _start(span: Span) -> int:
    return span.start


class Heading(msgspec.Struct, frozen=True):
    """A heading at offset `start`; `level` 1 is the highest."""

    start: int
    level: int
    title: str


class Table(msgspec.Struct, frozen=True):
    """A table: rows are the lines of `text[start:end]`; the header with its rule is `text[start:header_end]`."""

    start: int
    header_end: int
    """Equal to `start` for a table without a header."""
    end: int
    row_starts: tuple[int, ...] = ()
    """Where each row begins, when some row has line ends inside it (a quoted field of a CSV file); else empty."""


class PageNote(msgspec.Struct, frozen=True):
    """A warning about pages, kept beside its sentence so that it can be said of some of them only."""

    pages: tuple[int, ...]
    """Numbers in the file, at least one."""
    one: str
    """The sentence for one page, with `{}` where it is named."""
    many: str
    """The same for several."""

    def sentence(self) -> str:
        """As it stands among the document's warnings."""
        where, one = page_list(self.pages)
        # Not str.format: what a reader said may hold braces.
        words = (self.one if one else self.many).replace("{}", where, 1)
        return words[:1].upper() + words[1:]


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """A document that was read. `text` is well-formed Unicode (no lone surrogates, no NUL, no U+FFFE)."""

    path: str
    """As the user named it."""
    name: str
    """File or folder name, for people."""
    kind: DocumentKind
    text: str
    spans: tuple[Span, ...]
    headings: tuple[Heading, ...] = ()
    """In order. For source code: functions and classes."""
    tables: tuple[Table, ...] = ()
    """In order, not overlapping."""
    warnings: tuple[str, ...] = ()
    """What was not read and why, one sentence each; shown to the user, never swallowed."""
    page_notes: tuple[PageNote, ...] = ()
    """Those of the warnings that are about some pages, in parts."""
    hurried: bool = False
    """Whether something was left out for want of time, so that another reading may give more."""
    sha256: str = ""
    """Of the file's bytes (of the names and contents for a tree)."""
    encoding: str = ""
    """Of a text file: what was decided."""

    @property
    def pages(self) -> int:
        """Number of pages; 0 for a document without pages."""
        return sum(1 for span in self.spans if span.kind == "page")

    def spans_in(self, start: int, end: int) -> tuple[Span, ...]:
        """The spans that `text[start:end]` touches; an empty range touches the span it lies in."""
        if not self.spans:
            return ()
        first = max(0, bisect.bisect_right(self.spans, start, key=_start) - 1)
        last = max(first + 1, bisect.bisect_left(self.spans, end, key=_start))
        return self.spans[first:last]


class Chunk(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of a document: `text == document.text[start:end]`; chunks tile the text."""

    index: int
    start: int
    end: int
    text: str
    tokens: int
    """Exact, by the counter that was given."""
    pages: tuple[int, int] | None
    """First and last page number touched; None without pages."""
    files: tuple[str, ...] = ()
    """Labels of the files touched, for a tree."""
    heading: str = ""
    """Heading path at the chunk's start, ` › ` between levels."""
    lines: tuple[int, int] | None = None
    """First and last line, 1-based, in the file where the chunk starts and ends; None for a document with pages."""
    context: str = ""
    """What a reader of this chunk alone needs to know and the text does not hold: the header of a table that began
    earlier. Not part of `text`; `tokens` counts the two together."""
