"""An answer under way on the screen: its text, the status line's figures, the meter that grows with it."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING

from textual.timer import Timer

from tui.app import activity
from tui.app.activity import Activity
from tui.app.widgets.meter import GROWING, NOTHING, ContextMeter
from tui.app.widgets.transcript import Entry, TranscriptView

if TYPE_CHECKING:
    from tui.context.plan import ContextPlan
    from tui.server.types import PromptProgress


class Answering:
    """What is shown while a turn goes on. `show` puts an activity into the status line."""

    clock: Timer
    """Calls `tick` while text comes; paused in between."""

    def __init__(self, transcript: TranscriptView, meter: ContextMeter, show: Callable[[Activity], None]) -> None:
        self._transcript = transcript
        self._meter = meter
        self._show = show
        self._entry: Entry | None = None
        self._plan: ContextPlan | None = None
        """Of what is answered; what was the draft is history now."""
        self._asked_at = 0.0
        self._first_at = 0.0
        self._thinking = False
        self.pieces = 0
        """Parts of text so far, nearly one a token."""

    @property
    def active(self) -> bool:
        return self._entry is not None

    def start(self, plan: ContextPlan | None) -> None:
        """`plan`: of exactly this prompt, None when it was not counted."""
        from msgspec.structs import replace

        self._entry = self._transcript.add_message("assistant", live=True)
        self._asked_at = monotonic()
        self.pieces = 0
        self._plan = None if plan is None else replace(plan, history=plan.history + plan.draft, draft=0)
        self._meter.show(self._plan, NOTHING)
        self._show(Activity(label="Reading the prompt", hint="Esc stops", tone="busy"))

    def progress(self, progress: PromptProgress) -> None:
        if not self.pieces:
            self._show(activity.of_prompt(progress))

    def add(self, text: str, *, reasoning: bool) -> None:
        if self._entry is None:
            return
        if not self.pieces:
            self._first_at = monotonic()
            self.clock.resume()
        self.pieces += 1
        self._thinking = reasoning
        self._transcript.append(self._entry, text, reasoning=reasoning)

    def tick(self) -> None:
        """Paint the figures anew."""
        if not self.pieces or self._entry is None:
            return
        first_after = self._first_at - self._asked_at
        since = monotonic() - self._first_at
        self._show(activity.of_answer(self.pieces, since, first_after, thinking=self._thinking))
        if self._plan is not None:
            from msgspec.structs import replace

            self._meter.show(replace(self._plan, history=self._plan.history + self.pieces), GROWING)

    def end(self, status: str) -> None:
        """The answer is over; one of which nothing came leaves nothing behind."""
        self.clock.pause()
        entry, self._entry = self._entry, None
        if entry is None:
            return
        self._transcript.finish(entry, status=status or None)
        if not entry.text and not entry.reasoning and not entry.status:
            self._transcript.remove_message(entry)

    def take_back(self) -> None:
        """The turn was withdrawn: what was shown of its answer goes."""
        self.clock.pause()
        entry, self._entry = self._entry, None
        if entry is not None:
            self._transcript.remove_message(entry)


def since_question(transcript: TranscriptView) -> list[Entry]:
    """The last message of the user and what stands below it."""
    entries = transcript.page.entries
    last = max((at for at, entry in enumerate(entries) if entry.kind == "user"), default=len(entries))
    return list(entries[last:])
