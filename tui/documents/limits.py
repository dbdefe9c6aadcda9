"""Limits that a reader sets itself inside its process: memory, processor time, and the time of one call."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

if sys.platform != "win32":
    import resource


_REPEAT_S = 0.2


class CallTimedOut(Exception):
    """A call took longer than its limit."""


@contextmanager
def call_limit(seconds: float) -> Iterator[None]:
    """Stop Python code in this block after `seconds` with CallTimedOut.

    A limit may stand inside another one, which goes on afterwards with what is left of its time. Works in the main
    thread on POSIX; elsewhere the process's own limit is the only one.
    """
    if sys.platform == "win32" or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise CallTimedOut

    before = signal.signal(signal.SIGALRM, stop)
    # Repeated, for a library may swallow the first.
    outer, _ = signal.setitimer(signal.ITIMER_REAL, seconds, _REPEAT_S)
    began = time.monotonic()
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if outer:
            left = outer - (time.monotonic() - began)
            signal.setitimer(signal.ITIMER_REAL, max(left, 0.001), _REPEAT_S)


def limit_process(memory_mib: int, processor_s: int) -> None:
    """Let this process grow by `memory_mib` MiB at most, and end it after `processor_s` seconds of processor time.

    Linux holds to both; elsewhere the parent watches the memory. The second ends a reader that hangs
    after its parent was killed.
    """
    if sys.platform == "win32":
        return
    base = _address_space()
    if base is not None:
        _lower(resource.RLIMIT_AS, base + memory_mib * 2**20)
    _lower(resource.RLIMIT_CPU, processor_s)


if sys.platform != "win32":

    def _lower(kind: int, value: int) -> None:
        _, hard = resource.getrlimit(kind)
        if hard != resource.RLIM_INFINITY:
            value = min(value, hard)
        try:
            resource.setrlimit(kind, (value, hard))
        except (ValueError, OSError):
            # macOS refuses some limits; the parent's watch and its time-out still hold.
            return

    def _address_space() -> int | None:
        """Bytes of address space in use, where the system tells (Linux)."""
        try:
            with open("/proc/self/statm", "rb") as statm:
                return int(statm.read().split()[0]) * resource.getpagesize()
        except OSError:
            return None
