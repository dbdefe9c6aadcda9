"""Reading a document in a child process: a file that hangs or explodes costs that file, not the program.

Not anyio.to_process: measured with 4.16, its worker outlives a parent that is killed while the worker hangs, a
worker is left over when the wait for its start is cancelled, and it hides the exit status and the process id, so a
crash cannot be told from the memory limit and no memory can be watched where RLIMIT_AS does not work. A fresh
process for each file costs about 0.1 s and gives all memory back.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import psutil

from tui.documents.child import Answer, Done, Failed, OutOfMemory, Refused
from tui.documents.encodings import check_encoding
from tui.documents.model import Document
from tui.documents.options import ReadOptions
from tui.documents.refusal import PasswordNeeded
from tui.errors import InputProblem
from tui.text import well_formed
from tui.units import duration

READER_VERSION = 5
"""Raised when a reader's result changes: documents cached under another version are read again."""

TREE_TIMES = 6
"""A folder may take so many times as long to be read as one file: measured, 20,000 files of 98 MB take 6 s."""

_READER = "tui.documents.sources:read_path"
_START = "import sys, json; sys.path[:] = json.loads(sys.argv[1]); from tui.documents.child import main; main()"
_WATCH_S = 0.1
_PIECE = 1 << 20


async def read_document(
    path: str | Path,
    *,
    shown: str = "",
    password: str | None = None,
    encoding: str | None = None,
    ocr: str = "",
    timeout_s: float = 20,
    ocr_timeout_s: float = 3600,
    memory_mib: int = 1536,
    reader: str = _READER,
) -> Document:
    """The document at `path`: a file of any format that `sources` knows, or a folder as a source tree.

    `shown` is the path's name for people, in the document and in errors, where it is another.
    `password`, `encoding` and `ocr` are told to the reader, see ReadOptions. The reading takes at most `timeout_s`
    seconds of wall time (a folder six times as long; with `ocr`: `ocr_timeout_s`, if that is more) and `memory_mib`
    MiB of memory; when that is exceeded, or the caller is cancelled, the child process is killed with whatever it
    started. A folder is then read once more without the documents in it. `reader` is `module:function` of what runs
    in the child.

    Raises InputProblem with a remedy for whatever cannot be read, PasswordNeeded (an InputProblem) when a PDF asks
    for a password, UsageProblem for an encoding that does not exist.
    """
    named = shown or str(path)
    setting = "read_timeout_s"
    folder = await asyncio.to_thread(os.path.isdir, os.path.expanduser(path))
    if folder:
        timeout_s *= TREE_TIMES
    if ocr and ocr_timeout_s > timeout_s:
        timeout_s, setting = ocr_timeout_s, "ocr_timeout_s"
    if encoding is not None:
        check_encoding(encoding)
    options = ReadOptions(password=password or "", encoding=encoding or "", ocr=ocr, seconds=timeout_s)
    request = {
        "reader": reader,
        "path": str(path),
        "options": msgspec.structs.asdict(options),
        "memory_mib": memory_mib,
        "processor_s": int(timeout_s) + 10,
    }
    try:
        return await _read(named, request, timeout_s, setting)
    except _ReaderEnded as ended:
        if not folder:
            raise
        # One of its documents may have done that; its other files are read all the same.
        request["options"] = msgspec.structs.asdict(msgspec.structs.replace(options, documents=False))
        try:
            return await _read(named, request, timeout_s, setting)
        except _ReaderEnded:
            raise ended from None


class _ReaderEnded(InputProblem):
    """The child had to be ended, or ended by itself, without an answer of the reader's own."""


async def _read(named: str, request: dict[str, Any], timeout_s: float, setting: str) -> Document:
    memory_mib = request["memory_mib"]
    try:
        async with asyncio.timeout(timeout_s):
            answer = await _ask_child(request, memory_mib)
    except TimeoutError as error:
        raise _ReaderEnded(
            f"{named} could not be read within {duration(timeout_s)}.",
            f"Split it or name a smaller folder, or raise {setting} in the settings.",
        ) from error
    except _Crashed as crash:
        raise _ReaderEnded(
            f"{named} could not be read: the reader {crash}.",
            "The file may be damaged: open it in another program and save it anew. A library may also end so when it "
            f"has no memory left: the limit is {memory_mib:,} MiB (read_memory_mib in the settings).",
        ) from crash
    return _document(named, answer, memory_mib)


