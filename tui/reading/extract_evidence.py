"""Where in a document the values of a record stand, and which of them stand nowhere in it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any

from tui.documents.model import Document
from tui.documents.places import Range
from tui.reading.extract_schema import RecordSchema
from tui.reading.rows import said_in
from tui.reading.terms import number, terms

_NUMBER = re.compile(r"\d[\d.,'\u2019]*\d|\d")
_PARAPHRASE = 4
"""Terms: a longer text may be in other words, …"""
_OF_ITS_WORDS = 0.8
"""… as long as this share of its terms is in the text."""


def plain(text: str) -> str:
    """A text as values are compared: width, case and white space make no difference."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


class Evidence:
    """One piece of a document, to be searched for values."""

    def __init__(self, document: Document, start: int, end: int, beside: str = "") -> None:
        """`text[start:end]` of a document; `beside` is what the model saw with it, such as a table's header."""
        text = document.text
        self._sentences = [(place, _Holder(text[place[0] : place[1]])) for place in said_in(document, start, end)] or [
            ((start, end), _Holder(text[start:end]))
        ]
        self._whole = _Holder(f"{beside}\n{text[start:end]}")
        self._range = (start, end)
        self._found: dict[str | int | float, frozenset[int]] = {}

    def place(self, record: dict[str, Any], schema: RecordSchema, key: Sequence[str] = ()) -> tuple[Range, bool]:
        """The sentence or row that bears the record out best, the first of equals, and whether it holds the key.

        It holds most of the values of the `key` fields, then the most telling other values: one that stands in few
        sentences tells more than one that stands in many. The whole piece when no sentence holds any, and when the
        key stands nowhere in it and nothing else that is found stands in one place only.
        """
        named: list[str | int | float] = []
        others: list[str | int | float] = []
        for name, value in leaves(record):
            top = name.partition(".")[0]
            if schema.free(top):
                (named if top in key else others).append(value)
        keys, values = self._holders(named), self._holders(others)
        best, place = (0, 0.0), self._range
        for at, (candidate, _) in enumerate(self._sentences):
            telling = sum(1 / len(held) for held in (*keys, *values) if at in held)
            worth = (sum(at in held for held in keys), telling)
            if worth > best:
                best, place = worth, candidate
        if named and not best[0] and best[1] < 1:
            place = self._range
        return place, bool(named) and best[0] == len(named)

    def _holders(self, values: Sequence[str | int | float]) -> list[frozenset[int]]:
        """For each value, the sentences that it stands in."""
        for value in values:
            if value not in self._found:
                held = (at for at, (_, holder) in enumerate(self._sentences) if holder.holds(value))
                self._found[value] = frozenset(held)
        return [self._found[value] for value in values]

    def unsupported(self, record: dict[str, Any], schema: RecordSchema) -> tuple[str, ...]:
        """Fields whose value does not stand in the piece; choices of the schema's own values do not count."""
        return tuple(
            dict.fromkeys(
                name
                for name, value in leaves(record)
                if schema.free(name.partition(".")[0]) and not self._whole.bears_out(value)
            )
        )


def leaves(value: Any, name: str = "") -> Iterator[tuple[str, str | int | float]]:
    """Texts and numbers in a record, each with the dotted name of its field."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, f"{name}.{key}" if name else key)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner, name)
    elif isinstance(value, str):
        if value.strip():
            yield name, value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield name, value


class _Holder:
    """A text that values are looked up in."""

    def __init__(self, text: str) -> None:
        self._text = plain(text)
        self._numbers = {found for match in _NUMBER.finditer(self._text) if (found := _as_number(match[0])) is not None}
        self._terms: frozenset[str] | None = None

    def holds(self, value: str | int | float) -> bool:
        """Whether the value stands there as it is: as a whole word, or as a number however it is written."""
        if not isinstance(value, str):
            return abs(float(value)) in self._numbers
        wanted = plain(value).strip(" .,;:!?\"'“”。，；：")
        if not wanted:
            return True
        at = self._text.find(wanted)
        while at >= 0:
            if word_ends(self._text, at, wanted):
                return True
            at = self._text.find(wanted, at + 1)
        return False

    def bears_out(self, value: str | int | float) -> bool:
        """Whether it stands there, or, when it is a longer text, nearly all of its words do."""
        if self.holds(value):
            return True
        if not isinstance(value, str):
            return False
        if self._terms is None:
            self._terms = frozenset(terms(self._text))
        said = set(terms(value))
        return len(said) >= _PARAPHRASE and len(said & self._terms) >= _OF_ITS_WORDS * len(said)


def word_ends(text: str, at: int, wanted: str) -> bool:
    """Whether a match does not begin or end inside a longer word of letters or number of digits."""
    before, after = text[at - 1 : at], text[at + len(wanted) : at + len(wanted) + 1]
    return not (_joins(before, wanted[0]) or _joins(wanted[-1], after))


def _joins(left: str, right: str) -> bool:
    return left.isascii() and right.isascii() and left.isalnum() and right.isalnum()


def _as_number(written: str) -> float | None:
    try:
        return float(number(written))
    except ValueError:  # a date or a version
        return None
