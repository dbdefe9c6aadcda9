"""What the chat says of documents and of room, as sentences; the figures come from the plan. No Textual here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tui.text import display_safe, one_line
from tui.units import duration, plural, tokens

if TYPE_CHECKING:
    from tui.chat.events import Resumed
    from tui.context.plan import ContextPlan
    from tui.documents.model import Document

_MARKUP = frozenset("\\`*_{}[]<>#|~$&")


def literal(text: str) -> str:
    """Text for a Markdown message that is to be shown as it is."""
    return "".join("\\" + mark if mark in _MARKUP else mark for mark in display_safe(text))


def attached(document: Document, count: int | None = None) -> str:
    """The note about an attached document, with its exact tokens where they are known."""
    extent = [plural(document.pages, "page")] if document.pages else []
    extent.append(plural(len(document.text), "character"))
    if count is not None:
        extent.append(plural(count, "token"))
    lines = [f"**{literal(document.name)}** is attached ({', '.join(extent)})."]
    lines += [literal(warning) for warning in document.warnings]
    return "\n".join(lines)


def restored(resumed: Resumed) -> list[str]:
    """What reopening a conversation brought back, and why not more."""
    said = []
    if resumed.tokens:
        instead = f" instead of ≈{duration(resumed.instead_of_s)}" if resumed.instead_of_s else ""
        said.append(f"Restored {tokens(resumed.tokens)} tokens in {duration(resumed.seconds)}{instead}.")
    return [*said, literal(resumed.reason)] if resumed.reason else said


def tokens_of(document: Document, plan: ContextPlan | None) -> int | None:
    """The tokens of a document in a plan; of several of that name the one attached last."""
    found = () if plan is None else plan.documents
    return next((count for name, count in reversed(found) if name == document.name), None)


def overflow(plan: ContextPlan, largest: int) -> tuple[str, ...]:
    """Why a message was not sent, what each part needs, what helps."""
    parts = [f"system {tokens(plan.system)}"]
    parts += [f"{one_line(name, 40)} {tokens(count)}" for name, count in plan.documents]
    parts += [f"history {tokens(plan.history)}", f"this message {tokens(plan.draft)}"]
    parts.append(f"kept for the answer {tokens(plan.reserve)}")
    return (
        f"This message needs {tokens(plan.needed)} tokens with the room kept for the answer; "
        f"the context holds {tokens(plan.context)}. Nothing was sent; the draft is in the composer.",
        f"{' · '.join(parts)}.",
        advice(plan, largest),
    )


def no_room(plan: ContextPlan, largest: int) -> tuple[str, ...]:
    """That no message fits any more, whatever its length."""
    needed = plan.needed - plan.draft
    return (
        f"No message fits into this conversation now: without one it needs {tokens(needed)} tokens with the room kept "
        f"for the answer; the context holds {tokens(plan.context)}, {tokens(needed - plan.context)} too few.",
        advice(plan, largest),
    )


def advice(plan: ContextPlan, largest: int) -> str:
    """What makes the next message fit, only what can. `largest`: the model's trained context, 0 when not known."""
    over = -plan.free
    ways: list[str] = []
    if plan.draft > over:
        ways.append("shorten this message")
    if plan.documents and plan.document_tokens >= over:
        name, _count = max(plan.documents, key=lambda document: document[1])
        ways.append(
            f"take a document out: /detach {one_line(name, 60)} (`longscroll summarize` reads documents of any length)"
        )
    if plan.history and plan.history >= over:
        ways.append("begin a new conversation (Ctrl+N)")
    if plan.needed <= largest or not largest:
        holds = f"; the model was trained for {tokens(largest)}" if largest else ""
        ways.append(f"start longscroll with --ctx-size {plan.needed} or more{holds}")
    if not ways:
        ways.append("begin a new conversation (Ctrl+N) with less, or take a model that holds more")
    sentence = "; or ".join(ways)
    return f"{sentence[0].upper()}{sentence[1:]}."


def matching(documents: Sequence[Document], name: str) -> list[Document]:
    """The documents that a name means: the one of exactly that name or path, else those whose name holds it."""
    exact = [document for document in documents if name in (document.name, document.path)]
    held = [document for document in documents if name.casefold() in document.name.casefold()]
    return exact[:1] or held
