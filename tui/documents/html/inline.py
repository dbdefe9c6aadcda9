"""Text inside one block: white space folded as browsers fold it, and the few marks that carry meaning."""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec
from selectolax.lexbor import LexborNode

from tui.documents.html.forms import control_text, select_text
from tui.documents.html.maths import math_text
from tui.documents.html.nodes import SKIP, Attributes, Leave, Skip

_SPACE = re.compile(r"[ \t\n\r\f]+")
_WIDE = r"\u2e80-\u30ff\u3100-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uffef"
# A line end between two characters of a script without spaces is no space.
_WIDE_BREAK = re.compile(rf"(?<=[{_WIDE}])[ \t]*[\r\n][ \t\r\n]*(?=[{_WIDE}])")
# Soft hyphens are not seen; spaces that may not break are spaces.
_ODD = {0xA0: " ", 0x202F: " ", 0xAD: None}
_NUMBER_CLASS = re.compile(r"(?:toc|sec|head|caption|chap)\w*[-_]?(?:numb?|number|no)\b", re.I)
_NOTE = re.compile(r"\b(?:doc-)?noteref\b")
_SEPARATORS = (", ", "; ")
_POWER = re.compile(r"[-+−–]?[0-9]{1,3}|[-+−–]?[a-zA-Z]|[0-9]?[+−–-]")
_MATHS_CLASS = re.compile(r"\b(?:mwe-math|math|tex|latex)\b|\bmwe-math", re.I)
_TEX_STYLE = re.compile(r"\A\{\\(?:displaystyle|textstyle)\s*(.*)\}\Z", re.S)


class _Mark(msgspec.Struct, frozen=True):
    at: int
    generation: int
    close: Callable[[int], None]


