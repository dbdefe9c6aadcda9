"""MathML as one line: its TeX where the page has that, else its signs in order with powers and fractions marked."""

from __future__ import annotations

import re

from selectolax.lexbor import LexborNode

from tui.documents.html.nodes import SKIP, Attributes, Leave, Skip, walk

_BETWEEN = {
    "msup": ("^",),
    "msub": ("_",),
    "mfrac": ("/",),
    "msubsup": ("_", "^"),
    "munder": ("_",),
    "mover": ("^",),
    "munderover": ("_", "^"),
    "mroot": (" root ",),
}
# "Function application" and "times" as signs without a shape.
_UNSEEN_SIGNS = re.compile("[\u2061-\u2064]")
_GROUPS = frozenset({"mrow", "mfenced", "mstyle", "mtable", "mfrac"})


class _Linear:
    def __init__(self) -> None:
        self.parts: list[str] = []
        self.tex = ""
        self._open: list[list[str]] = [[]]
        """Marks that are still to come between the children of each open element."""
        self._counts = [0]

    def text(self, text: str) -> None:
        if text.strip():
            self.parts.append(_UNSEEN_SIGNS.sub("", " ".join(text.split())))

    def enter(self, node: LexborNode, tag: str) -> Leave | Skip | None:
        if tag in ("annotation", "annotation-xml"):
            if "tex" in (node.attributes.get("encoding") or "").lower():
                self.tex = self.tex or (node.child.text_content or "" if node.child else "").strip()
            return SKIP
        grouped = self._between() and tag in _GROUPS
        if grouped:
            self.parts.append("(")
        if tag == "msqrt":
            self.parts.append("√(")
        self._open.append(list(_BETWEEN.get(tag, ())))
        self._counts.append(0)
        return lambda: self._leave(tag, grouped)

    def _between(self) -> bool:
        """Write the mark before a child; whether the parent is an element with such marks."""
        marks = self._open[-1]
        if self._counts[-1] and marks:
            self.parts.append(marks.pop(0))
            return True
        self._counts[-1] += 1
        return bool(marks)

    def _leave(self, tag: str, grouped: bool) -> None:
        self._open.pop()
        self._counts.pop()
        if tag == "msqrt":
            self.parts.append(")")
        if grouped:
            self.parts.append(")")
        elif tag in ("mtr", "mlabeledtr"):
            self.parts.append("; ")
        elif tag == "mtd":
            self.parts.append(" ")


def math_text(node: LexborNode, attributes: Attributes) -> str:
    """`$…$` with TeX, or the formula on one line; empty when it holds nothing."""
    linear = _Linear()
    walk(node, linear)
    tex = linear.tex or (attributes.get("alttext") or "").strip()
    if tex:
        return f"${' '.join(tex.split())}$"
    return "".join(linear.parts).strip()
