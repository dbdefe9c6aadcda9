"""Lines broken between words to the width of a terminal, as they are written; pipes and files never come here."""

from __future__ import annotations

import os
import re
import shutil
from typing import IO

_LEAST = 24
"""Columns; a narrower terminal breaks lines as it likes."""
_MARK = re.compile(r"(?:[-*+•>]|\d{1,3}[.)])[ \t]+")
"""What a line is indented behind."""
_AS_IT_IS = re.compile(r"\s*(?:```|~~~|\|)| {4}|\t")
"""Lines of code and tables: breaking them would do harm."""
_MOST_MARKS = 8
_CLOSES = frozenset("，。、！？；：）」』】》〉”’…—・ー々〕］｝%％")
"""No line begins with one of these."""
_OPENS = frozenset("（「『【《〈“‘〔［｛")


def terminal_width(stream: IO[str]) -> int:
    """Columns of the terminal behind `stream`; 0 where it is none, or too narrow to be wrapped for."""
    if not stream.isatty():
        return 0
    try:
        width = int(os.environ.get("COLUMNS", "")) or os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        try:
            width = os.get_terminal_size(stream.fileno()).columns
        except (OSError, ValueError):
            width = shutil.get_terminal_size().columns
    return width if width >= _LEAST else 0


def wrapped(text: str, width: int) -> str:
    """`text` with every line broken between words at `width` cells; 0 leaves it as it is."""
    if not width:
        return text
    wrapper = Wrapper(width)
    return wrapper.feed(text) + wrapper.flush()


class Wrapper:
    """Wraps a stream piece by piece. A word is held back until it is known to be whole: `flush` gives it."""

    def __init__(self, width: int) -> None:
        self.width = width
        """Cells; 0 for no end."""
        self._fenced = False
        self._begin()

    def _begin(self) -> None:
        self._head = ""
        """The beginning of the line, until it is known how it is to be indented."""
        self._open = True
        self._raw = False
        self._indent = 0
        self._column = 0
        self._space = ""
        self._word = ""

    def feed(self, text: str) -> str:
        """What may be written now."""
        out: list[str] = []
        for character in text:
            if character == "\n":
                out += [self._decided() if self._open else "", self._put(), self._space if self._raw else "", "\n"]
                if re.match(r"\s*(?:```|~~~)", self._head):
                    self._fenced = not self._fenced
                self._begin()
            elif self._open:
                self._head += character
                if not character.isspace() and len(self._head.lstrip()) > _MOST_MARKS + 4:
                    out.append(self._decided())
            elif self._raw:
                out.append(character)
            else:
                out.append(self._take(character))
        return "".join(out)

    def flush(self) -> str:
        """The word that was held back."""
        return (self._decided() if self._open and self._head else "") + self._put()

    def _decided(self) -> str:
        """The beginning of the line, once enough of it is there."""
        from rich.cells import cell_len

        self._open = False
        head = self._head
        if not self.width or self._fenced or _AS_IT_IS.match(head):
            self._raw = True
            return head
        blank = len(head) - len(head.lstrip())
        mark = _MARK.match(head, blank)
        end = mark.end() if mark else blank
        self._indent = self._column = min(cell_len(head[:end]), self.width // 3)
        return head[:end] + "".join(self._take(character) for character in head[end:])

    def _take(self, character: str) -> str:
        from rich.cells import cell_len

        if character.isspace() and character != "\u00a0":
            done = self._put()
            self._space += " " if character == "\t" else character
            return done
        wide = cell_len(character) > 1 or character in _CLOSES
        last = self._word[-1:]
        # Between ideographs a line may break anywhere but before what closes and behind what opens.
        breaks = last and character not in _CLOSES and last not in _OPENS and (wide or cell_len(last) > 1)
        done = self._put() if breaks else ""
        self._word += character
        return done

    def _put(self) -> str:
        """The word at hand, on a new line where this one has no room for it."""
        from rich.cells import cell_len

        word, space = self._word, self._space
        if not word:
            return ""
        self._word = self._space = ""
        size = cell_len(word)
        if self._column + len(space) + size <= self.width or self._column <= self._indent:
            self._column = (
                (self._column + len(space) + size) % self.width
                if size > self.width
                else (self._column + len(space) + size)
            )
            return space + word
        self._column = self._indent + size
        return "\n" + " " * self._indent + word
