"""The top row: the conversation's title, and the model with its context."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from tui.text import one_line


class TitleBar(Widget):
    """One row; the model's name gives way to the title."""

    DEFAULT_CSS = "TitleBar { height: 1; padding: 0 2; background: $surface; }"

    title: reactive[str] = reactive("longscroll")
    model: reactive[str] = reactive("")

    def render(self) -> Content:
        width = self.size.width
        left, right = one_line(self.title), one_line(self.model)
        # The title says which conversation this is; the model gives way first, down to a third of the row.
        right = _shortened(right, max(width // 3, width - cell_len(left) - 2))
        left = _shortened(left, width - cell_len(right) - 2)
        gap = " " * max(0, width - cell_len(left) - cell_len(right))
        return Content.assemble((left, "bold"), (gap, ""), (right, "$foreground 60%"))


def _shortened(text: str, room: int) -> str:
    if cell_len(text) <= room:
        return text
    return set_cell_size(text, room - 1) + "…" if room > 3 else ""
