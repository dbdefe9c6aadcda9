"""How fast it goes and how long it still takes, from what was done so far."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tui.units import duration, plural

if TYPE_CHECKING:
    from tui.cli.output import Progress
    from tui.reading.events import ReadingEvent
    from tui.server.types import PromptProgress

Clock = Callable[[], float]


def figures(rate: float, left_s: float | None = None) -> str:
    """`210 tokens/s, ≈40 s left`; what is not known is left out."""
    parts = []
    if rate >= 0.05:
        parts.append(f"{rate:,.0f} tokens/s" if rate >= 10 else f"{rate:.1f} tokens/s")
    if left_s is not None and left_s >= 1:
        parts.append(f"≈{duration(left_s)} left")
    return ", ".join(parts)


def prompt_figures(event: PromptProgress) -> str:
    """Of a prompt that is being processed; what was reused took no time."""
    fresh = event.processed - event.cached
    if fresh <= 0 or event.time_ms <= 0:
        return ""
    rate = fresh / event.time_ms * 1000
    return figures(rate, (event.total - event.processed) / rate)


class Written:
    """Speed of a text that is being written, piece by piece; a piece is about a token."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._began = 0.0
        self._pieces = 0

    @property
    def begun(self) -> bool:
        """More than one piece is there."""
        return self._pieces > 1

    def piece(self) -> str:
        """Count one more piece; the speed so far."""
        now = self._clock()
        if self._pieces == 0:
            self._began = now
        self._pieces += 1
        spent = now - self._began
        return figures((self._pieces - 1) / spent) if spent > 0 else ""


class BatchPace:
    """How far a batch is, in bytes of text. Where a document's are not known, nothing is said of the whole."""

    def __init__(self, sizes: Sequence[int | None], clock: Clock = time.monotonic) -> None:
        """`sizes`: of each document, None where only reading it can tell."""
        self._weights = [None if size is None else max(1.0, float(size)) for size in sizes]
        self._clock = clock
        self._began = clock()
        self._ahead = sum(weight for weight in self._weights if weight is not None)
        self._unknown = self._weights.count(None)
        self._worked = 0.0
        self._index = -1
        self.tokens = 0
        """Of the documents that were read so far."""

    def found(self, index: int, size: int) -> None:
        """A document was read: so many bytes of text."""
        before = self._weights[index]
        weight = self._weights[index] = max(1.0, float(size))
        self._ahead += weight - (before or 0.0)
        self._unknown -= before is None

    def begin(self, index: int) -> str:
        """The next document; a line that says how far the batch is."""
        self._index = index
        parts = [f"File {index + 1:,} of {len(self._weights):,}"]
        if self.tokens and not self._unknown:
            rest = self._ahead * self.tokens / self._worked
            parts.append(f"{self.tokens:,} of ≈{self.tokens + rest:,.0f} tokens read")
        elif self.tokens:
            parts.append(f"{self.tokens:,} tokens read")
        left = self.left(0.0)
        if left is not None and left >= 1:
            parts.append(f"≈{duration(left)} left")
        return ", ".join(parts)

    def end(self, tokens: int) -> None:
        """The document is done, with so many tokens; 0 when it could not be read."""
        weight = self._weights[self._index]
        self._ahead -= weight or 0.0
        self._unknown -= weight is None
        if tokens and weight is not None:
            self.tokens += tokens
            self._worked += weight

    def left(self, share: float) -> float | None:
        """Seconds until the whole batch is done, when so much of the document at hand is; None while unknown."""
        if self._index == len(self._weights) - 1 and share > 0:
            return None  # the document's own time left says it
        if self._unknown:
            return None
        current = (self._weights[self._index] or 0.0) * share
        worked = self._worked + current
        if worked <= 0 or (not self._worked and share < 0.1):
            return None
        return (self._clock() - self._began) / worked * (self._ahead - current)


