"""Blocks to rows: headings, paragraphs, lists, quotes, tables, code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.segment import Segment

from tui.app.widgets.transcript.blocks import Unit, close_of, kind_of, needs_gap
from tui.app.widgets.transcript.code import ColoredLine, Highlighter, language_of
from tui.app.widgets.transcript.inline import Inline, inline_rows, parse_inline
from tui.app.widgets.transcript.palette import Palette
from tui.app.widgets.transcript.rows import BLANK, Row, indented
from tui.app.widgets.transcript.table import Records, table_rows
from tui.app.widgets.transcript.wrap import fold, wrap
from tui.text import display_safe, one_line

if TYPE_CHECKING:
    from markdown_it.token import Token

NARROWEST = 12
"""Cells that nesting leaves for the text, however deep it goes."""
LONG_CODE = 10_000
"""Characters of code that, once drawn line by line, are not lexed again as a whole: that would hold up the screen."""
_BULLETS = "•◦▪"
_TASKS = {"[ ] ": "☐ ", "[x] ": "☑ ", "[X] ": "☑ "}


class _OpenCode:
    """A code block that still grows: the rows of its finished lines are kept."""

    def __init__(self, language: str, width: int) -> None:
        self.language = language
        self.width = width
        self.source = ""
        self.rows: list[Row] = []
        self.highlighter = Highlighter(language)


class Renderer:
    """Draws one message's units. It remembers the leaves of the open one: drawing it again costs what is new."""

    def __init__(self, palette: Palette, env: dict[str, Any] | None = None) -> None:
        self.palette = palette
        self.env: dict[str, Any] = {} if env is None else env
        self._leaves: dict[tuple[str, str, int, str], list[Row]] = {}
        self._fresh: dict[tuple[str, str, int, str], list[Row]] | None = None
        self._cells: dict[str, Inline] = {}
        self._records: Records = {}
        self._open: _OpenCode | None = None
        self._last: Token | None = None
        self._panel = False
        """Whether the last unit ended in a code block: a blank row sets it apart from what follows."""

    def unit(self, unit: Unit, lines: Sequence[str], width: int, *, base: str = "text") -> list[Row]:
        """Rows of a unit that is complete, with the gap before it.

        `lines` is the source that was split; `base` names the text's style.
        """
        self._last = None
        rows = self._with_gap(unit, self._panel, self._unit(unit, lines, width, base))
        self._panel = _ends_in_panel(rows)
        self._cells.clear()
        self._records.clear()
        return rows

    def open_units(self, units: Sequence[Unit], lines: Sequence[str], width: int, *, base: str = "text") -> list[Row]:
        """Rows of the units that may still grow, with the gaps before them."""
        self._fresh = {}
        self._last = next((token for token in reversed(units[-1].tokens) if token.nesting == 0), None)
        rows: list[Row] = []
        panel = self._panel
        for unit in units:
            rows.extend(self._with_gap(unit, panel, self._unit(unit, lines, width, base)))
            panel = _ends_in_panel(rows)
        self._leaves, self._fresh = self._fresh, None
        if self._last is None or self._last.type != "fence":
            self._open = None
        return rows

    def _with_gap(self, unit: Unit, after_panel: bool, rows: list[Row]) -> list[Row]:
        return [BLANK, *rows] if unit.gap or after_panel else rows

    def _unit(self, unit: Unit, lines: Sequence[str], width: int, base: str) -> list[Row]:
        if unit.kind == "item":
            return self._item(unit.tokens, 0, unit.ordinal, lines, width, base, 0)
        return self._block(unit.tokens, 0, lines, width, base, 0)

    def _blocks(
        self, tokens: Sequence[Token], start: int, end: int, lines: Sequence[str], width: int, base: str, depth: int
    ) -> list[Row]:
        rows: list[Row] = []
        before = ""
        at = start
        while at < end:
            token = tokens[at]
            kind = kind_of(token)
            line = token.map[0] if token.map else 0
            blank = bool(line) and not lines[line - 1].strip(" \t>")
            if needs_gap(before, kind, blank):
                rows.append(BLANK)
            rows.extend(self._block(tokens, at, lines, width, base, depth))
            before = kind
            at = close_of(tokens, at) + 1
        return rows

    def _block(
        self, tokens: Sequence[Token], at: int, lines: Sequence[str], width: int, base: str, depth: int
    ) -> list[Row]:
        token = tokens[at]
        kind = kind_of(token)
        end = close_of(tokens, at)
        if kind == "paragraph":
            return self._text(tokens[at + 1].content, width, base)
        if kind == "heading":
            return self._text(tokens[at + 1].content, width, f"h{min(3, int(token.tag[1:]))}")
        if kind in ("fence", "code_block"):
            return self._code(token, width)
        if kind in ("bullet_list", "ordered_list"):
            return self._list(tokens, at, end, lines, width, base, depth)
        if kind == "blockquote":
            bar = Segment("▎ ", self.palette["rule"])
            narrow = width - 2 >= NARROWEST
            inner = self._blocks(tokens, at + 1, end, lines, width - 2 if narrow else width, "quote", depth)
            return indented(inner, bar, bar, bar=True) if narrow else inner
        if kind == "table":
            return self._table(tokens, at, end, width)
        if kind == "hr":
            return [Row([Segment("─" * width, self.palette["rule"])], width)]
        return plain_rows(token.content, width, base, self.palette)

    def _list(
        self, tokens: Sequence[Token], at: int, end: int, lines: Sequence[str], width: int, base: str, depth: int
    ) -> list[Row]:
        ordered = kind_of(tokens[at]) == "ordered_list"
        ordinal = int(tokens[at].attrs.get("start", 1))
        rows: list[Row] = []
        item = at + 1
        while item < end:
            line = tokens[item].map[0] if tokens[item].map else 0  # type: ignore[index]  # mypy forgets the test
            if rows and (_ends_in_panel(rows) or (line and not lines[line - 1].strip(" \t>"))):
                rows.append(BLANK)
            rows.extend(self._item(tokens, item, ordinal if ordered else -1, lines, width, base, depth))
            ordinal += 1
            item = close_of(tokens, item) + 1
        return rows

    def _item(
        self, tokens: Sequence[Token], at: int, ordinal: int, lines: Sequence[str], width: int, base: str, depth: int
    ) -> list[Row]:
        palette = self.palette
        mark = f"{ordinal}. " if ordinal >= 0 else f"{_BULLETS[min(depth, 2)]} "
        if tokens[at + 1].type == "paragraph_open":
            text = tokens[at + 2]
            for written, box in _TASKS.items():
                if text.content.startswith(written):
                    mark = mark + box if ordinal >= 0 else box
                    # These tokens were made for this drawing alone.
                    text.content = text.content[len(written) :]
        if width - len(mark) < NARROWEST:
            mark = ""
        inner = self._blocks(tokens, at + 1, close_of(tokens, at), lines, width - len(mark), base, depth + 1)
        if not inner:
            inner = [Row([], 0)]
        if not mark:
            return inner
        return indented(inner, Segment(mark, palette["bullet"]), Segment(" " * len(mark), palette.text))

    def _text(self, content: str, width: int, base: str) -> list[Row]:
        key = ("text", content, width, base)
        rows = self._leaves.get(key)
        if rows is None:
            rows = inline_rows(parse_inline(content, self.env), width, base, self.palette)
        if self._fresh is not None:
            self._fresh[key] = rows
        return rows

    def _table(self, tokens: Sequence[Token], at: int, end: int, width: int) -> list[Row]:
        records: list[list[str]] = []
        aligns: list[str] = []
        for token in tokens[at:end]:
            if token.type == "tr_open":
                records.append([])
            elif token.type == "th_open":
                aligns.append(str(token.attrs.get("style", "")).removeprefix("text-align:") or "left")
            elif token.type == "inline":
                records[-1].append(token.content)
        key = ("table", "\n".join("\0".join(record) for record in records), width, "")
        rows = self._leaves.get(key)
        if rows is None:
            header, *body = [[self._cell(cell) for cell in record] for record in records]
            rows = table_rows(header, body, aligns, width, self.palette, self._records)
        if self._fresh is not None:
            self._fresh[key] = rows
        return rows

    def _cell(self, content: str) -> Inline:
        found = self._cells.get(content)
        if found is None:
            found = self._cells[content] = parse_inline(content, self.env)
        return found

    def _code(self, token: Token, width: int) -> list[Row]:
        language = language_of(token.info)
        source = display_safe(token.content).expandtabs(4)
        known = self._open is not None and len(source) > LONG_CODE and source.startswith(self._open.source)
        if token is self._last or known:
            return self._growing_code(language, source, width)
        key = ("code", source, width, language)
        rows = self._leaves.get(key)
        if rows is None:
            rows = self._code_label(language, width)
            for line in Highlighter(language).whole(source):
                rows.extend(self._code_rows(line, width))
        if self._fresh is not None:
            self._fresh[key] = rows
        return rows

    def _growing_code(self, language: str, source: str, width: int) -> list[Row]:
        code = self._open
        if code is None or code.language != language or code.width != width or not source.startswith(code.source):
            code = self._open = _OpenCode(language, width)
            code.rows = self._code_label(language, width)
        # markdown-it closes the last line itself, so whether it is complete is not known: it stays open.
        # It may have been taken for complete while the fence's closing line was half there.
        last = max(len(code.source), source.rfind("\n", 0, max(0, len(source) - 1)) + 1)
        if last > len(code.source):
            for line in code.highlighter.feed(source[len(code.source) : last], keep=True):
                code.rows.extend(self._code_rows(line, width))
            code.source = source[:last]
        tail: list[Row] = []
        for line in code.highlighter.feed(source[last:], keep=False) if source[last:] else []:
            tail.extend(self._code_rows(line, width))
        return [*code.rows, *tail]

    def _code_label(self, language: str, width: int) -> list[Row]:
        if not language:
            return []
        style = self.palette["code-label"]
        label = " " + one_line(language, max(4, width - 2))
        label = label[: label.__len__() if cell_len(label) <= width else width // 2]
        return [Row([Segment(label, style)], cell_len(label), lead=1, fill=style, silent=True)]

    def _code_rows(self, line: ColoredLine, width: int) -> list[Row]:
        palette = self.palette
        panel = palette["code"]
        pad = Segment(" ", panel)
        text = "".join(part.text for part in line)
        if len(text) <= width - 2 and text.isascii():
            segments = [pad, *(Segment(part.text, palette[part.style]) for part in line)]
            return [Row(segments, len(text) + 1, lead=1, fill=panel)]
        rows: list[Row] = []
        for piece in fold(text, width - 2):
            segments = [pad]
            cells = 1
            at = 0
            for part in line:
                shown = text[max(piece.start, at) : min(piece.end, at + len(part.text))]
                if shown and at + len(part.text) > piece.start and at < piece.end:
                    segments.append(Segment(shown, palette[part.style]))
                    cells += cell_len(shown)
                at += len(part.text)
            if cells > width - 1:
                # A joined character lay across two colours; its halves are wider than the whole.
                whole = text[piece.start : piece.end]
                segments, cells = [pad, Segment(whole, panel)], 1 + cell_len(whole)
            rows.append(Row(segments, cells, lead=1, glue=piece.glue, fill=panel))
        return rows


def _ends_in_panel(rows: Sequence[Row]) -> bool:
    return bool(rows) and rows[-1].fill is not None


def plain_rows(text: str, width: int, base: str, palette: Palette) -> list[Row]:
    """Text as it was typed: its own line ends, nothing interpreted."""
    style = palette[base]
    rows: list[Row] = []
    for line in text.expandtabs(4).split("\n"):
        for piece in wrap(line, width):
            shown = line[piece.start : piece.end]
            segments = [Segment(shown, style)] if shown else []
            rows.append(Row(segments, cell_len(shown), glue=piece.glue))
    return rows
