"""The status line: what is being done, a bar for what has an end, figures, and what can be done about it."""

from __future__ import annotations

from rich.cells import cell_len
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from tui.app.activity import READY, Activity
from tui.text import one_line

_BAR = 20
_TONES = {"quiet": "$foreground 60%", "busy": "$text-primary", "bad": "$text-error"}
_EIGHTHS = " ▏▎▍▌▋▊▉"


class StatusLine(Widget):
    """One row. Draws an `Activity`; painted only when it changes."""

    DEFAULT_CSS = "StatusLine { height: 1; padding: 0 2; }"

    activity: reactive[Activity] = reactive(READY)

    def render(self) -> Content:
        return status_content(self.activity, self.size.width)


def status_content(activity: Activity, width: int) -> Content:
    """The status line at `width` cells: the hint, then the figures give way when there is no room."""
    parts: list[tuple[str, str]] = [(one_line(activity.label), _TONES[activity.tone])]
    if activity.fraction is not None:
        cells = _BAR if width >= 80 else 10 if width >= 50 else 6
        parts += [("  ", ""), *_bar(activity.fraction, cells)]
    used = sum(cell_len(text) for text, _style in parts)
    hint = one_line(activity.hint)
    room = width - used - 2
    detail = _fitting(one_line(activity.detail), room)
    if hint and cell_len(hint) + 2 + cell_len(detail) > room:
        detail = _fitting(one_line(activity.detail), room - cell_len(hint) - 2)
    if detail:
        parts += [("  ", ""), (detail, "$foreground 60%")]
        used += 2 + cell_len(detail)
    if hint and width - used - cell_len(hint) >= 2:
        parts += [(" " * (width - used - cell_len(hint)), ""), (hint, "$foreground 60%")]
    return Content.assemble(*parts)


def _fitting(detail: str, room: int) -> str:
    """As many of the figures, which stand between dots, as there is room for."""
    figures = detail.split(" · ")
    while figures and cell_len(" · ".join(figures)) > room:
        figures.pop()
    return " · ".join(figures)


def _bar(fraction: float, cells: int) -> list[tuple[str, str]]:
    eighths = round(max(0.0, min(1.0, fraction)) * cells * 8)
    full, part = divmod(eighths, 8)
    done = "█" * full + (_EIGHTHS[part] if part else "")
    return [(done, "$primary on $foreground 15%"), (" " * (cells - len(done)), "on $foreground 15%")]
