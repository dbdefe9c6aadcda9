"""Parts of a document that are each asked for something, as steps of progress: what is being done is what is said."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tui.cli.pace import Clock, Written, figures
from tui.units import plural

if TYPE_CHECKING:
    from tui.cli.output import Progress
    from tui.reading.events import ExtractEvent

_STANDS_S = 2.0
"""A step that was just named stays so long, so that short parts do not make two lines each."""


class PartsShown:
    """Reading is told from writing what was asked for; every part is half done when its text is processed."""

    def __init__(self, progress: Progress, writing: str, clock: Clock = time.monotonic) -> None:
        """`writing` is what the model does after reading, such as `Writing records`."""
        self._progress = progress
        self._writing = writing
        self._clock = clock
        self._label = ""
        self._named = 0.0
        self._parts = self._reused = self._fresh = self._written = 0
        self._began: float | None = None
        self._pace = Written(clock)
        self._speed = ""
        self._processed: dict[int, int] = {}
        self._under_way: dict[int, float] = {}
        self._generated: dict[int, int] = {}
        self._most = 0.0

    def show(self, event: ExtractEvent) -> None:
        """Show one event."""
        from tui.reading import events as e

        match event:
            case e.PlanMade():
                reused = f", {event.reused} of them finished earlier" if event.reused else ""
                self._parts, self._reused = event.chunks, event.reused
                self._named = -_STANDS_S
                self._step(f"Reading {event.tokens:,} tokens in {plural(event.chunks, 'part')}{reused}")
            case e.ChunkStarted():
                if self._began is None:
                    self._began = self._clock()
                self._step()
            case e.ChunkProgress():
                self._work(event.index, event.processed, event.total, event.generated)
            case e.ChunkAgain():
                self._generated.pop(event.index, None)
                self._name(f"Asking again: {event.reason}")
            case e.ChunkDone(reused=True):
                self._step()  # named already, all of them, by the plan
            case e.ChunkDone():
                self._fresh += 1
                self._under_way.pop(event.index, None)
                self._generated.pop(event.index, None)
                self._name(f"Read part {event.done} of {event.total}")
            case _:
                pass

    def _work(self, index: int, processed: int, total: int, generated: int) -> None:
        self._processed[index] = processed
        self._under_way[index] = 0.5 * processed / total if total else 0.0
        if generated > self._generated.get(index, 0):
            self._written += 1
            self._speed = self._pace.piece()
        elif not any(self._generated.values()):
            self._pace = Written(self._clock)  # the time that reading takes is none of writing's
        self._generated[index] = generated
        writes = any(self._generated.values())
        if writes and self._label != self._writing and self._clock() - self._named >= _STANDS_S:
            self._name(self._writing)
        else:
            self._step()

    def _name(self, label: str) -> None:
        self._named = self._clock()
        self._step(label)

    def _step(self, label: str = "") -> None:
        self._label = label or self._label
        read = self._fresh + sum(self._under_way.values())
        spent = 0.0 if self._began is None else self._clock() - self._began
        left = spent / read * (self._parts - self._reused - read) if self._fresh and read else None
        if self._label == self._writing:
            said = ", ".join(
                part for part in (f"{self._written:,} tokens written", self._speed, figures(0, left)) if part
            )
        else:
            reads = spent > 0 and not self._written  # later it would be the speed of both
            said = figures(sum(self._processed.values()) / spent if reads else 0, left)
        self._most = max(self._most, self._reused + read)  # a part asked for again does not take the bar back
        self._progress.update(self._label, self._most, self._parts or None, said)