class Inline:
    """Collects the text of a block. `take` hands it out and begins anew."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._last = "\n"
        self._generation = 0
        self._marks: list[_Mark] = []
        self._link_ended = False
        self._number_ended = False
        """A `<span>` ended with a figure; `_name_begins`: and another one begins at once."""
        self._name_begins = False

    def text(self, text: str) -> None:
        """Text as it stands in the page."""
        if "\n" in text or "\r" in text:
            text = _WIDE_BREAK.sub("", text)
        folded = _SPACE.sub(" ", text.translate(_ODD))
        if self._name_begins and folded[:1].isalpha():
            # `<span>2.1</span><span>Sales</span>`: a number and its title, which a style sheet keeps apart.
            self._put(" ")
        if self._last in " \n":
            folded = folded.lstrip(" ")
        self._put(folded)

    def space(self) -> None:
        """A space, unless there is one."""
        if self._last not in " \n":
            self._put(" ")

    def separate(self, mark: str) -> None:
        """`mark` and a space between what was and what comes: nothing at the beginning, a `;` instead of a `,`."""
        if not self._parts:
            return
        if self._parts[-1] in _SEPARATORS:
            if mark == ";":
                self._parts[-1] = "; "
            return
        self._parts[-1] = self._parts[-1].rstrip(" ")
        if self._parts[-1] or len(self._parts) > 1:
            self._put(f"{mark} ")

    def line_break(self) -> None:
        """What follows stands on a line of its own."""
        self._put("\n")

    def apart(self, text: str) -> None:
        """`text` with spaces around it."""
        if text:
            self.space()
            self.text(text)
            self.space()

    def take(self) -> list[str]:
        """The lines, stripped, an empty one where several line ends stood together; begins anew."""
        if not self._parts:
            return []
        text = "".join(self._parts)
        self._parts = []
        self._last = "\n"
        self._generation += 1
        return [line.strip(" \t") for line in text.strip(" \t\n").split("\n")] if text.strip(" \t\n") else []

    def enter(self, node: LexborNode, tag: str, attributes: Attributes) -> Leave | Skip | None:
        """An element that makes no block."""
        match tag:
            case "br":
                self.line_break()
            case "img" | "image":
                self.apart(_image(attributes))
                return SKIP
            case "input":
                self.apart(control_text(attributes))
            case "select":
                self.apart(select_text(node))
                return SKIP
            case "math":
                alone = (attributes.get("display") or "").lower() == "block"
                if alone:
                    self.line_break()
                self.text(math_text(node, attributes))
                if alone:
                    self.line_break()
                return SKIP
            case "a" if _NOTE.search(attributes.get("epub:type") or attributes.get("role") or ""):
                return self._marked(self._close_note)
            case "a" | "kbd":
                # Links or keys in a row that only a style sheet keeps apart.
                if self._link_ended:
                    self.space()
                return self._link_leave
            case "span" if attributes.get("class") == "katex-html" and _follows_mathml(node):
                return SKIP
            case "span":
                self._name_begins = self._number_ended
                return self.space if _NUMBER_CLASS.search(attributes.get("class") or "") else self._span_leave
            case "button" | "textarea" | "text" | "label" | "meter" | "progress":
                self.space()
                return self.space
            case "code":
                return self._marked(self._close_code)
            case "q":
                return self._marked(self._close_quote)
            case "sup":
                return self._marked(self._close_power)
            case "s" | "del" | "strike":
                return self._marked(self._close_deleted)
            case _ if "-" in tag:
                # Elements of the page's own making: most are blocks, and two words must not become one.
                self.space()
                return self.space
        return None

    # How it is done

    def _put(self, text: str) -> None:
        if text:
            self._parts.append(text)
            self._last = text[-1]
            self._link_ended = self._number_ended = self._name_begins = False

    def _span_leave(self) -> None:
        self._number_ended = self._last.isdecimal()

    def _link_leave(self) -> None:
        self._link_ended = self._last not in " \n"

    def _marked(self, close: Callable[[int], None]) -> Leave:
        self._marks.append(_Mark(len(self._parts), self._generation, close))
        return self._leave_mark

    def _leave_mark(self) -> None:
        mark = self._marks.pop()
        # What was handed out in between cannot be marked any more; marks inside many others are not looked at.
        if mark.generation == self._generation and mark.at < len(self._parts) and len(self._marks) < 16:
            mark.close(mark.at)

    def _close_code(self, at: int) -> None:
        inside = "".join(self._parts[at:])
        if inside.strip() and "`" not in inside and "\n" not in inside:
            self._parts.insert(at, "`")
            self._put("`")

    def _close_quote(self, at: int) -> None:
        self._parts.insert(at, "“")
        self._put("”")

    def _close_deleted(self, at: int) -> None:
        if "".join(self._parts[at:]).strip():
            self._parts.insert(at, "~~")
            self._put("~~")

    def _close_note(self, at: int) -> None:
        """`currency.1` is no number: a note's bare mark stands in brackets."""
        if "".join(self._parts[at:]).strip().isalnum():
            self._parts.insert(at, "[")
            self._put("]")

    def _close_power(self, at: int) -> None:
        """`10<sup>3</sup>` is not 103. Ordinals and bracketed notes need no mark."""
        before = self._parts[at - 1][-1:] if at else ""
        if (before.isalnum() or before in ")]") and before and _POWER.fullmatch("".join(self._parts[at:])):
            self._parts.insert(at, "^")


def _follows_mathml(node: LexborNode) -> bool:
    """KaTeX draws a formula a second time beside its MathML."""
    return node.prev is not None and "katex-mathml" in (node.prev.attributes.get("class") or "")


def _image(attributes: Attributes) -> str:
    alt = " ".join((attributes.get("alt") or "").split())
    if not alt:
        return ""
    tex = _TEX_STYLE.match(alt)
    if tex or _MATHS_CLASS.search(attributes.get("class") or ""):
        return f"${tex[1].strip() if tex else alt}$"
    return f"[image: {alt}]"
