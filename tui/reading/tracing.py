"""Tracing: which sentences of a text bear a statement out, as far as their words tell.

A statement's terms have weights: rare ones of the text tell, words that stand everywhere do not. Sentences are taken
one after the other, each time the one that holds most of what is still missing, until no sentence adds anything worth
naming. No model is asked.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from tui.documents.places import Range
from tui.reading.sentencing import sentence_ranges
from tui.reading.terms import terms

_ENOUGH, _ENOUGH_UNSPACED = 0.5, 0.3
"""Share of a statement's weight that its sentences have to hold together. Measured on five texts: of paraphrases with a
third of their words replaced 95 to 100 % reach it, of sentences on other subjects 0 to 3 %. One changed character
changes two pairs, so scripts without spaces have a lower mark (0 % of other subjects reach it)."""
_FIRST, _FIRST_UNSPACED = 0.28, 0.18
"""The best sentence holds at least this; crumbs from many sentences prove nothing."""
_WORTH_NAMING = 0.14
_MOST_SENTENCES = 3
_SMALL_WORD = 3
_SMALL_WORDS_WEIGHT = 0.25
_NUMBERS_WEIGHT = 1.3
_UNKNOWN_AS = 4
_ANCHORS = 2


class Trace(msgspec.Struct, frozen=True):
    """The sentences that hold most of a statement, best first, and which share of its weight they hold together."""

    ranges: tuple[Range, ...]
    share: float
    good: bool = False
    """Whether the sentences bear the statement out, by their words."""
    anchors: int = 0
    """Numbers and capitalized names of the statement that the best sentence holds."""

    @property
    def anchored(self) -> bool:
        """Whether names and numbers lead to one sentence, as they do in a translation too."""
        return self.anchors >= _ANCHORS


NOTHING = Trace((), 0.0)


class Sources:
    """The sentences of one text, or of parts of it, by their terms."""

    def __init__(self, text: str, ranges: Iterable[Range] | None = None) -> None:
        """`ranges` limits it to parts of the text; offsets stay those of `text`."""
        parts = [(0, len(text))] if ranges is None else list(ranges)
        self.ranges: list[Range] = [found for start, end in parts for found in sentence_ranges(text, start, end)]
        self._having: dict[str, list[int]] = defaultdict(list)
        for index, (start, end) in enumerate(self.ranges):
            for term in set(terms(text[start:end])):
                self._having[term].append(index)

    def weight(self, term: str) -> float:
        """How much a term tells: rare ones more, small words little, numbers a little more."""
        held = len(self._having.get(term, ()))
        # A word that the text does not have may only be another word for the same: it tells less than a rare one.
        rare = math.log(1 + (len(self.ranges) + 1) / (held + 0.5 if held else _UNKNOWN_AS))
        return rare * _telling(term)

    def weights(self, statement: str) -> dict[str, float]:
        """The statement's terms with their weights."""
        return {term: self.weight(term) for term in dict.fromkeys(terms(statement))}

    def trace(self, statement: str, most: int = _MOST_SENTENCES) -> Trace:
        """At most `most` sentences that hold what the statement says."""
        missing = self.weights(statement)
        whole = sum(missing.values())
        if not whole:
            return NOTHING
        anchors = _anchors(statement)
        unspaced = sum(not term.isascii() and len(term) <= 2 for term in missing) * 2 > len(missing)
        first, enough = (_FIRST_UNSPACED, _ENOUGH_UNSPACED) if unspaced else (_FIRST, _ENOUGH)
        chosen: list[int] = []
        share = 0.0
        anchored = 0
        while missing and len(chosen) < most:
            gains: Counter[int] = Counter()
            for term, weight in missing.items():
                for index in self._having.get(term, ()):
                    gains[index] += weight  # type: ignore[assignment]
            if not gains:
                break
            best = max(gains, key=lambda index: (gains[index], -index))
            gain = gains[best] / whole
            if gain < (_WORTH_NAMING if chosen else 0.0):
                break
            held = {term for term in missing if best in self._having.get(term, ())}
            if not chosen:
                anchored = len(anchors & held)
                if gain < first:
                    return Trace((self.ranges[best],), 0.0, anchors=anchored)
            chosen.append(best)
            share += gain
            for term in held:
                del missing[term]
        ranges = tuple(self.ranges[index] for index in chosen)
        return Trace(ranges, share, good=share >= enough, anchors=anchored)

    def supporting(self, statements: Sequence[str], most: int) -> list[Range]:
        """The `most` sentences that hold most of several statements together, in the text's order."""
        missing: Counter[str] = Counter()
        for statement in statements:
            for term, weight in self.weights(statement).items():
                missing[term] += weight  # type: ignore[assignment]
        chosen: list[int] = []
        while len(chosen) < most:
            gains: dict[int, float] = defaultdict(float)
            for term, weight in missing.items():
                for index in self._having.get(term, ()):
                    gains[index] += weight
            for index in gains:
                # Long sentences hold much of everything.
                start, end = self.ranges[index]
                gains[index] /= math.sqrt(40 + end - start)
            for index in chosen:
                gains.pop(index, None)
            if not gains or max(gains.values()) <= 0:
                break
            best = max(gains, key=lambda index: (gains[index], -index))
            chosen.append(best)
            for term in missing:
                if best in self._having.get(term, ()):
                    missing[term] = 0
        return [self.ranges[index] for index in sorted(chosen)]


def _anchors(statement: str) -> set[str]:
    """Terms that stay the same in every language: numbers of two and more digits, words with capitals inside a line."""
    found: set[str] = set()
    for place, word in enumerate(statement.replace("-", " ").split()):
        bare = word.strip(".,;:!?\"'()[]")
        numbered = len(bare) > 1 and any(sign.isdigit() for sign in bare)
        if numbered or (place and bare[:1].isupper() and bare.isascii()):
            found.update(terms(bare))
    return found


def _telling(term: str) -> float:
    """How much a term tells by its form: small words and single digits stand everywhere."""
    if term[0].isdigit():
        return _NUMBERS_WEIGHT if len(term) > 1 else _SMALL_WORDS_WEIGHT
    return _SMALL_WORDS_WEIGHT if term.isascii() and len(term) <= _SMALL_WORD else 1.0


def likeness(statement: str, others: Sequence[str]) -> list[float]:
    """For each of `others` the share of the statement that it holds, or that the statement holds of it: the larger one.

    Words that most of the others have count little: notes of one document are alike in those.
    """
    said = set(terms(statement))
    held = [set(terms(other)) for other in others]
    counted = Counter(term for own in held for term in own)
    weights = {
        term: math.log(1 + (len(others) + 1) / (counted[term] + 1)) * _telling(term) for term in (said | set(counted))
    }
    whole = sum(weights[term] for term in said)
    shares = []
    for own in held:
        common = sum(weights[term] for term in said & own)
        shares.append(max(common / whole if whole else 0.0, common / (sum(weights[term] for term in own) or 1.0)))
    return shares


def containment(statement: str, text: str) -> float:
    """Which share of the statement's terms `text` holds, small words counting little."""
    there = set(terms(text))
    weights = {term: _telling(term) for term in terms(statement)}
    whole = sum(weights.values())
    return sum(weight for term, weight in weights.items() if term in there) / whole if whole else 0.0
