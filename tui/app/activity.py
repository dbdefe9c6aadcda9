"""What the program is doing, as plain data for the status line: a label, a share done, figures, a hint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from tui.text import one_line
from tui.units import duration, size, tokens

if TYPE_CHECKING:
    from tui.context.runtime import FetchProgress
    from tui.server.state import ServerState
    from tui.server.types import PromptProgress
    from tui.store.sessions import MessageRow

Tone = Literal["quiet", "busy", "bad"]


class Activity(msgspec.Struct, frozen=True, kw_only=True):
    """One state of the status line."""

    label: str
    fraction: float | None = None
    """0 to 1 draws a bar; None draws none."""
    detail: str = ""
    hint: str = ""
    """What the user can do about it, at the right."""
    tone: Tone = "quiet"


STARTING = Activity(label="Starting", tone="busy")
READY = Activity(label="Ready")


def of_server(state: ServerState | FetchProgress) -> Activity:
    """A step of the model's download or of the server's start."""
    done = getattr(state, "done", None)
    if done is not None:
        total: int = getattr(state, "total", 0)
        return Activity(
            label="Fetching the demo model",
            fraction=done / total if total else None,
            detail=f"{size(done)} of {size(total)}" if total else size(done),
            tone="busy",
        )
    phase: str = getattr(state, "phase", "")
    fraction: float | None = getattr(state, "fraction", None)
    if phase == "loading":
        percent = "" if fraction is None else f"≈{fraction * 100:.0f} %"
        return Activity(label="Loading the model", fraction=fraction, detail=percent, tone="busy")
    if phase == "starting":
        return Activity(label="Starting the server", tone="busy")
    if phase == "stopping":
        return Activity(label="Stopping the server", tone="busy")
    if phase == "failed":
        return Activity(label="The server is not running", tone="bad", hint="Ctrl+R starts it again")
    return READY


def of_prompt(progress: PromptProgress, *, label: str = "Reading the prompt", hint: str = "Esc stops") -> Activity:
    """Prefill: how much is done, how fast, how long it will take at this speed."""
    fresh = progress.processed - progress.cached
    todo = progress.total - progress.processed
    figures = [f"{tokens(progress.processed)} of {tokens(progress.total)} tokens"]
    if fresh > 0 and progress.time_ms > 0:
        speed = fresh / progress.time_ms * 1000
        if todo > 0:
            figures.append(f"≈{duration(todo / speed)} left")
        figures.append(f"{speed:,.0f} tokens/s")
    if progress.cached:
        figures.append(f"{tokens(progress.cached)} reused")
    fraction = progress.processed / progress.total if progress.total else 0.0
    return Activity(label=label, fraction=fraction, detail=" · ".join(figures), hint=hint, tone="busy")


def of_answer(pieces: int, seconds: float, first_after: float, *, thinking: bool = False) -> Activity:
    """Decoding: `pieces` parts of text so far, nearly one a token, in `seconds` since the first."""
    figures = [f"{tokens(pieces, exact=False)} tokens"]
    if seconds > 0.5:
        figures.append(f"≈{pieces / seconds:.1f} tokens/s")
    figures.append(f"first after {duration(first_after)}")
    label = "Thinking" if thinking else "Answering"
    return Activity(label=label, detail=" · ".join(figures), hint="Esc stops", tone="busy")


def of_row(row: MessageRow) -> str:
    """The figures of a stored answer, and how it ended when it did not end by itself."""
    figures: list[str] = []
    if row.state == "stopped":
        figures.append("stopped")
    elif row.state == "partial":
        figures.append("broken off: the program ended while this was written")
    elif row.state == "failed":
        figures.append("failed")
    elif row.finish_reason == "context":
        figures.append("cut off: the context is full")
    elif row.finish_reason == "length":
        figures.append("cut off: its length limit is reached")
    if row.completion_tokens:
        figures.append(f"{tokens(row.completion_tokens)} tokens")
        if row.predicted_ms:
            figures.append(f"{row.completion_tokens / row.predicted_ms * 1000:.1f} tokens/s")
    if row.ttft_ms:
        figures.append(f"first after {duration(row.ttft_ms / 1000)}")
    if row.prompt_tokens and row.cached_tokens:
        figures.append(f"{tokens(row.cached_tokens)} of {tokens(row.prompt_tokens)} prompt tokens reused")
    return one_line(" · ".join(figures))
