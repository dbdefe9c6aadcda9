"""Brackets in what a model writes: the ids it was asked for are read, whatever else looks like a citation goes.

Places are attached by the program alone; a page number that a model writes by itself is a guess.
"""

from __future__ import annotations

import re

_WORD = r"(?:notes?|note\s+ids?|ids?|pages?|pp?\.?|lines?|ll?\.|source|sources|parts?|seiten?|s\.|页|第|注)"
_BETWEEN = rf"(?:and|und|et|y|页|頁|ページ|{_WORD}|L\d+)"
_MARKS = r"[\d\s,;:.&–—†‑-]*"
_INSIDE = rf"\s*(?!\d{{4}}-\d\d)(?:{_WORD}\s*)?[\d†:]{_MARKS}(?:{_BETWEEN}{_MARKS})*"
_SQUARE = rf"(?:\[{_INSIDE}\]|【{_INSIDE}】)"
_PAGES = r"[(（]\s*(?:see\s+|siehe\s+)?(?:pages?|pp?\.|notes?|seiten?|第)\s*\d[^()（）\n]{0,30}[)）]"
_ONE = rf"(?:{_SQUARE}|{_PAGES})"
_RUN = re.compile(rf"(?P<space>\s*){_ONE}(?:[ \t]*[,;]?[ \t]*(?:and[ \t]+)?{_ONE})*", re.IGNORECASE)
_RUN_IN_CODE = re.compile(_RUN.pattern.replace(r"(?P<space>\s*)", r"(?P<space>\s+|^)"), re.IGNORECASE | re.MULTILINE)
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
        inside = match.group()[1:-1]
        if _NOT_OURS.search(inside) and not _OURS.match(inside):
            continue
        for first, last in _SPAN.findall(inside):
            if 0 < int(last) - int(first) <= _MOST_IN_A_SPAN:
                found += range(int(first), int(last) + 1)
        found += [int(number) for number in _NUMBER.findall(inside)]
    return list(dict.fromkeys(found))
