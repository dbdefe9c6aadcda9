"""The child process that reads one file: `main` is started by the loader, answers once and ends.

It is given one line of JSON on its input, and its input stays open: when it closes, the parent is gone and so is
the child. The answer is one msgpack value on the output; what libraries print goes nowhere.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import threading
from typing import Any

import msgspec

from tui.documents.limits import limit_process
from tui.documents.model import Document
from tui.documents.options import ReadOptions
from tui.documents.refusal import Refusal, RefusalKind

_PARENT_GONE = 3


class Done(msgspec.Struct, frozen=True, tag=True):
    """The document was read."""

    document: Document


class Refused(msgspec.Struct, frozen=True, tag=True):
    """The reader gave up for a reason that the user can understand."""

    reason: str
    remedy: str
    kind: RefusalKind


class OutOfMemory(msgspec.Struct, frozen=True, tag=True):
    """The reader needed more memory than it may have."""


class Failed(msgspec.Struct, frozen=True, tag=True):
    """The reader raised something that it should not have: a fault of the reader or of a library."""

    error: str


Answer = Done | Refused | OutOfMemory | Failed


def main() -> None:
    """Read the request, read the file, write the answer, end."""
    answers = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    request = json.loads(_line(0))
    threading.Thread(target=_end_with_parent, daemon=True).start()
    answer = _answer(request)
    try:
        packed = msgspec.msgpack.encode(answer)
    except MemoryError:
        packed = msgspec.msgpack.encode(OutOfMemory())
    with os.fdopen(answers, "wb") as stream:
        stream.write(packed)
    # The thread that waits for the parent's end must not hold this one's.
    os._exit(0)


def _answer(request: dict[str, Any]) -> Answer:
    try:
        limit_process(request["memory_mib"], request["processor_s"])
        module, _, function = request["reader"].partition(":")
        read = getattr(importlib.import_module(module), function)
        return Done(read(request["path"], ReadOptions(**request["options"])))
    except Refusal as refusal:
        return Refused(refusal.reason, refusal.remedy, refusal.kind)
    except MemoryError:
        return OutOfMemory()
    except Exception as error:  # noqa: BLE001 - the process ends here; the parent turns it into the user's error
        return Failed(f"{type(error).__name__}: {error}".encode("utf-8", "backslashreplace").decode()[:300])


def _line(descriptor: int) -> bytes:
    """One line, byte by byte: a buffered reader would keep a lock that a thread waits in."""
    parts: list[bytes] = []
    while (byte := os.read(descriptor, 1)) not in (b"", b"\n"):
        parts.append(byte)
    return b"".join(parts)


def _end_with_parent() -> None:
    while os.read(0, 1):
        pass
    if sys.platform != "win32" and os.getpgrp() == os.getpid():
        # What this process has started ends with it.
        os.killpg(0, signal.SIGKILL)
    os._exit(_PARENT_GONE)


if __name__ == "__main__":
    sys.exit("This module is started by tui.documents.loader.")
