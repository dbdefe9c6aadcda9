"""Content coverage: which sections of a document a summary speaks of, and which of its statements nothing bears out.

No judge model: words are counted. A statement speaks of the section that contains the largest share of its terms,
weighted by how rare each is in the document (IDF); it counts only when that share is above what statements about
something else reach by chance: the 95th percentile of foreign sentences of the same length, taken anew for each
document and language. Where a statement is in another language than the document, words tell nothing: then its trace,
the places that its notes were made from, says which sections it covers, and support is left open.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from tui.documents.model import Document
from tui.documents.places import Range
from tui.reading.foreign import SENTENCES
from tui.reading.languages import language_of
from tui.reading.results import Content
from tui.reading.sections import sections
from tui.reading.strange import Strange
from tui.reading.terms import terms

_BY_CHANCE = 0.95
_LENGTHS = (3, 5, 8, 12, 18, 27, 40, 60)
_WINDOWS = 120
_UNSEEN = 0.5
"""In how many sections a term is reckoned to stand that stands in none."""
_ENOUGH_SECTIONS = 4
_UNCALIBRATED = 0.5
"""For a short document in a language without foreign sentences, where nothing can be compared with."""
_OF_THE_BEST = 2 / 3
"""A statement's own places bear it out only when no other place does so much better."""
_ALL = 1.0 - 1e-9


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """A statement and the ranges of the document that it was traced to."""

    text: str
    ranges: tuple[Range, ...] = ()


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What words tell of one statement."""

    supported: bool | None
    """Whether its places bear it out, or, where it has none, any part of the document; None where words cannot tell."""
    strange: tuple[str, ...] = ()
    """Numbers and names in it that its places do not hold."""


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """The figures, and the verdict on each statement in the order given."""

    content: Content
    verdicts: tuple[Verdict, ...]


def measure(document: Document, claims: Sequence[Claim]) -> Measured:
    """Content coverage of `claims`. Takes time in proportion to the document: about a second for 4 MB of text."""
    yardstick = _Yardstick(document)
    translated = bool(claims) and yardstick.is_other_language(" ".join(claim.text for claim in claims))
    covered: set[int] = set()
    verdicts: list[Verdict] = []
    for claim in claims:
        verdict, spoken_of = yardstick.judge(claim, by_trace=translated)
        verdicts.append(verdict)
        covered |= spoken_of
    content = Content(
        sections=len(yardstick.sections),
        covered=len(covered),
        unsupported=sum(verdict.supported is False for verdict in verdicts),
        statements=len(verdicts),
        strange=sum(len(verdict.strange) for verdict in verdicts),
    )
    return Measured(content=content, verdicts=tuple(verdicts))


class _Yardstick:
    """The sections of one document with their terms, and what is reached in them by chance."""

    def __init__(self, document: Document) -> None:
        self._document = document
        text = document.text
        found = [(section, frozenset(terms(text[slice(*section)]))) for section in sections(document)]
        self.sections = [section for section, held in found if held]
        self._terms = [held for _, held in found if held]
        counted = Counter(term for held in self._terms for term in held)
        total = len(self._terms)
        self._weights = {term: math.log(1 + total / count) for term, count in counted.items()}
        self._unseen = math.log(1 + total / _UNSEEN)
        self._language = language_of(counted)
        self._strange = Strange(document, self._language)
        self._chance: dict[int, float] = {}

    def is_other_language(self, text: str) -> bool:
        """Whether the statements are in another language than the document."""
        other = language_of(Counter(set(terms(text))))
        return bool(other and self._language) and other != self._language

    def judge(self, claim: Claim, *, by_trace: bool) -> tuple[Verdict, set[int]]:
        """The verdict on a statement, and the sections that it speaks of (indexes)."""
        own = self._touched(claim.ranges)
        odd = self._strange.find(claim.text, claim.ranges or self.sections)
        said = frozenset(terms(claim.text))
        if by_trace or not said:
            return Verdict(supported=None, strange=odd), own if by_trace else set()
        scores = [self._share(said, held) for held in self._terms]
        threshold = self._by_chance(len(said))
        best = max(range(len(scores)), key=scores.__getitem__, default=-1)
        enough = max(threshold, _OF_THE_BEST * max(scores, default=0.0))
        spoken_of = {index for index in own if scores[index] > enough}
        if best >= 0 and scores[best] > threshold:
            spoken_of.add(best)
        supported = bool(spoken_of & own) if own else bool(spoken_of)
        return Verdict(supported=supported, strange=odd), spoken_of

    def _touched(self, ranges: Iterable[Range]) -> set[int]:
        return {
            index
            for start, end in ranges
            for index, (first, last) in enumerate(self.sections)
            if start < last and first < max(end, start + 1)
        }

    def _share(self, said: frozenset[str], held: frozenset[str]) -> float:
        """The share of the statement's terms that the section holds, rare terms weighing more: from 0 to 1."""
        total = inside = 0.0
        for term in said:
            weight = self._weights.get(term, self._unseen)
            total += weight
            if term in held:
                inside += weight
        return inside / total

    def _by_chance(self, size: int) -> float:
        """What 95 of 100 foreign statements of about `size` terms do not exceed in their best section."""
        if self._language not in SENTENCES and len(self._terms) < _ENOUGH_SECTIONS:
            return _UNCALIBRATED
        length = max((length for length in _LENGTHS if length <= size), default=_LENGTHS[0])
        if length not in self._chance:
            shares = sorted(
                max((self._share(window, held) for held in self._terms), default=0.0)
                for window in self._foreign(length)
            )
            # All of a statement's terms is as much as there can be: that always counts.
            self._chance[length] = min(shares[math.ceil(_BY_CHANCE * len(shares)) - 1], _ALL)
        return self._chance[length]

    def _foreign(self, length: int) -> list[frozenset[str]]:
        """Runs of foreign sentences, each with `length` different terms or a few less."""
        stream = self._stream()
        step = max(1, len(stream) // _WINDOWS)
        return [_distinct(stream, place, length) for place in range(0, len(stream), step)]

    def _stream(self) -> list[str]:
        if self._language in SENTENCES:
            return [term for sentence in SENTENCES[self._language] for term in terms(sentence)]
        # No sentences in this language: the document's own terms, neighbours being from different sections.
        rows = [sorted(held) for held in self._terms]
        longest = max(map(len, rows), default=0)
        return [row[place] for place in range(longest) for row in rows if place < len(row)]


def _distinct(stream: Sequence[str], place: int, length: int) -> frozenset[str]:
    found: set[str] = set()
    for offset in range(len(stream)):
        found.add(stream[(place + offset) % len(stream)])
        if len(found) == length:
            break
    return frozenset(found)
