"""Keys and commands on one page."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from tui.app.commands import COMMANDS
from tui.app.widgets.transcript import TranscriptView

_KEYS = """\
## Keys

| Key | What it does |
|:----|:-------------|
| Enter | send the message |
| Ctrl+J | begin a new line; Shift+Enter and Alt+Enter too where the terminal tells them apart |
| Esc | stop the answer; before its first word the message comes back; take back a message that waits |
| Up, Down | recall earlier messages, at the composer's first and last line |
| Tab | go between the composer and the conversation |
| PgUp, PgDn, wheel | scroll the conversation, from anywhere |
| Ctrl+Home, Ctrl+End | its top, its end |
| [ and ] | previous and next message, with the conversation in focus |
| drag, two clicks, three clicks | select text, a word, a message; Ctrl+C copies |
| Ctrl+O | open a conversation, or delete one |
| Ctrl+N | begin a new one |
| Ctrl+R | answer the last message again; start the server again after it failed |
| Ctrl+P | everything by name, themes too |
| F1 | this page |
| Ctrl+Q | keep the conversation's tokens and leave; once more leaves at once |

## Commands

{commands}

## The meter

{meter}
"""

# One line: in the transcript a line end of the source is a line end on the screen.
_METER = """\
The bar and the figures under it are the next request, counted by the model's own tokenizer: the system prompt, the \
documents, the conversation so far, the draft as it stands in the composer, the room kept for the answer, and what is \
left. A figure with `≈` is an estimate or is being counted again; every other figure is exact. A message that does not \
fit is not sent, and nothing of it is cut.\
"""


class HelpScreen(ModalScreen[None]):
    """Escape closes it."""

    DEFAULT_CSS = """
    HelpScreen { align: center middle; }
    HelpScreen > Vertical {
        width: 92; max-width: 94%; height: 90%; border: round $primary; background: $background; padding: 1 1 0 1;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,f1,q", "close", "Close")]

    def compose(self) -> ComposeResult:
        with Vertical() as box:
            box.border_title = "Help"
            box.border_subtitle = "Esc closes"
            yield TranscriptView()

    def on_mount(self) -> None:
        rows = "\n".join(
            f"| `/{command.name} {command.argument}".rstrip() + f"` | {command.help} |" for command in COMMANDS
        )
        view = self.query_one(TranscriptView)
        view.add_message("assistant", _KEYS.format(commands="| Command | |\n|:--|:--|\n" + rows, meter=_METER))
        view.focus()
        self.call_after_refresh(view.action_scroll_home)

    def action_close(self) -> None:
        self.dismiss(None)
