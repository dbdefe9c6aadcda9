"""Linux: the kernel kills the server when the thread that started it ends (PR_SET_PDEATHSIG)."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

_TRAMPOLINE = Path(__file__).with_name("guard_exec.py")


class LinuxGuard:
    """A small Python program sets the death signal on itself and becomes the server.

    Not `preexec_fn`: code between fork and exec may deadlock in a process with threads. The signal comes when the
    *thread* that forked ends, so the server must be started from the event loop's thread, which lives to the end.
    """

    def command(self, argv: list[str]) -> list[str]:
        return [sys.executable, "-I", "-S", str(_TRAMPOLINE), str(os.getpid()), *argv]

    def options(self) -> dict[str, Any]:
        # Own session: Ctrl-C and a closed terminal reach longscroll alone, which then stops the server in order.
        return {"start_new_session": True}

    def adopt(self, pid: int) -> None:
        return

    def release(self) -> None:
        return
