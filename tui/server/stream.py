"""One streamed answer: a task of its own pumps its events into a queue.

The pump owns the HTTP response: opening, reading and closing happen in one task, so an answer can be ended from
anywhere (the reader goes away, the server is stopped) and the server frees the slot at once.
"""

from __future__ import annotations

import asyncio
import enum
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self, TypeVar

import httpx
import httpx_sse

from tui.server.errors import ServerGone, StreamBroken, StreamCancelled
from tui.text import one_line

SILENCE_S = 15.0
"""Seconds without a byte (not even a ping) after which the server is asked for its health."""

_HEADERS = {
    "Content-Type": "application/json",
    # The server may close a connection after a stream, and a request sent into that moment would be lost.
    "Connection": "close",
}
_LAST_BYTES_S = 2.0
"""The server sends the end of the response right after the last event."""

T = TypeVar("T")


class _End(enum.Enum):
    ENDED = "the response ended"
    CANCELLED = "longscroll ended the stream"


class EventStream:
    """The server-sent events of one streaming POST, read by a task of its own.

    `alive` is asked when nothing came for `SILENCE_S`; when it says no the stream is broken. There is no read timeout:
    a long prompt on a slow machine may take hours, and pings or health tell a busy server from a dead one. It is no
    generator, so that an answer nobody reads on is closed in one step. `closed` is called when it is closed.
    """

    def __init__(
        self,
        http: httpx.AsyncClient,
        path: str,
        body: bytes,
        check: Callable[[int, bytes], None],
        alive: Callable[[], Awaitable[bool]],
        closed: Callable[[EventStream], None],
    ) -> None:
        self._http = http
        self._path = path
        self._body = body
        self._check = check
        self._alive = alive
        self._closed = closed
        self._got_any = False
        self._complete = False
        self._cut = _End.CANCELLED
        self._queue: asyncio.Queue[str | Exception | _End] = asyncio.Queue()
        self._task = asyncio.create_task(self._pump(), name=f"stream {path}")

    async def _pump(self) -> None:
        try:
            async with self._http.stream("POST", self._path, content=self._body, headers=_HEADERS) as response:
                if response.status_code != 200:
                    self._check(response.status_code, await response.aread())
                # httpx_sse cuts lines at CR and LF only; httpx's own splitter would cut at a U+2028 inside the JSON.
                async for event in httpx_sse.EventSource(response).aiter_sse():
                    if event.data:
                        self._queue.put_nowait(event.data)
            self._queue.put_nowait(_End.ENDED)
        except asyncio.CancelledError:
            self._queue.put_nowait(self._cut)
            raise
        except Exception as error:  # noqa: BLE001  (handed to the reader, who raises it)
            self._queue.put_nowait(error)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        """The `data:` of the next event. Raises the server's error, StreamBroken, StreamCancelled or ServerGone."""
        while True:
            try:
                async with asyncio.timeout(SILENCE_S):
                    item = await self._queue.get()
                break
            except TimeoutError:
                if await self._alive():
                    continue
                await self.close()
                raise StreamBroken(
                    "llama-server stopped answering in the middle of an answer.", "What came so far is kept; try again."
                ) from None
        if isinstance(item, str):
            self._got_any = True
            return item
        if item is _End.CANCELLED:
            raise StreamCancelled("The answer was stopped, because the server is being stopped.")
        if isinstance(item, RuntimeError) and self._http.is_closed:
            raise closed_here() from item
        if isinstance(item, httpx.TransportError):
            raise (broken(item) if self._got_any else gone(item)) from item
        if isinstance(item, Exception):
            raise item
        raise StopAsyncIteration

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def complete(self) -> None:
        """The reader has seen the proper end: the response may finish by itself when it is closed."""
        self._complete = True

    async def close(self) -> None:
        """End the answer; the server notices within a batch and frees the slot. Safe to call twice."""
        self._closed(self)
        if self._complete:
            # A cancellation while the response gives its connection back would leave the socket open for good.
            await asyncio.wait({self._task}, timeout=_LAST_BYTES_S)
        self._task.cancel()
        await asyncio.wait({self._task})

    def cancel(self, *, dead: bool = False) -> None:
        """Ask the pump to end; the reader gets StreamCancelled, or StreamBroken where the server is `dead`."""
        self._cut = _End.ENDED if dead else _End.CANCELLED
        self._task.cancel()


def broken(error: Exception | None = None) -> StreamBroken:
    """The error for a stream that ended without its proper end."""
    reason = f" ({one_line(str(error), 200)})" if error is not None and str(error) else ""
    return StreamBroken(
        f"The connection to llama-server broke in the middle of an answer{reason}.",
        "What came so far is kept; try again.",
    )


def closed_here() -> ServerGone:
    """The error for a request on a client that was closed."""
    return ServerGone("The connection to llama-server was closed.", "Start the server again.")


def gone(error: Exception) -> ServerGone:
    """The error for a server that cannot be reached or that closed the connection without an answer."""
    reason = one_line(str(error), 200) or type(error).__name__
    return ServerGone(f"llama-server does not answer ({reason}).", "See whether it still runs, and try again.")


async def while_alive(work: asyncio.Task[T], alive: Callable[[], Awaitable[bool]]) -> T:
    """The result of `work`, given up with ServerGone only when the server no longer answers its health check."""
    try:
        while True:
            done, _ = await asyncio.wait({work}, timeout=SILENCE_S)
            if done:
                return work.result()
            if not await alive():
                raise ServerGone("llama-server stopped answering.", "See whether it still runs, and try again.")
    finally:
        if not work.done():
            work.cancel()
            await asyncio.wait({work})
        if not work.cancelled():
            work.exception()  # nobody may be left to ask for it, and asyncio would print it on the screen
