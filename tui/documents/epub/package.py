"""A book's package file: which files are its text, in which order, and whether they may be read."""

from __future__ import annotations

import posixpath
import xml.etree.ElementTree as ET

import msgspec

from tui.documents.clean import name_safe
from tui.documents.epub.archive import Archive, Broken
from tui.documents.epub.xml import Element, parse_xml
from tui.documents.refusal import Refusal
from tui.units import plural

_TEXT_TYPES = frozenset(
    {"application/xhtml+xml", "text/html", "application/x-dtbook+xml", "text/x-oeb1-document", "image/svg+xml"}
)
_TEXT_SUFFIXES = (".xhtml", ".html", ".htm", ".xht")
# Fonts may be scrambled against copying; the text is not.
_FONT_ALGORITHMS = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
_DRM = (
    ("META-INF/license.lcpl", "Readium LCP"),
    ("META-INF/rights.xml", "Adobe DRM"),
    ("META-INF/sinf.xml", "Apple FairPlay"),
)
_REMEDY = "Get the book anew, or mend it in Calibre."
_NAMED = 5


class Item(msgspec.Struct, frozen=True):
    """A file of the manifest. `name` is its place in the zip, None when it is not there."""

    href: str
    name: str | None
    media_type: str
    properties: tuple[str, ...]
    fallback: str

    @property
    def is_text(self) -> bool:
        """Whether it is a page that can be read."""
        return self.media_type in _TEXT_TYPES or self.href.split("#")[0].lower().endswith(_TEXT_SUFFIXES)


class Package(msgspec.Struct, frozen=True):
    """What a book says of itself."""

    title: str
    spine: list[Item]
    """The reading order, each file once; what is set aside (`linear="no"`) comes last."""
    nav: str | None
    """File of the EPUB 3 navigation."""
    ncx: str | None
    """File of the EPUB 2 table of contents."""
    warnings: list[str]


def read_package(archive: Archive) -> Package:
    """The package that `META-INF/container.xml` names, or the only one there is.

    Raises Refusal for a book without one, a damaged one, or one whose text is encrypted.
    """
    place = _package_file(archive)
    try:
        root = parse_xml(archive.read(place))
    except (ET.ParseError, Broken) as error:
        raise Refusal(f"has a damaged package file ({name_safe(place)}: {error}).", _REMEDY) from error
    folder = posixpath.dirname(place)
    warnings: list[str] = []
    by_id: dict[str, list[Item]] = {}
    manifest = [_item(archive, folder, element) for element in _all(root, "manifest", "item")]
    for identifier, item in manifest:
        by_id.setdefault(identifier, []).append(item)
    spine = _spine(root, by_id, [item for _, item in manifest], warnings)
    _refuse_encrypted(archive, {item.name for item in spine if item.name} | {place})
    nav = next((item.name for _, item in manifest if "nav" in item.properties), None)
    _name_unread([item for _, item in manifest], spine, nav, warnings)
    return Package(
        title=next((element.text for element in root.below("title") if element.text), ""),
        spine=spine,
        nav=nav,
        ncx=_ncx(root, by_id, [item for _, item in manifest]),
        warnings=warnings,
    )


def _package_file(archive: Archive) -> str:
    candidates = [name for name in archive.names() if name.lower().endswith(".opf")]
    container = archive.find("META-INF/container.xml")
    if container is not None:
        try:
            root = parse_xml(archive.read(container))
        except (ET.ParseError, Broken):
            root = None
        for file in root.below("rootfile") if root else []:
            found = archive.find(file.get("full-path"))
            if found:
                return found
    if not candidates:
        raise Refusal("is an EPUB book without a package file.", _REMEDY)
    return min(candidates, key=len)


def _all(root: Element, parent: str, child: str) -> list[Element]:
    return [element for holder in root.below(parent) for element in holder.children(child)]


