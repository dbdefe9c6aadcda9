"""The list of conversations."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from tui.app.screens.problem import ProblemScreen
from tui.errors import LongscrollError
from tui.text import one_line

if TYPE_CHECKING:
    from tui.store.sessions import SessionRow

NEW = ""
HINT = "Enter opens · n begins a new one · d deletes · Esc goes back"


class SessionsScreen(ModalScreen[str | None]):
    """Ends with the id of the chosen conversation, NEW for a new one, None when the user went back."""

    DEFAULT_CSS = """
    SessionsScreen { align: center middle; }
    SessionsScreen > Vertical {
        width: 88; max-width: 94%; height: auto; max-height: 90%;
        border: round $primary; background: $surface; padding: 0 1;
    }
    SessionsScreen OptionList { height: auto; max-height: 100%; border: none; background: $surface; padding: 0; }
    SessionsScreen OptionList:focus { border: none; }
    SessionsScreen .hint { color: $text-muted; padding: 0 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "Back"),
        Binding("n", "new", "New"),
        Binding("d", "delete", "Delete"),
    ]
    HELP = "Enter opens a conversation, `n` begins a new one, `d` twice deletes one, Escape goes back."

    def __init__(
        self,
        load: Callable[[], Awaitable[Sequence[SessionRow]]],
        current: str,
        *,
        delete: Callable[[str], Awaitable[None]],
    ) -> None:
        """`delete` deletes the conversation of an id, which is never `current`."""
        super().__init__()
        self._load = load
        self._current = current
        self._delete = delete
        self._doomed = ""
        """Id of the conversation that the next `d` deletes."""

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "Conversations"
            yield OptionList()
            yield Static(HINT, classes="hint")

    async def on_mount(self) -> None:
        self.query_one(OptionList).loading = True
        filling: Callable[[], Awaitable[None]] = self._fill
        self.run_worker(filling)

    async def _fill(self) -> None:
        try:
            rows = await self._load()
        except LongscrollError as error:
            self.dismiss(None)
            self.app.push_screen(ProblemScreen("The conversations cannot be listed", error))
            return
        options = self.query_one(OptionList)
        options.loading = False
        # Box, padding and the list's own margins; the list has no size of its own yet.
        width = max(20, min(88, self.app.size.width * 94 // 100) - 8)
        options.add_option(Option(Content.styled("+ New conversation", "$text-primary"), id="+"))
        options.add_options(Option(_line(row, width, row.id == self._current), id=row.id) for row in rows)
        options.highlighted = 1 if rows else 0
        options.focus()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        chosen = event.option_id or "+"
        self.dismiss(NEW if chosen == "+" else chosen)

    def on_option_list_option_highlighted(self) -> None:
        self._doomed = ""
        self._hint(HINT)

    def _hint(self, text: str, style: str = "") -> None:
        self.query_one(".hint", Static).update(Content.styled(text, style))

    async def action_delete(self) -> None:
        """The first time asks, the second time deletes."""
        options = self.query_one(OptionList)
        if options.highlighted is None:
            return
        chosen = options.get_option_at_index(options.highlighted).id or "+"
        if chosen == "+":
            return
        if chosen == self._current:
            self._hint("The open conversation cannot be deleted; open another one first.", "$text-warning")
        elif chosen != self._doomed:
            self._doomed = chosen
            self._hint(f"d again deletes {chosen} for good, with its kept tokens.", "$text-error")
        else:
            self._doomed = ""
            try:
                await self._delete(chosen)
            except LongscrollError as error:
                self._hint(one_line(str(error)), "$text-error")
                return
            options.remove_option(chosen)
            self._hint(f"{chosen} is deleted.")

    def action_back(self) -> None:
        self.dismiss(None)

    def action_new(self) -> None:
        self.dismiss(NEW)


def _line(row: SessionRow, width: int, current: bool) -> Content:
    from rich.cells import cell_len, set_cell_size

    when = time.strftime("%d %b %H:%M", time.localtime(row.updated))
    model = one_line(row.model, 22) if width >= 60 else ""
    # The id is what `--session` takes.
    right = f"  {row.id}  {model}  {when}" if model else f"  {row.id}  {when}"
    title = one_line(row.title or "(nothing said yet)")
    room = width - cell_len(right) - 2
    if cell_len(title) > room:
        title = set_cell_size(title, max(1, room - 1)) + "…"
    mark = "● " if current else "  "
    gap = " " * max(0, room - cell_len(title))
    return Content.assemble((mark, "$text-primary"), (title, ""), (gap, ""), (right, "$foreground 60%"))
