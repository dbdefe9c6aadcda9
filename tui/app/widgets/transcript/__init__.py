"""The transcript: streaming Markdown at a cost that does not grow with what stands above it."""

from __future__ import annotations

from tui.app.widgets.transcript.model import Entry
from tui.app.widgets.transcript.widget import TranscriptView

__all__ = ["Entry", "TranscriptView", "warm_up"]


def warm_up() -> None:
    """Import what the first message and the first code block need; to be called in a thread, after the first paint."""
    from tui.app.widgets.transcript.code import Highlighter
    from tui.app.widgets.transcript.inline import parser

    parser()
    for language in ("python", "bash", "json"):
        Highlighter(language)
