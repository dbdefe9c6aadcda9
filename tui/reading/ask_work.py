"""What all ways of answering a question share: what is asked, how an answer is streamed, what is said beside it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from tui.context.send import send
from tui.documents.model import Document
from tui.errors import DoesNotFit, LongscrollError
from tui.reading.events import AskEvent
from tui.reading.prompts import sampling_of
from tui.reading.results import AskOptions, AskResult, AskStrategy, Citation
from tui.reading.units import Units
from tui.server.errors import ServerGone
from tui.server.types import ReasoningDelta, StreamFinished, TextDelta, Timings
from tui.settings import default_reserve
from tui.templates import Template
from tui.units import tokens as in_words

if TYPE_CHECKING:
    from tui.context.prompt import Prompt
    from tui.context.runtime import Runtime

SLOT = 0


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What came back for a prompt. With an `error` it is what had come until then."""

    text: str
    first: float
    """The moment of its first token, of the clock `perf_counter`."""
    finished: StreamFinished
    """Of a broken stream: without figures."""
    error: LongscrollError | None = None


class Work:
    """One run of questions on documents."""

    def __init__(
        self,
        runtime: Runtime,
        documents: Sequence[Document],
        options: AskOptions,
        emit: Callable[[AskEvent], None],
    ) -> None:
        self.runtime = runtime
        self.documents = tuple(documents)
        self.options = options
        self.emit = emit
        self.reserve = options.max_tokens or default_reserve(runtime.n_ctx, runtime.settings.reserve)
        """Tokens kept for each answer."""
        self._units: Units | None = None

    @property
    def temperature(self) -> float | None:
        """As asked for, else the setting; None leaves it to the template."""
        return self.options.temperature if self.options.temperature is not None else self.runtime.settings.temperature

    @property
    def subject(self) -> str:
        """The documents' names for people."""
        names = ", ".join(document.name for document in self.documents[:3])
        return f"{names} and {len(self.documents) - 3} more" if len(self.documents) > 3 else names

    async def units(self) -> Units:
        """The documents in small parts that can be found; made once."""
        if self._units is None:
            self._units = await Units.make(self.runtime, self.documents)
        return self._units

    async def begun(self, template: Template, prompt: Prompt) -> Answer:
        """As `stream`, but raises ServerGone where nothing of the answer came: then it can be asked for again."""
        answer = await self.stream(template, prompt)
        if isinstance(answer.error, ServerGone) and not answer.text:
            raise answer.error
        return answer

    async def stream(self, template: Template, prompt: Prompt) -> Answer:
        """Send a prompt that was proven to fit; its answer is emitted as it comes.

        A stream that breaks gives what came of it, and the error.
        """
        first: float | None = None
        pieces: list[str] = []
        finished: StreamFinished | None = None
        failure: LongscrollError | None = None
        sampling = sampling_of(template, self.temperature)
        stream = send(self.runtime, prompt, max_tokens=self.reserve, sampling=sampling, id_slot=SLOT)
        try:
            async with contextlib.aclosing(stream):
                async for event in stream:
                    if first is None and isinstance(event, TextDelta | ReasoningDelta):
                        first = time.perf_counter()
                    if isinstance(event, TextDelta):
                        pieces.append(event.text)
                    if isinstance(event, StreamFinished):
                        finished = event
                    self.emit(event)
        except DoesNotFit:
            raise
        except LongscrollError as error:
            failure = error
        if finished is None:
            assert failure is not None, "send ends with StreamFinished or raises"
            finished = StreamFinished(
                finish_reason="stop", prompt_tokens=0, completion_tokens=0, cached_tokens=0, timings=Timings()
            )
        return Answer(text="".join(pieces), first=first or time.perf_counter(), finished=finished, error=failure)

    def cut(self, answer: Answer) -> str:
        """The warning for an answer that has no end; "" for one that has."""
        if answer.error is not None or answer.finished.finish_reason == "stop":
            return ""
        more = "--max-tokens" if self.options.max_tokens else "--ctx-size or `reserve` in the settings"
        return (
            f"The answer reached its room of {in_words(self.reserve)} tokens before its end; "
            f"a larger {more} gives it more."
        )

    def warnings(self, *own: str) -> tuple[str, ...]:
        """Those of the documents, then `own`, each once."""
        of_documents = [warning for document in self.documents for warning in document.warnings]
        return tuple(dict.fromkeys(text for text in (*of_documents, *own) if text))


def result_of(
    work: Work,
    question: str,
    answer: Answer,
    *,
    strategy: AskStrategy,
    started: float,
    text: str,
    warnings: Sequence[str],
    citations: tuple[Citation, ...] = (),
    restored: int = 0,
    processed: int = 0,
) -> AskResult:
    """The result of an answer that was streamed; `processed` tokens were processed for it before it was sent."""
    finished = answer.finished
    return AskResult(
        answer=text,
        strategy=strategy,
        prompt_tokens=finished.prompt_tokens,
        cached_tokens=max(0, finished.cached_tokens - processed),
        restored_tokens=restored,
        completion_tokens=finished.completion_tokens,
        ttft_s=round(answer.first - started, 4),
        tokens_per_second=round(finished.timings.predicted_per_second, 2),
        warnings=work.warnings(*warnings),
        question=question,
        citations=citations,
        error=str(answer.error) if answer.error else None,
    )
