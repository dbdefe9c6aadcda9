"""The XML of a book's package, read without a DTD: nothing is expanded, nothing is fetched."""

from __future__ import annotations

import html.entities
import re
import xml.etree.ElementTree as ET

from tui.documents.html.encoding import decode_page

_AMPERSAND = re.compile(r"&(#[0-9]{1,7};|#[xX][0-9a-fA-F]{1,6};|[A-Za-z][A-Za-z0-9]{1,31};)?")
_OWN = frozenset({"&amp;", "&lt;", "&gt;", "&quot;", "&apos;"})
_DECLARATION = re.compile(r"\A\s*<\?xml[^>]*\?>")
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Element:
    """An element by its name without namespace; `get` finds attributes by such names too."""

    def __init__(self, element: ET.Element) -> None:
        self._element = element
        self.tag = _local(element.tag)

    def get(self, name: str) -> str:
        """An attribute, empty when it is missing."""
        return next((value for key, value in self._element.attrib.items() if _local(key) == name), "").strip()

    def children(self, *names: str) -> list[Element]:
        """Its children, only those of the names given if any are."""
        found = [Element(child) for child in self._element if isinstance(child.tag, str)]
        return [child for child in found if not names or child.tag in names]

    def below(self, *names: str) -> list[Element]:
        """All elements inside it with one of the names."""
        every = (Element(child) for child in self._element.iter() if isinstance(child.tag, str))
        return [child for child in every if child.tag in names]

    @property
    def text(self) -> str:
        """All text inside it, white space folded."""
        return " ".join("".join(self._element.itertext()).split())


def parse_xml(data: bytes) -> Element:
    """The root element. Raises ET.ParseError for what is no XML even after stray `&` were mended."""
    text = _DECLARATION.sub("", decode_page(data).text, count=1)
    text = _AMPERSAND.sub(_reference, _without_doctype(text))
    return Element(ET.fromstring(_NOT_XML.sub("\ufffd", text)))


def _reference(match: re.Match[str]) -> str:
    """References stay, names that only HTML knows become what they stand for, any other `&` is a letter."""
    found = match[0]
    if found in _OWN or found.startswith("&#"):
        return found
    meant = html.entities.html5.get(found[1:]) if len(found) > 1 else None
    if meant is None:
        return "&amp;" + found[1:]
    return "".join(f"&#{ord(character)};" for character in meant)


def _without_doctype(text: str) -> str:
    start = text.find("<!DOCTYPE")
    if start < 0:
        return text
    bracket, end = text.find("[", start), text.find(">", start)
    if 0 <= bracket < end:
        end = text.find(">", text.find("]", bracket))
    return text[:start] + text[end + 1 :] if end >= 0 else text


def _local(name: str) -> str:
    return name.rpartition("}")[2].rpartition(":")[2]
