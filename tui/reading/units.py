"""Documents cut into small parts that can be found by what they say, and cited."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from tui.documents.chunker import chunk_document
from tui.documents.model import Chunk, Document
from tui.documents.places import Places, Range
from tui.reading.citing import citations
from tui.reading.extractive import sentences
from tui.reading.passages import Index, joined, question_terms
from tui.reading.results import Citation

if TYPE_CHECKING:
    from tui.context.runtime import Runtime

PART = 256
"""Tokens of a part: small, so that many places have room in one prompt."""
_BORNE_OUT = 0.5
"""Share of a sentence's words, by weight, that a part must hold to be the one it was taken from."""


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

    def ranges(self, parts: Iterable[int]) -> dict[int, list[Range]]:
        """For each document, by its index, the ranges of these parts; neighbours are one."""
        found: dict[int, list[Range]] = {}
        for first, last in joined(parts, self.ends):
            found.setdefault(self.owners[first], []).append((self.chunks[first].start, self.chunks[last - 1].end))
        return found

    def cite(self, parts: Iterable[int]) -> str:
        """The places of these parts as they stand in brackets; several documents by their names."""
        cited = []
        for owner, ranges in self.ranges(parts).items():
            place = self.place(owner, ranges)
            if place:
                cited.append(place)
        return "; ".join(cited)

    def place(self, owner: int, ranges: Sequence[Range]) -> str:
        """The places of ranges of one document."""
        place = self._places[owner].cite(ranges)
        return f"{self.documents[owner].name} {place}".strip() if len(self.documents) > 1 else place

    def citations(self, parts: Iterable[int]) -> tuple[Citation, ...]:
        """The same for programs."""
        return tuple(
            citation
            for owner, ranges in self.ranges(parts).items()
            for citation in citations(self.documents[owner], self._places[owner], ranges)
        )

    def trace(self, answer: str, among: Iterable[int] | None = None) -> list[int]:
        """The parts that the sentences of an answer were taken from, as far as their words tell; empty when they don't.

        `among` are the parts that the model has seen; all of them where it is not given.
        """
        seen = range(len(self)) if among is None else sorted(set(among))
        used: set[int] = set()
        for sentence in sentences(answer):
            said = question_terms(sentence)
            if not said:
                continue
            scores = self.index.scores(said)
            best = max(seen, key=lambda part: (scores[part], -part), default=None)
            if best is not None and scores[best] > 0 and self.index.share(said, best) >= _BORNE_OUT:
                used.add(best)
        return sorted(used)
