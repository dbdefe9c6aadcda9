"""The top row: the conversation's title, and the model with its context."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from tui.text import one_line


class TitleBar(Widget):
    """One row; a long title gives way to the model's name."""

    DEFAULT_CSS = "TitleBar { height: 1; padding: 0 2; background: $surface; }"

    title: reactive[str] = reactive("longscroll")
    model: reactive[str] = reactive("")

    def render(self) -> Content:
        width = self.size.width
        right = one_line(self.model)
        if cell_len(right) > width * 2 // 3:
            right = set_cell_size(right, max(0, width * 2 // 3 - 1)) + "…"
        room = max(0, width - cell_len(right) - 2)
        left = one_line(self.title)
        if cell_len(left) > room:
            left = set_cell_size(left, max(0, room - 1)) + "…" if room > 3 else ""
        gap = " " * max(0, width - cell_len(left) - cell_len(right))
        return Content.assemble((left, "bold"), (gap, ""), (right, "$foreground 60%"))
