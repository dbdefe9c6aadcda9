"""A server that dies in the middle of long work is started again, once for all who wait, and not without end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tui.server.client import LlamaClient
from tui.server.errors import ServerDied, ServerGone, StartFailed, StartStopped, StreamCancelled
from tui.server.process import ServerProcess
from tui.units import plural

MOST = 3
"""Restarts without a finished answer in between before it is given up."""

_PAUSES_S = (0.0, 2.0, 8.0)
"""Before each of them: what ended the server, such as another program's hunger for memory, may pass."""
_DEATH_S = 5.0
"""How long the end of the process is waited for, once a connection to it broke."""

Told = Callable[[ServerDied, int], None]
"""Hears of a restart: why the server had died, and how many restarts there were so far."""


class Reviver:
    """Restarts one server. Ask it with the error of a request and the client's `generation` when it was made.

    It returns when the request may be made again: the server was started again, by this call or another one, or it has
    lived on and only the connection broke. Raises the reason why not: ServerDied, or the error itself.
    """

    def __init__(self, process: ServerProcess, told: Told) -> None:
        self._process = process
        self._client: LlamaClient = process.client
        self._told = told
        self._work: asyncio.Task[None] | None = None
        self._in_vain = 0
        self._answered = -1
        self._closed = False
        self.restarts = 0
        self.death: ServerDied | None = None
        """Why the server died last."""

    async def __call__(self, error: ServerGone, generation: int) -> None:
        if self._closed or isinstance(error, StreamCancelled):
            raise error
        if self._work is None:
            if generation != self._client.generation:
                return
            self._work = asyncio.create_task(self._revive(error), name="restart of llama-server")
            self._work.add_done_callback(self._over)
        work = self._work
        # Who waits may be cancelled; the restart goes on for the others.
        await asyncio.wait({work})
        if work.cancelled():
            raise error
        work.result()

    def _over(self, work: asyncio.Task[None]) -> None:
        self._work = None
        if not work.cancelled():
            work.exception()  # those who wait raise it; there may be none left

    async def aclose(self) -> None:
        """No restart any more; one that is under way ends, and its server with it."""
        self._closed = True
        if self._work is not None:
            self._work.cancel()
            await asyncio.wait({self._work})

    async def _revive(self, error: ServerGone) -> None:
        death = await self._death(error)
        if death is None:
            return
        self.death = death
        if self._client.answered != self._answered:
            self._in_vain = 0
        while True:
            if self._in_vain >= MOST:
                raise ServerDied(
                    f"{death.what} It was started again {plural(MOST, 'time')}, each time in vain.",
                    death.remedy,
                    kind=death.kind,
                    returncode=death.returncode,
                ) from error
            await asyncio.sleep(_PAUSES_S[min(self._in_vain, len(_PAUSES_S) - 1)])
            self._in_vain += 1
            try:
                await self._process.restart()
            except StartStopped:
                raise error from None
            except StartFailed as failure:
                death = ServerDied(failure.what, failure.remedy, kind=failure.kind, returncode=failure.returncode)
                if failure.kind == "changed":
                    raise death from failure
                continue
            break
        self._answered = self._client.answered
        self.restarts += 1
        self._told(death, self.restarts)

    async def _death(self, error: ServerGone) -> ServerDied | None:
        """Why the server died; None when it lives. One that lives and answers nobody is ended."""
        for attempt in range(2):
            try:
                async with asyncio.timeout(_DEATH_S):
                    return await self._process.wait_failed()
            except TimeoutError:
                if await self._client.health() != "unreachable":
                    return None
                if attempt == 0:
                    self._process.give_up()
        raise error
