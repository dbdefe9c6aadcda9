"""One llama-server that longscroll starts, watches and stops. This object alone changes its state."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import secrets
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import IO, Self

import msgspec
import psutil

from tui.paths import ensure
from tui.server.binary import ServerBinary
from tui.server.client import LlamaClient
from tui.server.diagnose import Diagnosis, diagnose, read_tail, spawn_failed
from tui.server.errors import ServerAnswer, ServerDied, ServerGone, StartFailed, StartStopped, WrongKey, hung
from tui.server.flags import ServerFlags
from tui.server.guard import Guard, make_guard
from tui.server.kept import alike, keep_log, open_log, version_of
from tui.server.launch import HOST, LaunchRequest, build_command, free_port
from tui.server.loading import LoadingWatch
from tui.server.state import OnState, Phase, ServerState
from tui.server.types import Props
from tui.tasks import undisturbed
from tui.text import one_line

ATTEMPTS = 5
"""Starts in all, when the port is taken each time or the server says nothing."""
MUTE_S = 5.0
"""A server that ends within so many seconds without a known reason is started again, to hear the reason."""
STALLED_S = 180.0
"""A start is given up when for so long neither log, processor time, memory nor disk traffic has moved."""
TERMINATE_S = 2.0
"""Seconds between asking a server to end and killing it."""
IDLE_S = 30.0
"""Seconds a busy slot is waited for before the server is stopped anyway."""

_POLL_S = (0.03, 0.3)

_live: dict[int, psutil.Process] = {}


def _kill_live() -> None:
    """The last resort at interpreter exit; `psutil` refuses a pid that was given to another process meanwhile."""
    for process in list(_live.values()):
        with contextlib.suppress(psutil.Error):
            process.kill()


atexit.register(_kill_live)


class _Wanted(msgspec.Struct):
    """What was asked for, so that it can be had once more; `props` are those of the first start."""

    binary: ServerBinary
    request: LaunchRequest
    flags: ServerFlags
    model: tuple[int, int] | None = None
    props: Props | None = None


class ServerProcess:
    """A server of our own. `start`, then use `client`; `stop` (or leaving the context manager) always ends it.

    `wait_failed` resolves when it dies unasked. One object may be started again after it stopped or failed; `restart`
    does so with all as it was, and with the same `client`, for those who hold it.
    """

    def __init__(self, *, guard: Callable[[], Guard] = make_guard) -> None:
        self._make_guard = guard
        self._state = ServerState("stopped")
        self._on_state: OnState | None = None
        self._wanted: _Wanted | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._guard: Guard | None = None
        self._watcher: asyncio.Task[None] | None = None
        self._exited = asyncio.Event()
        self._wake = asyncio.Event()
        self._stop_asked = self._hung = False
        self._start_over = asyncio.Event()
        self._failed = asyncio.Event()
        self._stop_lock = asyncio.Lock()
        self._death: ServerDied | None = None
        self._client: LlamaClient | None = None
        self._kept: LlamaClient | None = None
        self._props: Props | None = None
        self.command: tuple[str, ...] = ()
        """The command line as it was run, for display; the key is not in it."""
        self.warnings: list[str] = []
        """Where the server runs with other figures than were asked for, a sentence each."""

    # What it is

    @property
    def state(self) -> ServerState:
        return self._state

    @property
    def phase(self) -> Phase:
        return self._state.phase

    @property
    def client(self) -> LlamaClient:
        if self._client is None:
            raise ServerGone("llama-server is not running.", "Start it again.")
        return self._client

    @property
    def props(self) -> Props:
        if self._props is None:
            raise ServerGone("llama-server is not running.", "Start it again.")
        return self._props

    @property
    def pid(self) -> int:
        """Process id of the server, or of the watchdog around it; 0 when none runs."""
        return self._process.pid if self._process is not None and self._process.returncode is None else 0

    @property
    def returncode(self) -> int | None:
        return self._process.returncode if self._process is not None else None

    def _set(self, phase: Phase, detail: str = "", fraction: float | None = None) -> None:
        state = ServerState(phase, detail, fraction)
        if state == self._state:
            return
        self._state = state
        if self._on_state is not None:
            self._on_state(state)

    # Start

    async def start(
        self,
        binary: ServerBinary,
        request: LaunchRequest,
        flags: ServerFlags,
        *,
        on_state: OnState | None = None,
    ) -> None:
        """Start and wait until the model is loaded; `on_state` hears of every step.

        There is no fixed time limit: as long as the process lives and something moves it is waited for. Raises
        StartFailed with the diagnosis, StartStopped when `stop` was called meanwhile, UsageProblem for wrong flags,
        StorageProblem when log or slot folder cannot be made. Must be called from the thread of the event loop that
        lives as long as the program (see `guard_linux`). Cancelling it ends the process.
        """
        if self.phase not in ("stopped", "failed"):
            raise RuntimeError(f"start called in the state {self.phase}")
        self._on_state = on_state
        self._wanted = _Wanted(binary, request, flags)
        await self._start_from(again=False)

    async def restart(self) -> None:
        """Start a server again that failed: the same binary, request, flags and `client`, at another address.

        The log of the one that failed is kept beside the new one. Raises StartFailed, also when the model's file or
        what the server says of itself is not what it was; StartStopped when it was stopped meanwhile. Cancelling it
        ends the process.
        """
        if self.phase != "failed" or self._wanted is None:
            raise StartStopped("llama-server was stopped.", "")
        await asyncio.to_thread(keep_log, self._wanted.request.log_file)
        if self.phase != "failed":
            raise StartStopped("llama-server was stopped.", "")
        await self._start_from(again=True)

    async def _start_from(self, *, again: bool) -> None:
        self._stop_asked = self._hung = False
        self._death = None
        self._failed.clear()
        self._start_over.clear()
        self.warnings = []
        self._set("starting", "starting")
        try:
            await self._end(again=again)  # what a server that failed has left
            await self._start(again=again)
            # A cancellation asked for while the last step was told comes here, not after the server was handed over.
            await asyncio.sleep(0)
        except BaseException as error:
            stopped = self._stop_asked or isinstance(error, asyncio.CancelledError)
            try:
                await undisturbed(self._end(again=again))
            except asyncio.CancelledError:
                stopped = True
                raise
            finally:
                self._set("stopped" if stopped else "failed", "" if stopped else str(error))
                self._start_over.set()
            raise
        self._start_over.set()

    async def _start(self, *, again: bool) -> None:
        for attempt in range(1, ATTEMPTS + 1):
            begun = time.monotonic()
            try:
                await self._launch(again=again)
                return
            except StartFailed as error:
                # The log is written by a thread of its own: a server that fails at once sometimes (about 1 in 200 on
                # a busy machine) ends before its reason is in the log. Asked again it tells.
                mute = error.kind == "unknown" and time.monotonic() - begun < MUTE_S
                if attempt == ATTEMPTS or (error.kind != "port" and not mute):
                    raise
                await self._end(again=again)

    async def _launch(self, *, again: bool) -> None:
        wanted = self._wanted
        if wanted is None:
            raise RuntimeError("no server was asked for")
        binary, request, flags = wanted.binary, wanted.request, wanted.flags
        model = await asyncio.to_thread(version_of, request.model)
        if not again:
            wanted.model = model
        elif model != wanted.model:
            raise StartFailed(
                f"The model file {one_line(str(request.model), 200)} is not the one that was used so far.",
                "Run the command again, with the model that is there now.",
                kind="changed",
            )
        key, nonce, port = secrets.token_urlsafe(32), f"longscroll-{secrets.token_hex(8)}", free_port()
        argv, env = build_command(binary, request, flags, key=key, nonce=nonce, port=port)
        self.command = tuple(argv)
        await asyncio.to_thread(ensure, request.slot_dir)
        log = await asyncio.to_thread(open_log, request.log_file)
        try:
            await self._spawn(binary, argv, env, log)
        finally:
            log.close()
        address = f"http://{HOST}:{port}"
        if again and self._kept is not None:
            await self._kept.repoint(address, key)
            self._client = self._kept
        else:
            self._client = self._kept = LlamaClient(address, key)
        await self._wait_ready(self._client, request, nonce)

    async def _spawn(self, binary: ServerBinary, argv: list[str], env: dict[str, str], log: IO[bytes]) -> None:
        guard = self._guard = self._make_guard()
        options = {"stdin": asyncio.subprocess.DEVNULL, **guard.options()}
        try:
            # A file, not a pipe: a pipe that nobody reads blocks the server.
            process = await asyncio.create_subprocess_exec(
                *guard.command(argv), stdout=log, stderr=asyncio.subprocess.STDOUT, env=env, **options
            )
        except OSError as error:
            raise spawn_failed(binary, error).as_error() from error
        self._process = process
        with contextlib.suppress(psutil.Error):
            _live[process.pid] = psutil.Process(process.pid)
        self._exited.clear()
        self._wake.clear()
        guard.adopt(process.pid)
        self._watcher = asyncio.create_task(self._watch(process), name=f"llama-server {process.pid}")

    async def _watch(self, process: asyncio.subprocess.Process) -> None:
        """Wait for the process's end; when nobody asked for it, find out why."""
        returncode = await process.wait()
        _live.pop(process.pid, None)
        self._exited.set()
        self._wake.set()
        if self.phase != "ready" or self._stop_asked:
            return
        # Its log is complete now: the process that wrote it has ended.
        self._death = hung() if self._hung else (await self._diagnosis(returncode)).as_death()
        self._failed.set()
        self._set("failed", str(self._death))

    async def _diagnosis(self, returncode: int | None) -> Diagnosis:
        if self._wanted is None:
            raise RuntimeError("no server was started")
        request = self._wanted.request
        return diagnose(returncode, await asyncio.to_thread(read_tail, request.log_file), request)

    async def _wait_ready(self, client: LlamaClient, request: LaunchRequest, nonce: str) -> None:
        process = self._process
        if process is None:
            raise RuntimeError("no process")
        watch = LoadingWatch(process.pid, request)
        pause, strangers = _POLL_S[0], 0
        while True:
            if self._stop_asked:
                raise StartStopped("llama-server was stopped while it was starting.", "")
            if self._exited.is_set():
                raise (await self._diagnosis(process.returncode)).as_error()
            if await client.health() == "ok":
                try:
                    props = await client.props()
                    if props.model_alias == nonce and not self._exited.is_set():
                        self._ready(props, request)
                        return
                except (WrongKey, ServerAnswer, ServerGone):
                    props = None
                # Another server answers here: ours is about to fail on the port, or never will be reachable.
                strangers += 1
                if strangers > 20:
                    raise StartFailed("Another server answers on llama-server's port.", "Try again.", kind="port")
            seen = await asyncio.to_thread(watch.look)
            self._set("loading" if seen.loading else "starting", seen.detail, seen.fraction)
            if seen.still_s > STALLED_S:
                raise StartFailed(
                    f"llama-server has not moved for {seen.still_s:.0f} s while it was {seen.detail}.",
                    f"Its log is {one_line(str(request.log_file), 300)}.",
                    kind="stalled",
                )
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._wake.wait()
            pause = min(pause * 1.3, _POLL_S[1])

    def _ready(self, props: Props, request: LaunchRequest) -> None:
        if self._wanted is not None:
            if self._wanted.props is not None and not alike(self._wanted.props, props):
                raise StartFailed(
                    "llama-server was started again and now runs with other figures than before: "
                    f"{props.total_slots} slots of {props.n_ctx:,} tokens, build {one_line(props.build_info, 60)}.",
                    "Run the command again.",
                    kind="changed",
                )
            self._wanted.props = props
        self._props = props
        if props.n_ctx < request.ctx_size:
            self.warnings.append(
                f"The context is {props.n_ctx:,} tokens instead of {request.ctx_size:,}: "
                "llama-server does not go beyond what the model was trained for."
            )
        if props.total_slots != request.parallel:
            self.warnings.append(f"llama-server runs {props.total_slots} slots instead of {request.parallel}.")
        if request.swa_full and "--swa-full" not in self.command:
            self.warnings.append(
                "This llama-server has no --swa-full: restored sliding-window contexts are not reused."
            )
        self._set("ready", "ready")

    # End

    def give_up(self) -> None:
        """Kill a server that is there but answers nobody; it counts as one that died."""
        if self.phase == "ready" and self._process is not None and self._process.returncode is None:
            self._hung = True
            _kill(self._process)

    async def wait_failed(self) -> ServerDied:
        """Resolves when the server dies unasked, with the reason; never after an orderly stop."""
        await self._failed.wait()
        if self._death is None:
            raise RuntimeError("failed without a reason")
        return self._death

    async def stop(self, before: Callable[[], Awaitable[None]] | None = None) -> None:
        """Stop in order: end own streams, wait until the slots are idle, `before()` (save slots), terminate, kill.

        Without `before` there is nothing to wait for: the answers are ended and so is the server. Works in every state,
        while loading too, and any number of times. When `before` fails or this is cancelled the
        process is ended all the same, then the error goes on. When it returns or raises, no process is left.
        """
        self._stop_asked = True
        self._wake.set()
        if self.phase in ("starting", "loading"):
            await self._start_over.wait()
        async with self._stop_lock:
            if self.phase == "stopped":
                return
            failed = self.phase == "failed"
            self._set("stopping", "stopping llama-server")
            try:
                if not failed and self._client is not None and not self._exited.is_set():
                    await self._client.cancel_streams()
                    if before is not None:
                        await self._wait_idle(self._client)
                        if not self._exited.is_set():
                            await before()
            finally:
                try:
                    await undisturbed(self._end())
                finally:
                    self._set("stopped")

    async def _wait_idle(self, client: LlamaClient) -> None:
        try:
            async with asyncio.timeout(IDLE_S):
                while any(slot.is_processing for slot in await client.slots()):  # noqa: ASYNC110
                    await asyncio.sleep(0.05)
        except TimeoutError:
            self.warnings.append(f"A slot was still busy {IDLE_S:.0f} s after its answer was ended.")
        except (ServerGone, ServerAnswer):
            return  # it is gone already, or cannot tell: what comes next finds out

    async def _end(self, *, again: bool = False) -> None:
        """End the process whatever its state, close the client, forget what belonged to it.

        With `again` the client is put away for the next server instead.
        """
        client, self._client, self._props = self._kept, None, None
        process, guard = self._process, self._guard
        try:
            if client is not None:
                await (client.retire() if again else client.aclose())
        finally:
            if process is not None:
                await _terminate(process)
            if self._watcher is not None:
                await asyncio.wait({self._watcher})
                self._watcher = None
            if guard is not None:
                guard.release()
                self._guard = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()


async def _terminate(process: asyncio.subprocess.Process) -> None:
    """SIGTERM, a while later SIGKILL; returns when the process is gone."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(TERMINATE_S):
                await process.wait()
    if process.returncode is None:
        _kill(process)
        await process.wait()
    if process.stdin is not None:
        process.stdin.close()  # a watchdog that was killed itself leaves its server to this


def _kill(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)  # the leader of its own session: a watchdog and its server
