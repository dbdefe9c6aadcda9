"""Brackets in what a model writes: the ids it was asked for are read, whatever else looks like a citation goes.

Places are attached by the program alone; a page number that a model writes by itself is a guess.
"""

from __future__ import annotations

import re

_PAGE = r"(?:pages?|pgs?\.?|pp?\.?|seiten?|s\.|页|頁|第)"
_POINTS_TO = r"(?:refs?\.?|references?|sources?|see|siehe|cf\.?|vgl\.?|见|参见)"
_WORD = rf"(?:{_PAGE}|{_POINTS_TO}|notes?|note\s+ids?|ids?|lines?|ll?\.|parts?|注)"
_WORDS = rf"(?:(?:(?:on|from|at|auf)\s+)?{_WORD}\s*[:：]?\s*){{1,3}}"
_BETWEEN = rf"(?:and|und|et|y|页|頁|ページ|{_WORD}|L\d+)"
_MARKS = r"[\d\s,;:.&–—†‑-]*"
# Atomic: a mark may belong to the word before it or not, and to try all ways takes for ever.
_NUMBERS = rf"(?>[\d†:]{_MARKS}(?:{_BETWEEN}{_MARKS})*)"
_PAGE_NUMBERS = rf"(?>[\d†:]{_MARKS}(?:(?:{_BETWEEN}|of|to|/|bis|von|ff?\.?){_MARKS})*)"
_ROMAN = rf"{_PAGE}\s*[ivxlc]+(?:\s*[-–]\s*[ivxlc]+)?\s*"
# Dates, times, decimal numbers and addresses are no numbers of notes or pages.
_NO_FIGURES = r"(?!\d{4}-\d\d)(?![^\]】］\n]{0,80}\d[.:]\d)"
_SET_OFF = r"[*_`]{0,3}"
_INSIDE = rf"{_SET_OFF}\s*{_NO_FIGURES}(?:{_WORDS}{_PAGE_NUMBERS}|{_NUMBERS}|{_ROMAN}){_SET_OFF}\s*"
_SQUARE = rf"(?:\\?\[{{1,2}}{_INSIDE}\\?\]{{1,2}}|【{_INSIDE}】|［{_INSIDE}］)"
_SET_OFF_SQUARE = rf"(?:\*\*{_SQUARE}\*\*|__{_SQUARE}__|\*{_SQUARE}\*|\b_{_SQUARE}_|`{_SQUARE}`|{_SQUARE})"
_PAGES = (
    rf"[(（]\s*(?:{_POINTS_TO}\s*[:：]?\s*){{0,3}}"
    r"(?:pages?|pgs?\.?|pp?\.?|notes?|seiten?|第)\s*\d[^()（）\n]{0,30}[)）]"
)
_CUT_OFF = rf"[\[【［](?:{_WORDS}\d[^\[\]\n]{{0,40}}|\d[\d ,]*)$"
_ONE = rf"(?:{_SET_OFF_SQUARE}|{_PAGES}|{_CUT_OFF})"
_PLACE = r"[\w./\\-]*\.[a-z]\w{0,7}:L?\d+(?:[-–]L?\d+)?(?:,\s*L?\d+(?:[-–]L?\d+)?)*"
_PLACES = rf"`?(?:\[`?{_PLACE}(?:[,;]\s*{_PLACE})*`?\]|\(`?{_PLACE}(?:[,;]\s*{_PLACE})*`?\))`?"


def _run(one: str, space: str) -> re.Pattern[str]:
    joined = rf"(?P<space>{space}){one}(?:[ \t]*[,;]?[ \t]*(?:and[ \t]+)?{one})*"
    return re.compile(joined, re.IGNORECASE | re.MULTILINE)


_RUN = _run(_ONE, r"(?<!\s)\s*")
_RUN_IN_CODE = _run(rf"(?:{_ONE}|{_PLACES})", r"(?<!\s)\s+|^")
_GROUP = re.compile(rf"{_SQUARE}", re.IGNORECASE)
_NUMBER = re.compile(r"\d{1,4}")
_SPAN = re.compile(r"(\d{1,4})\s*[-–—‑]\s*(\d{1,4})")
_NOT_OURS = re.compile(r"[a-z†]|页|頁|第", re.IGNORECASE)
_OURS = re.compile(r"^\W*(?:notes?|note\s+ids?|ids?)\b", re.IGNORECASE)
_MOST_IN_A_SPAN = 12


def uncited(text: str, *, code: bool = False) -> str:
    """`text` without citations in brackets. In `code` a bracket right behind a name, `argv[1]`, is an index."""
    return located(text, code=code)[0]


def cited(text: str, *, code: bool = False) -> tuple[str, tuple[int, ...]]:
    """`text` without citations in brackets, and the ids that stood in them, in order, each once: `[3][7]`, `[3, 7]`."""
    bare, found = located(text, code=code)
    return bare, tuple(dict.fromkeys(number for _, ids in found for number in ids))


def located(text: str, *, code: bool = False) -> tuple[str, list[tuple[int, tuple[int, ...]]]]:
    """`text` without citations in brackets, and where in it which ids stood."""
    pieces: list[str] = []
    found: list[tuple[int, tuple[int, ...]]] = []
    place = length = 0
    for match in (_RUN_IN_CODE if code else _RUN).finditer(text):
        after, space = text[match.end() : match.end() + 1], match["space"]
        if after == "(" and match.group().endswith("]"):
            continue  # a link
        if after == ":" and not text[: match.start()].rpartition("\n")[2].strip() and "[" in match.group():
            continue  # the target of one
        pieces.append(text[place : match.start()])
        length += match.start() - place
        found.append((length, tuple(_ids(match.group()))))
        if "\n" not in space:
            space = " " if space and after and not (after.isspace() or after in ".,;:!?)]}。，；：！？）") else ""
        pieces.append(space)
        length += len(space)
        place = match.end()
    return "".join((*pieces, text[place:])), found


def _ids(run: str) -> list[int]:
    found: list[int] = []
    for match in _GROUP.finditer(run):
        inside = match.group().strip("\\[]【】［］*_` ")
        if _NOT_OURS.search(inside) and not _OURS.match(inside):
            continue
        for first, last in _SPAN.findall(inside):
            if 0 < int(last) - int(first) <= _MOST_IN_A_SPAN:
                found += range(int(first), int(last) + 1)
        found += [int(number) for number in _NUMBER.findall(inside)]
    return list(dict.fromkeys(found))
