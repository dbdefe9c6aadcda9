"""Numbers and names in a statement that the places it is said to come from do not hold."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

from tui.documents.model import Document
from tui.documents.places import Range
from tui.reading.sentencing import merged
from tui.reading.terms import terms

_AROUND = 600
"""Characters before and after a place, in a document without pages."""
_WORDS = {
    "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8",
    "nine": "9", "ten": "10", "eleven": "11", "twelve": "12", "twenty": "20", "thirty": "30", "hundr": "100",
}  # fmt: skip
_HAN_DIGITS = {
    "一": "1",
    "二": "2",
    "两": "2",
    "三": "3",
    "四": "4",
    "五": "5",
    "六": "6",
    "七": "7",
    "八": "8",
    "九": "9",
    "十": "10",
}
_NUMBER = re.compile(r"\d[\d.,'\u2019]*")
# A name: a capital inside a sentence. The first word of a sentence has one anyway.
_NAME = re.compile(r"(?<=[^\s.!?:;…\"“”'‘(\[])[ \t]+(?P<name>[^\W\d_]*[A-ZÀ-ÖØ-ÞА-ЯЁ][\w’'-]*)")
_ACRONYM = re.compile(r"\b[A-Z]{2,}[A-Z0-9]*\b")
_QUOTED = re.compile("[《「『〈](.{2,40}?)[》」』〉]")
_POSSESSIVE = re.compile(r"[’']s?$")
_TITLE_CASE = 0.6


class Strange:
    """Finds them in the statements on one document; what each place holds is counted once for all of them."""

    def __init__(self, document: Document, language: str) -> None:
        self._document = document
        self._language = language
        self._held: dict[tuple[Range, ...], frozenset[str]] = {}

    def find(self, statement: str, ranges: Sequence[Range]) -> tuple[str, ...]:
        """As they are written in the statement, in order, each once. Numbers by value: `1,000` is held by `1000`.

        Names are words with a capital inside a sentence, so there are none in German and in texts without capitals,
        where titles in `《》` and quotation marks are looked for instead.
        """
        wanted = [*_numbers(statement), *_names(statement, self._language)]
        quoted = [match[1] for match in _QUOTED.finditer(statement)]
        if not wanted and not quoted:
            return ()
        places = _whole_places(self._document, ranges)
        held = self._terms(places)
        found = [written for written, needed in wanted if not needed <= held]
        bare = _bare(self._text(places)) if quoted else ""
        found += [title for title in quoted if _bare(title) not in bare]
        return tuple(dict.fromkeys(found))

    def _text(self, places: Sequence[Range]) -> str:
        return "\n".join(self._document.text[start:end] for start, end in places)

    def _terms(self, places: tuple[Range, ...]) -> frozenset[str]:
        if places not in self._held:
            text = self._text(places)
            held = set(terms(text))
            held |= {_WORDS[term] for term in held if term in _WORDS}
            held |= {_HAN_DIGITS[character] for character in set(text) if character in _HAN_DIGITS}
            self._held[places] = frozenset(held)
        return self._held[places]


def _numbers(statement: str) -> Iterator[tuple[str, set[str]]]:
    for match in _NUMBER.finditer(unicodedata.normalize("NFKC", statement)):
        written = match.group().rstrip(".,'\u2019")
        yield written, set(terms(written))


def _names(statement: str, language: str) -> Iterator[tuple[str, set[str]]]:
    words = [word for word in re.findall(r"[^\W\d_]+", statement) if len(word) > 3]
    if language == "de" or sum(word[0].isupper() for word in words) > _TITLE_CASE * max(1, len(words)):
        return
    for match in _NAME.finditer(statement):
        name = _POSSESSIVE.sub("", match["name"])
        if len(name) > 1:
            yield name, set(terms(name))
    for match in _ACRONYM.finditer(statement):
        yield match.group(), set(terms(match.group()))


def _whole_places(document: Document, ranges: Sequence[Range]) -> tuple[Range, ...]:
    """The ranges widened to whole pages, or by a paragraph where there are none; joined where they overlap."""
    wide: list[Range] = []
    for start, end in ranges:
        pages = [span for span in document.spans_in(start, end) if span.kind == "page"]
        if pages:
            wide.append((min(span.start for span in pages), max(span.end for span in pages)))
        else:
            wide.append((max(0, start - _AROUND), min(len(document.text), end + _AROUND)))
    return merged(wide, gap=0)


def _bare(text: str) -> str:
    return "".join(unicodedata.normalize("NFKC", text).split()).lower()
