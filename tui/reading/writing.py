"""The summary itself: streamed, followed to its end, asked for again when it is no good."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from tui.context.prompt import Prompt
from tui.reading import answers
from tui.reading.bracketed import uncited
from tui.reading.calls import Caller, Reply
from tui.reading.events import ChunkProgress, ReadingEvent, SummaryDelta, SummaryReplaced, SummaryRestarted
from tui.reading.extractive import extract, sentences, units
from tui.reading.journal import Entry, Journal
from tui.reading.opening import LONGEST, opened
from tui.reading.plan import is_small
from tui.reading.prompts import Kind, SummaryPrompts, other_sampling
from tui.reading.results import AT_LIMIT
from tui.server.errors import ServerAnswer
from tui.server.types import PromptProgress, Sampling, StreamEvent, TextDelta

if TYPE_CHECKING:
    from tui.context.runtime import Runtime

_PROSE_FIRST, _LIST_FIRST = (False, True, True), (True, True)
_CONTINUATIONS = 2
_LEAST_WORDS = 25
_ENOUGH_BORNE_OUT = 0.7
_REPEATED = "The model said its points again and again; each is kept once."
_SHORT = "The summary says hardly anything; a larger model can be relied on more."
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
    """It has an end, but it is not good; why."""
    answered: bool = True
    """The model has said something, as far as it goes; False where the server refused or counted otherwise."""

    @property
    def good(self) -> bool:
        return not (self.reason or self.extracted or self.doubt)


class _Judged(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt."""

    summary: Summary
    worth: float
    """To choose among attempts that are not good."""
    usable: bool
    reason: str
    """What is wrong with it."""


