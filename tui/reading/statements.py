"""A summary as statements: each sentence and each list item, to be given its places and written out again."""

from __future__ import annotations

import bisect
import itertools
import re
from collections.abc import Callable, Sequence

import msgspec

from tui.documents.places import Range
from tui.reading.bracketed import cited, located
from tui.reading.extractive import units
from tui.reading.sentencing import sentence_ranges

_MARK = re.compile(r"\s*(?:#{1,6}\s+|>\s+)*(?:[-*+•·–]\s+(?:\[[ xX]\]\s+)?|\(?\d{1,3}[.):]\s+|\d{1,3}、\s*)?")
_HEADING = re.compile(r"\s*#{1,6}\s")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_ROW = re.compile(r"\s*\|.*\|\s*$")
_RULE = re.compile(r"[\s|:=*_-]*$")
_ANNOUNCES = re.compile(r"[:：]\W*$")
_END_MARK = re.compile(r"([.!?…。！？]+)([\"'”’)\]»*_」』）]{0,4})$")
_TITLE = re.compile(r"\s*(\*\*|__)[^*_]+\1\s*$")
_CLOSES = re.compile(r"[\"”」]")


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """One statement as a model wrote it."""

    text: str
    """Without list mark and brackets."""
    ids: tuple[int, ...]
    """The numbers of notes that it names."""


class Piece(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch of a summary: a statement with what stands around it, or what says nothing by itself."""

    before: str
    said: Said | None
    after: str


def pieces_of(summary: str, *, code: bool = False) -> list[Piece]:
    """A summary taken apart. Put together again it is the summary without the brackets that a model wrote."""
    found: list[Piece] = []
    fenced = False
    lines = summary.splitlines()
    for line, following in itertools.zip_longest(lines, lines[1:], fillvalue=""):
        fence = bool(_FENCE.match(line))
        if fenced or fence:
            found.append(_silent(line))
        elif _ROW.match(line):
            found += _row(line, following, code=code)
        else:
            found += _line(line, code=code)
        fenced ^= fence
    return found


def _silent(line: str) -> Piece:
    return Piece(before=line, said=None, after="\n")


def _row(line: str, following: str, *, code: bool) -> list[Piece]:
    """A table's row is a statement; its header and the rule under it are none."""
    bare, ids = cited(line, code=code)
    if _RULE.match(line) or ("-" in following and _RULE.match(following)):
        return [_silent(bare)]
    cells = bare.strip().strip("|").strip()
    return [Piece(before="| ", said=Said(text=cells, ids=ids), after=" |\n")]


def _line(line: str, *, code: bool) -> list[Piece]:
    mark = _MARK.match(line)
    head = mark.group() if mark else ""
    body, found = located(line[len(head) :], code=code)
    bare = body.strip()
    if not units(bare) or _HEADING.match(line) or _TITLE.match(bare) or _ANNOUNCES.search(bare):
        return [_silent(head + bare)]
    ranges = _whole_quotes(body, sentence_ranges(body))
    starts = [start for start, _ in ranges]
    ids: list[list[int]] = [[] for _ in ranges]
    for place, numbers in found:
        # Brackets belong to the sentence before them, those at the very front to the first one.
        ids[max(0, bisect.bisect_left(starts, place) - 1)] += numbers
    pieces = []
    for index, (start, end) in enumerate(ranges):
        last = index + 1 == len(ranges)
        pieces.append(
            Piece(
                before="" if index else head,
                said=Said(text=body[start:end], ids=tuple(dict.fromkeys(ids[index]))),
                after="\n" if last else body[end : starts[index + 1]],
            )
        )
    return pieces


def _whole_quotes(body: str, ranges: Sequence[Range]) -> list[Range]:
    """Sentences inside one quotation are one statement."""
    found: list[Range] = []
    for start, end in ranges:
        before = body[found[-1][0] : found[-1][1]] if found else ""
        if _open(before) and _CLOSES.search(body, start):
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return found


def _open(text: str) -> bool:
    return text.count('"') % 2 == 1 or text.count("“") > text.count("”") or text.count("「") > text.count("」")


def written(pieces: Sequence[Piece], cite: Callable[[int], str]) -> str:
    """The summary with places in brackets: `cite(index)` gives those of each statement, "" for none."""
    out: list[str] = []
    index = 0
    for piece in pieces:
        out.append(piece.before)
        if piece.said is not None:
            out.append(with_cite(piece.said.text, cite(index)))
            index += 1
        out.append(piece.after)
    lines = "".join(out).splitlines()
    return "\n".join(line.rstrip() for line in lines).strip("\n")


def with_cite(text: str, cite: str) -> str:
    """`The tower fell [p. 3].`: the place stands before the sentence's end mark."""
    if not cite:
        return text
    end = _END_MARK.search(text)
    if end is None:
        return f"{text} [{cite}]"
    if end[2] or end[1][-1] not in ".。":
        return f"{text} [{cite}]"
    return f"{text[: end.start()].rstrip()} [{cite}]{end[1]}"
