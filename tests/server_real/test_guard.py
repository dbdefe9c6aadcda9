"""No orphans: however the program ends, its server ends too."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.server_real.conftest import Ask
from tests.support.processes import ROOT, until
from tui.server.binary import ServerBinary
from tui.server.flags import ServerFlags
from tui.server.guard_posix import WatchdogGuard
from tui.server.process import ServerProcess

pytestmark = [pytest.mark.real, pytest.mark.skipif(sys.platform == "win32", reason="Unix signals")]

PARENT = """
import asyncio, os, sys, threading
from pathlib import Path
from tui.server.binary import find_server
from tui.server.flags import read_flags
from tui.server.guard import make_guard
from tui.server.flags import ServerFlags
from tui.server.guard_posix import WatchdogGuard
from tui.server.launch import LaunchRequest
from tui.server.process import ServerProcess
from tui.server.types import Message

model, folder, guard, end = sys.argv[1:]

async def main():
    binary = find_server()
    flags = await read_flags(binary, Path(folder) / "cache")
    server = ServerProcess(guard=WatchdogGuard if guard == "watchdog" else make_guard)
    request = LaunchRequest(
        model=Path(model), ctx_size=32768, slot_dir=Path(folder) / "slots", log_file=Path(folder) / "server.log",
        extra=("-fit", "off", "--no-warmup", "-nr", "-t", "2"),
    )
    if end == "killed while starting":
        await server.start(binary, request, flags, on_state=lambda state: server.pid and print(server.pid, flush=True))
    await server.start(binary, request, flags)
    stream = server.client.chat([Message("user", "hello")], max_tokens=20_000)
    await anext(stream)
    print(server.pid, flush=True)
    if end == "exception":
        raise ValueError("a mistake in the program")
    if end == "exit":
        os._exit(3)
    if end == "returns without stopping":
        return
    await asyncio.sleep(3600)

asyncio.run(main())
"""


def family(pid: int) -> list[psutil.Process]:
    """The process started (the server itself or the watchdog around it) and all below it."""
    try:
        process = psutil.Process(pid)
        return [process, *process.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def run_parent(tiny_llama: Path, folder: Path, guard: str, end: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tiny_llama), str(folder), guard, end],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )


@pytest.mark.parametrize("guard", ["native", "watchdog"])
@pytest.mark.parametrize(
    ("end", "sent"),
    [
        ("SIGKILL", signal.SIGKILL),
        ("SIGTERM", signal.SIGTERM),
        ("SIGHUP", signal.SIGHUP),
        ("SIGINT", signal.SIGINT),
        ("exception", None),
        ("exit", None),
        ("returns without stopping", None),
    ],
)
async def test_the_server_ends_with_the_program(
    guard: str, end: str, sent: signal.Signals | None, tiny_llama: Path, tmp_path: Path
) -> None:
    with run_parent(tiny_llama, tmp_path, guard, end) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        below = family(pid)
        if sent is not None:
            assert any("llama-server" in process.name() for process in below)
            os.kill(parent.pid, sent)
        await until(lambda: not any(alive(process) for process in below), f"the server ends after {end}")
        assert parent.wait(60) is not None


async def test_killed_while_starting(tiny_llama: Path, tmp_path: Path) -> None:
    with run_parent(tiny_llama, tmp_path, "native", "killed while starting") as parent:
        assert parent.stdout is not None
        below = family(int(parent.stdout.readline()))
        parent.kill()
        await until(lambda: not any(alive(process) for process in below), "the starting server ends")


async def test_the_watchdog_stops_in_order(server_binary: ServerBinary, server_flags: ServerFlags, ask: Ask) -> None:
    server = ServerProcess(guard=WatchdogGuard)
    await server.start(server_binary, ask(), server_flags)
    below = family(server.pid)
    assert len(below) > 1
    await server.stop()
    assert server.returncode == 0
    await until(lambda: not any(alive(process) for process in below), "the watchdog's family ends")


async def test_a_killed_watchdog_leaves_no_server(
    server_binary: ServerBinary, server_flags: ServerFlags, ask: Ask
) -> None:
    server = ServerProcess(guard=WatchdogGuard)
    await server.start(server_binary, ask(), server_flags)
    below = family(server.pid)
    os.kill(server.pid, signal.SIGKILL)
    death = await server.wait_failed()
    assert death.kind == "killed"
    await server.stop()
    await until(lambda: not any(alive(process) for process in below), "the watchdog's server ends")
