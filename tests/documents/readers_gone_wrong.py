"""Readers that a child process can be told to run instead of the real one: each goes wrong in its own way."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from tui.documents.model import Document
from tui.documents.options import ReadOptions
from tui.documents.sources import read_path


def _document(text: str) -> Document:
    return Document(path="", name="", kind="text", text=text, spans=())


def hang(path: str, options: ReadOptions) -> Document:
    """Say that it has begun, then never return."""
    Path(path).write_text(str(os.getpid()), encoding="utf-8")
    while True:
        time.sleep(0.05)


def spin(path: str, options: ReadOptions) -> Document:
    """As `hang`, with the processor."""
    Path(path).write_text(str(os.getpid()), encoding="utf-8")
    while True:
        pass


def explode(path: str, options: ReadOptions) -> Document:
    """Ask for memory until there is none."""
    held = []
    while True:
        held.append(bytearray(8 << 20))
        held[-1][::4096] = b"x" * len(held[-1][::4096])


def explode_beside_the_limit(path: str, options: ReadOptions) -> Document:
    """As on a system without RLIMIT_AS: the limit is lifted, and memory is held until the parent acts."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    held = [bytearray(b"x" * (1 << 20)) for _ in range(400)]
    time.sleep(60)
    return _document(str(len(held)))


def crash(path: str, options: ReadOptions) -> Document:
    """End as a fault in a C library ends a process."""
    os.kill(os.getpid(), signal.SIGSEGV)
    return _document("")


def crash_at_documents(path: str, options: ReadOptions) -> Document:
    """End so when documents inside a folder are to be read."""
    return crash(path, options) if options.documents else read_path(path, options)


def leave(path: str, options: ReadOptions) -> Document:
    """End without an answer."""
    os._exit(7)


def fail(path: str, options: ReadOptions) -> Document:
    """Raise what no reader should."""
    raise ZeroDivisionError("a fault of the reader's own \ud800")


def chatter(path: str, options: ReadOptions) -> Document:
    """Print, as libraries do, on every way out; then answer."""
    print("noise")
    os.write(1, b"noise from C\n")
    os.write(2, b"noise from C\n" * 20000)
    sys.stderr.write("noise")
    return _document("an answer")


def swell(path: str, options: ReadOptions) -> Document:
    """An answer larger than the file may take."""
    return _document("x" * (80 << 20))
