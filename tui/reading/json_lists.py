"""Answers that are JSON lists: read as far as they came, and known to go in circles by what they list."""

from __future__ import annotations

import json
from typing import Any, TypeVar

_T = TypeVar("_T")

_ENOUGH = 8
"""So many things in a row that were said before show an answer going in circles."""
_LONG, _TAIL, _TAIL_AGAIN = 240, 40, 4
"""Characters of a thing without end whose last so many come that often in it."""
_decoder = json.JSONDecoder()


def records_in(answer: str) -> tuple[list[dict[str, Any]], bool]:
    """The objects of a list, and whether the list came to its end; of one that was cut, those before the cut."""
    found, whole, _ = _read(answer, dict)
    return found, whole


def listed_in(answer: str) -> tuple[list[str], bool]:
    """The same for a list of texts."""
    found, whole, _ = _read(answer, str)
    return found, whole


def endless(answer: str) -> bool:
    """Whether a list only says the same again, or a thing in it that is begun has no end.

    What is alike in all records, such as the names of their fields, is no sign of it.
    """
    things, _, rest = _read(answer, object)
    said = [json.dumps(thing, sort_keys=True) for thing in things]
    if len(said) > _ENOUGH and set(said[-_ENOUGH:]) <= set(said[:-_ENOUGH]):
        return True
    words = " ".join(rest.split())
    return len(words) > _LONG and words.count(words[-_TAIL:]) >= _TAIL_AGAIN


def _read(answer: str, kind: type[_T]) -> tuple[list[_T], bool, str]:
    """What is listed, whether the list ended, and what comes after the last whole thing of that kind."""
    found: list[_T] = []
    at = answer.find("[") + 1
    if at == 0:
        return [], False, answer
    while True:
        while at < len(answer) and answer[at] in " \t\r\n,":
            at += 1
        if at >= len(answer) or answer[at] == "]":
            return found, at < len(answer), ""
        try:
            value, end = _decoder.raw_decode(answer, at)
        except (json.JSONDecodeError, RecursionError):
            return found, False, answer[at:]
        if not isinstance(value, kind):
            return found, False, answer[at:]
        found.append(value)
        at = end
