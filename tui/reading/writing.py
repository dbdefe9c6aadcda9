"""The summary itself: streamed, followed to its end, asked for again when it is no good."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from tui.context.prompt import Prompt
from tui.reading import answers
from tui.reading.calls import Caller, Reply
from tui.reading.events import ReadingEvent, SummaryDelta, SummaryReplaced, SummaryRestarted
from tui.reading.extractive import extract, sentences
from tui.reading.journal import Entry, Journal
from tui.reading.opening import opened
from tui.reading.prompts import Kind, SummaryPrompts, other_sampling
from tui.server.errors import ServerAnswer
from tui.server.types import Sampling, StreamEvent, TextDelta

if TYPE_CHECKING:
    from tui.context.runtime import Runtime

_ATTEMPTS = 3
_CONTINUATIONS = 2
_MOST_POINTS = 8
_ENOUGH_BORNE_OUT = 0.7
_NOT_BORNE_OUT = "Much of what the summary says is not in the text; a larger model can be relied on more."


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
    doubt: str = ""
    """It has an end and is complete, but something is to be said of it."""


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
            return Summary(text=known.text, read=True, reused=True, doubt=known.reason)
        summary = await self._asked(kind, prompt, source, room)
        # Stand-ins are not kept: the next run asks the model again.
        if summary.read and not summary.extracted:
            entry = await self._journal.put(key, Entry(text=summary.text, reason=summary.doubt))
            summary = msgspec.structs.replace(summary, text=entry.text)
        return summary

    async def _asked(self, kind: Kind, prompt: Prompt, source: str, room: int) -> Summary:
        """Freely at first; then as a list, which a small model finds the end of; the best of all attempts counts."""
        instruction = self._prompts.instruction(kind)
        first = self._prompts.sampling(kind, self._temperature)
        support = answers.Support(source)
        best: Summary | None = None
        best_share = -1.0
        read, reason = False, ""
        for attempt in range(_ATTEMPTS):
            if attempt:
                self._emit(SummaryRestarted(reason))
            try:
                reply, text = await self._one(prompt, room, first, attempt)
            except ServerAnswer as error:
                reason = str(error)
                continue
            if not reply.exact:
                reason = f"The server evaluated {reply.evaluated:,} tokens where {reply.planned:,} were planned."
                return Summary(text=answers.tidy(text), read=False, reason=reason)
            read = read or reply.ended
            trouble = answers.problem(text, instruction, source)
            good = answers.tidy(text)
            if attempt and reply.ended:
                good = answers.as_text(support.borne_out(answers.notes(text, instruction)))
                trouble = trouble or ("" if good else "most of the answer was not in the text")
            share = support.share_borne_out(sentences(good))
            if trouble:
                reason = f"Asked {attempt + 1} times, {trouble}."
            elif not reply.ended:
                reason = "The summary reached the limit of its room before its end."
                share -= 1  # better than nothing, worse than any that has an end
            elif share >= _ENOUGH_BORNE_OUT:
                return self._settled(Summary(text=good, read=True), text)
            else:
                reason = _NOT_BORNE_OUT
            if not trouble and share > best_share:
                best_share = share
                best = Summary(
                    text=good,
                    read=reply.ended,
                    reason="" if reply.ended else reason,
                    doubt=_NOT_BORNE_OUT if reply.ended else "",
                )
            if reply.reasoned and not reply.ended:
                room = self._runtime.n_ctx - len(prompt.ids)
        if best is None:
            best = await self._stand_in(source, room, read, reason)
        return self._settled(best, "")

    def _settled(self, summary: Summary, streamed: str) -> Summary:
        if summary.text != streamed:
            self._emit(SummaryReplaced(summary.text))
        return summary

    async def _one(self, prompt: Prompt, room: int, first: Sampling, attempt: int) -> tuple[Reply, str]:
        """One attempt, continued from where it stopped as long as there is room and it makes headway."""
        sampling = other_sampling(first, attempt) if attempt else first
        prompt, text = await opened(self._runtime, prompt, notes=attempt > 0)
        if text:
            sampling = msgspec.structs.replace(sampling, stop=(*sampling.stop, f"\n{_MOST_POINTS + 1}."))
            self._emit(SummaryDelta(text))
        room = min(room, self._runtime.n_ctx - len(prompt.ids))
        reply = await self._caller.call(prompt, max_tokens=room, sampling=sampling, id_slot=0, on_event=self._stream)
        said, whole = reply.text, reply
        for _ in range(_CONTINUATIONS):
            if reply.ended or not said.strip() or answers.circles(said):
                break
            reply = await self._caller.go_on(
                prompt, said, max_tokens=room, sampling=sampling, id_slot=0, on_event=self._stream
            )
            said += reply.text
        # Whether the document was evaluated as planned is the first call's to say, the end is the last one's.
        return msgspec.structs.replace(whole, finish=reply.finish), text + said

    def _stream(self, event: StreamEvent) -> None:
        if isinstance(event, TextDelta):
            self._emit(SummaryDelta(event.text))

    async def _stand_in(self, source: str, room: int, read: bool, reason: str) -> Summary:
        found = await extract(source, room, self._runtime.counter.count_many, most=_MOST_POINTS)
        text = answers.as_text([answers.bare(sentence) for sentence in found])
        return Summary(text=text, read=read, reason=reason, extracted=True)
