"""Standard input as a file: written to a private folder of the cache, for readers need to look at it twice."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil

from tui.errors import InputProblem, LongscrollError
from tui.paths import cannot_write, ensure

STANDARD_INPUT = "standard input"
"""Its name, for people, and that of the file."""

_PIECE = 1 << 20


@contextlib.contextmanager
def spool_folder(parent: Path) -> Iterator[Path]:
    """A new folder (0700) for this process, gone afterwards. Raises StorageProblem.

    What processes that were killed left there is removed.
    """
    ensure(parent)
    for left in parent.iterdir():
        number = left.name.partition("-")[0]
        if number.isdecimal() and int(number) != os.getpid() and not psutil.pid_exists(int(number)):
            shutil.rmtree(left, ignore_errors=True)
    try:
        folder = Path(tempfile.mkdtemp(prefix=f"{os.getpid()}-", dir=parent))
    except OSError as error:
        raise cannot_write(parent, error) from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def spool_standard_input(folder: Path, limit_mib: int) -> Path:
    """All of standard input as a file (0600) in `folder`.

    Raises StorageProblem for a disk that is full, InputProblem when it holds more than `limit_mib` MiB or fails.
    A thread of its own reads: one of the loop's pool that waits for a pipe would hold up the program's end.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()
    stop = threading.Event()
    target = folder / STANDARD_INPUT

    def settle(error: BaseException | None) -> None:
        if not done.done():
            if error is None:
                done.set_result(None)
            else:
                done.set_exception(error)

    def copy() -> None:
        error: BaseException | None = None
        try:
            _copy(target, limit_mib, stop)
        except LongscrollError as problem:
            error = problem
        except OSError as problem:
            error = cannot_write(target, problem)
        if not stop.is_set():
            with contextlib.suppress(RuntimeError):  # the loop has ended in the meantime
                loop.call_soon_threadsafe(settle, error)

    threading.Thread(target=copy, name="standard input", daemon=True).start()
    try:
        await done
    finally:
        stop.set()
    return target


def _copy(target: Path, limit_mib: int, stop: threading.Event) -> None:
    total = 0
    handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    with open(handle, "wb", buffering=0) as file:
        while not stop.is_set():
            try:
                piece = os.read(0, _PIECE)
            except OSError as error:
                raise InputProblem(
                    f"Standard input cannot be read ({error.strerror or error}).", "Give the path of a file."
                ) from error
            if not piece:
                return
            total += len(piece)
            if total > limit_mib * 2**20:
                raise InputProblem(
                    f"Standard input holds more than {limit_mib:,} MiB.",
                    "Split it, or raise read_memory_mib in the settings.",
                )
            left = memoryview(piece)
            while left:
                left = left[file.write(left) :]
