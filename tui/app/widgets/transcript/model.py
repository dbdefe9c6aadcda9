"""The transcript without the screen: messages in sections, what is drawn of them, and where each line is."""

from __future__ import annotations

import bisect
from collections import OrderedDict
from collections.abc import Iterator
from itertools import accumulate
from typing import Any, Final, Literal

from rich.segment import Segment

from tui.app.widgets.transcript.blocks import Carry, offset_of_line, split
from tui.app.widgets.transcript.palette import Palette
from tui.app.widgets.transcript.render import NARROWEST, Renderer, plain_rows
from tui.app.widgets.transcript.rows import BLANK, Line, Row, line_of
from tui.app.widgets.transcript.sections import cut_markdown, cut_plain, estimate_rows
from tui.text import display_safe

Kind = Literal["user", "assistant", "note", "error"]
Part = Literal["text", "reasoning", "plain"]

GUTTER: Final = 2
"""Cells left of every message: its bar and a space. Each is one cell a character."""
MEASURE: Final = 108
"""Cells of text at most: longer lines are hard to read."""
SECTION: Final = 8_000
"""Characters after which a growing message begins a new section."""
KEEP_LINES: Final = 3_000
"""Drawn lines that are remembered beside those in view."""

_BASE: dict[Kind, str] = {"user": "user", "assistant": "text", "note": "note", "error": "error"}
_BARS: dict[str, tuple[str, str]] = {
    "user": ("▌", "user-bar"),
    "assistant": (" ", "assistant-bar"),
    "note": ("·", "muted"),
    "error": ("▌", "error-bar"),
    "reasoning": ("┊", "muted"),
}


class Section:
    """A part of a message that is drawn, measured and forgotten as a whole."""

    __slots__ = ("carry", "entry", "exact", "frame", "height", "index", "lines", "part", "source", "stream")

    def __init__(self, entry: Entry, part: Part, source: str, carry: Carry = Carry()) -> None:  # noqa: B008  # immutable
        self.entry = entry
        self.part: Part = part
        self.source = source
        self.carry = carry
        self.index = 0
        """Place in the transcript."""
        self.lines: list[Line] | None = None
        self.height = 1
        """Rows; exact once drawn, an estimate before."""
        self.exact = False
        self.frame = (0, 0)
        """How many of the lines are blank before the text and status after it."""
        self.stream: _Stream | None = None


class Entry:
    """A message, a note or an error: the handle that callers hold."""

    __slots__ = ("env", "kind", "live", "number", "sections", "status")

    def __init__(self, number: int, kind: Kind) -> None:
        self.number = number
        self.kind: Kind = kind
        self.sections: list[Section] = []
        self.status = ""
        """One muted row under the message."""
        self.live = False
        self.env: dict[str, Any] = {}

    @property
    def text(self) -> str:
        """The message as Markdown, without its reasoning."""
        return "".join(section.source for section in self.sections if section.part != "reasoning")

    @property
    def reasoning(self) -> str:
        return "".join(section.source for section in self.sections if section.part == "reasoning")


class _Stream:
    """The growing end of a section: what is settled has been drawn for good, the tail is drawn again."""

    __slots__ = ("carry", "pending", "renderer", "settled", "settled_to", "tail", "tail_lines")

    def __init__(self, carry: Carry) -> None:
        self.pending: list[str] = []
        self.carry = carry
        self.settled: list[Line] = []
        self.settled_to = 0
        """Characters of the section's source that are drawn for good."""
        self.tail = ""
        self.tail_lines: list[Line] = []
        self.renderer: Renderer | None = None


def body_width(width: int) -> int:
    """Cells of text on a screen of `width`: what the gutter and a margin leave, at most MEASURE, at least NARROWEST.

    On a screen narrower than that, lines are cut at its edge.
    """
    return max(NARROWEST, min(width - GUTTER - 1, MEASURE))


