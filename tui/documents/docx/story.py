"""A story of a Word document (the body, a header, a note): its block-level elements as blocks."""

from __future__ import annotations

from collections.abc import Callable
from xml.etree.ElementTree import Element

from tui.documents.blocks import Block, heading, item, lines, paragraph, table
from tui.documents.docx.drawings import Drawing
from tui.documents.docx.fields import Fields
from tui.documents.docx.inline import Inline, alternative
from tui.documents.docx.maths import formula
from tui.documents.docx.numbering import Numbering
from tui.documents.docx.package import Package, Relation
from tui.documents.docx.styles import BODY_LEVEL, Style, Styles, number
from tui.documents.docx.tally import Tally
from tui.documents.docx.xml import inside, switched_on, value

_SKIPPED = frozenset({"w:del", "w:moveFrom", "w:sdtPr", "w:sdtEndPr", "w:tblPr", "w:tblGrid", "w:customXmlPr"})
_MOST_COLUMNS = 256
_LIST_HEADERS = 0x0020
_REPEATED = 80
_IN_CELL = "[table in this cell: "
Refer = Callable[[str, str], str]
"""Kind (`footnote`, `endnote`, `comment`) and id of what is referred to; the mark that stands in the text."""


class Tools:
    """What all stories of a document share."""

    def __init__(self, package: Package, styles: Styles, numbering: Numbering, tally: Tally, refer: Refer) -> None:
        self.package = package
        self.styles = styles
        self.numbering = numbering
        self.tally = tally
        self.refer = refer


class Story:
    """Walks one story. `relations` are those of the part that it stands in."""

    def __init__(self, tools: Tools, relations: dict[str, Relation], fields: Fields | None, headings: bool) -> None:
        """`headings`: whether paragraphs may be headings (those of text boxes and notes are not the document's)."""
        self._tools = tools
        self._relations = relations
        self._fields = fields
        self._headings = headings
        self._inline = Inline(tools.styles, tools.tally, fields, self)
        self._after: list[Block] = []
        self._unfinished = ""
        self._nested = 0
        self.after_block: Callable[[], list[Block]] | None = None
        """Asked for what comes after each block at the top: notes."""

    def blocks(self, parent: Element) -> list[Block]:
        """The blocks of an element that holds paragraphs and tables."""
        found: list[Block] = []
        self._into(found, parent, top=True)
        if self._unfinished:
            found.append(paragraph(self._unfinished))
            self._unfinished = ""
        return found

    # The walk

    def _into(self, found: list[Block], parent: Element, *, top: bool) -> None:
        for child in parent:
            tag = child.tag
            if tag == "w:p":
                self._paragraph(found, child)
            elif tag == "w:tbl":
                self._table(found, child)
            elif tag in ("m:oMathPara", "m:oMath"):
                found.append(paragraph(formula(child)))
            elif tag == "mc:AlternateContent":
                chosen = alternative(child)
                if chosen is not None:
                    self._into(found, chosen, top=top)
                continue
            elif tag in ("w:altChunk", "w:subDoc"):
                self._tools.tally.not_read["embedded file in the text"] += 1
            elif tag not in _SKIPPED:
                self._into(found, child, top=top)
                continue
            if top and self.after_block is not None:
                found += self.after_block()

    def _paragraph(self, found: list[Block], element: Element) -> None:
        text = self._unfinished + self._inline.text(element)
        self._unfinished = ""
        after, self._after = self._after, []
        properties = element.find("w:pPr")
        mark = properties.find("w:rPr") if properties is not None else None
        if mark is not None and (mark.find("w:del") is not None or mark.find("w:moveFrom") is not None):
            # The paragraph's end was deleted: it goes on in the next one.
            self._unfinished = text
        else:
            found.append(self._formed(text, properties))
        found += after

    def _formed(self, text: str, properties: Element | None) -> Block:
        style = self._tools.styles.paragraph(value(properties.find("w:pStyle")) if properties is not None else "")
        label, depth = self._label(properties, style)
        outline = style.outline
        if properties is not None:
            own = number(value(properties.find("w:outlineLvl")))
            outline = style.outline if own is None else own
        if not text.strip():
            return paragraph("")
        if self._headings and outline is not None and 0 <= outline < BODY_LEVEL:
            # A bullet before a heading is an ornament.
            return heading(f"{label} {text}" if label and label != "-" else text, outline + 1)
        return item(label, text, depth) if label else paragraph(text)

    def _label(self, properties: Element | None, style: Style) -> tuple[str, int]:
        """The list label of a paragraph, empty when it has none, and its level; counts it."""
        own = properties.find("w:numPr") if properties is not None else None
        list_id = value(own.find("w:numId")) if own is not None else ""
        depth = number(value(own.find("w:ilvl"))) if own is not None else None
        if not list_id:
            list_id = style.numbering
            if depth is None:
                name = value(properties.find("w:pStyle")) if properties is not None else ""
                depth = self._tools.numbering.depth_of_style(list_id, name)
            depth = style.depth if depth is None else depth
        if list_id in ("", "0"):
            return "", 0
        label = self._tools.numbering.label(list_id, depth or 0)
        return label or "", depth or 0

    # Tables

    def _table(self, found: list[Block], element: Element) -> None:
        rows = _rows(element)
        if len(rows) == 1 and len(_cells(rows[0])) == 1:
            # A frame for layout: what it holds stands for itself.
            self._into(found, _cells(rows[0])[0], top=self._nested == 0)
            return
        self._nested += 1
        nested: list[Block] = []
        texts: list[list[str]] = []
        for row in rows:
            texts.append(self._row(row, texts[-1] if texts else [], nested))
        self._nested -= 1
        found.append(table(texts, _header_rows(element, rows)))
        found += nested

    def _row(self, row: Element, above: list[str], nested: list[Block]) -> list[str]:
        before = number(value(inside(row, "w:trPr", "w:gridBefore"))) or 0
        texts = [""] * min(max(0, before), _MOST_COLUMNS)
        for cell in _cells(row):
            held: list[Block] = []
            self._into(held, cell, top=False)
            if self._unfinished:
                held.append(paragraph(self._unfinished))
                self._unfinished = ""
            plain: list[Block] = []
            for block in held:
                if block.kind == "table":
                    name = f"{_IN_CELL}{len(nested) // 2 + 1}]"
                    plain.append(paragraph(name))
                    nested += [paragraph(name), block]
                else:
                    plain.append(block)
            text = lines(plain)
            merged = inside(cell, "w:tcPr", "w:vMerge")
            if not text and merged is not None and value(merged) != "restart" and len(texts) < len(above):
                # A short cell that reaches over several rows is said in each, for a row may be read alone.
                repeated = above[len(texts)]
                text = repeated if len(repeated) <= _REPEATED and _IN_CELL not in repeated else ""
            texts.append(text)
            across = number(value(inside(cell, "w:tcPr", "w:gridSpan"))) or 1
            texts += [""] * min(max(0, across - 1), max(0, _MOST_COLUMNS - len(texts)))
        return texts

    # What a paragraph's content asks for

    def refer(self, kind: str, element: Element) -> str:
        """See `inline.Outside`."""
        return self._tools.refer(kind, element.get("w:id", ""))

    def draw(self, element: Element) -> str:
        """See `inline.Outside`."""
        drawing = Drawing(self._tools.package, self._tools.tally, self._part)
        drawing.look(element)
        for box in drawing.boxes:
            inner = Story(self._tools, self._relations, self._fields, headings=False)
            self._after += inner.blocks(box)
        self._after += drawing.blocks
        if element.tag == "w:object" and any(True for _ in element.iter("w:control")):
            self._tools.tally.not_read["form control"] += 1
        return " ".join(drawing.words)

    def _part(self, relation: str) -> str | None:
        link = self._relations.get(relation)
        return link.target if link is not None and not link.external else None


