"""What a model's answer is worth: empty, an echo of the instruction, going in circles; and notes made of it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from tui.reading.bracketed import uncited
from tui.reading.extractive import sentences, units
from tui.reading.sentencing import sentence_ranges

# One list mark, with a heading's mark before it; what follows, such as a date, belongs to the line.
_MARKER = re.compile(r"\s*(?:#{1,6}\s+)?(?:[-*•·–]+\s+|\(?\d{1,2}[.):]\s+|\d{1,2}、\s*|[IVX]{1,5}\.\s+)?")
_TAG = re.compile(r"\s*</?(?:text|notes|document)\b[^>]*>\s*", re.IGNORECASE)
_NUMBER = re.compile(r"\s*(?:#{1,6}\s+)?\(?\d{1,2}[.):、]")
_END = re.compile(r"[.!?…。！？:：]['\"”’)\]]*$")
_HTML = re.compile(
    r"</?(?:table|t[hrd]|div|span|p|ul|ol|li|h\d|strong|em|br|details|summary|pre|code|a)\b[^>\n]*>", re.IGNORECASE
)
_HTML_TAGS = 2
_BLANK = " \t\r\n\u200b\ufeff"
_ECHO_GRAM = 5
_ECHO_SHARE = 0.5
_CIRCLE_GRAM = 6
_CIRCLE_LEAST = 40
_CIRCLE_SHARE = 0.5
_SHORT_SENTENCE = 4
_SENTENCE_LEAST = 5
_DOUBLES = 4
_SHARE_OF_DOUBLES = 0.3
_TAIL = 60
_TAIL_REPEATS = 4
_INSTRUCTION_SHARE = 0.6
_NOTHING_TO_SAY = re.compile(
    r"\b(?:no|not any|without)\s+(?:(?:new|additional|further|other)\s+)*(?:changes?|facts?|information|notes?)\b"
    r"(?!\s+(?:on|about|of|in|from|for|was|were|is|are|to)\b(?!\s+(?:add|needed|necessary|required|the\s+(?:text|notes))))"
    r"|\bno (?:changes?|updates?) (?:are |is |were |was )?(?:needed|necessary|required)\b"
    r"|\bnothing (?:new|to add|to change|else)\b|\bas an ai\b|\bi(?:'m| am) (?:sorry|unable)\b|\bi can(?:no|')t\b"
    r"|没有(?:新|变化|更多)|无需(?:修改|更改)",
    re.IGNORECASE,
)
_LONGEST_REFUSAL = 25
_STEM = 5
_SHARE = 0.35
_SHARE_OF_SMALL_WORDS = 0.5
_SHARE_WITH_STRANGE_NUMBER = 0.75


def problem(answer: str, instruction: str, source: str = "") -> str:
    """Why an answer to `instruction` on `source` cannot be used, in a few words; "" when it can."""
    words = units(uncited(answer.replace("\ufffd", "")))
    if not words or not any(word[0].isalpha() for word in words):
        return "the answer was empty"
    if _echoes(words, units(instruction)):
        return "the answer only repeated the instruction"
    if circles(answer):
        return "the answer repeated itself"
    if markup(answer, source):
        return "the answer was HTML"
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
    if len(lines) >= 4 and len(set(lines)) * 2 <= len(lines):
        return True
    said = [sentence for sentence in sentences(answer) if len(units(sentence)) > _SHORT_SENTENCE]
    doubles = len(said) - len(set(said))
    return doubles >= _DOUBLES and doubles >= _SHARE_OF_DOUBLES * len(said)


def bare(line: str) -> str:
    """A line without list marks, the prompt's tags and surrounding space."""
    return _MARKER.sub("", _TAG.sub("", line), count=1).strip()


def notes(answer: str, instruction: str = "") -> list[str]:
    """The notes in an answer, one for each line that says something of the text; doubles are left out.

    "Here are the most important facts:" announces, and "This is a numbered list." speaks of the instruction. A line
    that goes on where the list's last line stopped, as copies of wrapped text do, belongs to it.
    """
    asked = set(units(instruction))
    found: list[str] = []
    for note in _whole_lines(answer.replace("\ufffd", "")):
        said = units(uncited(note))
        if (
            said
            and not _refuses(note)
            and not note.endswith((":", "："))
            and note not in found
            and not _speaks_of(note, asked)
        ):
            found.append(note)
    return found


