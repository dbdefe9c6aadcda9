"""What went wrong, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Button, Static

from tui.errors import LongscrollError
from tui.text import display_safe


class ProblemScreen(ModalScreen[str]):
    """Shows an error's sentence and its remedy. Ends with the id of the button: `again`, `quit` or `close`."""

    DEFAULT_CSS = """
    ProblemScreen { align: center middle; }
    ProblemScreen > Vertical {
        width: 76; max-width: 94%; height: auto; max-height: 90%;
        border: round $error; background: $surface; padding: 1 2;
    }
    ProblemScreen VerticalScroll { height: auto; max-height: 12; }
    ProblemScreen .what { text-style: bold; }
    ProblemScreen .remedy { margin-top: 1; }
    ProblemScreen Horizontal { height: auto; margin-top: 1; align-horizontal: right; }
    ProblemScreen Button { margin-left: 2; min-width: 12; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "answer('close')", "Close")]

    def __init__(
        self, title: str, error: LongscrollError, *, again: str = "", typed: Callable[[str], object] | None = None
    ) -> None:
        """`typed` takes what is typed and pasted meanwhile: who was writing does not lose a word."""
        super().__init__()
        self._title = title
        self._error = error
        self._again = again
        self._typed = typed

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = self._title
            with VerticalScroll(can_focus=False):
                yield Static(Content(display_safe(self._error.what)), classes="what")
                if self._error.remedy:
                    yield Static(Content(display_safe(self._error.remedy)), classes="remedy")
            with Horizontal():
                yield Button("Close", id="close", compact=True)
                yield Button("Quit", id="quit", compact=True)
                if self._again:
                    yield Button(self._again, id="again", variant="primary", compact=True)

    def on_mount(self) -> None:
        self.query_one("#again" if self._again else "#close", Button).focus()

    def on_key(self, event: events.Key) -> None:
        if self._typed is not None and event.is_printable and event.character:
            event.stop()
            self._typed(event.character)

    def on_paste(self, event: events.Paste) -> None:
        if self._typed is not None:
            event.stop()
            self._typed(event.text)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        self.dismiss(event.button.id or "close")

    def action_answer(self, answer: str) -> None:
        self.dismiss(answer)
