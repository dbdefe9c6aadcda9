"""No server outlives longscroll, however longscroll ends. How, is the platform's concern: one file for each."""

from __future__ import annotations

import sys
from typing import Any, Protocol


class Guard(Protocol):
    """Binds a child process to the life of this process."""

    def command(self, argv: list[str]) -> list[str]:
        """The command that runs `argv` under guard."""

    def options(self) -> dict[str, Any]:
        """Further arguments for `asyncio.create_subprocess_exec`."""

    def adopt(self, pid: int) -> None:
        """Called once the child runs."""

    def release(self) -> None:
        """Called when the child has ended."""


def make_guard() -> Guard:
    """The guard for this platform."""
    if sys.platform == "linux" and sys.executable:
        from tui.server.guard_linux import LinuxGuard

        return LinuxGuard()
    elif sys.platform == "win32":
        from tui.server.guard_windows import WindowsGuard

        return WindowsGuard()
    else:
        from tui.server.guard_posix import WatchdogGuard

        return WatchdogGuard()
