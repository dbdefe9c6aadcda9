"""macOS and other Unix systems: a shell watches a pipe that closes when longscroll ends, and then ends the server."""

from __future__ import annotations

import asyncio
from typing import Any

_WATCHDOG = (
    "exec 3<&0; "
    '"$@" </dev/null 3<&- & c=$!; '
    "(cat <&3 >/dev/null; kill -9 $c) 2>/dev/null & w=$!; "
    "exec 3<&-; "
    'trap "kill $c" TERM INT; '
    "wait $c; r=$?; "
    # A trapped signal ends the first wait early; the server's own end is what is waited for.
    "while kill -0 $c 2>/dev/null; do wait $c; r=$?; done; "
    "kill $w 2>/dev/null; exit $r"
)


class WatchdogGuard:
    """The server runs under `sh`; the write end of the shell's standard input is held by longscroll alone."""

    def command(self, argv: list[str]) -> list[str]:
        return ["/bin/sh", "-c", _WATCHDOG, "longscroll-watchdog", *argv]

    def options(self) -> dict[str, Any]:
        return {"start_new_session": True, "stdin": asyncio.subprocess.PIPE}

    def adopt(self, pid: int) -> None:
        return

    def release(self) -> None:
        return
