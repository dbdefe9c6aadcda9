"""From what is stored to what is sent: the opening with its documents, the earlier turns, a title."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tui.documents.model import Document
from tui.server.types import Message
from tui.store.sessions import MessageRow
from tui.text import one_line

TITLE_LENGTH = 60


class History(msgspec.Struct, frozen=True):
    """Earlier turns as messages. Roles alternate and the last one is an answer, as chat templates demand."""

    messages: tuple[Message, ...]
    unanswered: str = ""
    """Texts of the user that got no answer; they lead the next message, so that they are not lost."""

    def with_draft(self, draft: str) -> str:
        """The user's next message as it is sent."""
        return join(self.unanswered, draft)


def join(*texts: str) -> str:
    """Several messages of one author as one."""
    return "\n\n".join(text for text in texts if text)


def opening(system: str, documents: Sequence[Document]) -> tuple[Message, ...]:
    """The messages before the conversation: the system prompt and the documents' whole texts.

    Documents stand in the system message: roles stay alternating with every template, and the bytes before the
    conversation are the same in every turn, so that they are processed once.
    """
    parts = [system, *(_framed(document) for document in documents)]
    content = join(*parts)
    return (Message("system", content),) if content else ()


def _framed(document: Document) -> str:
    name = one_line(document.name).replace('"', "'")
    end = "" if document.text.endswith("\n") else "\n"
    return f'<document name="{name}">\n{document.text}{end}</document>'


def history_of(rows: Sequence[MessageRow]) -> History:
    """The stored messages of the active path, oldest first, as they go into the next prompt.

    An answer that broke off counts as far as it came; one that never began leaves its question unanswered.
    """
    messages: list[Message] = []
    asked = ""
    for row in rows:
        if row.role == "user":
            asked = join(asked, row.content)
        elif row.role == "assistant" and (row.content or row.state == "complete"):
            if asked or not messages:
                messages.append(Message("user", asked))
                messages.append(Message("assistant", row.content))
            else:
                messages[-1] = Message("assistant", join(messages[-1].content, row.content))
            asked = ""
    return History(tuple(messages), asked)


def title_of(text: str) -> str:
    """A title from the first line that holds words of a session's first message, at most TITLE_LENGTH characters."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    line = one_line(" ".join(line.split()))
    if len(line) <= TITLE_LENGTH:
        return line
    cut = line[: TITLE_LENGTH - 1]
    space = cut.rfind(" ")
    # A language without spaces, or one very long word, is cut where the room ends.
    return (cut[:space] if space >= TITLE_LENGTH // 2 else cut).rstrip(" ,;:.-") + "…"
