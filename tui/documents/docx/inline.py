"""What stands in a paragraph: runs, fields, formulas, references, drawings."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Protocol
from xml.etree.ElementTree import Element

from tui.documents.docx.fields import Fields
from tui.documents.docx.maths import formula
from tui.documents.docx.styles import Styles
from tui.documents.docx.tally import Tally
from tui.documents.docx.xml import switched_on, value
from tui.documents.symbols import from_font, symbol

_LINE_END = re.compile(r"[ \t]*[\r\n]\s*")
_SKIPPED = frozenset(
    {"w:pPr", "w:rPr", "w:sdtPr", "w:sdtEndPr", "w:customXmlPr", "w:smartTagPr", "w:instrText", "w:delInstrText"}
    | {"w:delText", "w:footnoteRef", "w:endnoteRef", "w:annotationRef", "w:separator", "w:continuationSeparator"}
    | {"w:fldData", "w:ffData", "w:hpsBaseText", "w:rubyPr"}
)
_CHARACTERS = {
    "w:tab": "\t",
    "w:ptab": "\t",
    "w:br": "\n",
    "w:cr": "\n",
    "w:noBreakHyphen": "\u2011",
    "w:softHyphen": "",
}


class Outside(Protocol):
    """What a paragraph's content needs from its story."""

    def refer(self, kind: str, element: Element) -> str:
        """Take note of a footnote, an endnote or a comment; the mark that stands in the text."""

    def draw(self, element: Element) -> str:
        """Take a drawing, a picture or an object; the text that stands in its place."""


class Inline:
    """Turns the content of paragraphs into text."""

    def __init__(self, styles: Styles, tally: Tally, fields: Fields | None, outside: Outside) -> None:
        """Without `fields` no text is taken for an instruction: for a story whose fields are torn."""
        self._styles = styles
        self._tally = tally
        self._fields = fields
        self._outside = outside
        self._handlers: dict[str, Callable[[Element], str]] = {
            "w:r": self._run,
            "w:del": self._deleted,
            "w:moveFrom": _nothing,
            "w:fldChar": self._field_mark,
            "w:ruby": self._ruby,
            "m:oMath": self._formula,
            "m:oMathPara": self._formula,
            "mc:AlternateContent": self._alternative,
            "w:footnoteReference": lambda element: self._outside.refer("footnote", element),
            "w:endnoteReference": lambda element: self._outside.refer("endnote", element),
            "w:commentReference": lambda element: self._outside.refer("comment", element),
            "w:drawing": lambda element: self._outside.draw(element),
            "w:pict": lambda element: self._outside.draw(element),
            "w:object": lambda element: self._outside.draw(element),
            "w:control": self._control,
        }

    def text(self, element: Element) -> str:
        """The text of a paragraph's children, in order."""
        return "".join([self._one(child) for child in element])

    def _one(self, element: Element) -> str:
        tag = element.tag
        if tag in _SKIPPED:
            return ""
        if tag == "w:t":
            return self._letters(element, "")
        if tag in _CHARACTERS:
            return "" if self._silent() else _CHARACTERS[tag]
        if tag == "w:sym":
            return self._symbol(element)
        handler = self._handlers.get(tag)
        # What is not known (a hyperlink, a content control, whatever may come) is looked into, so that no text is lost.
        return handler(element) if handler is not None else self.text(element)

    def _silent(self) -> bool:
        return self._fields is not None and self._fields.in_instruction

    def _letters(self, element: Element, font: str) -> str:
        if self._silent():
            return ""
        text = _LINE_END.sub(" ", element.text or "").replace("\u00ad", "")
        text, unknown = from_font(text, font)
        self._tally.unknown_symbols += unknown
        return text

    def _run(self, element: Element) -> str:
        properties = element.find("w:rPr")
        font = ""
        if properties is not None:
            hidden = properties.find("w:vanish")
            if switched_on(hidden) or (hidden is None and self._styles.run(value(properties.find("w:rStyle"))).hidden):
                return self._hidden(element)
            font = value(properties.find("w:rFonts"), "w:ascii")
        return "".join([self._letters(child, font) if child.tag == "w:t" else self._one(child) for child in element])

    def _hidden(self, element: Element) -> str:
        # Marks of fields count even where they are hidden, as those of index entries are.
        for child in element:
            if child.tag == "w:fldChar":
                self._field_mark(child)
            elif child.tag == "w:t" and (child.text or "").strip() and not self._silent():
                self._tally.left_out["piece of hidden text"] += 1
        return ""

    def _deleted(self, element: Element) -> str:
        if any((text.text or "").strip() for text in element.iter("w:delText")):
            self._tally.left_out["piece of deleted text"] += 1
        return ""

    def _field_mark(self, element: Element) -> str:
        return self._fields.mark(element) if self._fields is not None else ""

    def _symbol(self, element: Element) -> str:
        if self._silent():
            return ""
        code = element.get("w:char", "")
        found = symbol(element.get("w:font", ""), int(code, 16)) if re.fullmatch("[0-9A-Fa-f]{1,6}", code) else None
        if found is None:
            self._tally.unknown_symbols += 1
        return found or "\ufffd"

    def _ruby(self, element: Element) -> str:
        if any((text.text or "").strip() for mark in element.findall("w:rt") for text in mark.iter("w:t")):
            self._tally.left_out["reading aid (ruby)"] += 1
        return "".join(self.text(base) for base in element.findall("w:rubyBase"))

    def _formula(self, element: Element) -> str:
        return "" if self._silent() else formula(element)

    def _alternative(self, element: Element) -> str:
        chosen = alternative(element)
        return self.text(chosen) if chosen is not None else ""

    def _control(self, element: Element) -> str:
        self._tally.not_read["form control"] += 1
        return ""


def alternative(element: Element) -> Element | None:
    """The one branch of `mc:AlternateContent` that is read: the first choice, for the others say the same again."""
    choice = element.find("mc:Choice")
    return element.find("mc:Fallback") if choice is None else choice


def _nothing(element: Element) -> str:
    return ""
