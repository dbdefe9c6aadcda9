"""How far a starting server is, and whether it still moves: from its log, its memory, its processor time."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec
import psutil

from tui.server.launch import LaunchRequest

_STEPS = (
    ("llama_server: listening", "nearly ready"),
    ("model loaded", "nearly ready"),
    ("warming up", "warming up"),
    ("load_model: initializing", "preparing the slots"),
    ("llama_context:", "making room for the context"),
    ("llama_kv_cache", "making room for the context"),
    ("load_tensors:", "loading the weights"),
    ("llama_model_loader:", "reading the model's header"),
    ("common_params_fit_impl", "measuring the memory needed"),
    ("load_model: loading model", "reading the model's header"),
)
"""What in the log means which step; the latest step stands first."""

_WEIGHTS = [mark for mark, _ in _STEPS].index("load_tensors:")


class Seen(msgspec.Struct, frozen=True):
    """One look. `fraction`: growth of memory, of the model's size; `still_s`: seconds without motion."""

    loading: bool
    detail: str
    fraction: float | None
    still_s: float


class LoadingWatch:
    """Looks at one starting process. `look` reads small files and may block for a moment: call it in a thread."""

    def __init__(self, pid: int, request: LaunchRequest) -> None:
        self._log = request.log_file
        self._size = _file_size(request.model)
        try:
            self._process: psutil.Process | None = psutil.Process(pid)
        except psutil.Error:
            self._process = None
        self._offset = 0
        self._step = len(_STEPS)
        self._marks: tuple[float, ...] = ()
        self._moved = time.monotonic()
        self._rest = b""
        self._before = 0.0
        self._best = 0.0

    def look(self) -> Seen:
        self._read_log()
        cpu, resident, disk = self._usage()
        marks = (float(self._offset), cpu, resident, disk)
        now = time.monotonic()
        if marks != self._marks:
            self._marks = marks
            self._moved = now
        loading = self._step < len(_STEPS)
        detail = _STEPS[self._step][1] if loading else "starting"
        fraction = None
        if self._step > _WEIGHTS:
            self._before = resident
        elif self._size:
            self._best = max(self._best, min(1.0, max(0.0, resident - self._before) / self._size))
            fraction = self._best
        return Seen(loading, detail, fraction, now - self._moved)

    def _read_log(self) -> None:
        try:
            with self._log.open("rb") as file:
                file.seek(self._offset)
                new = file.read()
        except FileNotFoundError:
            return
        self._offset += len(new)
        text = (self._rest + new).decode("utf-8", "replace")
        self._rest = new[-80:]
        for step, (mark, _) in enumerate(_STEPS[: self._step]):
            if mark in text:
                self._step = step
                break

    def _usage(self) -> tuple[float, float, float]:
        """Processor seconds, resident bytes and disk bytes of the process and its children (a watchdog's server)."""
        cpu = resident = disk = 0.0
        if self._process is None:
            return cpu, resident, disk
        try:
            for process in (self._process, *self._process.children(recursive=True)):
                times = process.cpu_times()
                cpu += times.user + times.system
                resident += process.memory_info().rss
                if hasattr(process, "io_counters"):
                    disk += process.io_counters().read_bytes
        except psutil.Error:
            return cpu, resident, disk  # it just ended; the caller sees that by itself
        return cpu, resident, disk


def _file_size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
