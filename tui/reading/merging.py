"""The reduce steps: neighbouring notes are merged, level by level, until all that is left fits the summary's prompt.

Each merge sees sentences of the document beside the notes: merging notes alone amplifies what a model has invented.
What comes of it keeps the ids and the places of the notes it comes from.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from tui.context.prompt import Prompt
from tui.documents.model import Document
from tui.errors import DoesNotFit
from tui.reading.bracketed import cited
from tui.reading.calls import Caller
from tui.reading.events import GroupDone, LevelDone, ReadingEvent
from tui.reading.extractive import extract
from tui.reading.flow import over_slots
from tui.reading.journal import Entry, Journal
from tui.reading.mapping import counted
from tui.reading.notes import Ids, Note, Sheet, notes_of, parents_of, rendered, support
from tui.reading.notetaking import Request, bounded, take_notes, take_one_sentence
from tui.reading.opening import LONGEST
from tui.reading.plan import Budget, pack
from tui.reading.prompts import SummaryPrompts
from tui.reading.sentencing import merged
from tui.server.types import Message

if TYPE_CHECKING:
    from tui.context.runtime import Runtime

_ATTEMPTS = range(3)
_MOST_SOURCES = 3
_TO_CHOOSE_FROM = 6
_SOURCE_MARK = 3
"""Tokens of the mark before a source and the line end behind it."""


class Ready(msgspec.Struct, frozen=True, kw_only=True):
    """Notes that fit the prompt of the summary."""

    sheets: tuple[Sheet, ...]
    text: str
    prompt: Prompt
    levels: int
    """Merges that led here."""


class Merger:
    """Merges notes. Ends always: every level leaves fewer sheets than it was given, or DoesNotFit is raised."""

    def __init__(
        self,
        caller: Caller,
        document: Document,
        prompts: SummaryPrompts,
        budget: Budget,
        journal: Journal,
        temperature: float | None,
        emit: Callable[[ReadingEvent], None],
        ids: Ids,
    ) -> None:
        self._runtime: Runtime = caller.runtime
        self._caller = caller
        self._document = document
        self._prompts = prompts
        self._budget = budget
        self._journal = journal
        self._emit = emit
        self.ids = ids
        self._sampling = prompts.sampling("reduce", temperature, budget.notes)
        self._instruction = prompts.instruction("reduce", budget.notes)
        self._level = 0
        self._merged = 0
        self.unended: list[str] = []
        """Why merges have no proper answer: the model's answer had no end, or the server failed."""
        self.stand_ins = 0
        """Merges for which notes were chosen without the model."""

    async def until_it_fits(self, sheets: Sequence[Sheet]) -> Ready:
        """Merge until all notes fit the prompt of the summary beside its room."""
        sheets = await self.with_sources(sheets)
        while (ready := await self._ready(sheets)) is None:
            self._level += 1
            made = await self._one_level(sheets)
            if len(made) >= len(sheets):
                needed = self._budget.frames["reduce"] + sum(sheet.tokens for sheet in sheets[:2]) + self._budget.reply
                raise DoesNotFit(
                    needed,
                    self._budget.context,
                    "Use a larger --ctx-size.",
                    subject="Merging two notes of the document",
                )
            self._emit(LevelDone(level=self._level, notes_before=len(sheets), notes_after=len(made)))
            sheets = await self.with_sources(made)
        return ready

    async def with_sources(self, sheets: Sequence[Sheet]) -> list[Sheet]:
        """Sheets with the sentences of the document that support their notes, as many as the plan leaves room for."""
        bare = [msgspec.structs.replace(sheet, sources=()) for sheet in sheets]
        bare = await counted(bare, self._runtime.counter)
        room = self._budget.sources
        if self._budget.sheet and bare:
            left = self._budget.sheet * len(bare) - sum(sheet.tokens for sheet in bare)
            room = min(room, max(0, left // len(bare)))
        if room <= _SOURCE_MARK:
            return bare
        texts = await asyncio.to_thread(self._supporting, bare)
        counts = await self._runtime.counter.count_many([text for found in texts for text in found])
        sizes = iter(counts)
        full = []
        for sheet, found in zip(bare, texts, strict=True):
            chosen: list[str] = []
            left = room
            for text in found:
                tokens = next(sizes) + _SOURCE_MARK
                if tokens <= left and len(chosen) < _MOST_SOURCES:
                    chosen.append(text)
                    left -= tokens
            full.append(msgspec.structs.replace(sheet, sources=tuple(chosen)))
        return await counted(full, self._runtime.counter)

    def _supporting(self, sheets: Sequence[Sheet]) -> list[list[str]]:
        text = self._document.text
        return [
            [" ".join(text[start:end].split()) for start, end in support(sheet.notes, text, most=_TO_CHOOSE_FROM)]
            for sheet in sheets
        ]

    async def _ready(self, sheets: Sequence[Sheet]) -> Ready | None:
        planned = sum(sheet.tokens for sheet in sheets)
        if planned > self._budget.room("final", self._budget.summary) + 2 * self._budget.margin and len(sheets) > 1:
            return None
        text = rendered(sheets)
        prompt = await self._runtime.assembler.assemble(self.final_messages(text))
        if len(prompt.ids) + LONGEST + self._budget.summary > self._budget.context:
            return None
        return Ready(sheets=tuple(sheets), text=text, prompt=prompt, levels=self._level)

    def final_messages(self, text: str, *, as_list: bool = False) -> tuple[Message, ...]:
        return self._prompts.messages("final", text, as_list=as_list, ids=not self._budget.small)

    async def _one_level(self, sheets: Sequence[Sheet]) -> list[Sheet]:
        room = self._budget.room("reduce", self._budget.reply)
        # No more is given up than has to be: as many notes are left as the summary's prompt is sure to hold.
        groups = pack([sheet.tokens for sheet in sheets], room, groups=min(self._budget.hold, len(sheets) // 2))
        self._merged = 0
        made = await over_slots(
            [sheets[first:last] for first, last in groups],
            self._runtime.parallel,
            lambda slot, group: self._group(slot, group, len(groups)),
        )
        return [sheet for found in made for sheet in found]

    async def _group(self, slot: int, group: Sequence[Sheet], total: int) -> list[Sheet]:
        """A group as one sheet; as more than one only when it turns out not to fit after all."""
        reused = True
        made: list[Sheet] = []
        for part in await self._that_fit(group):
            sheet, from_journal = await self.merge(slot, part) if len(part) > 1 else (part[0], True)
            made.append(sheet)
            reused = reused and from_journal
        self._merged += 1
        self._emit(GroupDone(level=self._level, done=self._merged, total=total, reused=reused))
        return made

    async def _that_fit(self, group: Sequence[Sheet]) -> list[Sequence[Sheet]]:
        if len(group) == 1:
            return [group]
        prompt = await self._prompt(group)
        if len(prompt.ids) + LONGEST + self._budget.reply <= self._budget.context:
            return [group]
        if len(group) == 2 and any(sheet.sources for sheet in group):
            return await self._that_fit([msgspec.structs.replace(sheet, sources=()) for sheet in group])
        middle = len(group) // 2
        return [*await self._that_fit(group[:middle]), *await self._that_fit(group[middle:])]

    async def _prompt(self, group: Sequence[Sheet]) -> Prompt:
        messages = self._prompts.messages("reduce", rendered(group), self._budget.notes, ids=not self._budget.small)
        return await self._runtime.assembler.assemble(messages)

    async def known(self, group: Sequence[Sheet]) -> Sheet | None:
        """What an earlier run has made of these sheets."""
        entry = await self._journal.get(self._key(await self._prompt(group)))
        return None if entry is None else self._sheet(entry.notes, group)

    def _key(self, prompt: Prompt) -> str:
        return self._journal.key("reduce", self._level, prompt.messages, self._sampling, self._budget.reply)

    async def merge(self, slot: int, group: Sequence[Sheet]) -> tuple[Sheet, bool]:
        """One sheet made of several, and whether it comes from the journal."""
        prompt = await self._prompt(group)
        key = self._key(prompt)
        entry = await self._journal.get(key)
        known = entry is not None
        if entry is None:
            entry = await self._asked(slot, group, prompt, key)
        elif entry.reason:
            self.stand_ins += 1
        return (await counted([self._sheet(entry.notes, group)], self._runtime.counter))[0], known

    def _sheet(self, said: Sequence[str], group: Sequence[Sheet]) -> Sheet:
        """What the model said, as notes that keep the ids and the places of those they come from."""
        notes = notes_of(group)
        made = []
        for line in said:
            text, claimed = cited(line)
            # Where neither the model nor the words tell, it may come from any of them.
            parents = parents_of(text, claimed, notes) or notes
            made.append(
                Note(
                    id=self.ids.next(),
                    text=text.strip(),
                    ranges=merged([found for parent in parents for found in parent.ranges]),
                    parents=tuple(parent.id for parent in parents),
                    narrowed=all(parent.narrowed for parent in parents) and len(parents) < len(notes),
                )
            )
        return Sheet(notes=tuple(made))

    async def _asked(self, slot: int, group: Sequence[Sheet], prompt: Prompt, key: str) -> Entry:
        counter = self._runtime.counter
        request = Request(
            prompt=prompt,
            instruction=self._instruction,
            source=rendered(group),
            sampling=self._sampling,
            max_tokens=self._budget.reply,
            id_slot=slot,
        )
        taken = await take_notes(self._caller, request, _ATTEMPTS)
        if not (taken.notes or taken.ended):
            taken = await take_one_sentence(self._caller, request)
        if taken.notes:
            notes, _ = await bounded(taken.notes, self._budget.reply, counter)
            return await self._journal.put(key, Entry(notes=tuple(notes)))
        text = "\n".join(note.text for note in notes_of(group))
        stand_in = await extract(text, self._budget.reply, counter.count_many, most=self._budget.notes)
        entry = Entry(notes=tuple(stand_in), reason=taken.reason)
        self.stand_ins += 1
        if taken.ended:
            return await self._journal.put(key, entry)
        # Not a finished call: the next run asks again.
        self.unended.append(taken.reason)
        return entry
