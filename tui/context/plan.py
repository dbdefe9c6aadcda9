"""The context plan: what goes into the next request, how many tokens each part has, what is left.

Every figure is a difference between exact counts of whole prompts (template applied), so the parts add up to the
very prompt that is sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from tui.server.types import Message

if TYPE_CHECKING:
    from tui.context.prompt import PromptAssembler


class ContextPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens of each part of the next request. `context` is the context size of the slot."""

    context: int
    system: int
    """System prompt and the template's own frame."""
    documents: tuple[tuple[str, int], ...] = ()
    """Name and tokens of each document."""
    history: int = 0
    """Earlier turns."""
    draft: int = 0
    """The message being written, with its frame."""
    reserve: int = 0
    """Kept free for the answer."""
    exact: bool = True

    @property
    def document_tokens(self) -> int:
        return sum(tokens for _, tokens in self.documents)

    @property
    def prompt_tokens(self) -> int:
        """Tokens of the prompt as it would be sent now."""
        return self.system + self.document_tokens + self.history + self.draft

    @property
    def needed(self) -> int:
        return self.prompt_tokens + self.reserve

    @property
    def free(self) -> int:
        """Tokens left beside prompt and reserve; negative when it does not fit."""
        return self.context - self.needed

    @property
    def fits(self) -> bool:
        return self.free >= 0


class PlanParts(msgspec.Struct, frozen=True, kw_only=True):
    """What a plan is made of."""

    heads: tuple[tuple[Message, ...], ...]
    """The opening messages with the first 0, 1, … all documents in them; at least one entry, each may be empty."""
    names: tuple[str, ...]
    """Names of the documents, one fewer than `heads`."""
    history: tuple[Message, ...]
    draft: str


async def make_plan(assembler: PromptAssembler, parts: PlanParts, *, context: int, reserve: int) -> ContextPlan:
    """Count every part exactly by assembling the prompt as it grows, part by part.

    Each prompt ends with a user message (empty until the draft's turn), since many templates refuse one without;
    its frame is counted under `system`.
    """

    async def total(messages: Sequence[Message], draft: str = "") -> int:
        return len((await assembler.assemble((*messages, Message("user", draft)))).ids)

    counts = [await total(head) for head in parts.heads]
    documents = tuple(
        (name, after - before) for name, before, after in zip(parts.names, counts, counts[1:], strict=False)
    )
    settled = (*parts.heads[-1], *parts.history)
    with_history = await total(settled) if parts.history else counts[-1]
    with_draft = await total(settled, parts.draft) if parts.draft else with_history
    return ContextPlan(
        context=context,
        system=counts[0],
        documents=documents,
        history=with_history - counts[-1],
        draft=with_draft - with_history,
        reserve=reserve,
    )
