"""An answer on its way into the database: at most one write a second while it grows, and one when it ends."""

from __future__ import annotations

import asyncio
import contextlib
import time
from types import TracebackType
from typing import Literal, Self

from tui.errors import StorageProblem
from tui.server.types import ReasoningDelta, StreamEvent, StreamFinished, TextDelta
from tui.store.database import Store
from tui.store.sessions import MessageRow

SECONDS_BETWEEN_WRITES = 1.0

EndState = Literal["complete", "stopped", "failed"]


class GrowingAnswer:
    """The text of one answer and its row. Use as an async context manager around the stream.

    A write that fails while the answer grows is tried again a second later; only `finish` raises, since only then
    something would be lost.
    """

    def __init__(self, store: Store, row: MessageRow) -> None:
        self._store = store
        self._row = row
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._finished: StreamFinished | None = None
        self._started = time.perf_counter()
        self._first: float | None = None
        self._unsaved = False
        self._end = asyncio.Event()
        self._writer: asyncio.Task[None] | None = None

    @property
    def text(self) -> str:
        return "".join(self._text)

    @property
    def reasoning(self) -> str:
        return "".join(self._reasoning)

    @property
    def begun(self) -> bool:
        """Whether anything of the answer has come: the whole prompt has then been processed."""
        return self._first is not None

    @property
    def finished(self) -> StreamFinished | None:
        return self._finished

    def add(self, event: StreamEvent) -> None:
        if isinstance(event, TextDelta):
            self._text.append(event.text)
        elif isinstance(event, ReasoningDelta):
            self._reasoning.append(event.text)
        elif isinstance(event, StreamFinished):
            self._finished = event
            return
        else:
            return
        self._unsaved = True
        if self._first is None:
            self._first = time.perf_counter()

    async def __aenter__(self) -> Self:
        self._writer = asyncio.create_task(self._write_now_and_then())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stop_writer()

    async def finish(self, state: EndState) -> MessageRow:
        """Write the answer as it is, with its state and, when the stream ended as it should, its figures.

        Raises StorageProblem when it cannot be written; the text is still in `text`.
        """
        await self._stop_writer()
        return await asyncio.to_thread(self._write, state)

    async def _stop_writer(self) -> None:
        # Asked to end, not cancelled: a write that is under way in its thread must not land after the last one.
        self._end.set()
        if self._writer is not None:
            await self._writer

    async def _write_now_and_then(self) -> None:
        while not self._end.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._end.wait(), SECONDS_BETWEEN_WRITES)
            if self._unsaved and not self._end.is_set():
                self._unsaved = False
                try:
                    await asyncio.to_thread(self._write, "partial")
                except StorageProblem:
                    self._unsaved = True

    def _write(self, state: Literal["partial", "complete", "stopped", "failed"]) -> MessageRow:
        sessions = self._store.sessions
        ttft = None if self._first is None else (self._first - self._started) * 1000
        done = self._finished
        if done is None:
            return sessions.update_message(
                self._row.id, content=self.text, reasoning=self.reasoning, state=state, ttft_ms=ttft
            )
        return sessions.update_message(
            self._row.id,
            content=self.text,
            reasoning=self.reasoning,
            state=state,
            finish_reason=done.finish_reason,
            prompt_tokens=done.prompt_tokens,
            completion_tokens=done.completion_tokens,
            cached_tokens=done.cached_tokens,
            prompt_ms=done.timings.prompt_ms,
            predicted_ms=done.timings.predicted_ms,
            ttft_ms=ttft,
        )
