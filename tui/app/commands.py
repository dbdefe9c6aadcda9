"""What can be done by name: the lines that begin with a slash, and the same in the command palette."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from typing import NamedTuple


class Command(NamedTuple):
    """A command: `action` is the chat screen's, `argument` what stands after the name; empty for none."""

    name: str
    argument: str
    help: str
    action: str


COMMANDS = (
    Command(
        "attach", "PATH", "Put a document before the conversation: a PDF, text, Markdown, code or a folder", "attach"
    ),
    Command("detach", "[NAME]", "Take a document out of the conversation", "detach"),
    Command("sessions", "", "Open an earlier conversation", "sessions"),
    Command("new", "", "Begin a new conversation", "new_session"),
    Command("retry", "", "Answer the last message again, or start the server again", "again"),
    Command("help", "", "Keys and commands", "help"),
    Command("quit", "", "Keep the conversation's tokens, stop the server and leave", "app.quit"),
)

_SLASH = re.compile(r"/([a-z]+)(?:\s+(.*))?\s*", re.DOTALL)


class Parsed(NamedTuple):
    """A line that is meant as a command. `command` is None when there is none of that name."""

    name: str
    command: Command | None
    argument: str


def parse(text: str) -> Parsed | None:
    """The command that `text` is; None for a message, such as a path like /etc/hosts or anything of several lines."""
    match = _SLASH.fullmatch(text)
    if match is None or "\n" in text.strip():
        return None
    name, argument = match.group(1), (match.group(2) or "").strip()
    found = next((command for command in COMMANDS if command.name == name), None)
    return Parsed(name, found, argument)


def unquoted(path: str) -> str:
    """A path as a shell reads it when it is quoted or has escaped blanks, as dropped files have; else as it is."""
    if path[:1] in "'\"" or "\\ " in path:
        try:
            parts = shlex.split(path)
        except ValueError:
            return path
        return parts[0] if len(parts) == 1 else path
    return path


def names() -> Iterable[str]:
    return (f"/{command.name}" for command in COMMANDS)
