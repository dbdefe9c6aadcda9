"""What the command line prints: results on stdout, everything else on stderr."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any, Literal

import msgspec

from tui.cli.wrapping import Wrapper, terminal_width, wrapped
from tui.errors import LongscrollError, StorageProblem
from tui.text import display_safe, one_line, well_formed

if TYPE_CHECKING:
    from tui.cli.bar import Bar

Style = Literal["", "dim", "bold", "warning", "error"]
_SGR: dict[Style, str] = {"dim": "\x1b[2m", "bold": "\x1b[1m", "warning": "\x1b[33m", "error": "\x1b[31m"}

_SECONDS_BETWEEN_LINES = 10.0
_WARNED = 1000
"""Warnings remembered so that none is said twice; a batch of thousands may repeat very old ones."""


def prepare_streams() -> None:
    """Piped text is UTF-8 on every platform; a terminal that cannot show a character shows its escape."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is None:
            continue
        if stream.isatty():
            reconfigure(errors="backslashreplace")
        else:
            reconfigure(encoding="utf-8", errors="backslashreplace", newline="\n")


class ReaderGone(BaseException):
    """Whoever read stdout (`| head`) has gone away: no failure, nothing more to do. (Click would exit with 1.)"""


@contextlib.contextmanager
def _to_reader() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise ReaderGone from None
    except OSError as error:
        raise output_problem(error) from error


def output_problem(error: OSError) -> StorageProblem:
    """The sentence for results that could not be written; what Python still holds of them goes nowhere."""
    silence(sys.stdout)
    return StorageProblem(
        f"The results cannot be written to standard output ({error.strerror or error}).",
        "Free some space there, or send them elsewhere.",
    )


def tell(line: str, stream: IO[str] | None = None, *, style: Style = "", wrap: bool = True) -> None:
    """A line on stderr. Where that is a pipe, a disk or a terminal that is gone or full, there is nobody to tell.

    On a terminal it is broken between words, and `style` shows.
    """
    stream = stream or sys.stderr
    try:
        line = wrapped(line, terminal_width(stream) if wrap else 0)
        print(styled(line, style, stream), file=stream, flush=True)
    except OSError:
        silence(stream)


def styled(text: str, style: Style, stream: IO[str]) -> str:
    """`text` as the terminal behind `stream` shows it: `warning` has its first mention of that word in yellow.

    Plain in files and pipes, on a dumb terminal, and where NO_COLOR is set.
    """
    if not style or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not stream.isatty():
        return text
    if style == "warning":
        return text.replace("warning:", f"{_SGR[style]}warning:\x1b[0m", 1)
    return f"{_SGR[style]}{text}\x1b[0m"


