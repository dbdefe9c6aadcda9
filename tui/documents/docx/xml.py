"""XML parts of an Office package as trees with short names (`w:p`), the same for both families of name spaces.

No document type declaration is accepted, so there are no entities to expand and nothing to fetch.
"""

from __future__ import annotations

import gc
from pyexpat import ExpatError, ParserCreate
from xml.etree.ElementTree import Element

_SCHEMAS = "http://schemas.openxmlformats.org/"
_STRICT = "http://purl.oclc.org/ooxml/"
_MICROSOFT = "http://schemas.microsoft.com/office/"
_SHORT = {
    _SCHEMAS + "wordprocessingml/2006/main": "w",
    _STRICT + "wordprocessingml/main": "w",
    _SCHEMAS + "officeDocument/2006/math": "m",
    _STRICT + "officeDocument/math": "m",
    _SCHEMAS + "officeDocument/2006/relationships": "r",
    _STRICT + "officeDocument/relationships": "r",
    _SCHEMAS + "drawingml/2006/main": "a",
    _STRICT + "drawingml/main": "a",
    _SCHEMAS + "drawingml/2006/wordprocessingDrawing": "wp",
    _STRICT + "drawingml/wordprocessingDrawing": "wp",
    _SCHEMAS + "drawingml/2006/picture": "pic",
    _STRICT + "drawingml/picture": "pic",
    _SCHEMAS + "drawingml/2006/chart": "c",
    _STRICT + "drawingml/chart": "c",
    _SCHEMAS + "drawingml/2006/diagram": "dgm",
    _STRICT + "drawingml/diagram": "dgm",
    _SCHEMAS + "markup-compatibility/2006": "mc",
    _SCHEMAS + "package/2006/relationships": "rel",
    _MICROSOFT + "word/2010/wordml": "w14",
    _MICROSOFT + "word/2010/wordprocessingShape": "wps",
    _MICROSOFT + "drawing/2014/chartex": "cx",
    _MICROSOFT + "drawing/2017/decorative": "adec",
    "urn:schemas-microsoft-com:vml": "v",
    "urn:schemas-microsoft-com:office:office": "o",
    "http://www.w3.org/XML/1998/namespace": "xml",
}
# Half of a document's elements say how it looks; they are not kept.
_LOOKS = frozenset(
    f"w:{name}"
    for line in (
        "sz szCs lang color spacing ind jc b bCs i iCs u kern highlight shd tabs bookmarkStart",
        "bookmarkEnd proofErr lastRenderedPageBreak keepNext keepLines widowControl contextualSpacing",
        "noProof pBdr tcW tcBorders vAlign tblBorders tblCellMar cantSplit rPrChange pPrChange",
        "tblPrChange tcPrChange trPrChange sectPrChange",
    )
    for name in line.split()
)
MAX_DEPTH = 500
"""Elements inside each other; real documents stay below a hundred."""


class BadXml(Exception):
    """A part is no well-formed XML, or holds what an Office document may not; the message says which."""


def parse(data: bytes) -> Element:
    """The part's root. Tags and attributes are `prefix:local` by `_SHORT`, bare attributes stay bare.

    Names of other name spaces are `?:local`. Raises BadXml.
    """
    builder = _Builder()
    parser = ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.ordered_attributes = True
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.characters
    parser.StartDoctypeDeclHandler = _no_doctype
    # A tree of a million elements is no garbage, and looking for some in it takes as long as making it.
    collecting = gc.isenabled()
    gc.disable()
    try:
        parser.Parse(data, True)
    except ExpatError as error:
        raise BadXml(f"no well-formed XML, {error}") from error
    except (LookupError, ValueError) as error:
        raise BadXml(f"XML in an encoding that is not known, {error}") from error
    finally:
        if collecting:
            gc.enable()
    assert builder.root is not None, "expat accepts no document without a root"
    return builder.root


class _Builder:
    """Makes the tree; an element's `text` is all its own character data (no part that is read has mixed content)."""

    def __init__(self) -> None:
        self.root: Element | None = None
        self._open: list[Element] = []
        self._names: dict[str, str] = {}

    def start(self, name: str, attributes: list[str]) -> None:
        known = self._names
        tag = known.get(name) or self._short(name)
        element = Element(tag)
        for index in range(0, len(attributes), 2):
            key = attributes[index]
            # Identifiers of editing sessions are half of all attributes and say nothing.
            if " rsid" not in key:
                element.set(known.get(key) or self._short(key), attributes[index + 1])
        around = self._open
        if around:
            if len(around) >= MAX_DEPTH:
                raise BadXml(f"XML with more than {MAX_DEPTH} elements inside each other")
            if tag not in _LOOKS:
                around[-1].append(element)
        else:
            self.root = element
        around.append(element)

    def end(self, name: str) -> None:
        self._open.pop()

    def characters(self, data: str) -> None:
        element = self._open[-1]
        element.text = data if element.text is None else element.text + data

    def _short(self, name: str) -> str:
        space, _, local = name.rpartition(" ")
        short = self._names[name] = f"{_SHORT.get(space, '?')}:{local}" if space else local
        return short


def _no_doctype(*_: object) -> None:
    raise BadXml("XML with a document type declaration, which no Office document has")


def inside(element: Element, *names: str) -> Element | None:
    """The first child of the first name, in it the first of the second, and so on; None when one is missing."""
    found: Element | None = element
    for name in names:
        if found is None:
            return None
        found = found.find(name)
    return found


def value(element: Element | None, name: str = "w:val") -> str:
    """An attribute, or an empty text when the element or the attribute is missing."""
    return "" if element is None else element.get(name, "")


def switched_on(element: Element | None) -> bool:
    """Whether a property such as `w:vanish` is there and not turned off."""
    return element is not None and element.get("w:val", "true") not in ("0", "false", "off")
