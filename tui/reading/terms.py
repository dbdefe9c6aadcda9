"""Terms: what two texts have in common when they speak of the same. Used for passages, tracing and content coverage.

A term is a word in lower case, lightly stemmed where it is English; a pair of neighbouring characters where the script
has no spaces (bigrams find Chinese and Japanese words without a dictionary); a number in one form, however it is
written. Identifiers of code give themselves and their parts: `max_tokens`, `maxTokens` → `max`, `token`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

_WIDE = "\u3040-\u30ff\u3105-\u312f\u31a0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
_RUN = re.compile(
    rf"(?P<wide>[{_WIDE}{_UNSPACED}]+)"
    r"|(?P<number>\d[\d.,'\u2019]*\d|\d)"
    rf"|(?P<word>(?:(?![{_WIDE}{_UNSPACED}\d])[^\W_]|[\u0300-\u036f])+)"
)
# Words in identifiers have an end, so that a line of a million letters is looked at once.
_IDENTIFIER = re.compile(
    r"[A-Za-z][A-Za-z0-9]{0,60}(?:_[A-Za-z0-9]{1,60})+"
    r"|[a-z]{1,60}[A-Z]\w*|[A-Z][a-z0-9]{1,60}[A-Z]\w*|[A-Z]{2,60}[a-z]\w*"
)
_GROUP_SPACE = re.compile(r"(?<=\d)[\u202f\u00a0](?=\d{3}(?!\d))")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_GROUPED = re.compile(r"\d{1,3}(?:[,.'\u2019\u202f\u00a0]\d{3})+")
_LEAST_STEM = 4


def terms(text: str) -> list[str]:
    """The terms of a text, in order, doubles included."""
    return list(_terms(unicodedata.normalize("NFKC", _GROUP_SPACE.sub("", text))))


def _terms(text: str) -> Iterator[str]:
    for match in _RUN.finditer(_IDENTIFIER.sub(_parts, text)):
        run = match.group()
        if match.lastgroup == "word":
            yield stem(run.lower())
        elif match.lastgroup == "number":
            yield number(run)
        elif len(run) == 1:
            yield run
        else:
            yield from (run[place : place + 2] for place in range(len(run) - 1))


def _parts(match: re.Match[str]) -> str:
    return " ".join(part for piece in match.group().split("_") for part in _HUMP.split(piece) if part)


def number(written: str) -> str:
    """A number in one form: `1,234`, `1.234` and `1 234` are `1234`; `3,5` is `3.5`; an end mark is no part of it."""
    written = written.rstrip(".,'\u2019\u202f\u00a0")
    if _GROUPED.fullmatch(written):
        return re.sub(r"\D", "", written)
    head, mark, tail = written.replace(",", ".").rpartition(".")
    if not mark:
        return re.sub(r"\D", "", written)
    # 1.234.567,89 and 1,234,567.89: the last mark is the decimal one. A date or a version keeps all of its marks.
    if _GROUPED.fullmatch(written[: len(head)]) or head.isdigit():
        return f"{re.sub(r'[^0-9]', '', head)}.{tail}"
    return f"{head}.{tail}"


def stem(word: str) -> str:
    """An English word without its plural or verbal ending; others are hardly touched by it.

    The S-stemmer of Harman (1991) with `-ed` and `-ing` added: it only has to make forms of one word equal.
    """
    if not word.isascii() or len(word) < _LEAST_STEM:
        return word
    if word.endswith(("ies", "ied")) and len(word) > _LEAST_STEM:
        return word[:-3] + "y"
    if word.endswith("s"):
        word = _singular(word)
    for ending in ("ing", "ed"):
        if word.endswith(ending) and len(word) - len(ending) >= _LEAST_STEM - 1:
            word = word[: -len(ending)]
            return word[:-1] if len(word) > 2 and word[-1] == word[-2] and word[-1] not in "lsz" else word
    # make, makes, making: one form.
    return word[:-1] if word.endswith("e") and len(word) >= _LEAST_STEM else word


def _singular(word: str) -> str:
    if word.endswith(("sses", "shes", "ches", "xes")):
        return word[:-2]
    return word if word.endswith(("ss", "us", "is")) else word[:-1]
