"""Fields of a Word document: their results are text, their instructions are not."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from tui.documents.docx.styles import number
from tui.documents.docx.xml import switched_on, value


class Fields:
    """Follows the begin, separate and end marks through the runs of one story."""

    def __init__(self) -> None:
        self._open: list[bool] = []
        """For each open field, whether its result has begun."""
        self.torn = False
        """Whether a field that has begun came to no end, or an end had no beginning."""

    @property
    def in_instruction(self) -> bool:
        """Whether text here is part of a field's instruction."""
        return not all(self._open)

    def mark(self, element: Element) -> str:
        """Take a `w:fldChar`; the text that a form field stands for, mostly empty."""
        kind = element.get("w:fldCharType", "")
        if kind == "begin":
            shown = "" if self.in_instruction else _form(element.find("w:ffData"))
            self._open.append(False)
            return shown
        if not self._open:
            self.torn = True
        elif kind == "separate":
            self._open[-1] = True
        elif kind == "end":
            self._open.pop()
        return ""

    def finish(self) -> None:
        """The story is at its end."""
        self.torn = self.torn or bool(self._open)


def _form(data: Element | None) -> str:
    if data is None:
        return ""
    box = data.find("w:checkBox")
    if box is not None:
        state = box.find("w:checked")
        return "☒" if switched_on(box.find("w:default") if state is None else state) else "☐"
    choices = data.find("w:ddList")
    if choices is not None:
        entries = [value(entry) for entry in choices.findall("w:listEntry")]
        chosen = number(value(choices.find("w:result")) or value(choices.find("w:default")) or "0") or 0
        return entries[chosen] if 0 <= chosen < len(entries) else ""
    return ""
