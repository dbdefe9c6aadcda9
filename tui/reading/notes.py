"""Notes: short sentences on a document, each with an id and the places of the document that it comes from."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tui.documents.places import Range
from tui.reading.bracketed import cited
from tui.reading.sentencing import merged
from tui.reading.tracing import Sources, containment, likeness

_LIKE_A_PARENT = 0.45
"""A note that holds this share of the statement's terms may be where it comes from."""
_OF_THE_BEST = 0.7
_CLAIM_HOLDS = 0.5
"""An id that the model names is believed when its note is at least half as like the statement as the most alike one is,
or when no note is `_LIKE_A_PARENT`."""
_MOST_PARENTS = 3
_SAME = 0.85
"""A sentence that holds as much of a note as this says nothing new beside it."""


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """One sentence. `ranges` are places of the document, narrowed to what bears it out where words tell."""

    id: int
    text: str
    ranges: tuple[Range, ...]
    parents: tuple[int, ...] = ()
    """Ids of the notes that it was merged from; empty for one that comes from the document itself."""
    narrowed: bool = False
    """Whether its ranges are sentences; else they are the whole part of the document that was read."""


class Sheet(msgspec.Struct, frozen=True, kw_only=True):
    """The notes on one stretch of the document, in its order, and sentences of it that support them."""

    notes: tuple[Note, ...]
    sources: tuple[str, ...] = ()
    tokens: int = 0
    """Of the sheet as it stands in a prompt."""

    @property
    def ranges(self) -> tuple[Range, ...]:
        return merged([found for note in self.notes for found in note.ranges])


class Ids:
    """Gives out ids, in the order in which notes are made."""

    def __init__(self) -> None:
        self._last = 0

    def next(self) -> int:
        self._last += 1
        return self._last


def rendered(sheets: Sequence[Sheet], first: int = 1) -> str:
    """Sheets as they stand in a prompt: `[1] note`, numbered from `first`; `> sentence of the document`."""
    lines: list[str] = []
    for sheet in sheets:
        lines += [f"[{number}] {note.text}" for number, note in enumerate(sheet.notes, first)]
        first += len(sheet.notes)
        lines += [f"> {source}" for source in sheet.sources]
    return "\n".join(lines)


def notes_of(sheets: Sequence[Sheet]) -> list[Note]:
    """All notes, in the order of their numbers in a prompt."""
    return [note for sheet in sheets for note in sheet.notes]


def parents_of(statement: str, claimed: Sequence[int], notes: Sequence[Note]) -> list[Note]:
    """The notes that a statement comes from: those it names by their numbers, as far as its words do not speak against
    it; else those whose words it shares. Empty when there is neither."""
    shares = likeness(statement, [note.text for note in notes])
    best = max(shares, default=0.0)
    named = [number - 1 for number in claimed if 0 < number <= len(notes)]
    believed = [index for index in named if shares[index] >= _CLAIM_HOLDS * best or best < _LIKE_A_PARENT]
    if believed:
        return [notes[index] for index in sorted(set(believed))]
    like = [index for index, share in enumerate(shares) if share >= max(_LIKE_A_PARENT, _OF_THE_BEST * best)]
    like.sort(key=lambda index: (-shares[index], index))
    return [notes[index] for index in sorted(like[:_MOST_PARENTS])]


def place_notes(texts: Sequence[str], text: str) -> list[tuple[str, tuple[Range, ...]]]:
    """What a model said of `text`, one note each, without brackets, with the ranges of `text` that bear it out.

    No ranges: no sentence matches well.
    """
    sources = Sources(text)
    placed = []
    for said in texts:
        bare = cited(said)[0].strip()
        trace = sources.trace(bare)
        placed.append((bare, merged(trace.ranges) if trace.good or trace.anchored else ()))
    return placed


def support(notes: Sequence[Note], document_text: str, *, most: int = 2) -> list[Range]:
    """The sentences that say most of these notes, those left out that a note repeats nearly word for word."""
    sources = Sources(document_text, merged([found for note in notes for found in note.ranges]))
    chosen = sources.supporting([note.text for note in notes], 2 * most)
    fresh = [
        (start, end)
        for start, end in chosen
        if max((containment(document_text[start:end], note.text) for note in notes), default=0.0) < _SAME
    ]
    return fresh[:most]