def _rows(element: Element) -> list[Element]:
    """The rows of a table, those in content controls too, without the deleted ones."""
    return [row for row in _inside(element, "w:tr") if inside(row, "w:trPr", "w:del") is None]


def _cells(row: Element) -> list[Element]:
    return [cell for cell in _inside(row, "w:tc") if inside(cell, "w:tcPr", "w:cellDel") is None]


def _inside(parent: Element, wanted: str) -> list[Element]:
    found = []
    for child in parent:
        if child.tag == wanted:
            found.append(child)
        elif child.tag in ("w:sdt", "w:sdtContent", "w:customXml", "w:ins", "w:moveTo", "w:smartTag"):
            found += _inside(child, wanted)
        elif child.tag == "mc:AlternateContent":
            chosen = alternative(child)
            found += _inside(chosen, wanted) if chosen is not None else []
    return found


def _header_rows(element: Element, rows: list[Element]) -> int:
    """How many rows are the header: those marked to be repeated on each page, else the first if it looks different."""
    marked = 0
    while marked < len(rows) and switched_on(inside(rows[marked], "w:trPr", "w:tblHeader")):
        marked += 1
    if marked:
        return marked
    if max(map(len, map(_cells, rows)), default=0) < 2:
        return 0
    look = inside(element, "w:tblPr", "w:tblLook")
    if look is None:
        return 0
    own = look.get("w:firstRow")
    if own is not None:
        return 1 if own in ("1", "true", "on") else 0
    bits = value(look)
    try:
        return 1 if int(bits or "0", 16) & _LIST_HEADERS else 0
    except ValueError:
        return 0
