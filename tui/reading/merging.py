"""The reduce steps: neighbouring notes are merged, level by level, until all that is left fits the summary's prompt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from tui.context.prompt import Prompt
from tui.errors import DoesNotFit
from tui.reading import answers
from tui.reading.calls import Caller
from tui.reading.events import GroupDone, LevelDone, ReadingEvent
from tui.reading.extractive import extract
from tui.reading.flow import over_slots
from tui.reading.journal import Entry, Journal
from tui.reading.mapping import Note
from tui.reading.notetaking import Request, bounded, take_notes, take_one_sentence
from tui.reading.opening import LONGEST
from tui.reading.plan import Budget, pack
from tui.reading.prompts import SummaryPrompts

if TYPE_CHECKING:
    from tui.context.runtime import Runtime

_ATTEMPTS = range(3)


class Ready(msgspec.Struct, frozen=True, kw_only=True):
    """Notes that fit the prompt of the summary."""

    text: str
    prompt: Prompt
    levels: int
    """Merges that led here."""


class Merger:
    """Merges notes. Ends always: every level leaves fewer notes than it was given, or DoesNotFit is raised."""

    def __init__(
        self,
        caller: Caller,
        prompts: SummaryPrompts,
        budget: Budget,
        journal: Journal,
        temperature: float | None,
        emit: Callable[[ReadingEvent], None],
    ) -> None:
        self._runtime: Runtime = caller.runtime
        self._caller = caller
        self._prompts = prompts
        self._budget = budget
        self._journal = journal
        self._emit = emit
        self._sampling = prompts.sampling("reduce", temperature, budget.notes)
        self._instruction = prompts.instruction("reduce", budget.notes)
        self._level = 0
        self._merged = 0
        self.unended: list[str] = []
        """Why merges have no proper answer: the model's answer had no end, or the server failed."""
        self.stand_ins = 0
        """Merges for which notes were chosen without the model."""

    async def until_it_fits(self, notes: Sequence[Note]) -> Ready:
        """Merge until all notes fit the prompt of the summary beside its room."""
        while (ready := await self._ready(notes)) is None:
            self._level += 1
            merged = await self._one_level(notes)
            if len(merged) >= len(notes):
                needed = self._budget.frames["reduce"] + sum(note.tokens for note in notes[:2]) + self._budget.reply
                raise DoesNotFit(
                    needed,
                    self._budget.context,
                    "Use a larger --ctx-size.",
                    subject="Merging two notes of the document",
                )
            self._emit(LevelDone(level=self._level, notes_before=len(notes), notes_after=len(merged)))
            notes = merged
        return ready

    async def _ready(self, notes: Sequence[Note]) -> Ready | None:
        planned = sum(note.tokens + 1 for note in notes)
        if planned > self._budget.room("final", self._budget.summary) + 2 * self._budget.margin and len(notes) > 1:
            return None
        text = joined(notes)
        prompt = await self._runtime.assembler.assemble(self._prompts.messages("final", text))
        if len(prompt.ids) + LONGEST + self._budget.summary > self._budget.context:
            return None
        return Ready(text=text, prompt=prompt, levels=self._level)

    async def _one_level(self, notes: Sequence[Note]) -> list[Note]:
        room = self._budget.room("reduce", self._budget.reply)
        # No more is given up than has to be: as many notes are left as the summary's prompt is sure to hold.
        hold = self._budget.room("final", self._budget.summary) // (self._budget.reply + 1)
        sizes = [note.tokens + 1 for note in notes]
        groups = [notes[first:last] for first, last in pack(sizes, room, groups=min(hold, len(notes) // 2))]
        self._merged = 0
        merged = await over_slots(
            groups, self._runtime.parallel, lambda slot, group: self._group(slot, group, len(groups))
        )
        return [note for found in merged for note in found]

    async def _group(self, slot: int, group: Sequence[Note], total: int) -> list[Note]:
        """A group as one note; as more than one only when it turns out not to fit after all."""
        reused = True
        made: list[Note] = []
        for part in await self._that_fit(group):
            note, from_journal = await self._merge(slot, part) if len(part) > 1 else (part[0], True)
            made.append(note)
            reused = reused and from_journal
        self._merged += 1
        self._emit(GroupDone(level=self._level, done=self._merged, total=total, reused=reused))
        return made

    async def _that_fit(self, group: Sequence[Note]) -> list[Sequence[Note]]:
        if len(group) == 1:
            return [group]
        prompt = await self._prompt(group)
        if len(prompt.ids) + LONGEST + self._budget.reply <= self._budget.context:
            return [group]
        middle = len(group) // 2
        return [*await self._that_fit(group[:middle]), *await self._that_fit(group[middle:])]

    async def _prompt(self, group: Sequence[Note]) -> Prompt:
        messages = self._prompts.messages("reduce", joined(group), self._budget.notes)
        return await self._runtime.assembler.assemble(messages)

    async def _merge(self, slot: int, group: Sequence[Note]) -> tuple[Note, bool]:
        prompt = await self._prompt(group)
        key = self._journal.key("reduce", self._level, prompt.messages, self._sampling, self._budget.reply)
        entry = await self._journal.get(key)
        known = entry is not None
        if entry is None:
            entry = await self._asked(slot, group, prompt, key)
        elif entry.reason:
            self.stand_ins += 1
        tokens = await self._runtime.counter.count(entry.text)
        return Note(text=entry.text, tokens=tokens, start=group[0].start, end=group[-1].end), known

    async def _asked(self, slot: int, group: Sequence[Note], prompt: Prompt, key: str) -> Entry:
        counter = self._runtime.counter
        request = Request(
            prompt=prompt,
            instruction=self._instruction,
            source=joined(group),
            sampling=self._sampling,
            max_tokens=self._budget.reply,
            id_slot=slot,
        )
        taken = await take_notes(self._caller, request, _ATTEMPTS)
        if not (taken.notes or taken.ended):
            taken = await take_one_sentence(self._caller, request)
        if taken.notes:
            notes, _ = await bounded(taken.notes, self._budget.reply, counter)
            return await self._journal.put(key, Entry(text=answers.as_text(list(notes))))
        text = "\n".join(answers.notes(joined(group)))
        stand_in = await extract(text, self._budget.reply, counter.count_many, most=self._budget.notes)
        entry = Entry(text=answers.as_text(stand_in), reason=taken.reason)
        self.stand_ins += 1
        if taken.ended:
            return await self._journal.put(key, entry)
        # Not a finished call: the next run asks again.
        self.unended.append(taken.reason)
        return entry


def joined(notes: Sequence[Note]) -> str:
    """Notes as they stand in a prompt, in the document's order."""
    return "\n".join(note.text for note in notes)
