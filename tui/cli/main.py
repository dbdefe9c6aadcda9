"""The command `longscroll`: the door. Light, so that signals and closed streams are seen to before the rest loads."""

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False  # typing itself takes longer to load than all of this
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType
    from typing import NoReturn

_INTERRUPTED = 130


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and end the process with one of the exit codes of `tui.errors.ExitCode`."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupted)
    _open_missing_streams()

    from tui.cli.errors import run_guarded
    from tui.cli.group import group

    sys.exit(run_guarded(group, sys.argv[1:] if args is None else list(args)))


def _interrupted(_number: int, _frame: FrameType | None) -> None:
    """Ctrl-C while nothing is open yet, or nothing any more: `run_async` has its own handling while something is."""
    try:
        os.write(2, b"longscroll: Interrupted.\n")
    finally:
        os._exit(_INTERRUPTED)


def _open_missing_streams() -> None:
    """Give a closed stdin, stdout or stderr (`2>&-`) the null device.

    Otherwise the next file that is opened takes its number, and `print` to a stream that is None goes to stdout.
    """
    for descriptor, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(descriptor)
        except OSError:
            nowhere = os.open(os.devnull, os.O_RDONLY if mode == "r" else os.O_WRONLY)
            if nowhere == descriptor:
                os.set_inheritable(descriptor, True)
            else:
                os.dup2(nowhere, descriptor)
                os.close(nowhere)
        if getattr(sys, name) is None:
            stream = open(descriptor, mode, encoding="utf-8", closefd=False)  # noqa: SIM115 - open until the end
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)


if __name__ == "__main__":
    main()
