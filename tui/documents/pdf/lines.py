"""Lines that end only because the paper did are joined, where that is plain: a sentence then stands on one line.

Rows of tables, lists, code, verse and headings keep their lines. A wrong join costs a line end, never a letter.
"""

from __future__ import annotations

import re
import statistics
import unicodedata
from collections.abc import Sequence

# Widths are in columns of a terminal: a wide character counts twice, so one rule fits all scripts.
_LEAST_WIDTH = 24
_LEAST_WORDS = 4
_NEIGHBOURS = 6
# Of the width that the fuller quarter of the neighbours has: for a line that goes on with a small letter, with a
# capital or a number, and for scripts whose letters are all as wide as each other.
_FULL_SMALL, _FULL_OTHER, _FULL_WIDE = 0.7, 0.86, 0.93
# Lines of verse in Han or kana are short and nearly as long as each other.
_LEAST_WIDE = 40
# Rows of names and labels have more words with a capital than prose has, German prose too; lines of verse and items
# of lists begin with one.
_CAPITALS, _CAPITAL_LINES = 0.5, 0.65
_DIGITS = 0.25
_SYMBOLS = 0.06
_ENDS = re.compile(r"[.!?:;…。！？：；][\"'”’»)\]」』）】]{0,3}$")
_STARTS_ANEW = re.compile(
    r"(?:[-*•·–—▪◦●■□※○◆►➢✓\ufffd]|#{1,6}\s|\(?(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,4})[.):]\s|\[\d{1,3}\]|[①-⑳]|§|第.{1,4}[章节節条條]|\d+(?:\.\d+)+\s)"
)
_SECTION = re.compile(r"\d{1,3}(?:\.\d{1,3})*\.?\s+\w")
_LEADERS = re.compile(r"[.…·_]{4,}|(?:\. ){4,}")
_DIGIT = re.compile(r"\d")
_SYMBOL = re.compile(r"[{}\[\]<>=|\\#*_^~`@$&%]|::|//|->|\(\)")
_CALL = re.compile(r"\w[(\[]\S")
_STATEMENT = re.compile(
    r" [-+*/|&]?= |^(?:return|def|class|import|from|for|while|if|elif|print|const|let|var|function)\b"
)
_MARK = re.compile(r"[.!?,;:。，！？、；：]")
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3001-\u3003\u3005-\u301f\uff01-\uff65]")
# Korean, Thai, Lao, Burmese, Khmer: whether a space belongs at the line end cannot be seen.
_UNSURE = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\uac00-\ud7af]")


def without_soft_ends(text: str) -> str:
    """A page's text with the lines of one paragraph joined, by a space or, between Han or kana, by nothing."""
    lines = text.split("\n")
    if len(lines) < _NEIGHBOURS:
        return text
    widths = [_width(line) for line in lines]
    running = [_is_running(line) for line in lines]
    # The first and the last line of a page are as likely its header and footer.
    joins = [
        0 < index < len(lines) - 2 and running[index] and running[index + 1] and _goes_on(lines, widths, index)
        for index in range(len(lines) - 1)
    ]
    parts: list[str] = []
    index = 0
    while index < len(lines):
        last = index
        while last < len(joins) and joins[last]:
            last += 1
        parts.append(_joined(lines[index : last + 1]))
        index = last + 1
    return "\n".join(parts)


def _joined(lines: Sequence[str]) -> str:
    # What holds no mark at all is a list or a table of words rather than a paragraph.
    if len(lines) == 1 or not any(_MARK.search(line) for line in lines):
        return "\n".join(lines)
    whole = lines[0]
    for line in lines[1:]:
        whole += f"{'' if _WIDE.match(whole[-1]) and _WIDE.match(line[0]) else ' '}{line}"
    return whole


def _goes_on(lines: Sequence[str], widths: Sequence[int], index: int) -> bool:
    """Whether the line after `index` plainly continues it, both being prose."""
    line, after = lines[index], lines[index + 1]
    if not line.strip() or not after.strip() or _ENDS.search(line) or _STARTS_ANEW.match(after):
        return False
    if widths[index] < _LEAST_WIDTH:
        return False
    near = sorted(width for width in widths[max(0, index - _NEIGHBOURS) : index + _NEIGHBOURS + 1] if width)
    usual = statistics.quantiles(near, n=4)[2] if len(near) > 1 else near[0]
    wide = bool(_WIDE.match(line[-1]) and _WIDE.match(after[0]))
    if wide:
        return widths[index] >= max(_LEAST_WIDE, _FULL_WIDE * usual)
    if len(line.split()) < _LEAST_WORDS:
        return False
    if after[0].islower():
        return widths[index] >= _FULL_SMALL * usual
    about = [other for other in lines[max(0, index - _NEIGHBOURS) : index + _NEIGHBOURS + 1] if other.strip()]
    if sum(other.lstrip()[0].isupper() for other in about) > _CAPITAL_LINES * len(about):
        return False
    if after[0].isdigit() or _SECTION.match(line) or max(map(_capitals, (line, after))) > _CAPITALS:
        return False
    return widths[index] >= _FULL_OTHER * usual


def _is_running(line: str) -> bool:
    """Whether a line looks like prose: few digits and symbols, no dotted leaders, no script that hides its spaces."""
    packed = "".join(line.split())
    return (
        len(_DIGIT.findall(packed)) <= _DIGITS * len(packed)
        and len(_SYMBOL.findall(packed)) <= _SYMBOLS * len(packed)
        and not _LEADERS.search(line)
        and len(_CALL.findall(line)) < (1 if _STATEMENT.search(line) else 2)
        and not _UNSURE.search(line[:1] + line[-1:])
    )


def _capitals(line: str) -> float:
    """Share of the words that begin with a capital."""
    words = line.split()
    return sum(word[0].isupper() for word in words) / len(words)


def _width(line: str) -> int:
    return len(line) + (
        sum(unicodedata.east_asian_width(letter) in "WF" for letter in line) if not line.isascii() else 0
    )
