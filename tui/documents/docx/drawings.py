"""Drawings of a Word document: text boxes, descriptions of pictures, the text of charts and diagrams."""

from __future__ import annotations

from collections.abc import Callable
from xml.etree.ElementTree import Element

from tui.documents.blocks import Block, item, paragraph, table
from tui.documents.docx.inline import alternative
from tui.documents.docx.package import DamagedPart, Package
from tui.documents.docx.styles import number
from tui.documents.docx.tally import Tally
from tui.documents.docx.xml import inside, value

Part = Callable[[str], str | None]
"""The name of the part that a relation's id stands for."""


class Drawing:
    """What one drawing, picture or object says: read it with `look`."""

    def __init__(self, package: Package, tally: Tally, part: Part) -> None:
        self._package = package
        self._tally = tally
        self._part = part
        self.words: list[str] = []
        """Stands in the paragraph."""
        self.boxes: list[Element] = []
        """`w:txbxContent` elements: their blocks come after the paragraph."""
        self.blocks: list[Block] = []
        """Come after the paragraph."""

    def look(self, element: Element) -> None:
        """Take in a `w:drawing`, `w:pict` or `w:object`."""
        described = next(iter(element.iter("wp:docPr")), None)
        description = _description(described)
        decorative = any(mark.get("val") in ("1", "true") for mark in element.iter("adec:decorative"))
        if element.find("o:OLEObject") is not None:
            self._object(element)
            return
        pictures = self._walk(element, description)
        if description:
            name = "picture" if pictures else "drawing"
            self.words.append(f"[{name}: {description}]")
        elif pictures and not decorative:
            self._tally.not_read["picture without a description"] += pictures

    def _walk(self, element: Element, description: str) -> int:
        """Take in the parts; the number of pictures that have no description of their own."""
        pictures = 0
        for child in element:
            tag = child.tag
            if tag == "mc:AlternateContent":
                chosen = alternative(child)
                pictures += self._walk(chosen, description) if chosen is not None else 0
            elif tag == "w:txbxContent":
                self.boxes.append(child)
            elif tag == "pic:pic":
                own = _description(inside(child, "pic:nvPicPr", "pic:cNvPr"))
                pictures += 1 if not own or own == description else 0
                if own and own != description:
                    self.words.append(f"[picture: {own}]")
            elif tag in ("v:shape", "v:rect", "v:image"):
                pictures += self._shape(child, description)
            elif tag == "c:chart" and child.get("r:id"):
                self._other_part(child.get("r:id", ""), "chart", chart_blocks)
            elif tag == "cx:chart":
                self._other_part(child.get("r:id", ""), "chart", text_blocks)
            elif tag == "dgm:relIds":
                self._other_part(child.get("r:dm", ""), "diagram", diagram_blocks)
            elif tag == "a:p":
                self.blocks.append(paragraph(_letters(child)))
            else:
                pictures += self._walk(child, description)
        return pictures

    def _shape(self, element: Element, description: str) -> int:
        """A shape of the older kind (VML)."""
        words = " ".join(path.get("string", "").strip() for path in element.findall("v:textpath")).strip()
        if words:
            self.words.append(words)
        inner = self._walk(element, description)
        image = element.find("v:imagedata")
        if image is None:
            return inner
        own = _tidy(element.get("alt", "")) or _tidy(image.get("o:title", ""))
        if own:
            self.words.append(f"[picture: {own}]")
        return inner if own else inner + 1

    def _object(self, element: Element) -> None:
        inner = element.find("o:OLEObject")
        program = inner.get("ProgID", "") if inner is not None else ""
        described = next((shape.get("alt", "") for shape in element.iter("v:shape") if shape.get("alt")), "")
        if described:
            self.words.append(f"[object: {_tidy(described)}]")
        noun = "formula of the old editor" if program.startswith("Equation") else "embedded object"
        self._tally.not_read[f"{noun} ({program})" if program else noun] += 1

    def _other_part(self, relation: str, noun: str, read: Callable[[Element], list[Block]]) -> None:
        name = self._part(relation)
        try:
            blocks = read(self._package.part(name)) if name else []
        except DamagedPart as error:
            self._tally.damaged[f"contents of a {noun}"] = f"({name}) {error}"
            return
        if blocks:
            self.blocks += [paragraph(f"[{noun}]"), *blocks]
        else:
            self._tally.not_read[f"{noun} without text"] += 1


def diagram_blocks(root: Element) -> list[Block]:
    """The points of a diagram that have text, as a list."""
    found = []
    for point in root.iter("dgm:pt"):
        text = "\n".join(line for body in point.findall("dgm:t") for line in map(_letters, body.iter("a:p")) if line)
        if text:
            found.append(item("-", text, 0))
    return found


def text_blocks(root: Element) -> list[Block]:
    """All paragraphs and points of a part."""
    found = [paragraph(text) for element in root.iter("a:p") if (text := _letters(element))]
    points = [" ".join((point.text or "").split()) for point in root.iter("cx:pt")]
    return [*found, paragraph(", ".join(points))] if points else found


def chart_blocks(root: Element) -> list[Block]:
    """A chart's titles and, as a table, the values that it shows: a column for each series."""
    found = [paragraph(text) for element in root.iter("a:p") if (text := _letters(element))]
    columns: list[dict[int, str]] = []
    names: list[str] = []
    categories: dict[int, str] = {}
    for series in root.iter("c:ser"):
        names.append(" ".join(_points(series.find("c:tx")).values()))
        categories.update(_points(series.find("c:cat") if series.find("c:cat") is not None else series.find("c:xVal")))
        columns.append(_points(series.find("c:val") if series.find("c:val") is not None else series.find("c:yVal")))
    indices = sorted({index for points in (categories, *columns) for index in points})
    rows = [[categories.get(index, ""), *(points.get(index, "") for points in columns)] for index in indices]
    if any(names):
        rows.insert(0, ["", *names])
    return [*found, table(rows, 1 if any(names) else 0)] if rows else found


def _points(element: Element | None) -> dict[int, str]:
    if element is None:
        return {}
    found: dict[int, str] = {}
    for point in element.iter("c:pt"):
        index = number(point.get("idx", ""))
        words = value_of(point)
        if index is not None and words:
            # Categories of several levels stand one level after the other, the innermost first.
            found[index] = f"{words} / {found[index]}" if index in found else words
    if not found:
        single = element.find("c:v")
        return {0: single.text} if single is not None and single.text else {}
    return found


def value_of(point: Element) -> str:
    """A point's value as text."""
    inner = point.find("c:v")
    return " ".join((inner.text or "").split()) if inner is not None else ""


def _letters(element: Element) -> str:
    parts = [
        "\n" if child.tag == "a:br" else child.text or "" for child in element.iter() if child.tag in ("a:t", "a:br")
    ]
    return "".join(parts).strip()


def _description(element: Element | None) -> str:
    return _tidy(value(element, "descr")) or _tidy(value(element, "title"))


def _tidy(text: str) -> str:
    return " ".join(text.split())
