"""A book's table of contents and its list of printed pages, from the EPUB 3 navigation or the EPUB 2 NCX."""

from __future__ import annotations

import posixpath
import xml.etree.ElementTree as ET

import msgspec
from selectolax.lexbor import LexborNode

from tui.documents.clean import name_safe, title_safe
from tui.documents.epub.archive import Archive, Broken
from tui.documents.epub.package import Package
from tui.documents.epub.xml import Element, parse_xml
from tui.documents.html.encoding import decode_page
from tui.documents.html.nodes import Leave, Skip, parse, walk
from tui.documents.html.xhtml import as_html
from tui.documents.refusal import Refusal


class Entry(msgspec.Struct, frozen=True):
    """A line of the contents: the file it points into, its title, and its depth from 1."""

    name: str
    title: str
    depth: int


class Contents(msgspec.Struct, frozen=True):
    """`pages`: file and printed number of each page, in order."""

    entries: list[Entry]
    pages: list[tuple[str, str]]


class _Links:
    """Links inside nested lists, with their depth."""

    def __init__(self) -> None:
        self.found: list[tuple[str, str, int]] = []
        self._depth = 0
        self._words: list[str] | None = None

    def text(self, text: str) -> None:
        if self._words is not None:
            self._words.append(text)

    def enter(self, node: LexborNode, tag: str) -> Leave | Skip | None:
        if tag in ("ol", "ul"):
            self._depth += 1
            return self._shallower
        if tag == "a":
            href = node.attributes.get("href") or ""
            self._words = []
            return lambda: self._link_end(href)
        if tag == "img" and self._words is not None:
            self._words.append(node.attributes.get("alt") or "")
        return None

    def _shallower(self) -> None:
        self._depth -= 1

    def _link_end(self, href: str) -> None:
        title = title_safe("".join(self._words or []))
        self._words = None
        if href:
            self.found.append((href, title, max(1, self._depth)))


def read_contents(archive: Archive, package: Package) -> Contents:
    """The contents; empty when the book has none. What cannot be read is named in the package's warnings."""
    for name, reading in ((package.nav, _from_nav), (package.ncx, _from_ncx)):
        if name is None:
            continue
        try:
            contents = reading(archive, name)
        except (ET.ParseError, Broken, Refusal) as error:
            why = error.reason.rstrip(".") if isinstance(error, Refusal) else str(error)
            package.warnings.append(
                f"The table of contents {name_safe(name)} was not used: it could not be read ({why})."
            )
            continue
        if contents.entries:
            return contents
    return Contents([], [])


def _from_nav(archive: Archive, name: str) -> Contents:
    tree = parse(as_html(decode_page(archive.read(name)).text))
    folder = posixpath.dirname(name)
    entries: list[Entry] = []
    pages: list[tuple[str, str]] = []
    for nav in tree.css("nav"):
        kinds = (nav.attributes.get("epub:type") or nav.attributes.get("role") or "").lower().split()
        links = _Links()
        walk(nav, links)
        located = [(archive.find(href, folder), title, depth) for href, title, depth in links.found]
        if "page-list" in kinds or "doc-pagelist" in kinds:
            pages = [(file, title) for file, title, _ in located if file and title]
        elif ("toc" in kinds or "doc-toc" in kinds or not kinds) and not entries:
            entries = [Entry(file, title, depth) for file, title, depth in located if file and title]
    return Contents(entries, pages)


def _from_ncx(archive: Archive, name: str) -> Contents:
    root = parse_xml(archive.read(name))
    folder = posixpath.dirname(name)
    entries: list[Entry] = []
    waiting = [(point, 1) for holder in root.below("navMap") for point in holder.children("navPoint")][::-1]
    while waiting:
        point, depth = waiting.pop()
        file, title = _target(archive, folder, point)
        if file and title:
            entries.append(Entry(file, title, depth))
        waiting.extend((child, depth + 1) for child in reversed(point.children("navPoint")))
    targets = (_target(archive, folder, target) for target in root.below("pageTarget"))
    return Contents(entries, [(file, title) for file, title in targets if file and title])


def _target(archive: Archive, folder: str, point: Element) -> tuple[str | None, str]:
    title = next((label.text for label in point.children("navLabel")), "")
    source = next((content.get("src") for content in point.children("content")), "")
    return (archive.find(source, folder) if source else None), title_safe(title)
