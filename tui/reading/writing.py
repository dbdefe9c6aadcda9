"""The summary itself: streamed, followed to its end, asked for again when it is no good."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from tui.context.prompt import Prompt
from tui.reading import answers
from tui.reading.calls import Caller, Reply
from tui.reading.events import ReadingEvent, SummaryDelta, SummaryRestarted
from tui.reading.extractive import extract
from tui.reading.journal import Entry, Journal
from tui.reading.prompts import Kind, SummaryPrompts, other_sampling
from tui.server.errors import ServerAnswer
from tui.server.types import Sampling, StreamEvent, TextDelta

if TYPE_CHECKING:
    from tui.context.runtime import Runtime

_ATTEMPTS = 3
_CONTINUATIONS = 2
_STAND_IN_SENTENCES = 8


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """The text, and what is to be said of it."""

    text: str
    read: bool
    """Every planned token was evaluated and an answer came to its end."""
    reused: bool = False
    reason: str = ""
    """Why it is not what was wanted; empty when it is."""
    extracted: bool = False
    """Sentences of the text or of the notes stand in for it."""


class Writer:
    """Writes the summary from a prompt that holds the document (`single`) or the notes on it (`final`)."""

    def __init__(
        self,
        caller: Caller,
        prompts: SummaryPrompts,
        journal: Journal,
        temperature: float | None,
        emit: Callable[[ReadingEvent], None],
    ) -> None:
        self._runtime: Runtime = caller.runtime
        self._caller = caller
        self._prompts = prompts
        self._journal = journal
        self._temperature = temperature
        self._emit = emit

    def key(self, kind: Kind, prompt: Prompt, room: int) -> str:
        sampling = self._prompts.sampling(kind, self._temperature)
        return self._journal.key(kind, 0, prompt.messages, sampling, room)

    async def write(self, kind: Kind, prompt: Prompt, source: str, room: int) -> Summary:
        """The summary of `source`, which stands in `prompt`; `room` tokens are kept for it, more are taken if free."""
        key = self.key(kind, prompt, room)
        known = await self._journal.get(key)
        if known is not None:
            self._emit(SummaryDelta(known.text))
            return Summary(text=known.text, read=True, reused=True)
        summary = await self._asked(kind, prompt, source, room)
        # Stand-ins are not kept: the next run asks the model again.
        if summary.read and not summary.extracted:
            entry = await self._journal.put(key, Entry(text=summary.text))
            summary = msgspec.structs.replace(summary, text=entry.text)
        return summary

    async def _asked(self, kind: Kind, prompt: Prompt, source: str, room: int) -> Summary:
        instruction = self._prompts.instruction(kind)
        first = self._prompts.sampling(kind, self._temperature)
        read = False
        longest_cut = ""
        reason = ""
        for attempt in range(_ATTEMPTS):
            if attempt:
                self._emit(SummaryRestarted(reason))
            sampling = other_sampling(first, attempt) if attempt else first
            try:
                reply, text = await self._one(prompt, room, sampling)
            except ServerAnswer as error:
                reason = str(error)
                continue
            if not reply.exact:
                reason = f"The server evaluated {reply.evaluated:,} tokens where {reply.planned:,} were planned."
                return Summary(text=answers.tidy(text), read=False, reason=reason)
            trouble = answers.problem(text, instruction)
            if reply.ended:
                read = True
                if not trouble:
                    return Summary(text=answers.tidy(text), read=True)
                reason = f"Asked {attempt + 1} times, {trouble}."
                continue
            reason = (
                "The summary went in circles."
                if answers.circles(text)
                else "The summary reached the limit of its room before its end."
            )
            if not trouble and len(text) > len(longest_cut):
                longest_cut = text
            if reply.reasoned:
                room = self._runtime.n_ctx - len(prompt.ids)
        if longest_cut and not read:
            self._emit(SummaryRestarted(reason))
            self._emit(SummaryDelta(longest_cut))
            return Summary(text=answers.tidy(longest_cut), read=False, reason=reason)
        return await self._stand_in(source, room, read, reason)

    async def _one(self, prompt: Prompt, room: int, sampling: Sampling) -> tuple[Reply, str]:
        """One attempt, continued from where it stopped as long as there is room and it makes headway."""
        room = min(room, self._runtime.n_ctx - len(prompt.ids))
        reply = await self._caller.call(prompt, max_tokens=room, sampling=sampling, id_slot=0, on_event=self._stream)
        text, first = reply.text, reply
        for _ in range(_CONTINUATIONS):
            if reply.ended or not text.strip() or answers.circles(text):
                break
            reply = await self._caller.go_on(
                prompt, text, max_tokens=room, sampling=sampling, id_slot=0, on_event=self._stream
            )
            text += reply.text
        # Whether the document was evaluated as planned is the first call's to say, the end is the last one's.
        return msgspec.structs.replace(first, finish=reply.finish), text

    def _stream(self, event: StreamEvent) -> None:
        if isinstance(event, TextDelta):
            self._emit(SummaryDelta(event.text))

    async def _stand_in(self, source: str, room: int, read: bool, reason: str) -> Summary:
        found = await extract(source, room, self._runtime.counter.count_many, most=_STAND_IN_SENTENCES)
        text = answers.as_text([answers.bare(sentence) for sentence in found])
        self._emit(SummaryRestarted(reason))
        self._emit(SummaryDelta(text))
        return Summary(text=text, read=read, reason=reason, extracted=True)
