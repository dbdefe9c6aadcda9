"""Helpers to drive the screen: wait for what must happen, not for a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from textual.pilot import Pilot

from tui.app.widgets.transcript import TranscriptView


async def until(pilot: Pilot[Any], condition: Callable[[], object], tries: int = 1500) -> None:
    """Let the app go on until `condition` holds."""
    for _ in range(tries):
        await pilot.pause(0.02)
        if condition():
            return
    raise AssertionError("what was waited for did not happen")


def shown(view: TranscriptView) -> str:
    """What the transcript's part of the screen shows, row by row, without trailing blanks."""
    rows = view.render_lines(view.size.region)
    return "\n".join("".join(segment.text for segment in row).rstrip() for row in rows)
