"""Every part of a document asked for something: on all slots at once, judged, made smaller where needed, journalled.

Several tasks on one part follow each other on one slot, so that the part's tokens are processed once for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

import msgspec

from tui.context.prompt import Prompt
from tui.documents.model import Chunk, Document
from tui.errors import DoesNotFit
from tui.reading.calls import Caller, progress_of
from tui.reading.events import ChunkAgain, ChunkDone, ChunkProgress, ChunkStarted
from tui.reading.flow import over_slots
from tui.reading.journal import Entry, Journal, Piece
from tui.reading.ledger import Ledger, LedgerEntry, Mark, State
from tui.reading.mapping import split
from tui.reading.opening import LONGEST, opened
from tui.reading.plan import is_small
from tui.reading.prompts import other_sampling
from tui.server.errors import ContextOverflow, ServerAnswer
from tui.server.types import Message, Sampling

if TYPE_CHECKING:
    from tui.context.runtime import Runtime

PartEvent = ChunkStarted | ChunkProgress | ChunkAgain | ChunkDone

_ATTEMPTS = 2
_DEEPEST = 3
_LEAST_TO_SPLIT = 48
_LEAST_PART = 32
_LEAST_CHUNK, _MOST_CHUNK, _SMALL_MODELS_CHUNK = 256, 4096, 640
_CHUNKS_PER_CONTEXT = 3


class Judged(msgspec.Struct, frozen=True):
    """What an answer holds, and what is wrong with it ("" when it can be used)."""

    notes: tuple[str, ...]
    problem: str = ""


class Task(Protocol):
    """What every part is asked for."""

    @property
    def kind(self) -> str:
        """Names the task in the journal."""

    @property
    def sampling(self) -> Sampling: ...

    @property
    def reply(self) -> int:
        """Room for an answer in tokens."""

    def messages(self, part: Chunk) -> tuple[Message, ...]:
        """The prompt for a part: its text first, so that the next task on it finds it processed."""

    def judge(self, part: Chunk, answer: str, *, ended: bool) -> Judged:
        """What of an answer can be used; `ended` is False for one that was cut or stopped."""


class Outcome(msgspec.Struct, frozen=True):
    """What came of one task on a piece of a chunk."""

    piece: Piece
    """Offsets from the chunk's start."""
    failed: bool = False


