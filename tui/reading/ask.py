"""Questions about documents: from the whole text when it fits, its tokens kept for the next question; else from parts.

The prompt up to the question is processed by itself, so that the slot can be saved exactly there; each question then
extends it. A later run, or the next question of this one, restores the slot and processes only its own words.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import TYPE_CHECKING

from tui.context.again import again
from tui.documents.model import Document
from tui.errors import DoesNotFit, InputProblem, LongscrollError, UsageProblem
from tui.reading.ask_answers import says_nothing
from tui.reading.ask_parts import answer_from_parts
from tui.reading.ask_passages import answer_from_passages
from tui.reading.ask_work import SLOT, Answer, Work, result_of
from tui.reading.events import Answered, AskEvent, AskStarted, Overflow, Restored
from tui.reading.flow import events_of
from tui.reading.prompts import ask_messages
from tui.reading.results import AskOptions, AskResult, AskStrategy
from tui.reading.units import ByDocument, short
from tui.server.types import Message, TextDelta
from tui.templates import Template, load_template
from tui.units import plural
from tui.units import tokens as in_words

if TYPE_CHECKING:
    from tui.context.prompt import Prompt
    from tui.context.runtime import Runtime

__all__ = ["AskOptions", "AskResult", "ask", "ask_all"]

_DEFAULTS = AskOptions()
_STEP = 256
_TOO_MUCH_TO_RENDER = 8_000_000
"""Characters."""
_NOT_THE_SERVERS = (UsageProblem, InputProblem, DoesNotFit)


def ask(
    runtime: Runtime, documents: Sequence[Document], question: str, options: AskOptions = _DEFAULTS
) -> AsyncGenerator[AskEvent, None]:
    """Answer `question` from `documents`; the last event is Answered.

    Raises DoesNotFit (after an Overflow event, with nothing sent) when the documents do not fit the context with the
    question and the room for the answer, and passages were not wanted; InputProblem for documents without text; the
    server's errors, after an Answered event with what had come until then.
    """
    return ask_all(runtime, documents, [question], options)


def ask_all(
    runtime: Runtime, documents: Sequence[Document], questions: Sequence[str], options: AskOptions = _DEFAULTS
) -> AsyncGenerator[AskEvent, None]:
    """Answer several questions on the same documents, whose tokens are processed once; see `ask`.

    Each question begins with AskStarted (when there are several) and ends with Answered, in their order.
    """

    async def work(emit: Callable[[AskEvent], None]) -> None:
        await _Asking(Work(runtime, documents, options, emit), questions).work()

    return events_of(work)


class _Asking:
    def __init__(self, work: Work, questions: Sequence[str]) -> None:
        self._work = work
        self._runtime = work.runtime
        self._questions = questions
        self._kept: tuple[int, ...] = ()
        """The tokens up to the question, once they have been processed in this run."""

    async def work(self) -> None:
        """The whole way from the questions to the last Answered."""
        if not self._questions or not all(question.strip() for question in self._questions):
            raise UsageProblem("There is no question.", "Give one with -q.")
        if not any(document.text.strip() for document in self._work.documents):
            raise InputProblem("There is no document with text to ask about.", "Name at least one file with text.")
        if self._work.options.strategy == "map-reduce":
            await self._all_parts()
            return
        for index, question in enumerate(self._questions):
            self._start(index)
            try:
                result, error = await self._one(question)
            except _NOT_THE_SERVERS:
                raise
            except LongscrollError as failure:
                result, error = _unanswered(question, failure, self._work.options.strategy), failure
            self._work.emit(Answered(result))
            if error is not None:
                self._give_up(index + 1, error)
                raise error

    async def _all_parts(self) -> None:
        try:
            answered = await answer_from_parts(self._work, self._questions)
        except _NOT_THE_SERVERS:
            raise
        except LongscrollError as error:
            self._give_up(0, error)
            raise
        for index, event in enumerate(answered):
            self._start(index)
            self._work.emit(TextDelta(event.result.answer))
            self._work.emit(event)

    def _give_up(self, first: int, error: LongscrollError) -> None:
        """The questions from `first` on will not be asked any more."""
        for index in range(first, len(self._questions)):
            self._start(index)
            self._work.emit(Answered(_unanswered(self._questions[index], error, self._work.options.strategy)))

    def _start(self, index: int) -> None:
        if len(self._questions) > 1:
            self._work.emit(AskStarted(question=self._questions[index], index=index, total=len(self._questions)))

    async def _one(self, question: str) -> tuple[AskResult, LongscrollError | None]:
        options = self._work.options
        if options.strategy == "passages":
            return await answer_from_passages(self._work, question)
        started = time.perf_counter()
        template = await asyncio.to_thread(load_template, "ask", self._runtime.paths.prompts)
        prompt, needed = await self._prompt(template, question)
        if prompt is not None:
            return await self._whole(template, prompt, question, started)
        self._work.emit(Overflow(needed, self._runtime.n_ctx))
        refusal = DoesNotFit(
            needed,
            self._runtime.n_ctx,
            self._remedy(needed),
            subject=f"A question about {self._work.subject}",
        )
        if options.strategy == "whole" or options.on_overflow == "refuse":
            raise refusal
        return await answer_from_passages(self._work, question, said=[refusal.what])

    # The whole text

    async def _whole(
        self, template: Template, prompt: Prompt, question: str, started: float
    ) -> tuple[AskResult, LongscrollError | None]:
        warnings: list[str] = []
        prefix = await self._boundary(template, prompt, warnings)

        async def from_the_slot() -> tuple[int, int, Answer, list[str]]:
            said: list[str] = []
            restored, processed = await self._prepare(prefix, said)
            return restored, processed, await self._work.begun(template, prompt), said

        restored, processed, answer, said = await again(self._runtime, from_the_slot)
        warnings += said
        if restored and answer.error is None:
            warnings.append(await self._runtime.slots.settle_result(restored, answer.finished.timings))
        elif prefix and prefix == self._kept and answer.error is None:
            warnings.append(self._again(prefix, answer.finished.cached_tokens))
        self._kept = prefix
        text = answer.text.strip()
        traced = await self._traced(text) if answer.error is None else {}
        cite = short((await self._work.units()).cite(traced)) if traced else ""
        if cite:
            self._work.emit(TextDelta(f"\n\n[{cite}]"))
        result = result_of(
            self._work,
            question,
            answer,
            strategy="whole",
            started=started,
            text=f"{text}\n\n[{cite}]" if cite else text,
            warnings=[*warnings, self._work.cut(answer)],
            citations=(await self._work.units()).citations(traced) if traced else (),
            restored=restored,
            processed=processed,
        )
        return result, answer.error

    async def _traced(self, answer: str) -> ByDocument:
        """Where the answer's words stand; nothing where they do not tell."""
        if says_nothing(answer):
            return {}
        units = await self._work.units()
        return await asyncio.to_thread(units.trace, answer)

    def _messages(self, template: Template, question: str) -> tuple[Message, ...]:
        return ask_messages(template, self._work.documents, question)

    async def _prompt(self, template: Template, question: str) -> tuple[Prompt | None, int]:
        """The prompt when it fits, and the tokens it needs with the answer's room.

        Documents that no context could hold are counted apart, without being rendered.
        """
        runtime, reserve = self._runtime, self._work.reserve
        documents = self._work.documents
        if sum(len(document.text) for document in documents) > _TOO_MUCH_TO_RENDER:
            frame = len((await runtime.assembler.assemble(ask_messages(template, (), question))).ids)
            apart = sum(await runtime.counter.count_many([document.text for document in documents]))
            if frame + apart + reserve > 2 * runtime.n_ctx:
                return None, frame + apart + reserve
        prompt = await runtime.assembler.assemble(self._messages(template, question))
        needed = len(prompt.ids) + reserve
        return (prompt if needed <= runtime.n_ctx else None), needed

    def _remedy(self, needed: int) -> str:
        enough = -(-needed // _STEP) * _STEP
        model = self._runtime.model
        instead = "let passages be sent with `--strategy passages`, or read it in parts with `longscroll summarize`."
        if model is not None and model.n_ctx_train and enough > model.n_ctx_train:
            return (
                f"This model was made for at most {in_words(model.n_ctx_train)} tokens: ask about a smaller document, "
                f"{instead}"
            )
        return f"Start with --ctx-size {enough} or larger, ask about a smaller document, {instead}"

    async def _boundary(self, template: Template, prompt: Prompt, warnings: list[str]) -> tuple[int, ...]:
        """The tokens up to the question, with which the prompt of every question about these documents begins."""
        prefix = await self._runtime.assembler.boundary((), lambda question: self._messages(template, question))
        if prompt.ids[: len(prefix)] == prefix and len(prefix) < len(prompt.ids):
            return prefix
        warnings.append(
            "The beginning of this question changes the tokens before it, so what is kept cannot be used for it; "
            "ask with other first characters."
        )
        return ()

    async def _prepare(self, prefix: tuple[int, ...], warnings: list[str]) -> tuple[int, int]:
        """Bring the slot to the boundary: tokens that were restored, and tokens that had to be processed for it."""
        if not prefix:
            return 0, 0
        slots = self._runtime.slots
        brought = await slots.bring_back(SLOT, prefix)
        warnings.append(brought.reason)
        if brought.tokens:
            self._work.emit(Restored(tokens=brought.tokens, seconds=brought.seconds, instead_of_s=brought.instead_of_s))
        if brought.tokens == len(prefix) or not slots.available:
            return brought.tokens, 0
        kept = await slots.keep(SLOT, prefix, on_progress=self._work.emit)
        if kept.reason != brought.reason:
            warnings.append(kept.reason)
        return brought.tokens, kept.processed

    def _again(self, prefix: tuple[int, ...], cached: int) -> str:
        """What to say of a further question that could not use what the slot held; "" when it could."""
        missing = len(prefix) - cached
        if missing <= max(1, len(prefix) // 100):
            return ""
        return (
            f"{plural(missing, 'token')} of the documents had to be processed again for this question, because this "
            "model's state cannot be taken back to the end of the documents and no slot file could be used."
        )


def _unanswered(question: str, error: LongscrollError, strategy: str) -> AskResult:
    """For a question to which nothing came because the server failed."""
    asked: dict[str, AskStrategy] = {"passages": "passages", "map-reduce": "map-reduce"}
    return AskResult(
        answer="",
        strategy=asked.get(strategy, "whole"),
        prompt_tokens=0,
        cached_tokens=0,
        restored_tokens=0,
        completion_tokens=0,
        ttft_s=0.0,
        tokens_per_second=0.0,
        warnings=(),
        question=question,
        error=str(error),
    )
