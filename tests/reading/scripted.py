"""A runtime whose model says what a test tells it to: for faults that the real server cannot be made to show.

Tokens are words and single marks; every prompt is checked to fit the context, as the real server would.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import re
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from tui.context.prompt import Prompt
from tui.context.runtime import Runtime
from tui.paths import Paths
from tui.server.errors import ServerGone, StreamCancelled
from tui.server.types import (
    FinishReason,
    Message,
    PromptProgress,
    Props,
    ReasoningDelta,
    Sampling,
    StreamEvent,
    StreamFinished,
    TextDelta,
    Timings,
)
from tui.settings import Settings
from tui.store.database import Store

_TOKEN = re.compile(r"\s?(?:\w+|[^\w\s])|\s{1,2}")


def words(text: str) -> list[str]:
    return _TOKEN.findall(text)


@dataclass
class Call:
    """One request as the model saw it."""

    number: int
    text: str
    max_tokens: int
    sampling: Sampling
    slot: int

    @property
    def kind(self) -> str:
        on_notes = "\nEnd of the notes." in self.text
        if "You write short notes" in self.text:
            return "reduce" if on_notes else "map"
        return "final" if on_notes else "single"

    @property
    def asked(self) -> str:
        """The instruction."""
        return self.text.rpartition("End of the")[2]

    @property
    def body(self) -> str:
        """The text, or the notes."""
        found = re.search(r"(?:Text|Notes [^:]*):\n\n(.*)\n\nEnd of the", self.text, re.DOTALL)
        return found[1] if found else self.text


@dataclass
class Say:
    """What the model answers."""

    text: str
    finish: FinishReason = "stop"
    missing: int = 0
    """Prompt tokens the server leaves out."""
    reasoning: str = ""
    error: BaseException | None = None


Model = Callable[[Call], Say]


def sensible(call: Call) -> Say:
    """Words of the text as notes, or as a summary."""
    said = call.body.replace("- ", "").split()
    if call.kind in ("map", "reduce"):
        return Say(f"1. {' '.join(said[:12])}\n2. {' '.join(said[12:24])}")
    return Say(f"{' '.join(said[:40])}.")


@dataclass
class _Counter:
    source: str = "local"
    exact: bool = True

    known: dict[int, str] = field(default_factory=dict)

    async def encode(self, text: str) -> list[int]:
        self.known |= {hash(word): word for word in words(text)}
        return [hash(word) for word in words(text)]

    async def count(self, text: str) -> int:
        return len(words(text))

    async def count_many(self, texts: Sequence[str]) -> list[int]:
        await asyncio.sleep(0)
        return [len(words(text)) for text in texts]


@dataclass
class _Assembler:
    counter: _Counter

    async def assemble(self, messages: Sequence[Message]) -> Prompt:
        text = "".join(f"<|{message.role}|> {message.content} <|end|>" for message in messages)
        return Prompt(tuple(await self.counter.encode(text)), text, tuple(messages), as_ids=False)


@dataclass
class _Client:
    n_ctx: int
    model: Model
    calls: list[Call] = field(default_factory=list)
    busy: set[int] = field(default_factory=set)
    most_busy: int = 0
    numbers: Any = field(default_factory=itertools.count)
    alive: bool = True
    generation: int = 0
    known: dict[int, str] = field(default_factory=dict)
    """Words by their token, of all that was counted."""

    async def health(self) -> str:
        return "ok" if self.alive else "unreachable"

    async def chat(
        self, messages: Sequence[Message], *, max_tokens: int, sampling: Sampling, id_slot: int, **_: object
    ) -> AsyncGenerator[StreamEvent, None]:
        text = "".join(f"<|{message.role}|> {message.content} <|end|>" for message in messages)
        async with contextlib.aclosing(self._answer(text, len(words(text)), max_tokens, sampling, id_slot)) as events:
            async for event in events:
                yield event

    async def complete(
        self, ids: Sequence[int], *, max_tokens: int, sampling: Sampling, id_slot: int, **_: object
    ) -> AsyncGenerator[StreamEvent, None]:
        text = "".join(self.known[token] for token in ids) if sampling.json_schema else "(continued)"
        async with contextlib.aclosing(self._answer(text, len(ids), max_tokens, sampling, id_slot)) as events:
            async for event in events:
                yield event

    async def _answer(
        self, text: str, size: int, max_tokens: int, sampling: Sampling, slot: int
    ) -> AsyncGenerator[StreamEvent, None]:
        assert size + max_tokens <= self.n_ctx, f"{size} + {max_tokens} > {self.n_ctx}"
        assert slot not in self.busy, "two calls on one slot at once"
        self.busy.add(slot)
        self.most_busy = max(self.most_busy, len(self.busy))
        try:
            call = Call(next(self.numbers), text, max_tokens, sampling, slot)
            self.calls.append(call)
            said = self.model(call)
            await asyncio.sleep(0)
            yield PromptProgress(size, 0, size, 1.0)
            if said.reasoning:
                yield ReasoningDelta(said.reasoning)
            for word in words(said.text)[:max_tokens]:
                yield TextDelta(word)
            await asyncio.sleep(0)
            if said.error is not None:
                raise said.error
            n = min(len(words(said.text)), max_tokens)
            cut = len(words(said.text)) > max_tokens
            yield StreamFinished(
                finish_reason="length" if cut else said.finish,
                prompt_tokens=size - said.missing,
                completion_tokens=n,
                cached_tokens=0,
                timings=Timings(prompt_n=size - said.missing, predicted_n=n),
            )
        finally:
            self.busy.discard(slot)


class ScriptedRuntime:
    """Stands where `tui.context.runtime.Runtime` stands."""

    def __init__(self, paths: Paths, model: Model = sensible, *, n_ctx: int = 1024, parallel: int = 2) -> None:
        self.n_ctx = n_ctx
        self.parallel = parallel
        self.counter = _Counter()
        self.assembler = _Assembler(self.counter)
        self.client = _Client(n_ctx, model, known=self.counter.known)
        self.settings = Settings()
        self.paths = paths
        self.store = Store(paths)
        self.model = None
        self.props = Props(n_ctx=n_ctx, total_slots=parallel)
        self.fingerprint = "scripted"
        self.warnings: list[str] = []

    def warn(self, sentence: str) -> None:
        self.warnings.append(sentence)

    async def revive(self, error: ServerGone, generation: int) -> None:
        """As a server elsewhere: asked again only while it lives."""
        if isinstance(error, StreamCancelled) or not self.client.alive:
            raise error

    @property
    def calls(self) -> list[Call]:
        return self.client.calls

    @property
    def runtime(self) -> Runtime:
        return cast(Runtime, self)
