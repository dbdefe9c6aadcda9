"""One call of the model: proven to fit, followed to its end, and checked against what the server really evaluated."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from tui.context.again import again
from tui.context.prompt import Prompt
from tui.context.send import send
from tui.reading.answers import circles
from tui.reading.events import ChunkProgress
from tui.server.errors import StreamBroken
from tui.server.types import (
    FinishReason,
    PromptProgress,
    ReasoningDelta,
    Sampling,
    StreamEvent,
    StreamFinished,
    TextDelta,
    Timings,
)

if TYPE_CHECKING:
    from tui.context.runtime import Runtime

OnEvent = Callable[[StreamEvent], None]

_CHECK_EVERY = 40


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """One answer. Figures in tokens."""

    text: str
    finish: FinishReason
    planned: int
    """Prompt tokens as they were counted before sending."""
    evaluated: int
    """Prompt tokens as the server evaluated them, those from its cache included."""
    reasoned: bool
    """The model thought aloud before (or instead of) answering."""
    stopped: bool = False
    """It went in circles and was stopped. `evaluated` is then what the server reported on its way."""

    @property
    def ended(self) -> bool:
        """The model came to its end by itself."""
        return self.finish == "stop"

    @property
    def exact(self) -> bool:
        """Every planned token was evaluated, and nothing else."""
        return self.planned == self.evaluated


class Caller:
    """Makes calls and sums up what they cost."""

    def __init__(
        self, runtime: Runtime, *, cache_prompt: bool = True, endless: Callable[[str], bool] = circles
    ) -> None:
        """Without `cache_prompt` every call is processed from its first token, as if it were the only one.

        `endless` tells of an answer so far whether it only says the same again and is to be stopped.
        """
        self.runtime = runtime
        self._cache_prompt = cache_prompt
        self._endless = endless
        self.prompt_tokens = 0
        self.completion_tokens = 0
        self.retry_tokens = 0
        """Prompt tokens of calls that were made again; not part of `prompt_tokens`."""
        self.timings = Timings()
        """Of all calls together: tokens that were really processed, and the milliseconds of each call added up."""

    async def call(
        self,
        prompt: Prompt,
        *,
        max_tokens: int,
        sampling: Sampling,
        id_slot: int,
        on_event: OnEvent | None = None,
        retry: bool = False,
        on_again: Callable[[str], None] | None = None,
    ) -> Reply:
        """Send and read to the end. DoesNotFit, with nothing sent, when it does not; the other errors are the server's.

        A call under which the server died is made again when it was started again; a stream that breaks while the
        server lives on is asked for once more. `on_again` hears of both: the events so far are void.
        """
        return await again(
            self.runtime,
            lambda: self._once(prompt, max_tokens, sampling, id_slot, on_event, retry=retry),
            before=None if on_again is None else lambda error: on_again(error.what),
        )

    async def _once(
        self,
        prompt: Prompt,
        max_tokens: int,
        sampling: Sampling,
        id_slot: int,
        on_event: OnEvent | None,
        *,
        retry: bool,
    ) -> Reply:
        pieces: list[str] = []
        unchecked = evaluated = 0
        reasoned = False
        finished: StreamFinished | None = None
        stream = send(
            self.runtime,
            prompt,
            max_tokens=max_tokens,
            sampling=sampling,
            id_slot=id_slot,
            cache_prompt=self._cache_prompt,
        )
        async with contextlib.aclosing(stream):
            async for event in stream:
                if isinstance(event, TextDelta):
                    pieces.append(event.text)
                elif isinstance(event, ReasoningDelta):
                    reasoned = True
                elif isinstance(event, StreamFinished):
                    finished = event
                elif isinstance(event, PromptProgress):
                    evaluated = event.processed
                if on_event is not None:
                    on_event(event)
                unchecked += isinstance(event, TextDelta)
                if unchecked >= _CHECK_EVERY:
                    unchecked = 0
                    if self._endless("".join(pieces)):
                        return await self._stopped(prompt, "".join(pieces), evaluated, reasoned=reasoned, retry=retry)
        if finished is None:
            raise StreamBroken("The answer broke off without its end.", "Try again.")
        self._spent(finished.prompt_tokens, finished.completion_tokens, retry=retry)
        self.timings = _added(self.timings, finished.timings)
        return Reply(
            text="".join(pieces),
            finish=finished.finish_reason,
            planned=len(prompt.ids),
            evaluated=finished.timings.cache_n + finished.timings.prompt_n,
            reasoned=reasoned,
        )

    def _spent(self, prompt_tokens: int, completion_tokens: int, *, retry: bool) -> None:
        if retry:
            self.retry_tokens += prompt_tokens
        else:
            self.prompt_tokens += prompt_tokens
        self.completion_tokens += completion_tokens

    async def _stopped(self, prompt: Prompt, text: str, evaluated: int, *, reasoned: bool, retry: bool) -> Reply:
        """An answer that went in circles was stopped; it would have done so until its limit."""
        self._spent(evaluated, await self.runtime.counter.count(text), retry=retry)
        return Reply(
            text=text,
            finish="length",
            planned=len(prompt.ids),
            evaluated=evaluated,
            reasoned=reasoned,
            stopped=True,
        )

    async def go_on(
        self,
        prompt: Prompt,
        said: str,
        *,
        max_tokens: int,
        sampling: Sampling,
        id_slot: int,
        on_event: OnEvent | None = None,
        on_again: Callable[[str], None] | None = None,
    ) -> Reply:
        """Continue an answer that stopped at its limit, from exactly what it said."""
        ids = (*prompt.ids, *await self.runtime.counter.encode(said))
        longer = Prompt(ids=ids, text=prompt.text + said, messages=prompt.messages, as_ids=True)
        room = min(max_tokens, self.runtime.n_ctx - len(ids))
        if room <= 0:
            return Reply(text="", finish="context", planned=0, evaluated=0, reasoned=False)
        return await self.call(
            longer,
            max_tokens=room,
            sampling=sampling,
            id_slot=id_slot,
            on_event=on_event,
            retry=True,
            on_again=on_again,
        )


def _added(a: Timings, b: Timings) -> Timings:
    return Timings(
        cache_n=a.cache_n + b.cache_n,
        prompt_n=a.prompt_n + b.prompt_n,
        prompt_ms=a.prompt_ms + b.prompt_ms,
        predicted_n=a.predicted_n + b.predicted_n,
        predicted_ms=a.predicted_ms + b.predicted_ms,
    )


def progress_of(index: int, prompt: Prompt, emit: Callable[[ChunkProgress], None]) -> OnEvent:
    """What tells of the call for the part `index` as it goes on."""
    so_far = (0, len(prompt.ids), 0)

    def report(event: StreamEvent) -> None:
        nonlocal so_far
        after = _progress_after(event, so_far)
        if after is not None:
            so_far = after
            processed, total, generated = after
            emit(ChunkProgress(index=index, processed=processed, total=total, generated=generated))

    return report


def _progress_after(event: StreamEvent, so_far: tuple[int, int, int]) -> tuple[int, int, int] | None:
    """Progress after an event as (processed, total, generated), None when it did not change."""
    _, total, generated = so_far
    if isinstance(event, PromptProgress):
        return event.processed, event.total, generated
    if isinstance(event, TextDelta | ReasoningDelta):
        return total, total, generated + 1
    return None
