"""Run as a program: ask the kernel to kill this process when its parent ends, then become the given command.

Arguments: the parent's pid, then the command. It imports nothing of longscroll, so that it starts in milliseconds.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main() -> None:
    parent, argv = int(sys.argv[1]), sys.argv[2:]
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0) != 0:
        sys.exit(f"longscroll: cannot execute {argv[0]} (prctl: {os.strerror(ctypes.get_errno())})")
    if os.getppid() != parent:
        # The parent ended before the request above: nobody would send the signal.
        sys.exit(1)
    try:
        os.execv(argv[0], argv)
    except OSError as error:
        print(f"longscroll: cannot execute {argv[0]} ({error.strerror})", file=sys.stderr)
        sys.exit(126)


if __name__ == "__main__":
    main()