def _whole_lines(answer: str) -> list[str]:
    lines: list[str] = []
    in_list = False
    for line in answer.splitlines():
        text = bare(line)
        marked = bool(_NUMBER.match(line))
        plain = bool(text) and text == line.strip() and (in_list or text[0].islower())
        if lines and lines[-1] and plain and not marked and not _END.search(lines[-1]):
            lines[-1] = f"{lines[-1]} {text}"
        else:
            lines.append(text)
        in_list = (in_list or marked) and bool(text)
    return lines


def not_sentences(lines: Sequence[str]) -> bool:
    """Whether most lines are titles and fragments where sentences were asked for."""
    return sum(len(units(uncited(line))) < _SENTENCE_LEAST for line in lines) * 2 > len(lines)


def _refuses(note: str) -> bool:
    """Whether a note says that there is nothing to say, which is no note on a text."""
    return len(units(note)) <= _LONGEST_REFUSAL and bool(_NOTHING_TO_SAY.search(note))


def _speaks_of(note: str, asked: set[str]) -> bool:
    telling = _telling(note)
    return bool(telling) and sum(word in asked for word in telling) >= _INSTRUCTION_SHARE * len(telling)


def _telling(text: str) -> list[str]:
    """Words that carry the sense: longer ones, numbers, Chinese and Japanese characters."""
    return [word for word in units(text) if len(word) > 3 or not word.isascii() or word.isdigit()]


class Support:
    """Which statements a text bears out, as far as words tell: only clear cases count against a statement."""

    def __init__(self, source: str) -> None:
        self._words = set(units(source))
        self._stems = {word[:_STEM] for word in self._words}

    def share_borne_out(self, statements: Sequence[str]) -> float:
        """Which share of statements the text bears out; 1.0 where it cannot be told."""
        return len(self.borne_out(statements)) / len(statements) if statements else 1.0

    def borne_out(self, statements: Sequence[str]) -> list[str]:
        """Those that stay: all of them when they are in another language than the text. Brackets do not count."""
        if not self._same_language(uncited(" ".join(statements))):
            return list(statements)
        return [statement for statement in statements if self._bears_out(uncited(statement))]

    def _same_language(self, answer: str) -> bool:
        """Small words belong to the language, not to the subject: most of those in the answer are in the text too."""
        small = {word for word in units(answer) if len(word) <= 3 and not word.isdigit()}
        return bool(small) and len(small & self._words) >= _SHARE_OF_SMALL_WORDS * len(small)

    def _bears_out(self, statement: str) -> bool:
        """False when most of its words, or a larger number and many words, are nowhere in the text."""
        telling = _telling(statement)
        if not telling:
            return True
        share = sum(word[:_STEM] in self._stems for word in telling) / len(telling)
        strange = any(word.isdigit() and len(word) > 2 and word not in self._words for word in telling)
        return share >= (_SHARE_WITH_STRANGE_NUMBER if strange else _SHARE)


def once(points: Sequence[str]) -> list[str]:
    """Points without the sentences that an earlier one has said already; those that say nothing else are left out."""
    said: set[tuple[str, ...]] = set()
    kept: list[str] = []
    for point in points:
        # A sentence with the brackets behind it.
        starts = [0, *(start for start, _ in sentence_ranges(point)[1:]), len(point)]
        parts = []
        for start, end in itertools.pairwise(starts):
            words = tuple(units(uncited(point[start:end])))
            if words not in said:
                parts.append(point[start:end])
            if words:
                said.add(words)
        text = "".join(parts).strip()
        if units(uncited(text)):
            kept.append(text)
    return kept


def tidy(summary: str) -> str:
    """A summary without the tags of the prompt and without empty lines at its ends; what it says is not touched."""
    lines = ["" if _TAG.fullmatch(line) else line for line in summary.splitlines()]
    return "\n".join(line.rstrip() for line in lines).strip(_BLANK)


def markup(answer: str, source: str) -> bool:
    """Whether an answer is made of HTML that its source does not hold; small models slip into it."""
    return len(_HTML.findall(answer)) >= _HTML_TAGS and len(_HTML.findall(source)) < _HTML_TAGS


def as_text(lines: list[str]) -> str:
    """Notes as they stand in the next prompt."""
    return "\n".join(f"- {line}" for line in lines)
