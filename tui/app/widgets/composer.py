"""The composer: where the next message is written."""

from __future__ import annotations

import re
from typing import ClassVar, Final

from rich.text import Text
from textual import events
from textual.actions import SkipAction
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import TextArea

from tui.text import display_safe
from tui.units import plural

LONG_LINES: Final = 30
LONG_CHARACTERS: Final = 3_000
"""A paste with more lines or characters than these stands in the composer as one mark, and is sent whole."""

_NEWLINE_KEYS = frozenset(
    {"ctrl+j"} | {f"{held}+{key}" for held in ("shift", "alt", "ctrl") for key in ("enter", "\r")}
)
"""Some terminals report Shift+Enter as a modified carriage return; some do not tell it from Enter at all."""
_MARK = re.compile(r"⟦paste \d+: [^⟧]*⟧")


class Composer(TextArea):
    """Enter sends; Ctrl+J or, where the terminal tells it apart, Shift+Enter or Alt+Enter begins a new line."""

    DEFAULT_CSS = """
    Composer {
        height: auto;
        min-height: 3;
        max-height: 10;
        border: round $foreground 20%;
        background: $background;
        padding: 0 1;
        scrollbar-size-vertical: 1;
    }
    Composer:focus { border: round $primary; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "Send", show=True, key_display="Enter"),
        Binding("shift+enter,ctrl+j,alt+enter,ctrl+enter", "newline", "New line", show=False, key_display="Ctrl+J"),
    ]
    HELP = (
        "Enter sends, Ctrl+J begins a new line (Shift+Enter and Alt+Enter too where the terminal tells them apart). "
        "Up and Down at the first and last line recall earlier messages. "
        "A long paste stands as a mark and is sent whole."
    )

    class Submitted(Message):
        """The user wants this sent. The composer keeps it until `sent` is called."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  # Textual's name
        super().__init__(
            id=id,
            soft_wrap=True,
            tab_behavior="focus",
            highlight_cursor_line=False,
            placeholder="Write a message. Enter sends, Ctrl+J begins a new line.",
        )
        self._pastes: dict[str, str] = {}
        self._numbered = 0
        self._remembered: list[str] = []
        self._at = 0
        """Place in the remembered messages; one past them is the draft."""
        self._draft = ""

    @property
    def message(self) -> str:
        """The draft as it would be sent: marks replaced by what was pasted."""
        return _MARK.sub(lambda match: self._pastes.get(match.group(), match.group()), self.text)

    def sent(self, message: str) -> None:
        """`message` was sent: remember it and take it out; what was typed since stays."""
        self.remember(message)
        if self.message == message:
            self.clear()
            self._pastes.clear()
        elif self.message.startswith(message):
            self.load(self.message[len(message) :].lstrip("\n"))

    def load(self, draft: str) -> None:
        """Put a draft into the composer, the cursor at its end."""
        self.text = self._shortened(draft) if _is_long(draft) else draft
        self.move_cursor(self.document.end)

    def give_back(self, message: str) -> None:
        """Make a message the draft again, before what was typed since."""
        typed = self.message
        if typed != message:
            self.load(f"{message}\n\n{typed}" if typed.strip() else message)

    def remember(self, *messages: str) -> None:
        """Messages that Up recalls, oldest first."""
        self._remembered.extend(message for message in messages if message.strip())
        self._at = len(self._remembered)

    def forget(self) -> None:
        """Another conversation: nothing to recall."""
        self._remembered.clear()
        self._at = 0

    def get_line(self, line_index: int) -> Text:
        """Each character that could steer the terminal is shown as one mark, so that the cursor stays in place."""
        line = self.document.get_line(line_index)
        if line.isprintable():
            return Text(line, end="", no_wrap=True)
        shown = "".join(_one_mark(character) for character in line)
        return Text(shown, end="", no_wrap=True)

    async def _on_key(self, event: events.Key) -> None:
        if event.key == "enter" or event.key in _NEWLINE_KEYS:
            # TextArea would take Enter for a new line before the bindings see it.
            event.stop()
            event.prevent_default()
            if event.key == "enter":
                self.action_submit()
            else:
                self.action_newline()
            return
        await super()._on_key(event)

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        text = event.text.replace("\r\n", "\n").replace("\r", "\n")
        self.insert_pasted(text)

    def action_paste(self) -> None:
        """The terminal toolkit's own clipboard, for terminals without one."""
        self.insert_pasted(self.app.clipboard)

    def insert_pasted(self, text: str) -> None:
        """Insert at the cursor; a long text as a mark that is sent whole."""
        start, end = self.selection
        self.replace(self._shortened(text) if _is_long(text) else text, start, end, maintain_selection_offset=False)
        self.scroll_cursor_visible()

    def action_submit(self) -> None:
        message = self.message
        if message.strip():
            self.post_message(self.Submitted(message))

    def action_newline(self) -> None:
        start, end = self.selection
        self.replace("\n", start, end, maintain_selection_offset=False)

    def action_cursor_up(self, select: bool = False) -> None:
        if not select and self.cursor_at_first_line and self._at > 0:
            if self._at == len(self._remembered):
                self._draft = self.text
            self._recall(self._at - 1)
        else:
            super().action_cursor_up(select)

    def action_cursor_down(self, select: bool = False) -> None:
        if not select and self.cursor_at_last_line and self._at < len(self._remembered):
            self._recall(self._at + 1)
        else:
            super().action_cursor_down(select)

    def action_cursor_page_up(self) -> None:
        """Pages scroll the conversation, from here too."""
        raise SkipAction

    def action_cursor_page_down(self) -> None:
        raise SkipAction

    def _recall(self, at: int) -> None:
        self._at = at
        if at == len(self._remembered):
            self.text = self._draft
            self.move_cursor(self.document.end)
        else:
            self.load(self._remembered[at])

    def _shortened(self, text: str) -> str:
        self._numbered += 1
        lines = text.count("\n") + 1
        mark = f"⟦paste {self._numbered}: {plural(lines, 'line')}, {plural(len(text), 'character')}⟧"
        self._pastes[mark] = text
        return mark


def _is_long(text: str) -> bool:
    return len(text) > LONG_CHARACTERS or text.count("\n") >= LONG_LINES


def _one_mark(character: str) -> str:
    shown = display_safe(character)
    return shown if len(shown) == 1 else "\ufffd"
