"""Markdown inside a paragraph: parsed to plain text with spans of flags, cut to lines, turned to segments."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from tui.app.widgets.transcript.palette import BOLD, CODE, ITALIC, LINK, MATH, STRIKE, Palette
from tui.app.widgets.transcript.rows import Row
from tui.app.widgets.transcript.wrap import wrap
from tui.text import display_safe

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

_URL = re.compile(r"https?://[^\s<>\"'`|\\^{}]+")
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_TRAILING = ".,;:!?)]}*_~"
_CJK = re.compile("[\u2e80-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\u3000-\u303f]")


DEEPEST = 100
"""Levels of nesting that are parsed."""
MOST_BRACKETS = 300
"""Opening brackets in one paragraph up to which links are looked for."""


class Span(NamedTuple):
    """`text[start:end]` has these flags and, for a link, this address."""

    start: int
    end: int
    flags: int
    url: str


class Inline(NamedTuple):
    """The text of a paragraph as it is read, and the spans that tile it."""

    text: str
    spans: tuple[Span, ...]


@cache
def parser(*, links: bool = True) -> MarkdownIt:
    """The Markdown parser: CommonMark with tables and strikethrough, no HTML; formulas are left as they are."""
    from markdown_it import MarkdownIt

    md = MarkdownIt("commonmark", {"html": False, "maxNesting": DEEPEST}).enable(["table", "strikethrough"])
    md.disable(["html_block", "html_inline"])
    md.inline.ruler.before("escape", "formula", _formula)
    md.inline.ruler.at("emphasis", _emphasis)
    if not links:
        md.disable(["link", "image"])
    # Inline text is parsed only when its block is drawn.
    md.core.ruler.disable(["inline", "text_join"])
    return md


def _formula(state: StateInline, silent: bool) -> bool:
    r"""`\( … \)`, `\[ … \]`, `$$ … $$` and `$…$` stay as they are: Markdown would eat their backslashes."""
    source, at = state.src, state.pos
    opener = source[at : at + 2]
    if opener in (r"\(", r"\["):
        end = source.find(r"\)" if opener == r"\(" else r"\]", at + 2)
        end = end + 2 if end > 0 else -1
    elif opener == "$$":
        end = source.find("$$", at + 2)
        end = end + 2 if end > at + 2 else -1
    elif source[at] == "$":
        end = _dollar_end(source, at)
    else:
        return False
    if end < 0 or end > state.posMax:
        return False
    if not silent:
        token = state.push("formula", "", 0)
        token.content = source[at:end]
    state.pos = end
    return True


def _dollar_end(source: str, at: int) -> int:
    """End of `$…$`, by pandoc's rule that keeps prices apart: no blank inside the dollars, no digit after them."""
    if source[at + 1 : at + 2].strip() == "":
        return -1
    end = source.find("$", at + 1)
    if end < 0 or "\n" in source[at:end] or source[end - 1].isspace() or source[end + 1 : end + 2].isdigit():
        return -1
    return end + 1


def _emphasis(state: StateInline, silent: bool) -> bool:
    """CommonMark's rule, but a Chinese, Japanese or Korean neighbour counts as a word boundary.

    Those scripts write no spaces, so `**重要：**的` would stay unmarked by the letter of the standard.
    """
    from markdown_it.rules_inline.state_inline import Delimiter

    marker = state.src[state.pos]
    if silent or marker not in "_*":
        return False
    scanned = state.scanDelims(state.pos, marker == "*")
    before = state.src[state.pos - 1] if state.pos else " "
    following = state.pos + scanned.length
    after = state.src[following] if following < state.posMax else " "
    can_open, can_close = scanned.can_open, scanned.can_close
    if marker == "*" and (_CJK.match(before) or _CJK.match(after)):
        can_open = can_open or not after.isspace()
        can_close = can_close or not before.isspace()
    for _ in range(scanned.length):
        token = state.push("text", "", 0)
        token.content = marker
        state.delimiters.append(
            Delimiter(
                marker=ord(marker),
                length=scanned.length,
                token=len(state.tokens) - 1,
                end=-1,
                open=can_open,
                close=can_close,
            )
        )
    state.pos = following
    return True


def parse_inline(content: str, env: dict[str, Any]) -> Inline:
    """Markdown `content` as text and spans. A line end in the source is a line end on the screen."""
    tokens: list[Token] = []
    # The search for a link's end takes quadratic time where a model gets stuck writing brackets.
    md = parser(links=content.count("[") <= MOST_BRACKETS)
    md.inline.parse(content, md, env, tokens)
    writer = _Writer()
    writer.tokens(tokens)
    return writer.done()