class Transcript:
    """All messages, their lines at one width in one palette, and a map from line numbers to them."""

    def __init__(self, palette: Palette, width: int = 80) -> None:
        self.palette = palette
        self.width = width
        self.body = body_width(width)
        """Cells that a message's text has."""
        self.entries: list[Entry] = []
        self.sections: list[Section] = []
        self._tops: list[int] = [0]
        """Line where each section starts, as far as they are valid; one more than valid sections."""
        self._dirty: dict[Section, None] = {}
        self._drawn: OrderedDict[Section, int] = OrderedDict()
        self._drawn_lines = 0

    # What callers say

    def add(self, kind: Kind, text: str = "", *, reasoning: str = "", status: str = "", live: bool = False) -> Entry:
        """A message at the end. What the user typed is shown as typed; everything else is Markdown."""
        entry = Entry(len(self.entries), kind)
        entry.status = status
        entry.live = live
        self.entries.append(entry)
        if reasoning:
            self._add_sections(entry, "reasoning", display_safe(reasoning))
        if text or not reasoning:
            self._add_sections(entry, "plain" if kind == "user" else "text", display_safe(text))
        return entry

    def append(self, entry: Entry, delta: str, *, reasoning: bool = False) -> None:
        """More text of a live message; drawn by the next `flush`. Costs next to nothing."""
        part: Part = "reasoning" if reasoning else "text"
        section = entry.sections[-1]
        if section.part != part or section.stream is None:
            empty = not section.source and (section.stream is None or not section.stream.pending)
            if section.part == part or empty:
                section.part = part
            else:
                self._close(section)
                section = self._insert(Section(entry, part, ""))
            if section.stream is None:
                section.stream = _Stream(section.carry)
                section.stream.pending.append(section.source)
                section.source = ""
        assert section.stream is not None
        section.stream.pending.append(delta)
        self._dirty[section] = None

    def finish(self, entry: Entry, status: str | None = None) -> None:
        """The message is complete."""
        entry.live = False
        for section in entry.sections:
            self._close(section)
        if entry.env.get("references"):
            # A link may have been drawn before the definition it refers to had come.
            for section in entry.sections:
                self._forget(section)
                self.lines_of(section)
        if status is not None:
            self.set_status(entry, status)

    def set_status(self, entry: Entry, status: str) -> None:
        """The muted row under a message; empty for none."""
        if entry.status != status:
            entry.status = display_safe(status)
            self._relayout(entry.sections[-1])

    def remove(self, entry: Entry) -> None:
        """Take a message out."""
        first = entry.sections[0].index
        for section in entry.sections:
            self._forget(section)
            self._dirty.pop(section, None)
        del self.sections[first : first + len(entry.sections)]
        self.entries.remove(entry)
        self._renumber(first)

    def clear(self) -> None:
        """Take everything out."""
        self.entries.clear()
        self.sections.clear()
        self._dirty.clear()
        self._drawn.clear()
        self._drawn_lines = 0
        self._tops = [0]

    # Drawing

    def look(self, palette: Palette, width: int) -> None:
        """Another width or theme: everything drawn is forgotten, heights become estimates."""
        same_width = width == self.width
        self.palette = palette
        self.width = width
        self.body = body_width(width)
        for section in self.sections:
            if section.stream is not None:
                self._restart(section)
            section.lines = None
            if not same_width:
                section.exact = False
                section.height = self._estimate(section)
        self._drawn.clear()
        self._drawn_lines = 0
        self._tops = [0]

    def flush(self) -> int | None:
        """Draw what was appended. The first line that may have changed, or None when nothing was waiting."""
        if not self._dirty:
            return None
        first: int | None = None
        for section in list(self._dirty):
            at = self.top(section.index) + self._advance(section)
            first = at if first is None else min(first, at)
        self._dirty.clear()
        return first

    def lines_of(self, section: Section) -> list[Line]:
        """The section's lines, drawn now if need be."""
        if section.lines is None:
            if section.stream is not None:
                self._advance(section)
            else:
                self._set_lines(section, self._draw(section))
        elif section in self._drawn:
            self._drawn.move_to_end(section)
        assert section.lines is not None
        return section.lines

    def _draw(self, section: Section) -> list[Line]:
        part, width = section.part, self.body
        base = "reasoning" if part == "reasoning" else _BASE[section.entry.kind]
        if part == "plain":
            rows = plain_rows(section.source, width, base, self.palette)
        else:
            renderer = Renderer(self.palette, section.entry.env)
            source_lines = section.source.split("\n")
            rows = []
            for unit in split(section.source, section.carry, section.entry.env):
                rows.extend(renderer.unit(unit, source_lines, width, base=base))
        return self._framed(section, self._lines(section, rows))

    def _lines(self, section: Section, rows: list[Row]) -> list[Line]:
        kind = "reasoning" if section.part == "reasoning" else section.entry.kind
        base = self.palette["reasoning" if section.part == "reasoning" else _BASE[section.entry.kind]]
        bar, bar_style = _BARS[kind]
        gutter = [Segment(bar, self.palette[bar_style]), Segment(" ", base)]
        if kind == "note":
            after = [Segment(" ", base), Segment(" ", base)]
            return [
                line_of(row, after if at else gutter, GUTTER + self.body, self.width, base)
                for at, row in enumerate(rows)
            ]
        return [line_of(row, gutter, GUTTER + self.body, self.width, base) for row in rows]

    def _framed(self, section: Section, lines: list[Line]) -> list[Line]:
        """With the blank row before the message and the status row after it."""
        entry, before, after = section.entry, [], []
        if section is entry.sections[0]:
            apart = entry.number > 0
        else:
            apart = entry.sections[section.index - entry.sections[0].index - 1].part != section.part
        if apart:
            plain = self.palette.text
            before = [line_of(BLANK, [Segment(" " * GUTTER, plain)], GUTTER + self.body, self.width, plain)]
        if section is entry.sections[-1] and entry.status:
            muted = self.palette["muted"]
            for row in plain_rows(entry.status, self.body, "muted", self.palette):
                row.silent = True
                after.append(line_of(row, [Segment(" " * GUTTER, muted)], GUTTER + self.body, self.width, muted))
        section.frame = (len(before), len(after))
        return [*before, *lines, *after]

    # A live section

    def _advance(self, section: Section) -> int:
        """Draw what is waiting in a live section; the first of its lines that may have changed."""
        stream = section.stream
        if stream is None:
            return 0
        if stream.renderer is None:
            stream.renderer = Renderer(self.palette, section.entry.env)
        section.source += self._take(stream)
        stream.tail = section.source[stream.settled_to :]
        width = self.body
        base = "reasoning" if section.part == "reasoning" else "text"
        unchanged = len(stream.settled)
        units = split(stream.tail, stream.carry, section.entry.env)
        source_lines = stream.tail.split("\n")
        # A unit is settled once the next one has begun with a complete line: before that, one more character
        # may still make both into one (`-` after a paragraph is a heading's underline, then a list item).
        open_from = max((at for at, unit in enumerate(units) if unit.first_line < len(source_lines) - 1), default=0)
        for unit in units[:open_from]:
            rows = stream.renderer.unit(unit, source_lines, width, base=base)
            stream.settled.extend(self._lines(section, rows))
        open_rows = stream.renderer.open_units(units[open_from:], source_lines, width, base=base) if units else []
        stream.tail_lines = self._lines(section, open_rows)
        if open_from:
            stream.settled_to += offset_of_line(stream.tail, units[open_from].first_line)
            stream.carry = units[open_from].before
        self._set_lines(section, self._framed(section, stream.settled + stream.tail_lines))
        if stream.settled_to > SECTION and stream.carry.kind != "item":
            self._divide(section, stream)
        return unchanged

    def _take(self, stream: _Stream) -> str:
        text = "".join(stream.pending)
        stream.pending.clear()
        if text.endswith("\r"):
            # It may be the first half of a Windows line end.
            text = text[:-1]
            stream.pending.append("\r")
        return display_safe(text)

    def _divide(self, section: Section, stream: _Stream) -> None:
        """The settled part stays in `section`, the tail grows on in a new one."""
        tail = section.source[stream.settled_to :]
        section.source = section.source[: stream.settled_to]
        section.stream = None
        following = self._insert(Section(section.entry, section.part, "", stream.carry))
        following.stream = _Stream(stream.carry)
        following.stream.pending = [tail, *stream.pending]
        self._set_lines(section, self._framed(section, stream.settled))
        self._advance(following)

    def _close(self, section: Section) -> None:
        stream = section.stream
        if stream is None:
            return
        section.source += display_safe("".join(stream.pending))
        section.stream = None
        self._dirty.pop(section, None)
        if stream.renderer is None:
            section.lines = None
            section.height = self._estimate(section)
            section.exact = False
            self._invalid_from(section.index)
            return
        tail = section.source[stream.settled_to :]
        source_lines = tail.split("\n")
        base = "reasoning" if section.part == "reasoning" else "text"
        for unit in split(tail, stream.carry, section.entry.env):
            rows = stream.renderer.unit(unit, source_lines, self.body, base=base)
            stream.settled.extend(self._lines(section, rows))
        self._set_lines(section, self._framed(section, stream.settled))

    def _restart(self, section: Section) -> None:
        stream = section.stream
        assert stream is not None
        fresh = _Stream(section.carry)
        fresh.pending = [section.source, *stream.pending]
        section.source = ""
        section.stream = fresh
        self._dirty[section] = None

    # Where things are

    @property
    def total(self) -> int:
        """Rows of all messages."""
        return self.top(len(self.sections))

    def top(self, index: int) -> int:
        """The line where section `index` starts; for one past the last, the number of lines."""
        tops = self._tops
        if index >= len(tops):
            start = len(tops) - 1
            heights = (section.height for section in self.sections[start:index])
            tops.extend(accumulate(heights, initial=tops.pop()))
        return tops[index]

    def find(self, line: int) -> tuple[Section, int]:
        """The section that holds a line of the transcript, and the line's number within it."""
        self.top(len(self.sections))
        index = min(bisect.bisect_right(self._tops, line) - 1, len(self.sections) - 1)
        index = max(0, index)
        return self.sections[index], line - self._tops[index]

    def window(self, line: int, count: int) -> Iterator[Line]:
        """`count` lines from line `line` on, fewer at the end; draws what is not drawn yet."""
        if not self.sections:
            return
        section, at = self.find(line)
        index = section.index
        while count > 0 and index < len(self.sections):
            lines = self.lines_of(self.sections[index])[max(0, at) : max(0, at) + count]
            yield from lines
            count -= len(lines)
            at = 0
            index += 1

    def _set_lines(self, section: Section, lines: list[Line]) -> None:
        section.lines = lines
        section.exact = True
        if section.height != len(lines):
            section.height = len(lines)
            self._invalid_from(section.index)
        self._drawn_lines += len(lines) - self._drawn.get(section, 0)
        self._drawn[section] = len(lines)
        self._drawn.move_to_end(section)

    def trim(self) -> None:
        """Forget the lines that were not looked at for longest; to be called when no line is in use."""
        while self._drawn_lines > KEEP_LINES and len(self._drawn) > 1:
            section = next(iter(self._drawn))
            if section.stream is not None:
                self._drawn.move_to_end(section)
                if all(other.stream is not None for other in self._drawn):
                    return
                continue
            self._forget(section)

    def _forget(self, section: Section) -> None:
        self._drawn_lines -= self._drawn.pop(section, 0)
        section.lines = None

    def _relayout(self, section: Section) -> None:
        """The frame of a section changed, not its text."""
        if section.lines is not None:
            before, after = section.frame
            self._set_lines(section, self._framed(section, section.lines[before : len(section.lines) - after]))
        else:
            section.exact = False

    def _invalid_from(self, index: int) -> None:
        del self._tops[index + 1 :]

    def _estimate(self, section: Section) -> int:
        entry = section.entry
        rows = estimate_rows(section.source, self.body)
        frame = (section is entry.sections[0] and entry.number > 0) + (
            section is entry.sections[-1] and bool(entry.status)
        )
        return rows + frame

    def _add_sections(self, entry: Entry, part: Part, text: str) -> None:
        pieces = cut_plain(text, SECTION) if part == "plain" else cut_markdown(text, SECTION)
        for piece, carry in pieces:
            section = Section(entry, part, piece, carry)
            section.index = len(self.sections)
            entry.sections.append(section)
            self.sections.append(section)
        for section in entry.sections:
            section.height = self._estimate(section)

    def _insert(self, section: Section) -> Section:
        """After its entry's last section."""
        last = section.entry.sections[-1]
        section.entry.sections.append(section)
        self.sections.insert(last.index + 1, section)
        self._renumber(last.index + 1)
        # The status row moves to the new last section.
        self._relayout(last)
        return section

    def _renumber(self, start: int) -> None:
        for index in range(start, len(self.sections)):
            self.sections[index].index = index
        self._invalid_from(max(0, start - 1))
