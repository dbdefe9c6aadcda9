"""The transcript: streaming Markdown at a cost that does not grow with what stands above it."""

from __future__ import annotations

from tui.app.widgets.transcript.model import Entry
from tui.app.widgets.transcript.widget import TranscriptView

__all__ = ["Entry", "TranscriptView"]
