"""A secret typed at the terminal, without being shown."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import threading
from collections.abc import Iterator

_POLL_S = 0.1


def can_ask() -> bool:
    """Whether somebody is there to answer: the keyboard and stderr are a terminal."""
    return sys.stdin.isatty() and sys.stderr.isatty()


async def ask_secret(prompt: str) -> str:
    """One line from the keyboard, with nothing of it shown; empty at the end of input.

    The thread that waits looks ten times a second whether it is still wanted, so that Ctrl-C ends it and the terminal
    shows what is typed again.
    """
    stop = threading.Event()
    try:
        with _unseen():  # before the prompt: whoever sees that may type
            print(prompt, end="", file=sys.stderr, flush=True)
            return await asyncio.to_thread(_line, stop)
    finally:
        stop.set()
        print(file=sys.stderr, flush=True)


if sys.platform == "win32":
    import msvcrt

    @contextlib.contextmanager
    def _unseen() -> Iterator[None]:
        yield  # what msvcrt reads is not shown

    def _line(stop: threading.Event) -> str:
        typed = ""
        while not stop.is_set():
            if not msvcrt.kbhit():
                stop.wait(_POLL_S)
                continue
            letter = msvcrt.getwch()
            if letter in "\r\n\x1a":
                break
            typed = typed[:-1] if letter == "\b" else typed + letter
        return typed

else:
    import os
    import select
    import termios

    @contextlib.contextmanager
    def _unseen() -> Iterator[None]:
        keyboard = sys.stdin.fileno()
        before = termios.tcgetattr(keyboard)
        silent = list(before)
        silent[3] &= ~termios.ECHO
        termios.tcsetattr(keyboard, termios.TCSAFLUSH, silent)
        try:
            yield
        finally:
            termios.tcsetattr(keyboard, termios.TCSANOW, before)

    def _line(stop: threading.Event) -> str:
        typed = b""
        while not stop.is_set() and not typed.endswith(b"\n"):
            if not select.select([sys.stdin.fileno()], [], [], _POLL_S)[0]:
                continue
            piece = os.read(sys.stdin.fileno(), 1024)
            if not piece:
                break
            typed += piece
        return typed.partition(b"\n")[0].decode(sys.stdin.encoding or "utf-8", "surrogateescape")
