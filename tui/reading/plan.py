"""How a document is read: in one pass when it fits, else in parts; and how large each part and each answer may be.

Sizes here are a plan. Every call is counted exactly before it is sent, and made smaller when it does not fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from tui.context.prompt import Prompt
from tui.documents.model import Document
from tui.reading.opening import LONGEST
from tui.reading.prompts import Kind, SummaryPrompts, notes_for
from tui.units import tokens as in_words

if TYPE_CHECKING:
    from tui.context.runtime import Runtime

_LEAST_NOTE, _MOST_NOTE = 24, 320
_PLANNED_NOTES = 12
"""A call's notes are planned to take one part in so many of the context."""
_LONGEST_NOTES = 6
"""They never take more than two parts in so many, so that a merge always has room for two and its answer."""
_LEAST_CHUNK, _MOST_CHUNK = 256, 4096
_CHUNKS_PER_CONTEXT = 3
"""Small models lose most of a long part, large ones write no more notes on it: so a part is far from the context."""
_SMALL_MODEL = 1 << 30
"""Bytes of the model's file. Models below that lose their way in prose and in long texts (seen on the demo model)."""
_SMALL_MODELS_CHUNK = 640
_SUMMARY = 600
_LEAST_SUMMARY = 64


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """Sizes in tokens for one context."""

    context: int
    chunk: int
    """Text of one part, at most."""
    notes: int
    """Notes asked for in one call."""
    reply: int
    """Answer of one map or merge call, at most: twice what its notes are planned to take."""
    summary: int
    """Room for the summary made from notes."""
    single: int
    """Room for the summary made in one pass."""
    frames: dict[Kind, int]
    """Tokens of each kind of prompt without its text."""
    margin: int
    """Kept free in plans, because texts joined count a little differently than apart."""
    lacking: int
    """So many tokens the context is too small for reading in parts; 0 when it is not."""

    def room(self, kind: Kind, reply: int) -> int:
        """Tokens of text that fit beside the frame and the reply."""
        return self.context - self.frames[kind] - self.margin - reply

    def levels(self, chunks: int) -> int:
        """Merges until one summary is left when every note is as long as it may be; the last one is the summary."""
        notes, levels = chunks, 1
        fit_summary = max(2, self.room("final", self.summary) // (self.reply + 2))
        fit_merge = max(2, self.room("reduce", self.reply) // (self.reply + 2))
        while notes > fit_summary:
            notes = -(-notes // fit_merge)
            levels += 1
        return levels


def is_small(runtime: Runtime) -> bool:
    """Whether the model is too small for long texts and free prose, as far as its file tells."""
    return runtime.model is not None and runtime.model.size < _SMALL_MODEL


async def make_budget(runtime: Runtime, prompts: SummaryPrompts) -> Budget:
    """The sizes for this context and these templates."""
    context = runtime.n_ctx
    margin = 8 + context // 128 + LONGEST
    frames: dict[Kind, int] = {}
    for kind in prompts.templates:
        frames[kind] = len((await runtime.assembler.assemble(prompts.messages(kind, "", 8))).ids)
    free = max(0, context - max(frames["map"], frames["reduce"], frames["final"]) - margin)
    lacking = max(0, _LONGEST_NOTES * _LEAST_NOTE + _LEAST_SUMMARY - free)
    note = max(1, min(max(free // _PLANNED_NOTES, 64), free // _LONGEST_NOTES, _MOST_NOTE))
    reply = 2 * note
    wanted = prompts.reply("final") or _SUMMARY
    share = free - 2 * reply if prompts.options.max_tokens else free // 3
    most = _SMALL_MODELS_CHUNK if is_small(runtime) else _MOST_CHUNK
    chunk = prompts.options.chunk_tokens or min(max(context // _CHUNKS_PER_CONTEXT, _LEAST_CHUNK), most)
    return Budget(
        context=context,
        chunk=max(16, min(chunk, context - frames["map"] - margin - reply)),
        notes=notes_for(note),
        reply=reply,
        summary=min(wanted, max(share, note)),
        single=max(1, min(prompts.reply("single") or _SUMMARY, max(context // 4, prompts.options.max_tokens))),
        frames=frames,
        margin=margin,
        lacking=lacking,
    )


async def whole_prompt(
    runtime: Runtime, prompts: SummaryPrompts, budget: Budget, document: Document, tokens: int
) -> Prompt | None:
    """The prompt that holds the whole document, when it fits with its reply; exactly counted."""
    if budget.frames["single"] + tokens + budget.single > budget.context + budget.margin:
        return None
    prompt = await runtime.assembler.assemble(prompts.messages("single", document.text))
    return prompt if len(prompt.ids) + LONGEST + budget.single <= budget.context else None


def chunk_size(budget: Budget, tokens: int) -> int:
    """Tokens for each part, so that parts are about even.

    It does not depend on the number of slots: a run with more of them goes on where one with fewer has stopped.
    """
    parts = max(1, -(-tokens // budget.chunk))
    if parts > 1:
        parts += parts % 2  # two slots, or four, have something to do until the end
    # A little more than even: parts end where the text does, so most are not full.
    return min(budget.chunk, max(16, round(tokens / parts * 1.1)))


def pack(sizes: Sequence[int], capacity: int, *, groups: int = 1) -> list[tuple[int, int]]:
    """Neighbours joined into about even groups that hold at most `capacity`: (first, past the last) of each.

    As few as the capacity allows, but about `groups` where that is more. A size above the capacity stands alone.
    """
    fewest = max(len(_greedy(sizes, capacity)), groups)
    low, high = max([0, *(size for size in sizes if size <= capacity)]), capacity
    while low < high:
        middle = (low + high) // 2
        if len(_greedy(sizes, middle)) <= fewest:
            high = middle
        else:
            low = middle + 1
    return _greedy(sizes, high)


def _greedy(sizes: Sequence[int], capacity: int) -> list[tuple[int, int]]:
    groups: list[tuple[int, int]] = []
    start, total = 0, 0
    for index, size in enumerate(sizes):
        if index > start and total + size > capacity:
            groups.append((start, index))
            start, total = index, 0
        total += size
    if start < len(sizes):
        groups.append((start, len(sizes)))
    return groups


def reason_for(budget: Budget, tokens: int, *, single: bool, failed: str = "") -> str:
    """Why it is read this way, in a sentence. `failed` says what was wrong with the summary made in one pass."""
    if failed:
        return f"In one pass the model gave no usable summary. {failed}"
    asked = budget.frames["single"] + budget.single
    text = in_words(tokens)
    if single:
        return f"Its {text} tokens fit the context of {in_words(budget.context)} with {in_words(asked)} for the rest."
    return (
        f"Its {text} tokens do not fit the context of {in_words(budget.context)} with {in_words(asked)} for the rest."
    )
