"""`refine`: part after part, each read beside the notes so far, so that what comes later can correct what came before.

The model is asked only for what a part adds, and the program keeps the notes: none is lost because a model wrote the
whole anew and left it out, and "no changes" is no answer. When the notes outgrow their room, the oldest are merged, and
those that the merge lost are kept beside it as far as there is room.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from tui.documents.model import Chunk
from tui.reading.bracketed import cited
from tui.reading.events import LevelDone, ReadingEvent
from tui.reading.journal import Journal, Piece
from tui.reading.mapping import Mapper, counted, sheets_of
from tui.reading.merging import Merger
from tui.reading.notes import Ids, Note, Sheet, notes_of, rendered
from tui.reading.plan import Budget
from tui.reading.sentencing import merged
from tui.reading.tracing import containment

if TYPE_CHECKING:
    from tui.context.counter import TokenCounter

_REPLACES = 0.6
"""A note replaces the one that it names when it holds this share of its terms; else both stay."""
_SAME = 0.9
_STILL_THERE = 0.5
_KEPT_OF_OLD = 0.6
"""What was merged and what is kept beside it take at most this share of what it was, so that it ends."""


class Refiner:
    """Reads the chunks of one document one after the other, on one slot."""

    def __init__(
        self,
        mapper: Mapper,
        merger: Merger,
        journal: Journal,
        budget: Budget,
        counter: TokenCounter,
        emit: Callable[[ReadingEvent], None],
    ) -> None:
        self._mapper = mapper
        self._merger = merger
        self._journal = journal
        self._budget = budget
        self._counter = counter
        self._emit = emit
        self._condensed = 0

    async def finished(self, chunks: Sequence[Chunk]) -> int:
        """How many chunks an earlier run has finished, from the first on."""
        ids = self._merger.ids
        known: list[Sheet] = []
        for done, chunk in enumerate(chunks):
            while (group := self._too_much(known)) is not None:
                whole = await self._merger.with_sources(group)
                sheet = await self._merger.known(whole)
                if sheet is None:
                    return done
                known = [await self._with_lost(sheet, group), *known[len(group) :]]
            entry = await self._journal.get(self._mapper.key(chunk, rendered(known)))
            if entry is None:
                return done
            known = await self._joined(known, chunk, entry.pieces, ids)
        return len(chunks)

    async def read(self, chunks: Sequence[Chunk]) -> list[Sheet]:
        """The notes on the whole document, in the order in which they were made."""
        ids = self._merger.ids
        self._mapper.expect(len(chunks))
        known: list[Sheet] = []
        for chunk in chunks:
            while (group := self._too_much(known)) is not None:
                known = await self._condense(known, group)
            entry = await self._journal.get(self._mapper.key(chunk, rendered(known)))
            if entry is not None:
                pieces = self._mapper.reuse(chunk, entry)
            else:
                pieces = await self._mapper.read_one(0, chunk, rendered(known))
            known = await self._joined(known, chunk, pieces, ids)
        return known

    def _too_much(self, known: Sequence[Sheet]) -> Sequence[Sheet] | None:
        """The oldest sheets, which have to be merged so that the notes take no more than their room."""
        if sum(sheet.tokens for sheet in known) <= self._budget.known or len(known) < 2:
            return None
        room = self._budget.room("reduce", self._budget.reply)
        wanted, taken = self._budget.known // 2, 0
        for count, sheet in enumerate(known, 1):
            taken += sheet.tokens + self._budget.sources
            if count > 2 and taken > room:
                return known[: count - 1]
            if count >= 2 and taken > wanted:
                return known[:count]
        return known

    async def _condense(self, known: Sequence[Sheet], group: Sequence[Sheet]) -> list[Sheet]:
        sheet, _ = await self._merger.merge(0, await self._merger.with_sources(group))
        after = [await self._with_lost(sheet, group), *known[len(group) :]]
        self._condensed += 1
        self._emit(
            LevelDone(level=self._condensed, notes_before=len(notes_of(known)), notes_after=len(notes_of(after)))
        )
        return after

    async def _with_lost(self, sheet: Sheet, group: Sequence[Sheet]) -> Sheet:
        """A merged sheet with the notes that it lost, as many as there is room for."""
        named = {parent for note in sheet.notes for parent in note.parents}
        text = "\n".join(note.text for note in sheet.notes)
        lost = [
            note
            for note in notes_of(group)
            if containment(note.text, text) < _STILL_THERE
            or (note.id not in named and containment(note.text, text) < _SAME)
        ]
        [whole] = await counted([sheet], self._counter)
        room = int(_KEPT_OF_OLD * sum(part.tokens for part in group))
        for note in lost:
            [longer] = await counted([msgspec.structs.replace(whole, notes=(*whole.notes, note))], self._counter)
            if longer.tokens <= room:
                whole = longer
        return whole

    async def _joined(self, known: Sequence[Sheet], chunk: Chunk, pieces: Sequence[Piece], ids: Ids) -> list[Sheet]:
        """The notes so far and those on the next chunk: what says the same is one note with both places."""
        sheets = list(known)
        for fresh in sheets_of(chunk, pieces, ids):
            before = notes_of(sheets)
            added: list[Note] = []
            for note in fresh.notes:
                text, claimed = cited(note.text)
                note = msgspec.structs.replace(note, text=text.strip())
                same = next((old for old in before if containment(note.text, old.text) >= _SAME), None)
                if same is not None:
                    both = merged([*same.ranges, *note.ranges])
                    sheets = _put(sheets, same, msgspec.structs.replace(same, ranges=both))
                    continue
                for number in claimed:
                    old = before[number - 1] if 0 < number <= len(before) else None
                    if old is not None and containment(old.text, note.text) >= _REPLACES:
                        note = msgspec.structs.replace(
                            note,
                            ranges=merged([*note.ranges, *old.ranges]),
                            parents=(*note.parents, old.id),
                            narrowed=note.narrowed and old.narrowed,
                        )
                        sheets = _put(sheets, old, None)
                added.append(note)
            if added:
                sheets.append(Sheet(notes=tuple(added)))
        return await counted([sheet for sheet in sheets if sheet.notes], self._counter)


def _put(sheets: Sequence[Sheet], old: Note, new: Note | None) -> list[Sheet]:
    """Sheets with `new` in the place of the note with the id of `old`, or without it."""
    changed = []
    for sheet in sheets:
        notes = [new if note.id == old.id else note for note in sheet.notes]
        changed.append(msgspec.structs.replace(sheet, notes=tuple(note for note in notes if note is not None)))
    return changed
