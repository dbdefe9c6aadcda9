"""How a document is read: in one pass when it fits, else in parts; and how large each part and each answer may be.

Sizes here are a plan. Every call is counted exactly before it is sent, and made smaller when it does not fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from tui.context.prompt import Prompt
from tui.documents.model import Document
from tui.reading.opening import LONGEST
from tui.reading.prompts import Kind, SummaryPrompts, notes_for
from tui.reading.results import Strategy, SummaryOptions
from tui.units import tokens as in_words

if TYPE_CHECKING:
    from tui.context.runtime import Runtime

OVERHEAD = 0.08
"""Instructions, notes and their sources together add at most this share to the document's tokens, summed over all
prompts, in contexts of `ROOMY` tokens and more."""
ROOMY = 8192
_PLANNED_OVERHEAD = 0.076
"""What is planned for: the rest is for notes that are longer than planned."""
_LEAST_NOTE, _MOST_NOTE = 24, 320
_PLANNED_NOTES = 12
"""A call's notes are planned to take one part in so many of the context."""
_LONGEST_NOTES = 6
"""They never take more than two parts in so many, so that a merge always has room for two and its answer."""
_TOKENS_PER_NOTE, _LABEL = 30, 4
_MOST_NOTES, _ENOUGH_NOTES, _FEWEST_NOTES = 10, 4, 3
_SOURCES, _FEWEST_SOURCES = 80, 34
"""Tokens of a document's own sentences beside the notes on a part: about two or three, at least one."""
_LEAST_REPLY = 256
_LEAST_CHUNK, _MOST_CHUNK = 256, 4096
_CHUNKS_PER_CONTEXT = 3
"""Small models lose most of a long part, large ones write no more notes on it: so a part is far from the context."""
_SMALL_MODEL = 1 << 30
"""Bytes of the model's file. Models below that lose their way in prose and in long texts (seen on the demo model)."""
_SMALL_MODELS_CHUNK = 640
_SMALL_MODELS_ROOMY_CHUNK = 2560
"""Where the overhead is limited, parts cannot be as small as a small model would have them."""
_STEP = 4
"""Parts come in fours, so that one, two or four slots are busy to the end and go on with each other's work."""
_UNEVEN = 1.1
"""A little more than even: parts end where the text does, so most are not full."""
_KNOWN = 4
"""`refine`: the notes so far take at most one part in so many of the context."""
_MOST_REFINED = 8192
_SUMMARY = 600
_LEAST_SUMMARY = 64


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """Sizes in tokens for one context; with `for_document` also for one document."""

    context: int
    chunk: int
    """Text of one part, at most."""
    notes: int
    """Notes asked for in one call."""
    reply: int
    """Answer of one map or merge call, at most: about twice what its notes are planned to take."""
    sheet: int
    """The notes on one part with their sources, as planned; 0 where nothing limits their sum."""
    sources: int
    """Sentences of the document beside the notes on one part, at most."""
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
    known: int
    """`refine`: the notes so far take at most this."""
    small: bool
    """A small model: it is asked for lists, not for prose, and not for the numbers of notes."""

    def room(self, kind: Kind, reply: int) -> int:
        """Tokens of text that fit beside the frame and the reply."""
        return self.context - self.frames[kind] - self.margin - reply

    @property
    def hold(self) -> int:
        """Sheets that the summary's prompt is sure to hold, however long they are."""
        return max(1, self.room("final", self.summary) // (self.reply + self.sources + self.notes * _LABEL + 1))

    def levels(self, chunks: int) -> int:
        """Merges until one summary is left when every note is as long as it may be; the last one is the summary."""
        sheets, levels = chunks, 1
        fit_summary = max(2, self.hold)
        fit_merge = max(2, self.room("reduce", self.reply) // (self.reply + self.sources + self.notes * _LABEL + 1))
        while sheets > fit_summary:
            sheets = -(-sheets // fit_merge)
            levels += 1
        return levels


def is_small(runtime: Runtime) -> bool:
    """Whether the model is too small for long texts and free prose, as far as its file tells."""
    return runtime.model is not None and runtime.model.size < _SMALL_MODEL


async def make_budget(runtime: Runtime, prompts: SummaryPrompts) -> Budget:
    """The sizes for this context and these templates."""
    context = runtime.n_ctx
    margin = 8 + context // 128 + LONGEST
    small = is_small(runtime)
    frames: dict[Kind, int] = {}
    for kind in prompts.templates:
        messages = prompts.messages(kind, "", 8, known="[1]" if kind == "refine" else "", ids=not small, as_list=small)
        frames[kind] = len((await runtime.assembler.assemble(messages)).ids)
    free = max(0, context - max(frames["map"], frames["refine"], frames["reduce"], frames["final"]) - margin)
    lacking = max(0, _LONGEST_NOTES * _LEAST_NOTE + _LEAST_SUMMARY - free)
    note = max(1, min(max(free // _PLANNED_NOTES, 64), free // _LONGEST_NOTES, _MOST_NOTE))
    reply = 2 * note
    notes = notes_for(note)
    wanted = prompts.reply("final") or _SUMMARY
    asked_for = bool(prompts.options.max_tokens or prompts.words)
    share = free - 2 * reply if asked_for else free // 3
    most = _SMALL_MODELS_CHUNK if small else _MOST_CHUNK
    chunk = prompts.options.chunk_tokens or min(max(context // _CHUNKS_PER_CONTEXT, _LEAST_CHUNK), most)
    single = prompts.reply("single") or _SUMMARY
    return Budget(
        context=context,
        chunk=max(16, min(chunk, context - frames["map"] - margin - reply)),
        notes=notes,
        reply=reply,
        sheet=0,
        # Two sheets and an answer always fit a merge.
        sources=max(0, min(_SOURCES, (free - 3 * reply) // 2 - notes * _LABEL)),
        summary=min(wanted, max(share, note)),
        single=max(1, min(single, max(context // 4, prompts.options.max_tokens, context // 2 if prompts.words else 0))),
        frames=frames,
        margin=margin,
        lacking=lacking,
        known=free // _KNOWN,
        small=small,
    )


def for_document(
    budget: Budget, options: SummaryOptions, tokens: int, slots: int, *, unlimited: bool = False
) -> Budget:
    """The sizes for a document of so many tokens, read in parts on so many slots.

    In roomy contexts the parts are as small as the limit on the program's own tokens allows (small ones are read
    better), and their number keeps all slots busy to the end. `unlimited`: the model has failed on the whole, so the
    parts are as small as it needs them, whatever that costs.
    """
    if budget.lacking:
        return budget
    step = step_for(slots)
    if unlimited or options.chunk_tokens or budget.context < ROOMY:
        parts = _in_steps(max(1, -(-tokens // budget.chunk)), step)
        chunk = min(budget.chunk, max(16, round(tokens / parts * _UNEVEN)))
        return msgspec.structs.replace(budget, chunk=chunk)
    plans = [
        (parts, notes, found)
        for parts in _part_counts(budget, tokens, step)
        for notes in range(_MOST_NOTES, _FEWEST_NOTES - 1, -1)
        if (found := _dense(budget, round(tokens / parts * _UNEVEN), notes)).chunk <= found.room("map", found.reply)
    ]
    limit = _PLANNED_OVERHEAD * tokens
    for least in (_ENOUGH_NOTES, _FEWEST_NOTES):
        for parts, notes, found in plans:
            if notes >= least and overhead(found, parts) <= limit:
                return found
    return min(plans, key=lambda plan: overhead(plan[2], plan[0]))[2] if plans else budget


def step_for(slots: int) -> int:
    """Parts come in so many at once."""
    return _STEP if _STEP % slots == 0 else slots


def _dense(budget: Budget, chunk: int, notes: int) -> Budget:
    return msgspec.structs.replace(
        budget,
        chunk=max(16, chunk),
        notes=notes,
        reply=max(_LEAST_REPLY, 2 * notes * _TOKENS_PER_NOTE),
        sheet=notes * (_TOKENS_PER_NOTE + _LABEL) + _FEWEST_SOURCES,
        sources=_SOURCES,
    )


def _part_counts(budget: Budget, tokens: int, step: int) -> Iterator[int]:
    """Numbers of parts, the most first: from what a model reads well to what just fits."""
    best = _SMALL_MODELS_ROOMY_CHUNK if budget.small else _MOST_CHUNK
    fewest = max(1, -(-round(tokens * _UNEVEN) // budget.room("map", _LEAST_REPLY)))
    parts = max(fewest, _in_steps(-(-tokens // best), step))
    while parts >= fewest:
        yield parts
        below = parts - step if parts > step else parts // 2
        parts = fewest if below < fewest < parts else below


def _in_steps(parts: int, step: int) -> int:
    """`parts` or a few more, so that every slot has as many; few parts are only made even."""
    if parts <= 2:
        return parts
    return -(-parts // step) * step


def overhead(budget: Budget, parts: int) -> int:
    """Tokens of all planned prompts beside the document's own."""
    total = parts * budget.frames["map"] + budget.frames["final"]
    sheets = parts
    while sheets * budget.sheet > budget.room("final", budget.summary) and sheets > 2:
        total += sheets * budget.sheet
        fitting = max(2, budget.room("reduce", budget.reply) // budget.sheet)
        groups = max(-(-sheets // fitting), min(budget.hold, sheets // 2))
        total += groups * budget.frames["reduce"]
        sheets = groups
    return total + sheets * budget.sheet


def for_refining(budget: Budget, options: SummaryOptions, tokens: int) -> Budget:
    """The sizes for reading part after part beside the notes so far: large parts serve that best."""
    if budget.lacking:
        return budget
    most = (
        (_SMALL_MODELS_ROOMY_CHUNK if budget.context >= ROOMY else _SMALL_MODELS_CHUNK)
        if budget.small
        else _MOST_REFINED
    )
    fitting = budget.room("refine", budget.reply) - budget.known
    chunk = max(16, min(options.chunk_tokens or most, fitting))
    parts = max(1, -(-tokens // chunk))
    return msgspec.structs.replace(budget, chunk=min(chunk, max(16, round(tokens / parts * _UNEVEN))))


async def whole_prompt(
    runtime: Runtime, prompts: SummaryPrompts, budget: Budget, document: Document, tokens: int
) -> Prompt | None:
    """The prompt that holds the whole document, when it fits with its reply; exactly counted."""
    if budget.frames["single"] + tokens + budget.single > budget.context + budget.margin:
        return None
    prompt = await runtime.assembler.assemble(prompts.messages("single", document.text))
    return prompt if len(prompt.ids) + LONGEST + budget.single <= budget.context else None


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


def reason_for(budget: Budget, tokens: int, strategy: Strategy, options: SummaryOptions, failed: str = "") -> str:
    """Why it is read this way, in a sentence. `failed` says what was wrong with the summary made in one pass."""
    if failed:
        return f"In one pass the model gave no usable summary. {failed}"
    asked = budget.frames["single"] + budget.single
    text, context = in_words(tokens), in_words(budget.context)
    beside = f"with {in_words(asked)} for the instruction and the summary"
    does = "do not fit" if asked + tokens > budget.context else "fit"
    if options.strategy == "refine":
        return f"Part after part, on one slot, as asked for: its {text} tokens {does} the context of {context}."
    if options.strategy == "map-reduce":
        return f"In parts, as asked for: its {text} tokens {does} the context of {context} {beside}."
    if strategy == "single":
        return f"Its {text} tokens fit the context of {context} {beside}."
    return f"Its {text} tokens do not fit the context of {context} {beside}."
