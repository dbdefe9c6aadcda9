"""What a model's answer is worth: empty, an echo of the instruction, going in circles; and notes made of it."""

from __future__ import annotations

import re

from tui.reading.extractive import units

# One list mark, with a heading's mark before it; what follows, such as a date, belongs to the line.
_MARKER = re.compile(r"\s*(?:#{1,6}\s+)?(?:[-*•·–]+\s+|\(?\d{1,2}[.):]\s+|\d{1,2}、\s*|[IVX]{1,5}\.\s+)?")
_TAG = re.compile(r"\s*</?(?:text|notes|document)\b[^>]*>\s*", re.IGNORECASE)
_ECHO_GRAM = 5
_ECHO_SHARE = 0.5
_CIRCLE_GRAM = 6
_CIRCLE_LEAST = 40
_CIRCLE_SHARE = 0.5
_TAIL = 60
_TAIL_REPEATS = 4
_INSTRUCTION_SHARE = 0.6


def problem(answer: str, instruction: str) -> str:
    """Why an answer cannot be used, in a few words; "" when it can. `instruction` is the prompt without the text."""
    words = units(answer.replace("\ufffd", ""))
    if not words or not any(word[0].isalpha() for word in words):
        return "the answer was empty"
    if _echoes(words, units(instruction)):
        return "the answer only repeated the instruction"
    if circles(answer):
        return "the answer repeated itself"
    return ""


def _echoes(words: list[str], instruction: list[str]) -> bool:
    if len(words) < _ECHO_GRAM:
        joined = f" {' '.join(instruction)} "
        return f" {' '.join(words)} " in joined and len(words) > 1
    said = _grams(instruction, _ECHO_GRAM)
    grams = [tuple(words[i : i + _ECHO_GRAM]) for i in range(len(words) - _ECHO_GRAM + 1)]
    return sum(gram in said for gram in grams) > _ECHO_SHARE * len(grams)


def _grams(words: list[str], size: int) -> set[tuple[str, ...]]:
    return {tuple(words[i : i + size]) for i in range(len(words) - size + 1)}


def circles(answer: str) -> bool:
    """Whether an answer says the same again and again, as small models do when they do not find the end."""
    words = units(answer)
    if len(words) >= _CIRCLE_LEAST:
        possible = len(words) - _CIRCLE_GRAM + 1
        if len(_grams(words, _CIRCLE_GRAM)) < _CIRCLE_SHARE * possible:
            return True
        tail = " ".join(words)[-_TAIL:]
        if " ".join(words).count(tail) >= _TAIL_REPEATS:
            return True
    lines = [line for line in (bare(line) for line in answer.splitlines()) if line]
    return len(lines) >= 4 and len(set(lines)) * 2 <= len(lines)


def bare(line: str) -> str:
    """A line without list marks, tags and surrounding space."""
    return _MARKER.sub("", _TAG.sub("", line), count=1).strip()


def notes(answer: str, instruction: str = "") -> list[str]:
    """The notes in an answer, one for each line that says something of the text; doubles are left out.

    "Here are the most important facts:" announces, and "This is a numbered list." speaks of the instruction.
    """
    asked = set(units(instruction))
    found: list[str] = []
    for line in answer.replace("\ufffd", "").splitlines():
        note = bare(line)
        if units(note) and not note.endswith((":", "：")) and note not in found and not _speaks_of(note, asked):
            found.append(note)
    return found


def _speaks_of(note: str, asked: set[str]) -> bool:
    telling = [word for word in units(note) if len(word) > 3 or word.isdigit()]
    return bool(telling) and sum(word in asked for word in telling) >= _INSTRUCTION_SHARE * len(telling)


def as_text(lines: list[str]) -> str:
    """Notes as they stand in the next prompt."""
    return "\n".join(f"- {line}" for line in lines)


def tidy(summary: str) -> str:
    """A summary without the tags of the prompt and without empty lines at its ends; what it says is not touched."""
    lines = [_TAG.sub("", line) if _TAG.fullmatch(line) else line for line in summary.splitlines()]
    return "\n".join(line.rstrip() for line in lines).strip()