class ReadingShown:
    """The events of a summary as steps of progress, with speed and time left while its parts are read.

    In a `batch` the time left for all of it is said too.
    """

    def __init__(self, progress: Progress, clock: Clock = time.monotonic, batch: BatchPace | None = None) -> None:
        self._progress = progress
        self._batch = batch
        self._clock = clock
        self._written = Written(clock)
        self._label = ""
        self._shown = 0.0
        self._noting = False
        self._parts = 0
        self._reused = 0
        self._fresh = 0
        self._began: float | None = None
        self._read_from = 0
        self._processed: dict[int, int] = {}
        self._under_way: dict[int, float] = {}

    def show(self, event: ReadingEvent) -> None:
        """Show one event."""
        from tui.reading import events as e

        show = self._progress.update
        match event:
            case e.PlanMade():
                reused = f", {event.reused} of them finished earlier" if event.reused else ""
                parts = "" if event.strategy == "single" else f" in {plural(event.chunks, 'part')}{reused}"
                self._parts, self._reused, self._shown = event.chunks, event.reused, 0.0
                self._noting, self._began = event.strategy != "single", None
                does = "Reading and noting" if self._noting else "Reading"
                self._step(f"{does} {event.tokens:,} tokens{parts}")
            case e.ChunkStarted():
                if self._began is None:
                    self._began = self._clock()
                self._step()
            case e.ChunkProgress() if not self._noting:
                self._in_one_pass(event.processed, event.total)
            case e.ChunkProgress():
                self._processed[event.index] = event.processed
                # Reading a part and writing its notes take about as long; where the notes end is not known.
                self._under_way[event.index] = 0.5 * event.processed / event.total if event.total else 0.0
                self._step()
            case e.ChunkDone(reused=True):
                self._step()  # named already, all of them, by the plan
            case e.ChunkDone():
                self._fresh += 1
                self._under_way.pop(event.index, None)
                more = event.done < event.total
                self._step(
                    f"Reading and noting, {event.done} of {event.total} parts done" if more else "Read all parts"
                )
            case e.GroupDone():
                show(f"Merging notes, level {event.level}: {event.done} of {event.total}")
            case e.LevelDone():
                show(f"Merged {event.notes_before} notes into {event.notes_after}")
            case e.SummaryDelta():
                said = self._written.piece()
                # The first piece may be put in the model's mouth, before it has read anything.
                if self._noting or self._written.begun:
                    show("Writing the summary", figures=said)
            case e.SummaryRestarted():
                self._written = Written(self._clock)
                show(f"Asking for the summary again: {event.reason}")
            case _:
                pass

    def _in_one_pass(self, processed: int, total: int) -> None:
        now = self._clock()
        if self._began is None or processed < self._read_from:
            self._began, self._read_from = now, processed
        rate = (processed - self._read_from) / (now - self._began) if now > self._began else 0.0
        left = (total - processed) / rate if rate > 0 else None
        if processed < total:
            self._progress.update(self._label, processed, total, figures(rate, left))
        else:
            self._written = Written(self._clock)  # what was put in its mouth before took no time of writing
            self._progress.update("Writing the summary")

    def _step(self, label: str = "") -> None:
        self._label = label or self._label
        read = self._fresh + sum(self._under_way.values())
        spent = 0.0 if self._began is None else self._clock() - self._began
        said = ""
        if spent > 0:
            left = spent / read * (self._parts - self._reused - read) if self._fresh else None
            said = figures(sum(self._processed.values()) / spent, left)
            whole = self._batch.left((self._reused + read) / self._parts) if self._batch and self._parts else None
            if said and whole is not None and whole >= 1:
                said += f", ≈{duration(whole)} for all files"
        # An answer asked for again, or a part that is split, would take the bar back.
        self._shown = max(self._shown, self._reused + read)
        # In one pass there are no parts to count: the line moves without a share.
        total = self._parts if self._noting and self._parts else None
        self._progress.update(self._label, self._shown, total, said)
