"""How the command line ends: every failure becomes one line on stderr and an exit code, never a traceback."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

import rich_click as click
from click.exceptions import Exit

from tui.cli.output import ReaderGone, output_problem, prepare_streams, silence, tell
from tui.cli.usage import in_one_line
from tui.errors import ExitCode, LongscrollError
from tui.text import one_line

_FULL = (errno.ENOSPC, errno.EFBIG, errno.EIO, getattr(errno, "EDQUOT", errno.ENOSPC))

_SECOND_SIGNAL_AFTER = 2.0
"""Seconds: a closing terminal sends SIGHUP twice at once, which is one wish; a signal later than this is impatience."""


class Stopped(BaseException):
    """The program was told to stop by a signal; everything was put away. `kept` says what is left of the work."""

    def __init__(self, number: int, kept: str = "") -> None:
        super().__init__(number)
        self.exit_code = 128 + number
        self.kept = kept


def run_guarded(group: click.Group, args: Sequence[str]) -> int:
    """Run the command line and return its exit code; whatever went wrong has been said on stderr."""
    prepare_streams()
    try:
        outcome = group.main(list(args), prog_name="longscroll", standalone_mode=False)
        sys.stdout.flush()
        return int(outcome or 0)
    except Exit as done:
        return done.exit_code
    except click.ClickException as error:
        say(in_one_line(error))
        return ExitCode.USAGE
    except LongscrollError as error:
        say(str(error))
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        say("Interrupted.")
        return ExitCode.INTERRUPTED
    except Stopped as stopped:
        say(f"Interrupted. {stopped.kept}".rstrip())
        return stopped.exit_code
    except (ReaderGone, BrokenPipeError, SystemExit):
        # Without its standalone mode, click ends like this (as does rich) only where a help text has lost its reader.
        return _reader_gone()
    except Exception as error:  # noqa: BLE001 - the last resort: a defect becomes a sentence and a log file
        known = _known_in(error)
        if isinstance(known, BrokenPipeError):
            return _reader_gone()
        if known is None and isinstance(error, OSError):
            known = _lost_output(error)
        if known is not None:
            say(str(known))
            return known.exit_code
        return crashed(error)


def run_async(work: Callable[[], Coroutine[Any, Any, int]], *, kept: str = "") -> int:
    """Run a command's coroutine on the main thread's loop; SIGINT, SIGTERM and SIGHUP end it in good order.

    `kept` is the sentence that tells the user of an interrupted command what is left of it.

    The first signal cancels the work, so that every `finally` runs and the server is stopped; a later one ends the
    process at once (a server of ours dies with it). Raises Stopped.
    """
    received: list[int] = []

    async def guarded() -> int:
        loop = asyncio.get_running_loop()
        task = asyncio.ensure_future(work())
        first = 0.0

        def stop(number: int) -> None:
            nonlocal first
            if not received:
                received.append(number)
                first = time.monotonic()
                task.cancel()
            elif time.monotonic() - first > _SECOND_SIGNAL_AFTER:
                os._exit(128 + number)

        handled = []
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is None or signal.getsignal(number) == signal.SIG_IGN:
                continue  # `nohup` asked us to ignore it
            try:
                loop.add_signal_handler(number, stop, number)
            except NotImplementedError:  # Windows: asyncio.run itself turns Ctrl-C into a cancellation
                continue
            handled.append(number)
        try:
            return await task
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait([task])
            for number in handled:
                loop.remove_signal_handler(number)

    before = signal.getsignal(signal.SIGINT)
    if os.name == "nt" and before != signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # what asyncio.run needs to find
    try:
        code = asyncio.run(guarded())
    except asyncio.CancelledError:
        if not received:
            raise
    else:
        # The screen takes a cancellation as the wish to close and ends as usual; the signal is the reason all the same.
        if not received:
            return code
    finally:
        if before is not None:
            signal.signal(signal.SIGINT, before)  # the loop has put Python's own in its place
    raise Stopped(received[0], kept)


def say(sentence: str) -> None:
    """One line on stderr, made safe for a terminal."""
    tell(one_line(f"longscroll: {sentence}"), style="error")


def crashed(error: BaseException) -> int:
    """A defect of the program: one sentence, and the traceback in a log file."""
    say(str(defect(error)))
    return ExitCode.SOME_FAILED


def defect(error: BaseException) -> LongscrollError:
    """The sentence for a defect of the program, its traceback written into a log file."""
    log = write_crash_log(error)
    where = f"The details are in {log}; please report them." if log else ""
    return LongscrollError(f"Something went wrong that should not have: {type(error).__name__}: {error}.", where)


def write_crash_log(error: BaseException) -> Path | None:
    """Write the traceback into the log folder, else into the temporary folder; None when neither can be."""
    from tui.paths import ensure, get_paths

    text = "".join(traceback.format_exception(error))
    name = f"crash-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.log"
    try:
        return _write_private(ensure(get_paths().logs) / name, text)
    except (OSError, LongscrollError):
        pass
    try:
        return _write_private(Path(tempfile.gettempdir()) / f"longscroll-{name}", text)
    except OSError:
        return None


def _write_private(path: Path, text: str) -> Path:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(text)
    return path


def _known_in(error: BaseException) -> LongscrollError | BrokenPipeError | None:
    """The failure that a group of tasks ended with, when all that went wrong in it is known."""
    if isinstance(error, LongscrollError | BrokenPipeError):
        return error
    if not isinstance(error, BaseExceptionGroup):
        return None
    known = [_known_in(inner) for inner in error.exceptions]
    return None if None in known else known[0]


def _lost_output(error: OSError) -> LongscrollError | None:
    """What to say when the parser's own output (a help text) met a full disk, else None. A file's error has a name."""
    if error.filename is None and error.errno in _FULL:
        return output_problem(error)
    return None


def _reader_gone() -> int:
    # The reader (`| head`) has what it wanted. Whatever Python still flushes at exit goes nowhere.
    silence(sys.stdout)
    return 128 + getattr(signal, "SIGPIPE", 13)
