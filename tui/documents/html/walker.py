"""Blocks of a page: headings, paragraphs, lists, quotes, code, tables, each written as Markdown writes it."""

from __future__ import annotations

import functools
import re

import msgspec
from selectolax.lexbor import LexborNode

from tui.documents.clean import title_safe
from tui.documents.html.inline import Inline
from tui.documents.html.nodes import (
    SKIP,
    UNSEEN,
    Attributes,
    Leave,
    Skip,
    characters_below,
    hides,
    styled_as_block,
    walk,
)
from tui.documents.html.tables import arranges_only, table_text
from tui.documents.html.writer import Writer

_LOOSE = frozenset(
    [
        "p",
        "section",
        "article",
        "header",
        "footer",
        "nav",
        "aside",
        "main",
        "figure",
        "fieldset",
        "form",
        "details",
        "address",
        "search",
        "table",
        "dialog",
        "hgroup",
        "noscript",
    ]
)
_CLOSE = frozenset(
    [
        "div",
        "body",
        "center",
        "summary",
        "legend",
        "figcaption",
        "caption",
        "tr",
        "td",
        "th",
        "thead",
        "tbody",
        "tfoot",
        "option",
    ]
)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_LANGUAGE = re.compile(r"(?:^|\s)(?:language|lang|highlight-source|highlight|brush:?)[- ]([\w+#.]+)", re.I)
_DRAWING = frozenset(
    [
        "svg",
        "g",
        "a",
        "text",
        "tspan",
        "symbol",
        "use",
        "path",
        "rect",
        "circle",
        "ellipse",
        "line",
        "polygon",
        "polyline",
        "image",
    ]
)
_PARAGRAPH = 80
"""Characters from which a `<div>`'s text is a paragraph, not a line."""
_ROMAN = ((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"))
_ROMAN_LOW = ((9, "ix"), (5, "v"), (4, "iv"), (1, "i"))


class _List(msgspec.Struct):
    ordered: bool
    number: int
    step: int
    style: str


class Walker:
    """Writes a subtree to a Writer. Not shown and so not written: what UNSEEN names and what hides itself."""

    def __init__(self, writer: Writer, shift: int = 0) -> None:
        """`shift` is added to the level of every heading."""
        self.hidden = 0
        """Characters that the page hides and that were not written."""
        self.frames = 0
        """Embedded pages, which are not part of this one."""
        self.images = 0
        self._writer = writer
        self._shift = shift
        self._inline = Inline()
        self._lists: list[_List] = []
        self._heading = 0
        self._pre: list[str] | None = None
        self._language = ""
        self._term_end = -1

    def walk(self, root: LexborNode) -> None:
        """Write all that is shown below `root`."""
        walk(root, self)
        self._flush()

    # What a walk calls

    def text(self, text: str) -> None:
        """A text node."""
        if self._pre is not None:
            self._pre.append(text)
        else:
            self._inline.text(text)

    def enter(self, node: LexborNode, tag: str) -> Leave | Skip | None:
        """An element."""
        attributes = node.attributes
        if tag == "iframe" and (attributes.get("src") or "srcdoc" in attributes) and not hides(tag, attributes):
            self.frames += 1
        if tag in UNSEEN:
            # A picture's title in a drawing is text of the drawing.
            return None if tag == "title" and _in_drawing(node) else SKIP
        if hides(tag, attributes):
            self.hidden += characters_below(node)
            return SKIP
        if tag in ("img", "image", "svg"):
            self.images += 1
        if self._pre is not None:
            return self._in_code(node, tag, attributes)
        if self._heading:
            return self._in_heading(node, tag, attributes)
        level = _HEADINGS.get(tag) or _heading_role(attributes)
        if level:
            return self._open_heading(level)
        if tag in ("ul", "ol", "menu", "dir"):
            return self._open_list(tag, attributes)
        match tag:
            case "li":
                return self._open_item(attributes)
            case "blockquote":
                return self._framed("> ", "> ")
            case "pre" | "listing" | "xmp" | "plaintext":
                return self._open_code(node, attributes)
            case "textarea":
                return self._open_code(node, attributes, fenced=False)
            case "table":
                return self._table(node, attributes)
            case "dl":
                return self._block(2)
            case "dt":
                return self._open_term()
            case "dd":
                return self._open_definition()
            case "hr":
                self._flush()
                self._writer.gap(2)
                self._writer.line("---")
                self._writer.gap(2)
                return None
        if tag in _LOOSE:
            return self._block(2)
        if tag in _CLOSE or styled_as_block(attributes):
            return self._block(1)
        return self._inline.enter(node, tag, attributes)

    # Blocks

    def _flush(self) -> None:
        """Write the text that was gathered as lines of their own."""
        lines = self._inline.take()
        for line in lines:
            if line:
                self._writer.line(line)
            else:
                self._writer.gap(2)
        if len(lines) == 1 and len(lines[0]) >= _PARAGRAPH and not self._lists:
            self._writer.gap(2)

    def _block(self, gap: int) -> Leave:
        self._flush()
        self._writer.gap(gap)
        return self._leave_loose if gap > 1 else self._leave_close

    def _leave_loose(self) -> None:
        self._flush()
        self._writer.gap(2)

    def _leave_close(self) -> None:
        self._flush()
        self._writer.gap(1)

    def _framed(self, first: str, rest: str) -> Leave:
        self._flush()
        self._writer.gap(2)
        self._writer.indent(first, rest)
        return functools.partial(self._close_frame, 2)

    def _close_frame(self, gap: int) -> None:
        self._flush()
        self._writer.dedent()
        self._writer.gap(gap)

    # Headings

    def _open_heading(self, level: int) -> Leave:
        self._flush()
        self._heading = min(6, max(1, level + self._shift))
        return self._close_heading

    def _close_heading(self) -> None:
        text = " ".join(line for line in self._inline.take() if line)
        level, self._heading = self._heading, 0
        if text:
            self._writer.heading(level, text, title_safe(text))

    def _in_heading(self, node: LexborNode, tag: str, attributes: Attributes) -> Leave | Skip | None:
        if tag in _LOOSE or tag in _CLOSE or tag in ("br", "li", "pre", "blockquote", "dt", "dd"):
            self._inline.space()
            return self._inline.space
        return self._inline.enter(node, tag, attributes)

    # Lists

    def _open_list(self, tag: str, attributes: Attributes) -> Leave:
        self._flush()
        self._writer.gap(1 if self._lists else 2)
        start, step = _integer(attributes.get("start"), 1), 1
        if "reversed" in attributes:
            step = -1
        self._lists.append(_List(tag == "ol", start, step, attributes.get("type") or ""))
        return self._close_list

    def _close_list(self) -> None:
        self._flush()
        self._lists.pop()
        self._writer.gap(1 if self._lists else 2)

    def _open_item(self, attributes: Attributes) -> Leave:
        self._flush()
        marker = "- "
        if self._lists and self._lists[-1].ordered:
            here = self._lists[-1]
            here.number = _integer(attributes.get("value"), here.number)
            marker = f"{_numeral(here.number, here.style)}. "
            here.number += here.step
        self._writer.indent(marker, " " * len(marker))
        return self._close_item

    def _close_item(self) -> None:
        self._close_frame(1)
        self._writer.tight()

    def _open_term(self) -> Leave:
        self._flush()
        if self._term_end == self._writer.length:
            self._writer.tight()
        else:
            self._writer.gap(2)
        return self._close_term

    def _close_term(self) -> None:
        self._leave_close()
        self._term_end = self._writer.length

    def _open_definition(self) -> Leave:
        self._flush()
        self._writer.tight()
        self._writer.indent(": ", "  ")
        return functools.partial(self._close_frame, 1)

    # Code

    def _open_code(self, node: LexborNode, attributes: Attributes, *, fenced: bool = True) -> Leave:
        self._flush()
        self._pre = []
        self._language = _language(attributes) or (_language(node.parent.attributes) if node.parent else "")
        return functools.partial(self._close_code, fenced)

    def _close_code(self, fenced: bool) -> None:
        lines = re.split(r"\r\n?|\n", "".join(self._pre or []))
        self._pre = None
        while lines and not lines[-1].strip():
            lines.pop()
        while lines and not lines[0].strip():
            lines.pop(0)
        if not lines:
            return
        self._writer.gap(2)
        if fenced:
            longest = max((len(run) for line in lines for run in re.findall("`{3,}", line)), default=2)
            fence = "`" * (longest + 1)
            self._writer.lines([fence + self._language, *lines, fence])
        else:
            self._writer.lines([line.rstrip() for line in lines])
        self._writer.gap(2)

    def _in_code(self, node: LexborNode, tag: str, attributes: Attributes) -> Leave | Skip | None:
        pre = self._pre
        assert pre is not None
        self._language = self._language or _language(attributes)
        if tag == "br":
            pre.append("\n")
        elif tag == "img" and attributes.get("alt"):
            pre.append(f"[image: {attributes['alt']}]")
        elif tag == "td" or tag == "th":
            return lambda: pre.append(" ")
        elif tag in _LOOSE or tag in ("tr", "li", "div"):
            if pre and not pre[-1].endswith("\n"):
                pre.append("\n")
            return lambda: pre.append("\n") if pre and not pre[-1].endswith("\n") else None
        return None

    # Tables

    def _table(self, node: LexborNode, attributes: Attributes) -> Leave | Skip:
        self._flush()
        if arranges_only(node, attributes):
            return self._block(2)
        table, hidden = table_text(node)
        self.hidden += sum(characters_below(part) for part in hidden)
        for caption in table.captions:
            self._writer.gap(2)
            self._writer.line(caption)
        if table.header or table.rows:
            self._writer.table(table.header, table.rows, table.columns)
        return SKIP


def _heading_role(attributes: Attributes) -> int:
    if (attributes.get("role") or "").lower() != "heading":
        return 0
    return _integer(attributes.get("aria-level"), 2)


def _in_drawing(node: LexborNode) -> bool:
    return node.parent is not None and node.parent.tag in _DRAWING


def _language(attributes: Attributes) -> str:
    found = _LANGUAGE.search(attributes.get("class") or "")
    return found[1] if found else ""


def _integer(value: str | None, otherwise: int) -> int:
    """A number of at most nine digits, as HTML reads it."""
    found = re.match(r"\s*([-+]?\d{1,9})(?!\d)", value or "", re.A)
    return int(found[1]) if found else otherwise


def _numeral(number: int, style: str) -> str:
    """`3`, `c`, `iii`: as the list's type wants it."""
    if style in ("a", "A") and number > 0:
        letters = ""
        while number:
            number, digit = divmod(number - 1, 26)
            letters = chr(ord(style) + digit) + letters
        return letters
    if style in ("i", "I") and 0 < number < 4000:
        roman = ""
        for value, signs in (*_ROMAN, *_ROMAN_LOW):
            count, number = divmod(number, value)
            roman += signs * count
        return roman.upper() if style == "I" else roman
    return str(number)