def _judge(
    reply: Reply, text: str, instruction: str, source: str, support: answers.Support, *, as_list: bool
) -> _Judged:
    # A list whose points come back has said them all.
    ended = reply.ended or (as_list and reply.stopped)
    trouble = "" if as_list and reply.stopped else answers.problem(text, instruction, source)
    good = answers.tidy(text)
    if as_list and ended:
        found = answers.notes(text, instruction)
        points = answers.once(support.borne_out(found[:-1] if reply.stopped else found))
        good = answers.as_text(points)
        if not points:
            trouble = trouble or "most of the answer was not in the text"
        elif answers.not_sentences(points):
            trouble = trouble or "the answer held no sentences"
    bare = uncited(good)
    worth = support.share_borne_out(sentences(bare))
    doubt = ""
    if reply.stopped:
        doubt, worth = _REPEATED, worth - 0.3
    elif worth < _ENOUGH_BORNE_OUT:
        doubt = _NOT_BORNE_OUT
    if len(units(bare)) < min(_LEAST_WORDS, len(units(source)) // 10):
        doubt, worth = _SHORT, worth - 0.5
    if not ended:
        # Better than nothing, worse than any that has an end.
        reason, worth = AT_LIMIT, worth - 2
        summary = Summary(text=good, read=False, reason=reason)
    else:
        summary = Summary(text=good, read=True, reason=trouble, doubt=doubt)
    reason = f"The model's answer cannot be used: {trouble}." if trouble else summary.reason or doubt
    return _Judged(summary=summary, worth=worth, usable=not trouble and bool(good), reason=reason)


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
        self._whole = False
        """The document itself is in the prompt, whose progress is worth telling."""

    def key(self, kind: Kind, prompt: Prompt, room: int) -> str:
        sampling = self._prompts.sampling(kind, self._temperature)
        return self._journal.key(kind, 0, prompt.messages, sampling, room)

    async def write(
        self, kind: Kind, prompt: Prompt, source: str, room: int, *, remember_failure: bool = False
    ) -> Summary:
        """The summary of `source`, which stands in `prompt`; `room` tokens are kept for it, more are taken if free.

        With `remember_failure`, the journal also knows when every attempt was no good: they are not made again, and
        a small model that fails is not asked twice, since the text will be read in parts.
        """
        self._whole = kind == "single"
        key = self.key(kind, prompt, room)
        known = await self._journal.get(key)
        if known is not None and (known.text or remember_failure):
            if known.text:
                self._emit(SummaryDelta(known.text))
            failed = not known.text
            return Summary(
                text=known.text,
                read=True,
                reused=True,
                reason=known.reason if failed else "",
                extracted=failed,
                doubt="" if failed else known.reason,
            )
        summary = await self._asked(kind, prompt, source, room, once=remember_failure and is_small(self._runtime))
        # Stand-ins are not kept, the next run asks the model again.
        if summary.read and not summary.extracted:
            entry = await self._journal.put(key, Entry(text=summary.text, reason=summary.doubt))
            summary = msgspec.structs.replace(summary, text=entry.text or summary.text)
        elif summary.answered and remember_failure:
            await self._journal.put(key, Entry(reason=summary.reason or summary.doubt))
        return summary

    async def _asked(self, kind: Kind, prompt: Prompt, source: str, room: int, *, once: bool) -> Summary:
        """Ask until a summary is good; the best of all attempts counts. With `once`, one that failed was the last.

        A list of points is asked for where prose did not come out well, and of small models at once.
        """
        first = self._prompts.sampling(kind, self._temperature)
        support = await asyncio.to_thread(answers.Support, source)
        best: _Judged | None = None
        read, answered, reason = False, False, ""
        for attempt, as_list in enumerate(_LIST_FIRST if is_small(self._runtime) else _PROSE_FIRST):
            if attempt:
                self._emit(SummaryRestarted(reason))
            try:
                asked = await self._prompt(kind, prompt, source, as_list=as_list)
                reply, text = await self._one(asked, room, first, attempt, as_list=as_list)
            except ServerAnswer as error:
                reason = str(error)
                continue
            if not reply.exact:
                reason = f"The server evaluated {reply.evaluated:,} tokens where {reply.planned:,} were planned."
                return Summary(text=answers.tidy(text), read=False, reason=reason, answered=False)
            instruction = self._prompts.instruction(kind, as_list=as_list)
            judged = await asyncio.to_thread(_judge, reply, text, instruction, source, support, as_list=as_list)
            if judged.summary.good:
                return self._settled(judged.summary, text)
            answered, read = True, read or judged.summary.read
            reason = judged.reason
            if judged.usable and (best is None or judged.worth > best.worth):
                best = judged
            if once and not (judged.usable and judged.summary.read) and not reply.reasoned:
                break
            if reply.reasoned and not reply.ended:
                room = self._runtime.n_ctx - len(prompt.ids)
        if best is not None:
            return self._settled(best.summary, "")
        stand_in = await self._stand_in(source, room, read, reason)
        return self._settled(msgspec.structs.replace(stand_in, answered=answered), "")

    async def _prompt(self, kind: Kind, prose: Prompt, source: str, *, as_list: bool) -> Prompt:
        """The prompt with the wanted instruction; the one for prose where the other would not fit."""
        if not as_list:
            return prose
        messages = self._prompts.messages(kind, source, as_list=True, ids=not is_small(self._runtime))
        prompt = await self._runtime.assembler.assemble(messages)
        return prompt if len(prompt.ids) <= len(prose.ids) + LONGEST else prose

    def _settled(self, summary: Summary, streamed: str) -> Summary:
        if summary.text != streamed:
            self._emit(SummaryReplaced(summary.text))
        return summary

    async def _one(
        self, prompt: Prompt, room: int, first: Sampling, attempt: int, *, as_list: bool
    ) -> tuple[Reply, str]:
        """One attempt, continued from where it stopped as long as there is room and it makes headway."""
        sampling = other_sampling(first, attempt) if attempt else first
        prompt, text = await opened(self._runtime, prompt, notes=as_list)
        if text:
            sampling = msgspec.structs.replace(sampling, stop=(*sampling.stop, f"\n{self._prompts.points + 1}."))
            self._emit(SummaryDelta(text))
        room = min(room, self._runtime.n_ctx - len(prompt.ids))
        said = ""

        def from_there(reason: str) -> None:
            self._emit(SummaryRestarted(reason))
            self._emit(SummaryDelta(text + said))

        reply = await self._caller.call(
            prompt,
            max_tokens=room,
            sampling=sampling,
            id_slot=0,
            on_event=self._stream,
            retry=attempt > 0,
            on_again=from_there,
        )
        said, whole = reply.text, reply
        # A length the user named is kept.
        for _ in range(0 if self._prompts.options.max_tokens else _CONTINUATIONS):
            if reply.ended or not said.strip() or answers.circles(said):
                break
            reply = await self._caller.go_on(
                prompt,
                said,
                max_tokens=room,
                sampling=sampling,
                id_slot=0,
                on_event=self._stream,
                on_again=from_there,
            )
            said += reply.text
        # Whether the document was evaluated as planned is the first call's to say, the end is the last one's.
        return msgspec.structs.replace(whole, finish=reply.finish, stopped=reply.stopped), text + said

    def _stream(self, event: StreamEvent) -> None:
        if isinstance(event, TextDelta):
            self._emit(SummaryDelta(event.text))
        elif isinstance(event, PromptProgress) and self._whole:
            self._emit(ChunkProgress(index=0, processed=event.processed, total=event.total, generated=0))

    async def _stand_in(self, source: str, room: int, read: bool, reason: str) -> Summary:
        found = await extract(source, room, self._runtime.counter.count_many, most=self._prompts.points)
        text = answers.as_text([answers.bare(sentence.removeprefix("> ")) for sentence in found])
        return Summary(text=text, read=read, reason=reason, extracted=True)
