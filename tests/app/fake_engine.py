"""An engine without a server: it says what a script tells it to, so that the screen can be tested by itself."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from tui.chat.events import (
    AnswerStarted,
    ChatEvent,
    Overflow,
    Resumed,
    TurnFailed,
    TurnFinished,
    TurnWithdrawn,
    UserStored,
)
from tui.context.plan import ContextPlan
from tui.context.slots import Kept
from tui.documents.model import Document, Span
from tui.errors import InputProblem, LongscrollError, UsageProblem
from tui.paths import get_paths
from tui.server.state import ServerState
from tui.server.types import PromptProgress, ReasoningDelta, TextDelta
from tui.store.sessions import MessageRow, SessionRow

CONTEXT = 8192


def row(number: int, role: str, content: str, **fields: Any) -> MessageRow:
    values: dict[str, Any] = {
        "id": number,
        "session_id": "s1",
        "parent_id": None,
        "role": role,
        "content": content,
        "reasoning": "",
        "state": "complete",
        "finish_reason": "stop" if role == "assistant" else "",
        "model": "tiny",
        "prompt_tokens": None,
        "completion_tokens": None,
        "cached_tokens": None,
        "prompt_ms": None,
        "predicted_ms": None,
        "ttft_ms": None,
        "created": 0.0,
        "updated": 0.0,
        **fields,
    }
    return MessageRow(**values)


def session(name: str = "s1", title: str = "") -> SessionRow:
    return SessionRow(
        id=name, title=title, model="tiny", fingerprint="f", system="", head=None, created=0.0, updated=86_400.0
    )


def plan_of(history: int, draft: str, documents: Sequence[Document] = ()) -> ContextPlan:
    """As many tokens as words, and 24 for the system prompt."""
    return ContextPlan(
        context=CONTEXT,
        system=24,
        documents=tuple((document.name, len(document.text.split())) for document in documents),
        history=history,
        draft=len(draft.split()),
        reserve=1024,
    )


class FakeTalk:
    """A conversation whose answers come from `engine.script`, event by event; `None` waits for `engine.go`."""

    def __init__(self, engine: FakeEngine, row: SessionRow, messages: Sequence[MessageRow] = ()) -> None:
        self.engine = engine
        self.session = row
        self.messages = list(messages)
        self.documents: list[Document] = []
        self.busy = False
        self._stop = asyncio.Event()
        self._leaving = False

    async def attach(self, document: Document) -> None:
        self.documents.append(document)

    async def detach(self, document: Document) -> None:
        self.documents.remove(document)

    async def plan(self, draft: str) -> ContextPlan:
        return plan_of(sum(len(row.content.split()) for row in self.messages), draft, self.documents)

    async def send(self, text: str) -> AsyncGenerator[ChatEvent, None]:
        plan = await self.plan(text)
        if not plan.fits:
            yield Overflow(needed=plan.needed, available=plan.context, plan=plan, draft=text)
            return
        question = row(len(self.messages), "user", text)
        self.messages.append(question)
        self.session = msgspec.structs.replace(self.session, title=self.session.title or text[:40])
        yield UserStored(question)
        async for event in self.retry():
            yield event

    async def retry(self) -> AsyncGenerator[ChatEvent, None]:
        self.busy = True
        self._stop.clear()
        text = reasoning = ""
        state, tokens = "complete", 0
        yield AnswerStarted(row(len(self.messages), "assistant", "", state="partial"))
        for step in self.engine.script:
            if step is None:
                waits = [asyncio.ensure_future(self.engine.go.wait()), asyncio.ensure_future(self._stop.wait())]
                waits.append(asyncio.ensure_future(self.engine.death.wait()))
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
                for wait in waits:
                    wait.cancel()
                if not self._stop.is_set() and self.engine.death.is_set():
                    self.busy = False
                    yield TurnFailed(message=None, what="The server was killed.")
                    return
                if self._stop.is_set():
                    state = "stopped"
                    break
                continue
            if isinstance(step, TextDelta):
                text += step.text
                tokens += 1
            elif isinstance(step, ReasoningDelta):
                reasoning += step.text
            elif isinstance(step, TurnFailed):
                yield step
                self.busy = False
                return
            yield step
        if state == "stopped" and not text and not reasoning and not self._leaving:
            self.busy = False
            last = self.messages[-1]
            draft = self.messages.pop().content if last.role == "user" else ""
            yield TurnWithdrawn(draft=draft, messages=tuple(self.messages))
            return
        answer = row(
            len(self.messages),
            "assistant",
            text,
            reasoning=reasoning,
            state=state,
            completion_tokens=tokens,
            predicted_ms=tokens * 50.0,
            ttft_ms=800.0,
        )
        self.messages.append(answer)
        self.busy = False
        yield TurnFinished(message=answer)

    def stop(self, *, leaving: bool = False) -> None:
        self._leaving = leaving
        self._stop.set()

    async def resume(self) -> Resumed:
        return Resumed(tokens=4203, seconds=1.2, instead_of_s=210.0)

    async def settle(self, on_progress: Callable[[PromptProgress], None] | None = None) -> Kept | None:
        if on_progress is not None:
            on_progress(PromptProgress(total=40, cached=20, processed=30, time_ms=100.0))
        self.engine.settled += 1
        await self.engine.settling.wait()
        return Kept(tokens=40, size=1 << 20)

    async def close(self) -> None:
        self.engine.closed_talks += 1


class FakeDesk:
    model_name = "Tiny-Test-Model-Q4.gguf"
    n_ctx = CONTEXT
    largest_context = 4 * CONTEXT

    def __init__(self, engine: FakeEngine) -> None:
        self.engine = engine
        self.warnings = list(engine.warnings)

    async def talk(self, session_id: str) -> FakeTalk:
        if session_id:
            found = next((row for row in self.engine.rows if row.id == session_id), None)
            if found is None:
                raise UsageProblem(f"There is no session {session_id}.", "Start a new one or name another.")
            self.engine.talk = FakeTalk(self.engine, found, self.engine.history_rows)
        else:
            self.engine.talk = FakeTalk(self.engine, session(f"new{len(self.engine.rows)}"))
        return self.engine.talk

    async def died(self) -> LongscrollError:
        await self.engine.death.wait()
        assert self.engine.failure is not None
        return self.engine.failure


class FakeEngine:
    """Everything a test wants to decide."""

    def __init__(self) -> None:
        self.script: list[Any] = [TextDelta("Hello "), TextDelta("there.")]
        self.rows: list[SessionRow] = []
        self.history_rows: list[MessageRow] = []
        self.warnings: list[str] = []
        self.failure: LongscrollError | None = None
        self.go = asyncio.Event()
        self.death = asyncio.Event()
        self.settling = asyncio.Event()
        self.settling.set()
        self.opening = asyncio.Event()
        self.opening.set()
        self.talk: FakeTalk | None = None
        self.settled = self.closed_talks = self.opened = self.shut = 0

    @property
    def logs(self) -> Path:
        return get_paths().logs

    @contextlib.asynccontextmanager
    async def open(self, on_state: Callable[[Any], None]) -> AsyncIterator[FakeDesk]:
        on_state(ServerState("loading", fraction=0.5))
        await self.opening.wait()
        if self.failure is not None and not self.opened:
            raise self.failure
        self.opened += 1
        try:
            yield FakeDesk(self)
        finally:
            self.shut += 1

    async def sessions(self) -> Sequence[SessionRow]:
        return self.rows

    async def delete(self, session_id: str) -> None:
        self.rows = [row for row in self.rows if row.id != session_id]

    async def history(self, session_id: str) -> tuple[SessionRow, Sequence[MessageRow]] | None:
        return next(((row, self.history_rows) for row in self.rows if row.id == session_id), None)

    async def read(self, path: str) -> Document:
        if path.endswith("missing.pdf"):
            raise InputProblem(f"{path} does not exist.", "Check the path.")
        if path.endswith("slow.pdf"):
            await asyncio.Event().wait()
        text = "word " * 900
        return Document(
            path=path,
            name=path.rsplit("/", 1)[-1],
            kind="pdf",
            text=text,
            spans=(Span("page", "1", 1, 0, len(text)),),
            warnings=("Page 3 has no text layer.",) if "scan" in path else (),
        )
