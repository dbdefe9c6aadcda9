"""What nobody foresaw: kept as a trace in a file for a report, told as one sentence."""

from __future__ import annotations

import os
import time
import traceback
from pathlib import Path

from tui.errors import LongscrollError
from tui.paths import ensure
from tui.text import one_line


class Defect(LongscrollError):
    """An error of the program itself. The conversation is in the database whatever happens."""


def recorded(error: BaseException, logs: Path) -> LongscrollError:
    """The error as the user is told it; its trace is appended to a file in `logs`. Known errors stay as they are."""
    if isinstance(error, LongscrollError):
        return error
    what = f"longscroll met an error of its own: {type(error).__name__}: {one_line(str(error), 200)}"
    return Defect(what, _kept("".join(traceback.format_exception(error)), logs))


def recorded_text(trace: str, logs: Path) -> LongscrollError:
    """As `recorded`, of a trace of which nothing is known but its text."""
    return Defect("The screen could not go on.", _kept(trace, logs))


def _kept(trace: str, logs: Path) -> str:
    """Append to this run's log file; the sentence that says where."""
    try:
        path = ensure(logs) / f"screen-{os.getpid()}.log"
        with path.open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')}\n{trace}\n")
    except (OSError, LongscrollError) as failed:
        return f"Its details could not be written to {logs}: {one_line(str(failed), 200)}"
    return f"The details are in the log file {path}."
