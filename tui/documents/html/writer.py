"""Lines of Markdown-like text, written one after the other, with the places of headings and tables kept."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tui.documents.model import Heading, Table

# Deeper nesting shows no further indentation: a thousand quotes inside each other would be all prefix.
_DEEPEST = 48


class _Frame(msgspec.Struct, frozen=True):
    first: str
    """Before its first line: `- `, `> `."""
    rest: str
    """Before each further line, what stands outside included."""


class Writer:
    """Collects text. Blocks ask for a gap before them; it is written when there is something to write."""

    def __init__(self) -> None:
        self.length = 0
        self.headings: list[Heading] = []
        self.tables: list[Table] = []
        self._parts: list[str] = []
        self._gap = 0
        self._fresh = True
        self._frames: list[_Frame] = []
        self._begun = 0
        """How many frames have had their first line."""

    @property
    def text(self) -> str:
        """All that was written so far."""
        return "".join(self._parts)

    def since(self, start: int) -> str:
        """What was written from `start` on, which is where a part began (see `break_here`)."""
        count, parts = self.length, []
        for part in reversed(self._parts):
            if count <= start:
                break
            parts.append(part)
            count -= len(part)
        return "".join(reversed(parts))

    def gap(self, lines: int) -> None:
        """At least this far to what was written before: 1 is the next line, 2 leaves a blank line.

        What comes first in a frame stands right behind the frame's mark.
        """
        if self._begun == len(self._frames):
            self._gap = max(self._gap, lines)

    def tight(self) -> None:
        """Directly on the next line, whatever was asked for."""
        self._gap = 1

    def indent(self, first: str, rest: str) -> None:
        """Open a frame: `first` before its first line, `rest` before the others."""
        outer = self._frames[-1].rest if self._frames else ""
        self._frames.append(_Frame(first, outer + rest if len(outer) < _DEEPEST else outer))

    def dedent(self) -> None:
        """Close the frame that was opened last."""
        self._frames.pop()
        self._begun = min(self._begun, len(self._frames))

    def line(self, text: str) -> int:
        """Write one line (it holds no line end); where it begins, its prefix included."""
        outer = self._frames[self._begun - 1].rest if self._begun else ""
        if not self._fresh:
            self._put("\n" if self._gap < 2 else f"\n{outer.rstrip()}\n")
        self._fresh = False
        self._gap = 1
        start = self.length
        first = "".join(frame.first for frame in self._frames[self._begun :])
        self._begun = len(self._frames)
        self._put(f"{outer}{first}{text}" if text else f"{outer}{first}".rstrip())
        return start

    def lines(self, texts: Sequence[str]) -> None:
        """Write lines one below the other."""
        for text in texts:
            self.line(text)

    def heading(self, level: int, text: str, title: str) -> None:
        """Write a heading, blank lines around it. `text` is one line."""
        self.gap(2)
        self.headings.append(Heading(self.line(f"{'#' * level} {text}"), level, title))
        self.gap(2)

    def table(self, header: str, rows: Sequence[str], columns: int) -> None:
        """Write a table of rows that are made already; without a header when `header` is empty."""
        self.gap(2)
        places = []
        if header:
            places.append(self.line(header))
            self.line(f"|{' --- |' * columns}")
        after_header = self.length
        below = [self.line(row) for row in rows]
        start = (places or below)[0]
        header_end = start if not header else below[0] if below else after_header
        self.tables.append(Table(start, header_end, self.length))
        self.gap(2)

    def break_here(self) -> int:
        """End what was written with a blank line, so that a new part begins; where it begins."""
        if not self._fresh:
            self._put("\n\n")
        self._fresh = True
        self._gap = 0
        return self.length

    def _put(self, text: str) -> None:
        self._parts.append(text)
        self.length += len(text)
