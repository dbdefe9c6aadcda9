"""The map step: each part of a document is read by one call, on whichever slot is free, and gives a few notes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from tui.context.prompt import Prompt
from tui.documents.chunker import chunk_document
from tui.documents.model import Chunk, Document, Span
from tui.reading import answers
from tui.reading.calls import Caller, progress_after
from tui.reading.events import ChunkDone, ChunkProgress, ChunkStarted, ReadingEvent
from tui.reading.extractive import extract
from tui.reading.flow import over_slots
from tui.reading.journal import Entry, Journal, Piece
from tui.reading.ledger import Ledger, LedgerEntry, Mark, State
from tui.reading.notetaking import Request, Taken, bounded, take_notes, take_one_sentence
from tui.reading.opening import LONGEST
from tui.reading.plan import Budget
from tui.reading.prompts import SummaryPrompts
from tui.server.errors import ContextOverflow
from tui.server.types import Sampling, StreamEvent

if TYPE_CHECKING:
    from tui.context.runtime import Runtime

_DEEPEST = 1
_LEAST_TO_SPLIT = 64
_FIRST, _LAST = range(2), range(2, 3)


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of `text[start:end]` of the document, as it goes into a merge."""

    text: str
    tokens: int
    start: int
    end: int


class _Outcome(msgspec.Struct, frozen=True):
    piece: Piece
    failed: bool = False


