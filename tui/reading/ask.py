"""A question about documents that stand whole in the prompt, their tokens kept for the next question.

The prompt up to the question is processed by itself, so that the slot can be saved exactly there; the question then
extends it. A later run restores the slot and processes only its own question.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import TYPE_CHECKING

from tui.context.send import send
from tui.documents.model import Document
from tui.errors import DoesNotFit, InputProblem, UsageProblem
from tui.reading.events import Answered, AskEvent, Overflow, Restored
from tui.reading.flow import events_of
from tui.reading.prompts import ask_messages, sampling_of
from tui.reading.results import AskOptions, AskResult
from tui.server.types import Message, ReasoningDelta, StreamFinished, TextDelta
from tui.settings import default_reserve
from tui.templates import Template, load_template
from tui.units import tokens as in_words

if TYPE_CHECKING:
    from tui.context.prompt import Prompt
    from tui.context.runtime import Runtime

__all__ = ["AskOptions", "AskResult", "ask"]

_SLOT = 0
_DEFAULTS = AskOptions()
_STEP = 256
_TOO_MUCH_TO_RENDER = 8_000_000
"""Characters."""


def ask(
    runtime: Runtime, documents: Sequence[Document], question: str, options: AskOptions = _DEFAULTS
) -> AsyncGenerator[AskEvent, None]:
    """Answer `question` from `documents`; the last event is Answered.

    Raises DoesNotFit (after an Overflow event, with nothing sent) when the documents do not fit the context with the
    question and the room for the answer; InputProblem for documents without text; the server's errors.
    """
    return events_of(_Question(runtime, documents, question, options).work)


class _Question:
    def __init__(self, runtime: Runtime, documents: Sequence[Document], question: str, options: AskOptions) -> None:
        self._runtime = runtime
        self._documents = documents
        self._question = question
        self._options = options
        self._warnings = [warning for document in documents for warning in document.warnings]
        self._emit: Callable[[AskEvent], None] = lambda event: None

    async def work(self, emit: Callable[[AskEvent], None]) -> None:
        """The whole way from the question to Answered."""
        self._emit = emit
        started = time.perf_counter()
        runtime = self._runtime
        if not self._question.strip():
            raise UsageProblem("There is no question.", "Give one with -q.")
        if not any(document.text.strip() for document in self._documents):
            raise InputProblem("There is no document with text to ask about.", "Name at least one file with text.")
        template = await asyncio.to_thread(load_template, "ask", runtime.paths.prompts)
        reserve = self._options.max_tokens or default_reserve(runtime.n_ctx, runtime.settings.reserve)
        prompt = await self._prompt(template, reserve)
        prefix = await self._boundary(template, prompt)
        restored, processed = await self._prepare(prefix)
        finished, answer, first = await self._answer(template, prompt, reserve)
        if restored:
            self._warn(await runtime.slots.settle_result(restored, finished.timings))
        if finished.finish_reason != "stop":
            self._warn(
                f"The answer reached its room of {in_words(reserve)} tokens before its end; "
                "a larger --ctx-size or `reserve` in the settings gives it more."
            )
        emit(
            Answered(
                AskResult(
                    answer=answer.strip(),
                    strategy="whole",
                    prompt_tokens=finished.prompt_tokens,
                    cached_tokens=max(0, finished.cached_tokens - processed),
                    restored_tokens=restored,
                    completion_tokens=finished.completion_tokens,
                    ttft_s=round((first or time.perf_counter()) - started, 4),
                    tokens_per_second=round(finished.timings.predicted_per_second, 2),
                    warnings=tuple(dict.fromkeys(self._warnings)),
                )
            )
        )

    def _warn(self, sentence: str) -> None:
        if sentence:
            self._warnings.append(sentence)

    def _messages(self, template: Template, question: str) -> tuple[Message, ...]:
        return ask_messages(template, self._documents, question)

    async def _prompt(self, template: Template, reserve: int) -> Prompt:
        """The prompt, proven to fit. Documents that no context could hold are refused without being rendered."""
        runtime = self._runtime
        if sum(len(document.text) for document in self._documents) > _TOO_MUCH_TO_RENDER:
            frame = len((await runtime.assembler.assemble(ask_messages(template, (), self._question))).ids)
            apart = sum(await runtime.counter.count_many([document.text for document in self._documents]))
            if frame + apart + reserve > 2 * runtime.n_ctx:
                self._refuse(frame + apart + reserve)
        prompt = await runtime.assembler.assemble(self._messages(template, self._question))
        if len(prompt.ids) + reserve > runtime.n_ctx:
            self._refuse(len(prompt.ids) + reserve)
        return prompt

    def _refuse(self, needed: int) -> None:
        runtime = self._runtime
        self._emit(Overflow(needed, runtime.n_ctx))
        names = ", ".join(document.name for document in self._documents[:3])
        more = f" and {len(self._documents) - 3} more" if len(self._documents) > 3 else ""
        raise DoesNotFit(needed, runtime.n_ctx, self._remedy(needed), subject=f"A question about {names}{more}")

    def _remedy(self, needed: int) -> str:
        enough = -(-needed // _STEP) * _STEP
        model = self._runtime.model
        if model is not None and model.n_ctx_train and enough > model.n_ctx_train:
            return (
                f"This model was made for at most {in_words(model.n_ctx_train)} tokens: ask about a smaller document, "
                "or read it in parts with `longscroll summarize`."
            )
        return (
            f"Start with --ctx-size {enough} or larger, ask about a smaller document, "
            "or read it in parts with `longscroll summarize`."
        )

    async def _boundary(self, template: Template, prompt: Prompt) -> tuple[int, ...]:
        """The tokens up to the question, with which the prompt of every question about these documents begins."""
        prefix = await self._runtime.assembler.boundary((), lambda question: self._messages(template, question))
        if prompt.ids[: len(prefix)] == prefix and len(prefix) < len(prompt.ids):
            return prefix
        self._warn(
            "The beginning of this question changes the tokens before it, so what is kept cannot be used for it; "
            "ask with other first characters."
        )
        return ()

    async def _prepare(self, prefix: tuple[int, ...]) -> tuple[int, int]:
        """Bring the slot to the boundary: tokens that were restored, and tokens that had to be processed for it."""
        if not prefix:
            return 0, 0
        slots = self._runtime.slots
        brought = await slots.bring_back(_SLOT, prefix)
        self._warn(brought.reason)
        if brought.tokens:
            self._emit(Restored(tokens=brought.tokens, seconds=brought.seconds, instead_of_s=brought.instead_of_s))
        if brought.tokens == len(prefix) or not slots.available:
            return brought.tokens, 0
        kept = await slots.keep(_SLOT, prefix, on_progress=self._emit)
        if kept.reason != brought.reason:
            self._warn(kept.reason)
        return brought.tokens, kept.processed

    async def _answer(
        self, template: Template, prompt: Prompt, reserve: int
    ) -> tuple[StreamFinished, str, float | None]:
        """The end of the stream, the answer, and the moment of its first token."""
        runtime = self._runtime
        setting = runtime.settings.temperature
        temperature = self._options.temperature if self._options.temperature is not None else setting
        first: float | None = None
        pieces: list[str] = []
        finished: StreamFinished | None = None
        stream = send(runtime, prompt, max_tokens=reserve, sampling=sampling_of(template, temperature), id_slot=_SLOT)
        async with contextlib.aclosing(stream):
            async for event in stream:
                if first is None and isinstance(event, TextDelta | ReasoningDelta):
                    first = time.perf_counter()
                if isinstance(event, TextDelta):
                    pieces.append(event.text)
                if isinstance(event, StreamFinished):
                    finished = event
                self._emit(event)
        assert finished is not None, "send ends with StreamFinished or raises"
        return finished, "".join(pieces), first