async def part_size(runtime: Runtime, frame: int, reply: int, wanted: int = 0) -> int:
    """Tokens of text for one part: as asked, else by the context and the model, never more than fits.

    `frame` is the largest prompt without text. Raises DoesNotFit when there is no room for a part.
    """
    context = runtime.n_ctx
    # Texts joined count a little differently than apart.
    free = context - frame - reply - LONGEST - 8 - context // 128
    if free < _LEAST_PART:
        needed = context - free + _LEAST_PART
        raise DoesNotFit(needed, context, "Use a larger --ctx-size, or ask for less.", subject="One part")
    most = _SMALL_MODELS_CHUNK if is_small(runtime) else _MOST_CHUNK
    return min(wanted or min(max(context // _CHUNKS_PER_CONTEXT, _LEAST_CHUNK), most), free)


class PartReader:
    """Reads the chunks of one document with every task."""

    def __init__(
        self,
        callers: Sequence[Caller],
        document: Document,
        tasks: Sequence[Task],
        journal: Journal,
        ledgers: Sequence[Ledger],
        emit: Callable[[PartEvent], None],
    ) -> None:
        """One caller and one ledger for each task, so that each knows what it costs and what it has read."""
        self._runtime: Runtime = callers[0].runtime
        self._callers = dict(zip(map(id, tasks), callers, strict=True))
        self._document = document
        self._tasks = tasks
        self._journal = journal
        self._ledgers = ledgers
        self._emit = emit
        self._done = self._total = 0
        self._known: dict[str, Entry] = {}

    async def look_up(self, chunks: Sequence[Chunk]) -> int:
        """How many chunks an earlier run has finished, for all tasks."""
        keys = {chunk.index: [self._key(task, chunk) for task in self._tasks] for chunk in chunks}
        self._known = await self._journal.look_up([key for of_chunk in keys.values() for key in of_chunk])
        return sum(all(key in self._known for key in of_chunk) for of_chunk in keys.values())

    async def read(self, chunks: Sequence[Chunk]) -> list[list[list[Outcome]]]:
        """For every chunk, for every task, the outcomes that tile the chunk. Call `look_up` first."""
        self._total, self._done = len(chunks), 0
        return await over_slots(chunks, self._runtime.parallel, self._chunk)

    def _key(self, task: Task, chunk: Chunk) -> str:
        return self._journal.key(task.kind, 0, task.messages(chunk), task.sampling, task.reply, text=chunk.text)

    async def _chunk(self, slot: int, chunk: Chunk) -> list[list[Outcome]]:
        found: list[list[Outcome]] = []
        reused = True
        for task, ledger in zip(self._tasks, self._ledgers, strict=True):
            known = self._known.get(self._key(task, chunk))
            if known is not None:
                outcomes = [Outcome(piece) for piece in known.pieces]
            else:
                if reused:
                    self._emit(ChunkStarted(chunk.index, slot, chunk.pages))
                reused = False
                outcomes = await self._read(slot, task, chunk, chunk, depth=0)
                if not any(outcome.failed for outcome in outcomes):
                    entry = Entry(pieces=tuple(outcome.piece for outcome in outcomes))
                    stored = await self._journal.put(self._key(task, chunk), entry)
                    outcomes = [Outcome(piece) for piece in stored.pieces]
            self._account(ledger, chunk, outcomes, reused=known is not None)
            found.append(outcomes)
        self._finish(chunk, [outcome for outcomes in found for outcome in outcomes], reused=reused)
        return found

    def _account(self, ledger: Ledger, chunk: Chunk, outcomes: Sequence[Outcome], *, reused: bool) -> None:
        for outcome in outcomes:
            piece = outcome.piece
            state: State = "failed" if outcome.failed else "reused" if reused else "read"
            start, end = chunk.start + piece.start, chunk.start + piece.end
            ledger.add(LedgerEntry(start=start, end=end, state=state, mark=piece.mark, reason=piece.reason))

    def _finish(self, chunk: Chunk, outcomes: Sequence[Outcome], *, reused: bool) -> None:
        self._done += 1
        failed = any(outcome.failed for outcome in outcomes)
        self._emit(
            ChunkDone(
                index=chunk.index,
                state="failed" if failed else "reused" if reused else "read",
                reused=reused,
                done=self._done,
                total=self._total,
                reason=next((outcome.piece.reason for outcome in outcomes if outcome.piece.reason), ""),
            )
        )

    # One task on one chunk

    async def _read(self, slot: int, task: Task, whole: Chunk, part: Chunk, depth: int) -> list[Outcome]:
        """Ask about `part`, which is `whole` or a piece of it, in smaller pieces where that is needed."""
        start, end = part.start - whole.start, part.end - whole.start
        if not part.text.strip():
            return [Outcome(Piece(start=start, end=end, notes=(), mark="blank"))]
        taken = await self._take(slot, task, part)
        if not taken.ended and depth < _DEEPEST and part.tokens >= _LEAST_TO_SPLIT:
            pieces = await split(self._document, part, -(-part.tokens // 2) + 8, self._runtime)
            if len(pieces) > 1:
                return [one for piece in pieces for one in await self._read(slot, task, whole, piece, depth + 1)]
        # What was said in circles is all there is to come; what was cut at its limit is not.
        failed = not (taken.good or (taken.circled and bool(taken.notes)))
        mark: Mark = "repeated" if taken.circled and taken.notes else "split" if depth else ""
        mark = taken.despite if failed else mark
        return [Outcome(Piece(start=start, end=end, notes=taken.notes, mark=mark, reason=taken.reason), failed)]

    async def _take(self, slot: int, task: Task, part: Chunk) -> _Taken:
        prompt = await self._runtime.assembler.assemble(task.messages(part))
        prompt, _ = await opened(self._runtime, prompt, notes=False)
        if task.sampling.json_schema:
            # The chat endpoint would make a parser for its template of the schema, and hide why it cannot.
            prompt = msgspec.structs.replace(prompt, as_ids=True)
        if len(prompt.ids) + task.reply > self._runtime.n_ctx:
            return _Taken(reason=f"{len(prompt.ids):,} tokens with the instruction do not fit.")
        try:
            return await self._attempts(slot, task, part, prompt)
        except ContextOverflow as error:
            return _Taken(reason=str(error))

    async def _attempts(self, slot: int, task: Task, part: Chunk, prompt: Prompt) -> _Taken:
        report = progress_of(part.index, prompt, self._emit)
        taken, why = _Taken(), ""
        for attempt in range(_ATTEMPTS):
            sampling = other_sampling(task.sampling, attempt) if attempt else task.sampling
            if attempt:
                self._emit(ChunkAgain(index=part.index, reason=why))
            try:
                reply = await self._callers[id(task)].call(
                    prompt,
                    max_tokens=task.reply,
                    sampling=sampling,
                    id_slot=slot,
                    on_event=report,
                    retry=attempt > 0,
                )
            except ServerAnswer as error:
                why = str(error)
                taken = _Taken(ended=True, reason=why)
                continue
            if not reply.exact:
                reason = f"The server evaluated {reply.evaluated:,} tokens where {reply.planned:,} were planned."
                return _Taken(ended=True, reason=reason)
            judged = task.judge(part, reply.text, ended=reply.ended)
            if reply.stopped:
                why = "the answer went in circles"
                # The next attempt is warmer and may find an end; if none does, what was said is kept once.
                if not taken.circled or len(judged.notes) > len(taken.notes):
                    reason = "The answer went in circles; what it said is kept once."
                    taken = _Taken(notes=judged.notes, circled=True, reason=reason, despite="flawed")
                continue
            if not reply.ended:
                reason = f"The answer had no end within {task.reply:,} tokens; what it held until then is kept."
                return _Taken(notes=judged.notes, reason=reason, despite="cut")
            if not judged.problem:
                return _Taken(notes=judged.notes, ended=True, good=True)
            why = judged.problem
            if not taken.circled:
                reason = f"Asked {attempt + 1} times, {why}."
                taken = _Taken(notes=judged.notes, ended=True, reason=reason, despite="flawed")
        return taken


class _Taken(msgspec.Struct, frozen=True, kw_only=True):
    """What came of asking about a part, with all attempts."""

    notes: tuple[str, ...] = ()
    ended: bool = False
    """Asking for less would not help."""
    good: bool = False
    circled: bool = False
    reason: str = ""
    despite: Mark = ""
    """What is wrong although the part was read."""
