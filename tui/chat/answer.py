"""One answer from its request to its row: streamed by a task of its own, stopped from anywhere, never lost."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator

import msgspec

from tui.chat.storing import EndState, GrowingAnswer
from tui.server.errors import StreamCancelled
from tui.server.types import StreamEvent, StreamFinished
from tui.store.database import Store
from tui.store.sessions import MessageRow
from tui.tasks import undisturbed


class Answer:
    """The answer that is under way. `put_away` must be awaited in the end, whatever happened before.

    `stream` may write until the context of `n_ctx` tokens is full.
    """

    def __init__(self, store: Store, row: MessageRow, stream: AsyncGenerator[StreamEvent, None], n_ctx: int) -> None:
        self._n_ctx = n_ctx
        self._growing = GrowingAnswer(store, row)
        self._queue: asyncio.Queue[StreamEvent | None] = asyncio.Queue()
        self._pump = asyncio.create_task(self._fill(stream), name="answer")
        self._pump.add_done_callback(lambda _: self._queue.put_nowait(None))
        self.over = False
        """Whether `put_away` has done its work, or failed at it."""

    async def _fill(self, stream: AsyncGenerator[StreamEvent, None]) -> None:
        async with contextlib.aclosing(stream):
            async for event in stream:
                if isinstance(event, StreamFinished) and event.finish_reason == "length":
                    full = event.prompt_tokens + event.completion_tokens >= self._n_ctx
                    event = msgspec.structs.replace(event, finish_reason="context") if full else event
                self._queue.put_nowait(event)

    async def events(self) -> AsyncGenerator[StreamEvent, None]:
        """The stream's events until it ends, breaks or is stopped; raises nothing of what went wrong."""
        async with self._growing:
            while (event := await self._queue.get()) is not None:
                self._growing.add(event)
                yield event

    def stop(self) -> None:
        self._pump.cancel()

    @property
    def text(self) -> str:
        return self._growing.text

    @property
    def reasoning(self) -> str:
        return self._growing.reasoning

    @property
    def begun(self) -> bool:
        """Whether the server had processed the whole prompt: the answer had begun, or was empty and is over."""
        return self._growing.begun or self._growing.finished is not None

    @property
    def finished(self) -> StreamFinished | None:
        return self._growing.finished

    @property
    def failure(self) -> BaseException | None:
        """What broke the stream; None when it ended well or was stopped. Known once the stream is over."""
        if not self._pump.done() or self._pump.cancelled():
            return None
        error = self._pump.exception()
        return None if isinstance(error, StreamCancelled) else error

    @property
    def state(self) -> EndState:
        if self._growing.finished is not None:
            return "complete"
        return "stopped" if self.failure is None else "failed"

    async def put_away(self) -> MessageRow:
        """End the stream, keep what had come, and return the stored row. Not disturbed by a cancellation.

        Raises StorageProblem when it cannot be written; `text` still holds it.
        """
        return await undisturbed(self._put_away())

    async def _put_away(self) -> MessageRow:
        try:
            self._pump.cancel()
            await asyncio.wait([self._pump])
            # What came while nobody listened any more belongs to the answer as well.
            while not self._queue.empty():
                event = self._queue.get_nowait()
                if event is not None:
                    self._growing.add(event)
            return await self._growing.finish(self.state)
        finally:
            self.over = True
