"""Running the program as a user does: in a process of its own, with a home of its own."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parent.parent.parent
COMMAND = (sys.executable, "-m", "tui.cli")


def environment(home: Path, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LONGSCROLL_", "LLAMA_"))}
    return {**kept, "LONGSCROLL_HOME": str(home), "PYTHONPATH": str(ROOT), "NO_COLOR": "1", **more}


def longscroll(home: Path, *args: str, timeout: float = 280, **more: str) -> subprocess.CompletedProcess[str]:
    """Run the command to its end."""
    return subprocess.run(
        [*COMMAND, *args],
        env=environment(home, **more),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def start(home: Path, *args: str) -> subprocess.Popen[str]:
    """Start the command and leave it running."""
    return subprocess.Popen(
        [*COMMAND, *args],
        env=environment(home),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def lines(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    """The JSON objects on stdout; anything else there fails."""
    return [json.loads(line) for line in done.stdout.splitlines()]


def servers_of(pid: int) -> list[psutil.Process]:
    """The llama-server processes below `pid`."""
    return [child for child in psutil.Process(pid).children(recursive=True) if "llama-server" in child.name()]


async def until(condition: Callable[[], bool], what: str, seconds: float = 120) -> None:
    """Wait for a condition; the limit only ends a test that would hang."""
    for _ in range(int(seconds / 0.05)):
        if condition():
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"never happened: {what}")
