"""Breaking text into lines of at most so many cells, with the widths the terminal toolkit itself uses."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from rich.cells import cell_len

# Characters that rich counts as one cell each without looking further: the text made of them needs no cluster walk.
_NARROW = re.compile("[\x20-\x7e\xa0-\xac\xae-\u02ff\u0370-\u0482\u2010-\u2027\u2500-\u25fc]*").fullmatch
_ZWJ = "\u200d"
_VS16 = "\ufe0f"
# No line starts with these, and none ends with those (Chinese and Japanese typesetting).
_NOT_FIRST = frozenset("、。，．：；！？）］｝〉》」』】〕〗’”…—・ーぁぃぅぇぉっゃゅょァィゥェォッャュョ々%")
_NOT_LAST = frozenset("（［｛〈《「『【〔〖‘“")


class Piece(NamedTuple):
    """A line: `text[start:end]`. `glue` is what was left out before the next line: a copy puts it back."""

    start: int
    end: int
    glue: str


def is_narrow(text: str) -> bool:
    """Whether every character of `text` takes exactly one cell."""
    return _NARROW(text) is not None


@lru_cache(2048)
def clusters(text: str) -> list[tuple[int, int, int]]:
    """The user-visible characters of `text`: (start, end, cells). Together they cover every index."""
    found: list[tuple[int, int, int]] = []
    start = 0
    join_next = False
    length = len(text)
    for index in range(1, length + 1):
        if index < length:
            character = text[index]
            if join_next:
                join_next = False
                continue
            if character == _ZWJ:
                join_next = True
                continue
            if character == _VS16 or not cell_len(character):
                continue
        if start < index:
            found.append((start, index, cell_len(text[start:index])))
        start = index
    return found


def fold(text: str, width: int) -> list[Piece]:
    """Cut at exactly `width` cells, wherever that is: for code, where every space counts."""
    if is_narrow(text):
        if len(text) <= width:
            return [Piece(0, len(text), "\n")]
        starts = range(0, len(text), width)
        return [Piece(at, min(at + width, len(text)), "" if at + width < len(text) else "\n") for at in starts]
    pieces: list[Piece] = []
    begin = cells = 0
    for start, _end, size in clusters(text):
        if cells + size > width and start > begin:
            pieces.append(Piece(begin, start, ""))
            begin, cells = start, 0
        cells += size
    pieces.append(Piece(begin, len(text), "\n"))
    return pieces


def wrap(text: str, width: int) -> list[Piece]:
    """Lines of at most `width` cells (≥ 2), broken at spaces, else between wide characters, else anywhere.

    `text` holds no newline. The pieces and their glue, joined, are the text again.
    """
    if is_narrow(text):
        return _wrap_narrow(text, width)
    return _wrap_wide(text, width)


def _swallow(text: str, at: int) -> tuple[int, int]:
    """The blanks around `at`: where the line before ends and where the next one starts."""
    end = at
    while end and text[end - 1] == " ":
        end -= 1
    begin = at
    while begin < len(text) and text[begin] == " " and not (begin + 1 < len(text) and not cell_len(text[begin + 1])):
        begin += 1
    return end, begin


def _wrap_narrow(text: str, width: int) -> list[Piece]:
    pieces: list[Piece] = []
    at = 0
    length = len(text)
    while length - at > width:
        cut = text.rfind(" ", at, at + width + 1)
        end, begin = _swallow(text, cut) if cut > at else (0, 0)
        if end <= at:
            end = begin = at + width
        if begin >= length:
            break
        pieces.append(Piece(at, end, text[end:begin]))
        at = begin
    end = length
    while end - at > width:
        end -= 1
    pieces.append(Piece(at, end, text[end:] + "\n"))
    return pieces


def _wrap_wide(text: str, width: int) -> list[Piece]:
    pieces: list[Piece] = []
    begin = cells = 0
    cut = -1
    before = ""
    before_wide = False
    for start, end, size in clusters(text):
        character = text[start]
        blank = character == " " and end - start == 1
        if blank or (
            (size == 2 or before_wide)
            and before != " "
            and start > begin
            and character not in _NOT_FIRST
            and before not in _NOT_LAST
        ):
            cut = start
        while cells + size > width and not blank and start > begin:
            line_end, following = _swallow(text, cut) if cut > begin else (begin, begin)
            if line_end <= begin:
                line_end = start
                while cell_len(text[begin:line_end]) > width:
                    line_end -= 1
                following = line_end
            pieces.append(Piece(begin, line_end, text[line_end:following]))
            # What stands between the cut and here moves to the next line.
            cells = cell_len(text[following:start])
            begin, cut = following, -1
        cells += size
        before, before_wide = text[end - 1], size == 2
    stop = len(text)
    while stop > begin and cell_len(text[begin:stop]) > width:
        stop -= 1
    pieces.append(Piece(begin, stop, text[stop:] + "\n"))
    return pieces
