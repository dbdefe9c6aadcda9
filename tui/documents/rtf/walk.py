"""The walk over RTF's tokens: groups with their states, text in the right code page, stories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import msgspec

from tui.documents.blocks import Block, lines, paragraph
from tui.documents.rtf.fonts import Tables
from tui.documents.rtf.story import Story
from tui.documents.rtf.tokens import tokens
from tui.documents.rtf.words import (
    CHARACTERS,
    CODE_PAGES,
    DEFAULTS,
    MATHS,
    PARAGRAPH_ENDS,
    READ_ANYWAY,
    SILENT,
    STORIES,
)
from tui.documents.symbols import from_font, is_symbol_font

_MARKS = {"note": "", "comment": "c"}


class _State(msgspec.Struct):
    """What a group inherits and gives back."""

    target: str = "text"
    """`text`, `silent`, or what is collected: `fonttbl`, `stylesheet`, `label`, `author`, `sn`, `sv`, `pict`."""
    story: Story = msgspec.field(default_factory=lambda: Story("body"))
    font: int | None = None
    skip_after_unicode: int = 1
    hidden: bool = False
    deleted: bool = False
    in_table: bool = False
    table_depth: int = 0
    header_row: bool = False
    style: int = 0
    outline: int | None = None
    depth: int = 0


class Walk:
    """Reads a whole file; the results are `blocks()` and the counts."""

    def __init__(self) -> None:
        self.tables = Tables()
        self.counts: Counter[str] = Counter()
        """`picture`, `object`, `hidden`, `deleted`: pieces that are not in the text."""
        self.damaged_bytes = 0
        self.unknown_symbols = 0
        self.open_groups = 0
        self.rest = False
        """Whether more came after the end of the document; it is read as well."""
        self._page = 1252
        self._default_font: int | None = None
        self._state = _State()
        self._body = self._state.story
        self._stack: list[_State] = []
        self._bytes = bytearray()
        self._units: list[int] = []
        self._skip = 0
        self._star = False
        self._fresh = False
        self._ended = False
        self._collected = ""
        self._author = ""
        self._property = ""
        self._description = ""
        self._numbers = dict.fromkeys(_MARKS, 0)
        self._edges: dict[str, dict[str, None]] = {"header": {}, "footer": {}}
        self._words = self._handlers()

    def read(self, data: bytes) -> None:
        """Take in all tokens."""
        for kind, content, number in tokens(data):
            if kind == "open":
                self._open()
                continue
            if kind == "close":
                self._close()
                continue
            self.rest = self.rest or (self._ended and not self._stack and bool(content.strip()))
            if kind == "word":
                self._word(content.decode("ascii"), number)
            elif kind == "symbol":
                self._symbol(content.decode("latin-1"))
            elif kind == "torn":
                break
            else:
                self._raw(content)
        self.open_groups = len(self._stack)
        while self._stack:
            self._close()
        self._flush()

    def blocks(self) -> list[Block]:
        """All blocks: headers, the body with its notes, footers."""
        body = self._body.finish()
        edges = {kind: [paragraph(f"[page {kind}]\n{text}") for text in found] for kind, found in self._edges.items()}
        return [*edges["header"], *body, *edges["footer"]]

    # Groups

    def _open(self) -> None:
        self._flush()
        self._skip = 0
        self._stack.append(msgspec.structs.replace(self._state))
        self._star, self._fresh = False, True
        if self._state.target == "stylesheet":
            self.tables.new_style()

    def _close(self) -> None:
        self._flush()
        self._skip = 0
        self._fresh = self._star = False
        if not self._stack:
            return
        inner, self._state = self._state, self._stack.pop()
        if inner.target != self._state.target:
            self._end_target(inner)
        if inner.story is not self._state.story:
            self._end_story(inner.story)
        if not self._stack:
            self._ended = True

    def _end_target(self, inner: _State) -> None:
        text = " ".join(self._collected.split())
        if inner.target == "label":
            inner.story.label = text if any(map(str.isalnum, text)) else "-"
        elif inner.target == "author":
            self._author = text
        elif inner.target == "sn":
            self._property = text
        elif inner.target == "sv":
            if self._property == "wzDescription" and text:
                self._description = text
        elif inner.target == "pict":
            if self._description:
                inner.story.add(f"[picture: {self._description}]")
            else:
                self.counts["picture"] += 1
            self._description = ""
            return
        else:
            return
        self._collected = ""

    def _end_story(self, story: Story) -> None:
        text = lines(story.finish()).strip()
        outer = self._state.story
        if not text:
            outer.after += story.after
            return
        if story.kind in _MARKS:
            self._numbers[story.kind] += 1
            mark = f"[^{_MARKS[story.kind]}{self._numbers[story.kind]}]"
            outer.add(mark)
            if story.kind == "comment":
                text = f"Comment by {self._author}: {text}" if self._author else f"Comment: {text}"
                self._author = ""
            outer.after.append(paragraph(f"{mark}: {text}"))
        elif story.kind == "box":
            outer.after.append(paragraph(text))
        else:
            self._edges[story.kind].setdefault(lines([paragraph(text), *story.after]))
            return
        outer.after += story.after

    # Tokens

    def _word(self, name: str, number: int | None) -> None:
        first, self._fresh = self._fresh, False
        if self._skip:
            self._skip -= 1
            return
        if first or self._star:
            star, self._star = self._star, False
            if self._destination(name, star):
                return
        if name == "u" and number is not None:
            self._unicode(number)
            return
        target = self._state.target
        if target == "fonttbl":
            self._flush()
            self.tables.font_word(name, number)
        elif target == "stylesheet":
            self._flush()
            self.tables.style_word(name, number)
        elif name in CHARACTERS:
            self._put(CHARACTERS[name])
        elif name in self._words:
            self._flush()
            self._words[name](number)
        elif name in PARAGRAPH_ENDS:
            self._end_paragraph()
        elif name in MATHS:
            self._put(MATHS[name])

    def _destination(self, name: str, star: bool) -> bool:
        """Whether a control word at the beginning of a group says that its text goes elsewhere."""
        state = self._state
        if state.target in ("silent", "pict") and name not in ("shptxt", "sn", "sv"):
            return name in SILENT
        if name in STORIES:
            state.story, state.target = Story(STORIES[name]), "text"
        elif name in ("fonttbl", "stylesheet", "sn", "sv", "pict"):
            state.target = name
            self._collected = ""
            if name == "pict":
                self._description = ""
        elif name in ("listtext", "pntext", "atnauthor"):
            state.target = "author" if name == "atnauthor" else "label"
            self._collected = ""
        elif name == "nesttableprops":
            return True
        elif name == "object":
            self.counts["object"] += 1
        elif name in SILENT or (name.startswith("m") and name.endswith("Pr")) or (star and name not in READ_ANYWAY):
            state.target = "silent"
        else:
            return False
        return True

    def _symbol(self, name: str) -> None:
        if self._skip:
            self._skip -= 1
            return
        if name == "*":
            self._star = True
            return
        self._fresh = False
        if name in CHARACTERS:
            self._put(CHARACTERS[name])
        elif name in PARAGRAPH_ENDS:
            self._end_paragraph()

    def _raw(self, content: bytes) -> None:
        self._fresh = False
        if self._skip:
            taken = min(self._skip, len(content))
            self._skip -= taken
            content = content[taken:]
        if content and self._state.target not in ("silent", "pict"):
            if self._units:
                self._flush()
            self._bytes += content

    def _unicode(self, number: int) -> None:
        if self._bytes:
            self._flush()
        if self._state.target not in ("silent", "pict"):
            code = number + 0x10000 if number < 0 else number
            if 0 <= code <= 0xFFFF:
                self._units.append(code)
            else:
                # Some programs write characters beyond the first 65,536 as one number.
                self._put(chr(code) if 0xFFFF < code <= 0x10FFFF else "\ufffd")
        self._skip = self._state.skip_after_unicode

    # Text

    def _put(self, text: str) -> None:
        self._flush()
        self._give(text)

    def _flush(self) -> None:
        """Bytes and UTF-16 units that wait become text."""
        if self._bytes:
            raw, self._bytes = bytes(self._bytes), bytearray()
            text = raw.decode(self.tables.codec(self._state.font, self._page), errors="replace")
            self.damaged_bytes += text.count("\ufffd")
            self._give(text, raw)
        if self._units:
            packed = b"".join(unit.to_bytes(2, "little") for unit in self._units)
            self._units = []
            text = packed.decode("utf-16-le", errors="replace")
            self.damaged_bytes += text.count("\ufffd")
            self._give(text, b"")

    def _give(self, text: str, raw: bytes | None = None) -> None:
        state = self._state
        if raw is not None and state.target in ("text", "label"):
            font = self.tables.symbol_font(state.font)
            text, unknown = (
                from_font(raw.decode("latin-1") if raw else text, font) if is_symbol_font(font) else (text, 0)
            )
            self.unknown_symbols += unknown
        if state.target == "text":
            if state.hidden or state.deleted:
                if text.strip():
                    self.counts["hidden" if state.hidden else "deleted"] += 1
            else:
                state.story.add(text)
        elif state.target == "fonttbl":
            self.tables.font_text(text)
        elif state.target == "stylesheet":
            self.tables.style_text(text)
        elif state.target not in ("silent", "pict"):
            self._collected += text

    def _end_paragraph(self) -> None:
        self._flush()
        state = self._state
        if state.target != "text":
            return
        outline = self.tables.outlines.get(state.style) if state.outline is None else state.outline
        depth = max(state.table_depth, 1) if state.in_table else 0
        state.story.end_paragraph(outline, state.depth, depth)

    # Control words that change the state

    def _handlers(self) -> dict[str, Callable[[int | None], None]]:
        return {
            "ansicpg": self._code_page,
            **{name: self._charset(page) for name, page in DEFAULTS.items()},
            "deff": self._default,
            "f": self._set("font"),
            "plain": self._plain,
            "uc": self._set("skip_after_unicode"),
            "v": self._switch("hidden"),
            "deleted": self._switch("deleted"),
            "pard": self._pard,
            "intbl": self._switch("in_table"),
            "itap": self._set("table_depth"),
            "s": self._set("style"),
            "outlinelevel": self._set("outline"),
            "ilvl": self._set("depth"),
            "trowd": self._row_begins,
            "trhdr": self._switch("header_row"),
            "cell": lambda _: self._in_text(lambda state: state.story.end_cell(state.depth)),
            "row": lambda _: self._in_text(lambda state: state.story.end_row(header=state.header_row)),
            "nestcell": lambda _: self._in_text(lambda state: state.story.end_inner_cell(state.depth)),
            "nestrow": lambda _: self._in_text(lambda state: state.story.end_inner_row()),
        }

    def _in_text(self, act: Callable[[_State], None]) -> None:
        if self._state.target == "text":
            act(self._state)

    def _set(self, name: str) -> Callable[[int | None], None]:
        return lambda number: setattr(self._state, name, max(0, number or 0))

    def _switch(self, name: str) -> Callable[[int | None], None]:
        return lambda number: setattr(self._state, name, number != 0)

    def _charset(self, page: int) -> Callable[[int | None], None]:
        def choose(_: int | None) -> None:
            self._page = page

        return choose

    def _code_page(self, number: int | None) -> None:
        if number in CODE_PAGES:
            self._page = number
        elif number:
            self.tables.unknown_pages.add(number)

    def _default(self, number: int | None) -> None:
        self._default_font = self._state.font = number or 0

    def _plain(self, _: int | None) -> None:
        state = self._state
        state.font, state.hidden, state.deleted = self._default_font, False, False

    def _pard(self, _: int | None) -> None:
        state = self._state
        state.in_table, state.table_depth, state.style, state.outline, state.depth = False, 0, 0, None, 0

    def _row_begins(self, _: int | None) -> None:
        self._state.header_row = False
