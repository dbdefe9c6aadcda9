"""An EPUB book as a document: each file of its reading order is a section.

Headings keep their order inside a file; across the book their levels follow the table of contents: the first heading
of a chapter stands as high as the chapter does. What is read of a page, and what not, see `tui.documents.html.reader`.
Where the book tells its printed pages, a section's label names them: `Loomings (pp. 3-9)`.
"""

from __future__ import annotations

import posixpath
import re

import msgspec
from selectolax.lexbor import LexborHTMLParser

from tui.documents.clean import name_safe, title_safe, without_forbidden
from tui.documents.epub.archive import Archive, Broken
from tui.documents.epub.contents import Contents, Entry, read_contents
from tui.documents.epub.package import Item, read_package
from tui.documents.html.encoding import decode_page
from tui.documents.html.nodes import parse
from tui.documents.html.reader import not_read
from tui.documents.html.walker import Walker
from tui.documents.html.writer import Writer
from tui.documents.html.xhtml import as_html
from tui.documents.model import Document, Heading, Span
from tui.documents.refusal import Refusal
from tui.units import plural

_NAMED = 5
_PICTURE = re.compile(r"\[image: [^\]]*\]")


class _Book:
    """What is gathered while the sections are read."""

    def __init__(self, archive: Archive, contents: Contents) -> None:
        self.writer = Writer()
        self.spans: list[Span] = []
        self.pictures = 0
        """Sections that hold images only."""
        self.cover = 0
        """1 when the first section is one: nearly every book begins with a picture, which is no loss."""
        self.missing: list[str] = []
        self.broken: list[str] = []
        self.notes: list[str] = []
        self._archive = archive
        self._entries: dict[str, list[Entry]] = {}
        for entry in contents.entries:
            self._entries.setdefault(entry.name, []).append(entry)
        self._pages: dict[str, list[str]] = {}
        for file, number in contents.pages:
            self._pages.setdefault(file, []).append(number)
        self._shift = 0
        self._unseen = Walker(Writer())
        """Counts what the sections together did not show."""

    def read(self, item: Item) -> None:
        """One file of the reading order."""
        if item.name is None:
            self.missing.append(item.href)
            return
        if not item.is_text:
            if item.media_type.startswith("image/"):
                self._picture(1)
            else:
                self.broken.append(f"{item.href} ({item.media_type or 'of no known type'})")
            return
        try:
            data = self._archive.read(item.name)
        except Broken as error:
            self.broken.append(f"{item.href} ({error})")
            return
        try:
            decoded = decode_page(data)
        except Refusal as refusal:
            self.broken.append(f"{item.href} (it {refusal.reason.rstrip('.')})")
            return
        self.notes.extend(f"{name_safe(item.href)}: {note}" for note in decoded.warnings)
        self._section(item.name, parse(as_html(decoded.text)))

    def _picture(self, images: int) -> None:
        self.cover += images > 0 and not self.spans and not self.pictures
        self.pictures += images > 0

    def _section(self, name: str, tree: LexborHTMLParser) -> None:
        entries = self._entries.get(name, [])
        first = tree.css_first("body h1, body h2, body h3, body h4, body h5, body h6")
        if entries and first is not None and first.tag:
            self._shift = entries[0].depth - int(first.tag[1])
        start = self.writer.break_here()
        before = len(self.writer.headings)
        walker = Walker(self.writer, self._shift)
        root = tree.body or tree.root
        if root is not None:
            walker.walk(root)
        self._unseen.hidden += walker.hidden
        self._unseen.frames += walker.frames
        written = self.writer.since(start)
        if not _without_pictures(written):
            self._picture(walker.images)
        if not written:
            return
        headings = self.writer.headings[before:]
        if entries and not headings:
            # The chapter's name is a picture or an ordinary paragraph; the contents know it.
            self.writer.headings.append(Heading(start, min(6, entries[0].depth), entries[0].title))
        label = self._label(name, entries, headings)
        self.spans.append(Span("section", label, len(self.spans) + 1, start, self.writer.length))

    def _label(self, name: str, entries: list[Entry], headings: list[Heading]) -> str:
        title = entries[0].title if entries else headings[0].title if headings else name_safe(posixpath.basename(name))
        pages = self._pages.get(name, [])
        if not pages:
            return title
        return f"{title} ({f'p. {pages[0]}' if len(pages) == 1 else f'pp. {pages[0]}-{pages[-1]}'})"

    def warnings(self) -> list[str]:
        """What of the book was not read."""
        found = []
        if self.missing:
            found.append(
                f"{plural(len(self.missing), 'section')} that the book lists "
                f"{'is' if len(self.missing) == 1 else 'are'} not in it: {_names(self.missing)}."
            )
        if self.broken:
            found.append(f"{plural(len(self.broken), 'section')} could not be read: {_names(self.broken)}.")
        images = self.pictures - self.cover
        if images:
            found.append(
                f"{plural(images, 'section')} {'holds' if images == 1 else 'hold'} images only and "
                f"{'was' if images == 1 else 'were'} not read."
            )
        return [*found, *not_read(self._unseen), *self.notes]


def read_epub(data: bytes, path: str, name: str) -> Document:
    """The book's text in reading order, with its sections, headings and tables.

    Raises Refusal for a damaged, locked or bomb-like archive and for a book without text. A missing or damaged section
    is named in the warnings.
    """
    archive = Archive(data)
    package = read_package(archive)
    book = _Book(archive, read_contents(archive, package))
    for item in package.spine:
        book.read(item)
    text = without_forbidden(book.writer.text)[0]
    warnings = [*package.warnings, *book.warnings()]
    if not _without_pictures(text):
        raise _nothing(book, warnings)
    return Document(
        path=path,
        name=name,
        kind="epub",
        text=text,
        spans=_tiling(book.spans, len(text)),
        headings=tuple(book.writer.headings),
        tables=tuple(book.writer.tables),
        warnings=tuple(title_safe(warning) for warning in warnings),
    )


def _tiling(spans: list[Span], length: int) -> tuple[Span, ...]:
    """Each section up to the next one, so that the blank line between them belongs to the first."""
    ends = [*(span.start for span in spans[1:]), length]
    return tuple(msgspec.structs.replace(span, end=end) for span, end in zip(spans, ends, strict=True))


def _without_pictures(text: str) -> str:
    """The text without what only says that there is a picture."""
    return _PICTURE.sub("", text).strip()


def _nothing(book: _Book, warnings: list[str]) -> Refusal:
    if book.pictures:
        return Refusal(
            f"is a book of images: {plural(book.pictures, 'section')} and no text.",
            "Convert it to PDF and read that with --ocr.",
        )
    return Refusal(
        f"is a book without text. {warnings[0]}" if warnings else "is a book without text.",
        "Get the book anew, or open it in Calibre and save it again.",
    )


def _names(names: list[str]) -> str:
    shown = ", ".join(name_safe(name) for name in names[:_NAMED])
    return shown if len(names) <= _NAMED else f"{shown} and {len(names) - _NAMED:,} more"
