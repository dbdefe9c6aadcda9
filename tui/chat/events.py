"""What a conversation tells its listeners, besides the events of the answer's own stream (`tui.server.types`)."""

from __future__ import annotations

import msgspec

from tui.context.plan import ContextPlan
from tui.server.types import StreamEvent
from tui.store.sessions import MessageRow


class Overflow(msgspec.Struct, frozen=True, kw_only=True):
    """The prompt and the reply's reserve are larger than the context: nothing was sent, nothing was stored."""

    needed: int
    """Tokens: prompt plus reserve."""
    available: int
    """Tokens of the slot's context."""
    plan: ContextPlan
    draft: str
    """The message as it was written, to go back into the composer."""


class UserStored(msgspec.Struct, frozen=True):
    """The user's message is in the database."""

    message: MessageRow


class AnswerStarted(msgspec.Struct, frozen=True):
    """The answer's row is in the database, empty and marked `partial`, and the request is on its way."""

    message: MessageRow


class TurnFinished(msgspec.Struct, frozen=True, kw_only=True):
    """The answer ended as it should, or was stopped by the user (`message.state` is `complete` or `stopped`)."""

    message: MessageRow
    notice: str = ""
    """Why fewer tokens were reused than had been restored, in a sentence; empty when all were."""


class TurnWithdrawn(msgspec.Struct, frozen=True, kw_only=True):
    """The user stopped before anything of an answer had come: the conversation is what it was before.

    The message stays in the tree, off the active path.
    """

    draft: str
    """The message as it was written, to go back into the composer; empty when an earlier answer to it stands again."""
    messages: tuple[MessageRow, ...]
    """The active path now."""


class TurnFailed(msgspec.Struct, frozen=True, kw_only=True):
    """The answer broke off. What had come so far is kept in `message` (None when not even its row could be stored)."""

    message: MessageRow | None
    what: str
    remedy: str = ""


ChatEvent = Overflow | UserStored | AnswerStarted | StreamEvent | TurnFinished | TurnWithdrawn | TurnFailed


class Resumed(msgspec.Struct, frozen=True, kw_only=True):
    """What reopening a session brought back into the server's slot."""

    tokens: int = 0
    seconds: float = 0.0
    reason: str = ""
    """Why nothing, or not the longest, was restored and what it costs, in sentences; empty when nothing was kept."""
    instead_of_s: float = 0.0
    """About how many seconds processing these tokens would have taken; 0 when not known."""
