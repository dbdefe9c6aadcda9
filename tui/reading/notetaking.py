"""Notes by the model: asked for, judged, asked for again with other sampling when they are no good."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from tui.context.prompt import Prompt
from tui.reading import answers
from tui.reading.calls import Caller, OnEvent
from tui.reading.extractive import extract
from tui.reading.opening import opened
from tui.reading.prompts import other_sampling
from tui.server.errors import ServerAnswer
from tui.server.types import Sampling

if TYPE_CHECKING:
    from tui.context.counter import TokenCounter


_ENOUGH_BEFORE_CIRCLES = 2
_ENDS_OF_A_SENTENCE = (". ", ".\n", "\n", "! ", "? ", "。", "！", "？")
_REPEATED = "The model said its notes again and again; each is kept once."


class Taken(msgspec.Struct, frozen=True, kw_only=True):
    """What came of asking for notes."""

    notes: tuple[str, ...] = ()
    """Empty when no answer was good enough."""
    ended: bool = False
    """An answer came to its end, every planned token evaluated: the text was read, whatever the answer is worth."""
    reason: str = ""
    """What was wrong with the last answer that was no good."""
    repeated: bool = False
    """The notes are those of an answer that went in circles, each once."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked."""

    prompt: Prompt
    instruction: str
    """The prompt's words without the text."""
    source: str
    """The text that notes are asked on."""
    sampling: Sampling
    max_tokens: int
    id_slot: int
    again: bool = False
    """It was asked for before."""


async def take_notes(caller: Caller, request: Request, attempts: range, on_event: OnEvent | None = None) -> Taken:
    """Ask until an answer is good, at most once for each of `attempts` (0 is the first, others are warmer).

    Raises ServerGone and the like; an error answer of the server counts as an attempt.
    """
    taken = Taken()
    spare: Taken | None = None
    support = answers.Support(request.source)
    prompt, begun = await opened(caller.runtime, request.prompt, notes=True)
    max_tokens = min(request.max_tokens, caller.runtime.n_ctx - len(prompt.ids))
    for attempt in attempts:
        sampling = other_sampling(request.sampling, attempt) if attempt else request.sampling
        try:
            reply = await caller.call(
                prompt,
                max_tokens=max_tokens,
                sampling=sampling,
                id_slot=request.id_slot,
                on_event=on_event,
                retry=request.again or attempt > 0,
            )
        except ServerAnswer as error:
            taken = Taken(ended=taken.ended, reason=str(error))
            continue
        text = begun + reply.text
        if not reply.exact:
            reason = f"The server evaluated {reply.evaluated:,} tokens where {reply.planned:,} were planned."
            return Taken(ended=taken.ended, reason=reason)
        found = answers.notes(text, request.instruction)
        if reply.stopped and len(found) > _ENOUGH_BEFORE_CIRCLES:
            # The last one was being said once more when it was stopped.
            kept = support.borne_out(found[:-1])
            if len(kept) >= _ENOUGH_BEFORE_CIRCLES and not answers.not_sentences(kept):
                spare = spare or Taken(notes=tuple(kept), ended=True, reason=_REPEATED, repeated=True)
        if not reply.ended:
            how = "went in circles" if reply.stopped else f"had no end within {max_tokens:,} tokens"
            taken = Taken(ended=taken.ended, reason=f"The answer {how}.")
            if reply.reasoned:
                # It thought aloud for so long that no room was left to answer.
                max_tokens = caller.runtime.n_ctx - len(prompt.ids)
            continue
        borne_out = support.borne_out(found)
        trouble = answers.problem(text, request.instruction, request.source)
        if not found:
            trouble = trouble or "the answer was empty"
        elif len(borne_out) * 2 < len(found):
            trouble = trouble or "most of the answer was not in the text"
        elif answers.not_sentences(found):
            trouble = trouble or "the answer held no sentences"
        if not trouble:
            return Taken(notes=tuple(borne_out), ended=True)
        taken = Taken(ended=True, reason=f"Asked {attempt + 1} times, {trouble}.")
    return spare or taken


async def take_one_sentence(caller: Caller, request: Request, on_event: OnEvent | None = None) -> Taken:
    """Ask once more, for an answer that ends with its first sentence: for models that find no end by themselves."""
    sampling = msgspec.structs.replace(other_sampling(request.sampling, 1), stop=_ENDS_OF_A_SENTENCE)
    once_more = msgspec.structs.replace(request, sampling=sampling, again=True)
    return await take_notes(caller, once_more, range(1), on_event)


async def bounded(notes: tuple[str, ...], most: int, counter: TokenCounter) -> tuple[tuple[str, ...], bool]:
    """Notes that count at most `most` tokens together, and whether some had to be left out for it."""
    text = answers.as_text(list(notes))
    if await counter.count(text) <= most:
        return notes, False
    return tuple(await extract("\n".join(notes), most, counter.count_many, most=len(notes))), True