def _item(archive: Archive, folder: str, element: Element) -> tuple[str, Item]:
    href = element.get("href")
    return element.get("id"), Item(
        href=href,
        name=archive.find(href, folder) if href else None,
        media_type=element.get("media-type").lower(),
        properties=tuple(element.get("properties").split()),
        fallback=element.get("fallback"),
    )


def _spine(root: Element, by_id: dict[str, list[Item]], manifest: list[Item], warnings: list[str]) -> list[Item]:
    first: list[Item] = []
    aside: list[Item] = []
    taken: dict[str, int] = {}
    unknown: list[str] = []
    for reference in _all(root, "spine", "itemref"):
        identifier = reference.get("idref")
        # Where two files have one id, the first mention means the first of them.
        index = taken[identifier] = taken.get(identifier, -1) + 1
        items = by_id.get(identifier, [])
        if index >= max(1, len(items)):
            continue
        if not items:
            unknown.append(identifier)
            continue
        readable = _readable(items[index], by_id)
        (aside if reference.get("linear").lower() == "no" else first).append(readable)
    if unknown:
        warnings.append(
            f"The reading order names {plural(len(unknown), 'section')} that the book does not list: {_names(unknown)}."
        )
    found = list({item.href: item for item in reversed([*first, *aside])}.values())[::-1]
    if not any(item.name for item in found):
        found = [item for item in manifest if item.is_text and item.name and "nav" not in item.properties]
        if found:
            warnings.append("The book has no reading order; its pages were read in the order in which it lists them.")
    return found


def _readable(item: Item, by_id: dict[str, list[Item]]) -> Item:
    """The item, or what the book offers for readers that cannot show it."""
    seen = {item.href}
    here = item
    while not here.is_text and here.fallback in by_id:
        here = by_id[here.fallback][0]
        if here.href in seen:
            return item
        seen.add(here.href)
    return here if here.is_text else item


def _ncx(root: Element, by_id: dict[str, list[Item]], manifest: list[Item]) -> str | None:
    named = next((spine.get("toc") for spine in root.below("spine") if spine.get("toc")), "")
    typed = (item for item in manifest if item.media_type == "application/x-dtbncx+xml")
    return next((item.name for item in [*by_id.get(named, []), *typed] if item.name), None)


def _name_unread(manifest: list[Item], spine: list[Item], nav: str | None, warnings: list[str]) -> None:
    read = {item.name for item in spine}
    for_reading = (item for item in manifest if item.is_text and item.media_type != "image/svg+xml")
    left = [item.href for item in for_reading if item.name and item.name not in read and item.name != nav]
    if left:
        one = len(left) == 1
        warnings.append(
            f"{plural(len(left), 'page')} {'is' if one else 'are'} not in the reading order and "
            f"{'was' if one else 'were'} not read: {_names(left)}."
        )


def _refuse_encrypted(archive: Archive, needed: set[str]) -> None:
    """A book whose text is locked; scrambled fonts and pictures do not matter here."""
    place = archive.find("META-INF/encryption.xml")
    if place is None:
        return
    try:
        root = parse_xml(archive.read(place))
    except (ET.ParseError, Broken):
        # The files themselves will show whether they can be read.
        return
    for data in root.below("EncryptedData"):
        algorithm = next((method.get("Algorithm") for method in data.children("EncryptionMethod")), "")
        if algorithm in _FONT_ALGORITHMS:
            continue
        for reference in data.below("CipherReference"):
            if archive.find(reference.get("URI")) in needed:
                owner = next((words for name, words in _DRM if archive.find(name)), "encryption")
                raise Refusal(
                    f"is locked ({owner}), so its text cannot be read.",
                    "Read it in the program that it was bought for, or get a copy without a lock.",
                )


def _names(names: list[str]) -> str:
    shown = ", ".join(name_safe(name) for name in names[:_NAMED])
    return shown if len(names) <= _NAMED else f"{shown} and {len(names) - _NAMED:,} more"