_FLAGS = {"strong_open": BOLD, "em_open": ITALIC, "s_open": STRIKE}
_CLOSERS = {"strong_close": BOLD, "em_close": ITALIC, "s_close": STRIKE}


class _Writer:
    def __init__(self) -> None:
        self._parts: list[str] = []
        self._spans: list[Span] = []
        self._length = 0
        self._depth = {BOLD: 0, ITALIC: 0, STRIKE: 0}
        self._flags = 0
        self._url = ""

    def done(self) -> Inline:
        text = "".join(self._parts)
        return Inline(text, tuple(self._spans if text.isascii() else _whole_clusters(text, self._spans)))

    def tokens(self, tokens: Sequence[Token]) -> None:
        for token in tokens:
            kind = token.type
            if kind in ("text", "text_special"):
                self._text(token.content)
            elif kind in ("softbreak", "hardbreak"):
                self._add("\n", self._flags, self._url)
            elif kind == "code_inline":
                self._add(token.content, self._flags | CODE, self._url)
            elif kind == "formula":
                self._add(token.content, self._flags | MATH, self._url)
            elif kind in _FLAGS:
                self._turn(_FLAGS[kind], 1)
            elif kind in _CLOSERS:
                self._turn(_CLOSERS[kind], -1)
            elif kind == "link_open":
                self._url = str(token.attrs.get("href", ""))
            elif kind == "link_close":
                self._url = ""
            elif kind == "image":
                self._add(f"[image: {token.content or 'no description'}]", self._flags, str(token.attrs.get("src", "")))
            else:
                self._text(token.content)

    def _turn(self, flag: int, by: int) -> None:
        self._depth[flag] += by
        self._flags = self._flags | flag if self._depth[flag] else self._flags & ~flag

    def _text(self, text: str) -> None:
        if "<" in text:
            text = _BREAK.sub("\n", text)
        if "://" not in text or self._url:
            self._add(text, self._flags, self._url)
            return
        at = 0
        for match in _URL.finditer(text):
            url = match.group().rstrip(_TRAILING)
            self._add(text[at : match.start()], self._flags, "")
            self._add(url, self._flags, url)
            at = match.start() + len(url)
        self._add(text[at:], self._flags, "")

    def _add(self, text: str, flags: int, url: str) -> None:
        if not text:
            return
        text = display_safe(text.expandtabs(4) if "\t" in text else text)
        if url:
            flags |= LINK
        start, self._length = self._length, self._length + len(text)
        self._parts.append(text)
        if self._spans and self._spans[-1][2:] == (flags, url):
            self._spans[-1] = Span(self._spans[-1].start, self._length, flags, url)
        else:
            self._spans.append(Span(start, self._length, flags, url))


def _whole_clusters(text: str, spans: Sequence[Span]) -> list[Span]:
    """Spans whose ends never part a joined character: the halves would be wider than the whole."""
    moved: list[Span] = []
    start = 0
    for span in spans:
        end = max(start, span.end)
        while end < len(text) and (text[end - 1] == "\u200d" or not cell_len(text[end])):
            end += 1
        if end > start:
            moved.append(Span(start, end, span.flags, span.url))
        start = end
    return moved


def link_style(style: Style, url: str) -> Style:
    """`style` that opens `url` when it is clicked."""
    return style + Style.from_meta({"@click": f"open_link({url!r})"})


def inline_rows(inline: Inline, width: int, base: str, palette: Palette) -> list[Row]:
    """The paragraph cut to rows of at most `width` cells."""
    rows: list[Row] = []
    spans = inline.spans
    number = 0
    at = 0
    for paragraph in inline.text.split("\n"):
        for piece in wrap(paragraph, width):
            start, end = at + piece.start, at + piece.end
            segments: list[Segment] = []
            cells = 0
            # Spans are in order and so are the rows: never look back.
            while number < len(spans) and spans[number].end <= start:
                number += 1
            index = number
            while index < len(spans) and spans[index].start < end:
                span = spans[index]
                text = inline.text[max(start, span.start) : min(end, span.end)]
                style = palette.inline(base, span.flags)
                if span.url:
                    style = link_style(style, span.url)
                if text:
                    segments.append(Segment(text, style))
                    cells += cell_len(text)
                index += 1
            rows.append(Row(segments, cells, glue=piece.glue))
        at += len(paragraph) + 1
    return rows