def silence(stream: IO[str]) -> None:
    """Let everything that is still written to a stream that failed go nowhere, also what Python flushes at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


class Progress:
    """Progress of one piece of work on stderr: a bar where stderr is a terminal, plain lines otherwise.

    A plain line is printed when the label changes, and at most every ten seconds while only the figures do.
    """

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._bar: Bar | None = None
        self.about = ""
        """Stands before the label on a bar, such as `3/12`; plain lines say it in a line of its own."""
        self._label = ""
        self._line = ""
        self._printed = 0.0
        if stream.isatty() and os.environ.get("TERM") != "dumb":
            from tui.cli.bar import Bar

            self._bar = Bar(stream)

    def begin(self) -> None:
        """A new piece of work begins."""
        if self._bar is not None:
            self._bar.begin()

    def update(self, label: str, done: float | None = None, total: float | None = None, figures: str = "") -> None:
        """Show `label` and, where known, `done` of `total`, in one unit, and `figures` such as the speed."""
        label = one_line(label, 100)
        if self._bar is not None:
            label = f"{self.about} {label}" if self.about else label
            self._bar.update(label, done or 0, total, figures)
            return
        now = time.monotonic()
        if label == self._label and now - self._printed < _SECONDS_BETWEEN_LINES:
            return
        line = f"{label} {done / total:.0%}" if done is not None and total else label
        line = f"{line}, {figures}" if figures else line
        if line != self._line:
            tell(line, self._stream)
        self._label, self._line, self._printed = label, line, now

    def close(self) -> None:
        """Take the bar away; the next `update` shows it again."""
        if self._bar is not None:
            self._bar.close()


class Out:
    """Where a command's words go. With `as_json`, stdout holds JSON objects, one a line, and nothing else."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        self._progress: Progress | None = None
        self._open_line = False
        self._wrapper: Wrapper | None = None
        self._warned: dict[str, None] = {}

    @property
    def progress(self) -> Progress:
        if self._progress is None:
            self._progress = Progress(sys.stderr)
        return self._progress

    def emit(self, record: Any) -> None:
        """One JSON object as one line of UTF-8; text is not altered, but for what UTF-8 cannot hold."""
        self._quiet()
        line = as_json(record)
        with _to_reader():
            sys.stdout.flush()
            sys.stdout.buffer.write(line + b"\n")
            sys.stdout.buffer.flush()

    def write(self, text: str) -> None:
        """A piece of a result on stdout, without a line end: as it is into a file or pipe, made safe on a terminal.

        There its lines are broken between words, so the last word of a piece waits for the next piece or `end_line`.
        """
        self._quiet()
        with _to_reader():
            sys.stdout.write(self._laid_out(text) if sys.stdout.isatty() else well_formed(text))
            sys.stdout.flush()
        self._open_line = not text.endswith("\n") if text else self._open_line

    def _laid_out(self, text: str) -> str:
        width = terminal_width(sys.stdout)
        if self._wrapper is None and width:
            self._wrapper = Wrapper(width)
        elif self._wrapper is not None and not self._open_line:
            self._wrapper.width = width  # the window may have been resized since
        return display_safe(text) if self._wrapper is None else self._wrapper.feed(display_safe(text))

    def line(self, text: str = "") -> None:
        """A line of a result on stdout."""
        self.write(text + "\n")

    def end_line(self) -> None:
        """End the line that `write` left open."""
        if self._open_line:
            self.write("\n")

    def note(self, text: str, *, style: Style = "", wrap: bool = True) -> None:
        """A line for people on stderr. On a terminal it has a style and is broken between words, unless not `wrap`."""
        self._quiet()
        if self._open_line and sys.stdout.isatty():
            self.write("\n")
        tell(one_line(text), style=style, wrap=wrap)

    def warn(self, text: str, *, about: str = "") -> None:
        """A warning on stderr, once; `about` is the path it is about, put in front where the text does not name it."""
        sentence = text if about in text else f"{about}: {text}"
        if sentence not in self._warned:
            if len(self._warned) >= _WARNED:
                del self._warned[next(iter(self._warned))]
            self._warned[sentence] = None
            self.note(f"longscroll: warning: {sentence}", style="warning")

    def error(self, error: LongscrollError) -> None:
        self.note(f"longscroll: {error}", style="error")

    @contextlib.contextmanager
    def working(self) -> Iterator[Progress]:
        """The progress display for a piece of work; gone afterwards."""
        self.progress.begin()
        try:
            yield self.progress
        finally:
            self.progress.close()

    def _quiet(self) -> None:
        # A bar that is still drawn would tear the line that comes now.
        if self._progress is not None:
            self._progress.close()


def as_json(record: Any) -> bytes:
    """A record as JSON in one line of UTF-8; text is not altered, but for what UTF-8 cannot hold."""
    try:
        return msgspec.json.encode(record)
    except UnicodeEncodeError:
        return msgspec.json.encode(_well_formed(msgspec.to_builtins(record)))


def _well_formed(value: Any) -> Any:
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, dict):
        return {_well_formed(key): _well_formed(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_well_formed(item) for item in value]
    return value


def columns(out: Out, rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> None:
    """Print rows as aligned columns on stdout; the columns in `right` are set flush right. Width is in screen cells."""
    for line in aligned(rows, right=right):
        out.line(line)


def aligned(rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> Iterator[str]:
    """Rows as lines of aligned columns; those in `right` are set flush right. Width is in screen cells."""
    from rich.cells import cell_len

    safe = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(cell_len(row[column]) for row in safe) for column in range(len(safe[0]))]
    for row in safe:
        parts = []
        for column, cell in enumerate(row):
            gap = " " * (widths[column] - cell_len(cell))
            parts.append(gap + cell if column in right else cell + gap)
        yield "  ".join(parts).rstrip()