class Mapper:
    """Reads the chunks of one document."""

    def __init__(
        self,
        caller: Caller,
        document: Document,
        prompts: SummaryPrompts,
        budget: Budget,
        journal: Journal,
        ledger: Ledger,
        temperature: float | None,
        emit: Callable[[ReadingEvent], None],
    ) -> None:
        self._runtime: Runtime = caller.runtime
        self._caller = caller
        self._document = document
        self._prompts = prompts
        self._budget = budget
        self._journal = journal
        self._ledger = ledger
        self._emit = emit
        self._sampling: Sampling = prompts.sampling("map", temperature, budget.notes)
        self._instruction = prompts.instruction("map", budget.notes)
        self._done = 0
        self._total = 0
        self.reused = 0

    def key(self, chunk: Chunk) -> str:
        """The journal's key of a chunk."""
        messages = self._prompts.messages("map", chunk.text, self._budget.notes)
        return self._journal.key("map", 0, messages, self._sampling, self._budget.reply)

    async def finished(self, chunks: list[Chunk]) -> dict[int, Entry]:
        """The chunks, by index, that an earlier run has finished."""
        keys = {chunk.index: self.key(chunk) for chunk in chunks}
        found = await self._journal.look_up(list(keys.values()))
        return {index: found[key] for index, key in keys.items() if key in found}

    async def read(self, chunks: list[Chunk], known: dict[int, Entry]) -> list[Note]:
        """Notes on every chunk, in the document's order; `known` are not read again."""
        self._total = len(chunks)
        pieces: dict[int, tuple[Piece, ...]] = {}
        for chunk in chunks:
            if chunk.index in known:
                pieces[chunk.index] = known[chunk.index].pieces
                self.reused += 1
                self._account(chunk, [_Outcome(piece) for piece in pieces[chunk.index]], reused=True)
        missing = [chunk for chunk in chunks if chunk.index not in known]
        read = await over_slots(missing, self._runtime.parallel, self._chunk)
        pieces |= {chunk.index: found for chunk, found in zip(missing, read, strict=True)}
        return await self._as_notes(chunks, pieces)

    async def _as_notes(self, chunks: list[Chunk], pieces: dict[int, tuple[Piece, ...]]) -> list[Note]:
        wanted = [
            (answers.as_text(list(piece.notes)), chunk.start + piece.start, chunk.start + piece.end)
            for chunk in chunks
            for piece in pieces[chunk.index]
            if piece.notes
        ]
        counts = await self._runtime.counter.count_many([text for text, _, _ in wanted])
        return [
            Note(text=text, tokens=count, start=start, end=end)
            for (text, start, end), count in zip(wanted, counts, strict=True)
        ]

    def _account(self, chunk: Chunk, outcomes: list[_Outcome], *, reused: bool = False) -> None:
        good: State = "reused" if reused else "read"
        for outcome in outcomes:
            piece = outcome.piece
            self._ledger.add(
                LedgerEntry(
                    start=chunk.start + piece.start,
                    end=chunk.start + piece.end,
                    state="failed" if outcome.failed else good,
                    mark=piece.mark,
                    reason=piece.reason,
                )
            )
        self._done += 1
        failed = any(outcome.failed for outcome in outcomes)
        self._emit(
            ChunkDone(
                index=chunk.index,
                state="failed" if failed else good,
                reused=reused,
                done=self._done,
                total=self._total,
                reason=next((outcome.piece.reason for outcome in outcomes if outcome.piece.reason), ""),
            )
        )

    # One chunk

    async def _chunk(self, slot: int, chunk: Chunk) -> tuple[Piece, ...]:
        self._emit(ChunkStarted(chunk.index, slot, chunk.pages))
        outcomes = await self._read(slot, chunk, chunk, depth=0)
        pieces = tuple(outcome.piece for outcome in outcomes)
        if not any(outcome.failed for outcome in outcomes):
            pieces = (await self._journal.put(self.key(chunk), Entry(pieces=pieces))).pieces
        self._account(chunk, outcomes)
        return pieces

    async def _read(self, slot: int, whole: Chunk, part: Chunk, depth: int) -> list[_Outcome]:
        """Read `part`, which is `whole` or a piece of it, split further where that is needed."""
        start, end = part.start - whole.start, part.end - whole.start
        if not part.text.strip():
            return [_Outcome(Piece(start=start, end=end, notes=(), mark="blank"))]
        messages = self._prompts.messages("map", part.text, self._budget.notes)
        prompt = await self._runtime.assembler.assemble(messages)
        fits = len(prompt.ids) + LONGEST + self._budget.reply <= self._budget.context
        taken = Taken(reason=f"{len(prompt.ids):,} tokens with the instruction do not fit.")
        if fits:
            taken = await self._take(slot, part, prompt, _FIRST)
        if not taken.ended:
            smaller = await self._halves(part) if depth < _DEEPEST else []
            if smaller:
                return [outcome for piece in smaller for outcome in await self._read(slot, whole, piece, depth + 1)]
        if not taken.notes and fits:
            last = await self._take(slot, part, prompt, _LAST)
            if not (last.notes or last.ended or taken.ended):
                last = await self._take(slot, part, prompt)
            taken = msgspec.structs.replace(last, ended=last.ended or taken.ended)
        return [await self._outcome(part, taken, start, end, depth)]

    async def _outcome(self, part: Chunk, taken: Taken, start: int, end: int, depth: int) -> _Outcome:
        counter = self._runtime.counter
        if taken.notes:
            notes, left_out = await bounded(taken.notes, self._budget.reply, counter)
            reason = "Notes that were too long were left out." if left_out else taken.reason
            mark: Mark = "repeated" if taken.repeated else "split" if depth else ""
            return _Outcome(Piece(start=start, end=end, notes=notes, mark=mark, reason=reason))
        stand_in = await extract(part.text, self._budget.reply, counter.count_many, most=self._budget.notes)
        piece = Piece(start=start, end=end, notes=tuple(stand_in), mark="extracted", reason=taken.reason)
        return _Outcome(piece, failed=not taken.ended)

    async def _take(self, slot: int, part: Chunk, prompt: Prompt, attempts: range | None = None) -> Taken:
        """Notes on `part`; without `attempts` a single sentence."""
        so_far = (0, len(prompt.ids), 0)

        def report(event: StreamEvent) -> None:
            nonlocal so_far
            after = progress_after(event, so_far)
            if after is not None:
                so_far = after
                processed, total, generated = after
                self._emit(ChunkProgress(index=part.index, processed=processed, total=total, generated=generated))

        request = Request(
            prompt=prompt,
            instruction=self._instruction,
            source=part.text,
            sampling=self._sampling,
            max_tokens=self._budget.reply,
            id_slot=slot,
        )
        try:
            if attempts is None:
                return await take_one_sentence(self._caller, request, report)
            return await take_notes(self._caller, request, attempts, report)
        except ContextOverflow as error:
            return Taken(reason=str(error))

    async def _halves(self, part: Chunk) -> list[Chunk]:
        """`part` in at least two pieces; empty when it is too small for that."""
        if part.tokens < _LEAST_TO_SPLIT:
            return []
        pieces = await split(self._document, part, -(-part.tokens // 2) + 8, self._runtime)
        return pieces if len(pieces) > 1 else []


async def split(document: Document, part: Chunk, max_tokens: int, runtime: Runtime) -> list[Chunk]:
    """A chunk cut into smaller ones that tile it; offsets are the document's."""
    spans = tuple(
        Span(
            span.kind,
            span.label,
            span.number,
            max(span.start, part.start) - part.start,
            min(span.end, part.end) - part.start,
        )
        for span in document.spans_in(part.start, part.end)
    )
    headings = tuple(
        msgspec.structs.replace(heading, start=heading.start - part.start)
        for heading in document.headings
        if part.start <= heading.start < part.end
    )
    inner = msgspec.structs.replace(document, text=part.text, spans=spans, headings=headings)
    pieces = await chunk_document(inner, max_tokens, runtime.counter.count_many)
    return [
        msgspec.structs.replace(piece, index=part.index, start=piece.start + part.start, end=piece.end + part.start)
        for piece in pieces
    ]
