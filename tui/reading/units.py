"""Documents cut into small parts that can be found by what they say, and cited."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from tui.documents.chunker import chunk_document
from tui.documents.model import Chunk, Document
from tui.documents.places import Places, Range
from tui.reading.ask_answers import says_nothing
from tui.reading.citing import citations
from tui.reading.extractive import sentences
from tui.reading.passages import NAME_MARK, Index, joined, question_terms
from tui.reading.results import Citation
from tui.reading.rows import said_in
from tui.reading.terms import terms

if TYPE_CHECKING:
    from tui.context.runtime import Runtime

ByDocument = dict[int, list[Range]]
"""Ranges of texts, by the index of their document."""

PART = 256
"""Tokens of a part: small, so that many places have room in one prompt."""
_BORNE_OUT = 0.5
"""Share of a sentence's words, by weight, that a part must hold to be the one it was taken from."""


_MOST_PLACES = 12


def short(cite: str) -> str:
    """Places for people, the first of them when they are many."""
    places = cite.split("; ")
    if len(places) <= _MOST_PLACES:
        return cite
    return f"{'; '.join(places[:_MOST_PLACES])} and {len(places) - _MOST_PLACES} more places"


class Units:
    """Parts of documents, numbered through in the documents' order."""

    def __init__(self, documents: Sequence[Document], chunks: Sequence[Sequence[Chunk]], index: Index) -> None:
        self.documents = tuple(documents)
        self.chunks = tuple(chunk for part in chunks for chunk in part)
        self.owners = tuple(owner for owner, part in enumerate(chunks) for _ in part)
        self.index = index
        self._places = [Places(document) for document in documents]

    @classmethod
    async def make(cls, runtime: Runtime, documents: Sequence[Document], size: int = PART) -> Units:
        """Cut and indexed, off the event loop."""
        chunks = [await chunk_document(document, size, runtime.counter.count_many) for document in documents]
        texts = [f"{chunk.heading}\n{chunk.context}\n{chunk.text}" for part in chunks for chunk in part]
        return cls(documents, chunks, await asyncio.to_thread(Index, texts))

    def __len__(self) -> int:
        return len(self.chunks)

    @property
    def ends(self) -> tuple[int, ...]:
        """Where another document begins."""
        return tuple(i for i in range(1, len(self.owners)) if self.owners[i] != self.owners[i - 1])

    def ranges(self, parts: Iterable[int]) -> ByDocument:
        """The ranges of these parts; neighbours are one."""
        found: ByDocument = {}
        for first, last in joined(parts, self.ends):
            found.setdefault(self.owners[first], []).append((self.chunks[first].start, self.chunks[last - 1].end))
        return found

    def cite(self, found: ByDocument) -> str:
        """The places as they stand in brackets; several documents by their names."""
        cited = [self.place(owner, ranges) for owner, ranges in found.items()]
        return "; ".join(place for place in cited if place)

    def place(self, owner: int, ranges: Sequence[Range]) -> str:
        """The places of ranges of one document."""
        place = self._places[owner].cite(ranges)
        return f"{self.documents[owner].name} {place}".strip() if len(self.documents) > 1 else place

    def citations(self, found: ByDocument) -> tuple[Citation, ...]:
        """The same for programs."""
        return tuple(
            citation
            for owner, ranges in found.items()
            for citation in citations(self.documents[owner], self._places[owner], ranges)
        )

    def trace(self, answer: str, among: Iterable[int] | None = None) -> ByDocument:
        """The sentences that those of an answer were taken from, as far as their words tell; empty when they don't.

        `among` are the parts that the model has seen; all of them where it is not given.
        """
        seen = range(len(self)) if among is None else sorted(set(among))
        used: set[tuple[int, Range]] = set()
        for sentence in sentences(answer):
            said = question_terms(sentence)
            if not said or says_nothing(sentence):
                continue
            scores = self.index.scores(said)
            best = max(seen, key=lambda part: (scores[part], -part), default=None)
            if best is not None and scores[best] > 0 and self.index.share(said, best) >= _BORNE_OUT:
                used.add((self.owners[best], self._narrowed(best, said)))
        found: ByDocument = {}
        for owner, place in sorted(used):
            found.setdefault(owner, []).append(place)
        return found

    def _narrowed(self, part: int, said: Iterable[str]) -> Range:
        """The sentence or row of a part with most of these terms by their weight; the part when that is too little."""
        chunk, document = self.chunks[part], self.documents[self.owners[part]]
        weights = {term: self.index.weight(term) for term in said if not term.startswith(NAME_MARK)}
        whole = (chunk.start, chunk.end)
        held = [
            (place, weights.keys() & set(terms(document.text[place[0] : place[1]])))
            for place in said_in(document, *whole)
        ]
        # A word that stands in one of the sentences tells which it is; one that stands in each does not.
        often = Counter(term for _, there in held for term in there)
        place, there = max(
            held,
            key=lambda one: (sum(weights[term] / often[term] for term in one[1]), -one[0][0]),
            default=(whole, frozenset[str]()),
        )
        return place if sum(weights[term] for term in there) >= _BORNE_OUT * sum(weights.values()) else whole
