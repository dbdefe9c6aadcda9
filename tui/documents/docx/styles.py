"""Styles of a Word document: which ones are headings, which are lists, which hide their text."""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element

import msgspec

from tui.documents.docx.xml import inside, switched_on, value
from tui.documents.heading_styles import outline_by_name

BODY_LEVEL = 9
"""An outline level of body text; 0 to 8 are headings."""


class Style(msgspec.Struct, frozen=True):
    """What a style, with all it is based on, says about a paragraph or a run."""

    outline: int | None = None
    numbering: str = ""
    """Id of a list (`w:num`), `0` for none."""
    depth: int | None = None
    """Level in that list."""
    hidden: bool = False


class Styles:
    """The styles by id; an unknown id, or none, is the default paragraph style."""

    def __init__(self, root: Element | None) -> None:
        self._elements: dict[str, Element] = {}
        self._default = ""
        self._known: dict[str, Style] = {}
        for element in root.iter("w:style") if root is not None else ():
            name = element.get("w:styleId", "")
            self._elements.setdefault(name, element)
            if element.get("w:type") == "paragraph" and element.get("w:default") in ("1", "true", "on"):
                self._default = name

    def paragraph(self, name: str) -> Style:
        """The style of a paragraph that names `name`."""
        return self.run(name if name in self._elements else self._default)

    def run(self, name: str) -> Style:
        """The style `name`; an empty one when there is none."""
        known = self._known.get(name)
        if known is None:
            known = self._known[name] = self._resolved(name)
        return known

    def _resolved(self, name: str) -> Style:
        style = Style()
        seen: set[str] = set()
        while name in self._elements and name not in seen:
            seen.add(name)
            element = self._elements[name]
            own = _own(element)
            style = Style(
                own.outline if style.outline is None else style.outline,
                style.numbering or own.numbering,
                own.depth if style.depth is None else style.depth,
                style.hidden or own.hidden,
            )
            name = value(element.find("w:basedOn"))
        return style


def _own(element: Element) -> Style:
    properties = element.find("w:pPr")
    outline = depth = None
    numbering = ""
    if properties is not None:
        outline = number(value(properties.find("w:outlineLvl")))
        numbering = value(inside(properties, "w:numPr", "w:numId"))
        depth = number(value(inside(properties, "w:numPr", "w:ilvl")))
    if outline is None and element.get("w:type") == "paragraph":
        outline = _outline_by_name(element)
    return Style(outline, numbering, depth, switched_on(inside(element, "w:rPr", "w:vanish")))


def _outline_by_name(element: Element) -> int | None:
    names = [value(element.find("w:name")), *value(element.find("w:aliases")).split(",")]
    return next((level for name in names if (level := outline_by_name(name)) is not None), None)


def number(text: str) -> int | None:
    """A small whole number as Office writes it, or None."""
    return int(text) if re.fullmatch(r"-?[0-9]{1,9}", text) else None
