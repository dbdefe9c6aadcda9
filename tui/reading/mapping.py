"""The map step: each part of a document is read by one call, on whichever slot is free, and gives a few notes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from tui.context.prompt import Prompt
from tui.documents.chunker import chunk_document
from tui.documents.model import Chunk, Document, Span, Table
from tui.documents.places import Range
from tui.reading.calls import Caller, progress_of
from tui.reading.events import ChunkDone, ChunkStarted, ReadingEvent
from tui.reading.extractive import extract
from tui.reading.flow import over_slots
from tui.reading.journal import Entry, Journal, Piece
from tui.reading.ledger import Ledger, LedgerEntry, Mark, State
from tui.reading.notes import Ids, Note, Sheet, place_notes, rendered
from tui.reading.notetaking import Request, Taken, bounded, take_notes, take_one_sentence
from tui.reading.opening import LONGEST
from tui.reading.plan import Budget
from tui.reading.prompts import Kind, SummaryPrompts
from tui.server.errors import ContextOverflow
from tui.server.types import Message, Sampling

if TYPE_CHECKING:
    from tui.context.counter import TokenCounter
    from tui.context.runtime import Runtime

_DEEPEST = 1
_LEAST_TO_SPLIT = 64
_FIRST, _LAST = range(2), range(2, 3)


class _Outcome(msgspec.Struct, frozen=True):
    piece: Piece
    failed: bool = False


class Mapper:
    """Reads the chunks of one document: all at once over the slots, or one after the other beside the notes so far."""

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
        *,
        kind: Kind = "map",
    ) -> None:
        self._runtime: Runtime = caller.runtime
        self._caller = caller
        self._document = document
        self._prompts = prompts
        self._budget = budget
        self._journal = journal
        self._ledger = ledger
        self._emit = emit
        self._kind: Kind = kind
        self._sampling: Sampling = prompts.sampling(kind, temperature, budget.notes)
        self._done = 0
        self._total = 0
        self.reused = 0

    def _messages(self, chunk: Chunk, known: str) -> tuple[Message, ...]:
        text = f"{chunk.context.rstrip()}\n{chunk.text}" if chunk.context else chunk.text
        return self._prompts.messages(self._kind, text, self._budget.notes, known=known, ids=not self._budget.small)

    def key(self, chunk: Chunk, known: str = "") -> str:
        """The journal's key of a chunk, read beside the notes `known` so far."""
        messages = self._messages(chunk, known)
        return self._journal.key(self._kind, 0, messages, self._sampling, self._budget.reply, text=chunk.text)

    async def finished(self, chunks: Sequence[Chunk]) -> dict[int, Entry]:
        """The chunks, by index, that an earlier run has finished."""
        keys = {chunk.index: self.key(chunk) for chunk in chunks}
        found = await self._journal.look_up(list(keys.values()))
        return {index: found[key] for index, key in keys.items() if key in found}

    async def read(self, chunks: Sequence[Chunk], known: dict[int, Entry], ids: Ids) -> list[Sheet]:
        """Notes on every chunk, a sheet for each piece of one, in the document's order; `known` are not read again."""
        self._total = len(chunks)
        pieces: dict[int, tuple[Piece, ...]] = {}
        for chunk in chunks:
            if chunk.index in known:
                pieces[chunk.index] = self.reuse(chunk, known[chunk.index])
        missing = [chunk for chunk in chunks if chunk.index not in known]
        read = await over_slots(missing, self._runtime.parallel, self.read_one)
        pieces |= {chunk.index: found for chunk, found in zip(missing, read, strict=True)}
        sheets = [sheet for chunk in chunks for sheet in sheets_of(chunk, pieces[chunk.index], ids)]
        return await counted(sheets, self._runtime.counter)

    def reuse(self, chunk: Chunk, entry: Entry) -> tuple[Piece, ...]:
        """Take over what an earlier run has made of a chunk."""
        self.reused += 1
        self._account(chunk, [_Outcome(piece) for piece in entry.pieces], reused=True)
        return entry.pieces

    def expect(self, total: int) -> None:
        """So many chunks will come, one by one."""
        self._total = total

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

    async def read_one(self, slot: int, chunk: Chunk, known: str = "") -> tuple[Piece, ...]:
        """Notes on a chunk, on disk when this returns unless a piece of it failed."""
        self._emit(ChunkStarted(chunk.index, slot, chunk.pages))
        outcomes = await self._read(slot, chunk, chunk, known, depth=0)
        pieces = tuple(outcome.piece for outcome in outcomes)
        if not any(outcome.failed for outcome in outcomes):
            pieces = (await self._journal.put(self.key(chunk, known), Entry(pieces=pieces))).pieces
        self._account(chunk, outcomes)
        return pieces

    async def _read(self, slot: int, whole: Chunk, part: Chunk, known: str, depth: int) -> list[_Outcome]:
        """Read `part`, which is `whole` or a piece of it, split further where that is needed."""
        start, end = part.start - whole.start, part.end - whole.start
        if not part.text.strip():
            return [_Outcome(Piece(start=start, end=end, notes=(), mark="blank"))]
        prompt = await self._runtime.assembler.assemble(self._messages(part, known))
        fits = len(prompt.ids) + LONGEST + self._budget.reply <= self._budget.context
        taken = Taken(reason=f"{len(prompt.ids):,} tokens with the instruction do not fit.")
        again = depth > 0
        if fits:
            taken = await self._take(slot, part, known, prompt, _FIRST, again=again)
        if not taken.ended:
            smaller = await self._halves(part) if depth < _DEEPEST else []
            if smaller:
                return [found for piece in smaller for found in await self._read(slot, whole, piece, known, depth + 1)]
        if not taken.notes and fits:
            last = await self._take(slot, part, known, prompt, _LAST, again=True)
            if not (last.notes or last.ended or taken.ended):
                last = await self._take(slot, part, known, prompt, again=True)
            taken = msgspec.structs.replace(last, ended=last.ended or taken.ended)
        return [await self._outcome(part, taken, start, end, depth)]

    async def _outcome(self, part: Chunk, taken: Taken, start: int, end: int, depth: int) -> _Outcome:
        counter = self._runtime.counter
        if taken.notes:
            notes, left_out = await bounded(taken.notes, self._budget.reply, counter)
            reason = "Notes that were too long were left out." if left_out else taken.reason
            mark: Mark = "repeated" if taken.repeated else "split" if depth else ""
        else:
            notes = tuple(await extract(part.text, self._budget.reply, counter.count_many, most=self._budget.notes))
            mark, reason = "extracted", taken.reason
        placed = await asyncio.to_thread(place_notes, notes, part.text)
        piece = Piece(
            start=start,
            end=end,
            # Numbers of notes that it corrects are part of a note until it is put beside them.
            notes=notes if self._kind == "refine" else tuple(text for text, _ in placed),
            ranges=tuple(ranges for _, ranges in placed),
            mark=mark,
            reason=reason,
        )
        return _Outcome(piece, failed=not (taken.notes or taken.ended))

    async def _take(
        self, slot: int, part: Chunk, known: str, prompt: Prompt, attempts: range | None = None, *, again: bool
    ) -> Taken:
        """Notes on `part`; without `attempts` a single sentence. With `again` it was asked for before."""
        report = progress_of(part.index, prompt, self._emit)
        request = Request(
            prompt=prompt,
            instruction=self._prompts.instruction(self._kind, self._budget.notes),
            source=f"{part.context}\n{part.text}\n{known}",
            sampling=self._sampling,
            max_tokens=self._budget.reply,
            id_slot=slot,
            again=again,
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


def sheets_of(chunk: Chunk, pieces: Sequence[Piece], ids: Ids) -> list[Sheet]:
    """The notes of a chunk with their ranges in the document; tokens are not counted yet."""
    sheets = []
    for piece in pieces:
        base = chunk.start + piece.start
        notes = []
        for index, text in enumerate(piece.notes):
            narrow = piece.ranges[index] if index < len(piece.ranges) else ()
            ranges: tuple[Range, ...] = tuple((base + start, base + end) for start, end in narrow)
            notes.append(
                Note(
                    id=ids.next(),
                    text=text,
                    ranges=ranges or ((base, chunk.start + piece.end),),
                    narrowed=bool(ranges),
                )
            )
        if notes:
            sheets.append(Sheet(notes=tuple(notes)))
    return sheets


async def counted(sheets: Sequence[Sheet], counter: TokenCounter) -> list[Sheet]:
    """Sheets with their tokens, as they stand in a prompt."""
    counts = await counter.count_many([rendered([sheet], first=10) for sheet in sheets])
    return [msgspec.structs.replace(sheet, tokens=count + 1) for sheet, count in zip(sheets, counts, strict=True)]


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
    tables = tuple(
        Table(table.start - part.start, table.header_end - part.start, min(table.end, part.end) - part.start)
        for table in document.tables
        if part.start <= table.start and table.header_end < part.end and table.start < part.end
    )
    inner = msgspec.structs.replace(document, text=part.text, spans=spans, headings=headings, tables=tables)
    pieces = await chunk_document(inner, max_tokens, runtime.counter.count_many)
    # A table that began before the part goes on in its pieces until it ends.
    going_on = max((table.end for table in document.tables if table.start < part.start < table.end), default=0)
    return [
        msgspec.structs.replace(
            piece,
            index=part.index,
            start=piece.start + part.start,
            end=piece.end + part.start,
            context=piece.context or (part.context if piece.start + part.start < going_on else ""),
        )
        for piece in pieces
    ]