class _Crashed(Exception):
    """The child ended without an answer."""


def _document(named: str, answer: Answer, memory_mib: int) -> Document:
    match answer:
        case Done(document):
            return msgspec.structs.replace(document, path=well_formed(named))
        case Refused(reason, remedy, kind):
            if kind == "input":
                raise InputProblem(f"{named} {reason}", remedy)
            raise PasswordNeeded(f"{named} {reason}", remedy, wrong=kind == "wrong-password")
        case OutOfMemory():
            raise _ReaderEnded(
                f"{named} needs more than {memory_mib:,} MiB of memory to be read.",
                "Split it or name a smaller folder, or raise read_memory_mib in the settings.",
            )
        case Failed(error):
            raise InputProblem(
                f"{named} could not be read: the reader failed ({error}).",
                "The file may be damaged; open it in another program and save it anew.",
            )


async def _ask_child(request: dict[str, Any], memory_mib: int) -> Answer:
    """Start a child, give it the request, take its answer; the child is gone when this returns or raises."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",
        "-X",
        "utf8",
        "-c",
        _START,
        json.dumps(sys.path),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        # A Ctrl-C in the terminal is the parent's to handle.
        start_new_session=True,
    )
    watch = asyncio.create_task(_watch_memory(process, memory_mib))
    try:
        packed = await _talk(process, json.dumps(request).encode() + b"\n", memory_mib)
        status = await process.wait()
    finally:
        watch.cancel()
        if process.returncode is None:
            _kill(process)
            await process.wait()
    if watch.done() and not watch.cancelled() and watch.result():
        return OutOfMemory()
    if packed is None:
        return OutOfMemory()
    try:
        return msgspec.msgpack.decode(packed, type=Answer)
    except msgspec.DecodeError as error:
        raise _Crashed(_ending(status)) from error


async def _talk(process: asyncio.subprocess.Process, request: bytes, memory_mib: int) -> bytes | None:
    """The child's whole answer; None when it grows beyond the memory that the file may take."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(request)
    try:
        await process.stdin.drain()
    except ConnectionError:
        # It ended before it read the request; its exit status tells more.
        return b""
    parts: list[bytes] = []
    total = 0
    while piece := await process.stdout.read(_PIECE):
        parts.append(piece)
        total += len(piece)
        if total > memory_mib * 2**20:
            return None
    return b"".join(parts)


def _kill(process: asyncio.subprocess.Process) -> None:
    """Kill a child that has not been waited for, and what it has started (tesseract)."""
    if sys.platform == "win32":
        started = psutil.Process(process.pid).children(recursive=True)
        process.kill()
        for one in started:
            with contextlib.suppress(psutil.NoSuchProcess):
                one.kill()
    else:
        # It leads its own session, so its group holds it and its children only.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


async def _watch_memory(process: asyncio.subprocess.Process, memory_mib: int) -> bool:
    """Kill the child when it holds more than `memory_mib` MiB beyond its start; True when it was killed for that.

    Linux stops it earlier by RLIMIT_AS; this is for the systems without such a limit.
    """
    try:
        child = psutil.Process(process.pid)
        limit = (memory_mib + 64) * 2**20
        while process.returncode is None:
            if child.memory_info().rss > limit:
                _kill(process)
                return True
            await asyncio.sleep(_WATCH_S)
    except (psutil.Error, ProcessLookupError):
        # It has ended in the meantime.
        return False
    return False


def _ending(status: int) -> str:
    if status < 0:
        try:
            return f"was ended by {signal.Signals(-status).name}"
        except ValueError:
            return f"was ended by signal {-status}"
    return f"ended with status {status} and no answer"
