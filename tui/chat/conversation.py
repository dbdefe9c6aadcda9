"""One open session: its messages and documents, the plan of the next request, one answer at a time."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import TYPE_CHECKING, Self

import msgspec

from tui.chat.answer import Answer
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
from tui.chat.turns import History, history_of, opening, title_of
from tui.context.diagnosed import diagnosed
from tui.context.plan import ContextPlan, PlanParts, make_plan
from tui.context.send import send
from tui.documents.model import Document
from tui.errors import LongscrollError, StorageProblem, UsageProblem
from tui.server.types import Message, PromptProgress, Sampling
from tui.store.sessions import MessageRow, SessionRow
from tui.text import well_formed

if TYPE_CHECKING:
    from tui.context.prompt import Prompt
    from tui.context.runtime import Runtime
    from tui.context.slots import Kept


class Conversation:
    """An open session. Every method belongs to the event loop; the disk is waited for in threads.

    `session`, `messages` (the active path, oldest first) and `documents` mirror the database.
    """

    def __init__(
        self,
        runtime: Runtime,
        session: SessionRow,
        *,
        messages: Sequence[MessageRow] = (),
        documents: Sequence[Document] = (),
        slot: int = 0,
    ) -> None:
        self.runtime = runtime
        self.session = session
        self.messages = list(messages)
        self.documents = list(documents)
        self.slot = slot
        self._busy = False
        self._answer: Answer | None = None
        self._restored = 0
        self._unsettled = False
        self._leaving = False

    @classmethod
    async def create(
        cls, runtime: Runtime, *, documents: Sequence[Document] = (), system: str = "", slot: int = 0
    ) -> Self:
        """A new session. Without `system`: the user's setting, else the template `system`."""
        text = system or runtime.settings.system_prompt or await asyncio.to_thread(_default_system, runtime)
        session = await asyncio.to_thread(
            runtime.store.sessions.create, "", runtime.model_name, runtime.fingerprint, text
        )
        conversation = cls(runtime, session, slot=slot)
        for document in documents:
            await conversation.attach(document)
        return conversation

    @classmethod
    async def open(cls, runtime: Runtime, session_id: str, *, slot: int = 0) -> Self:
        """A session as it was left. Raises UsageProblem when there is none of that id."""
        store = runtime.store
        session = await asyncio.to_thread(store.sessions.get, session_id)
        if session is None:
            raise UsageProblem(f"There is no session {session_id}.", "Start a new one or name another.")
        messages = await asyncio.to_thread(store.sessions.messages, session_id)
        attached = await asyncio.to_thread(store.sessions.attachments, session_id)
        documents = []
        for row in attached:
            packed = await asyncio.to_thread(store.documents.data, row.id)
            document = msgspec.msgpack.decode(packed, type=Document)
            documents.append(msgspec.structs.replace(document, path=row.path))
        return cls(runtime, session, messages=messages, documents=documents, slot=slot)

    @property
    def busy(self) -> bool:
        """Whether an answer is under way."""
        return self._busy

    async def attach(self, document: Document) -> None:
        """Put a document before the conversation. Its tokens are processed with the next message."""
        self._refuse_when_busy()
        store = self.runtime.store
        packed = msgspec.msgpack.encode(msgspec.structs.replace(document, path=well_formed(document.path)))
        document_id = await asyncio.to_thread(
            store.documents.put,
            packed,
            key=f"attached:{hashlib.sha256(packed).hexdigest()}",
            sha256=document.sha256,
            path=document.path,
            name=document.name,
            kind=document.kind,
            characters=len(document.text),
            pages=document.pages,
        )
        attached = {row.id for row in await asyncio.to_thread(store.sessions.attachments, self.session.id)}
        await asyncio.to_thread(store.sessions.attach, self.session.id, document_id, document.path)
        if document_id not in attached:
            self.documents.append(document)
            self._unsettled = False  # the slot holds another opening now

    async def detach(self, document: Document) -> None:
        """Take one of `documents` out of the conversation. Raises UsageProblem when it is not among them."""
        self._refuse_when_busy()
        if document not in self.documents:
            raise UsageProblem(f"{document.name} is not attached to this conversation.", "Name one that is.")
        sessions = self.runtime.store.sessions
        at = self.documents.index(document)
        rows = await asyncio.to_thread(sessions.attachments, self.session.id)
        same = [row for row in rows if (row.sha256, row.name) == (document.sha256, document.name)]
        # The same file read twice is attached twice only when it was read differently: its order tells them apart.
        nth = sum((known.sha256, known.name) == (document.sha256, document.name) for known in self.documents[:at])
        if same:
            await asyncio.to_thread(sessions.detach, self.session.id, same[min(nth, len(same) - 1)].id)
        del self.documents[at]
        self._unsettled = False

    async def plan(self, draft: str) -> ContextPlan:
        """What the next request would hold, counted exactly. Texts without an answer count as part of the draft."""
        return await self._plan(history_of(self.messages), draft)

    async def _plan(self, history: History, draft: str) -> ContextPlan:
        parts = PlanParts(
            heads=tuple(self._opening(count) for count in range(len(self.documents) + 1)),
            names=tuple(document.name for document in self.documents),
            history=history.messages,
            draft=well_formed(history.with_draft(draft)),
        )
        runtime = self.runtime
        return await make_plan(runtime.assembler, parts, context=runtime.n_ctx, reserve=runtime.reserve)

    async def send(self, text: str, *, sampling: Sampling | None = None) -> AsyncGenerator[ChatEvent, None]:
        """Send a message and yield what happens; closing the generator stops the answer and keeps what had come.

        Either one Overflow (nothing was sent or stored), or UserStored, AnswerStarted, the stream's events, and
        TurnFinished, TurnFailed or TurnWithdrawn. What goes wrong before the message is stored is raised as a
        LongscrollError.
        """
        async with contextlib.aclosing(self._turn(text, sampling)) as turn:
            async for event in turn:
                yield event

    async def retry(self, *, sampling: Sampling | None = None) -> AsyncGenerator[ChatEvent, None]:
        """Answer the last message of the user again; an answer it already has stays in the tree, off the active path.

        Yields what `send` yields, without UserStored. Raises UsageProblem when there is no message to answer.
        """
        async with contextlib.aclosing(self._turn(None, sampling)) as turn:
            async for event in turn:
                yield event

    def stop(self, *, leaving: bool = False) -> None:
        """Stop the answer that is under way; its generator ends with TurnFinished in the state `stopped`.

        Before anything of the answer has come it ends with TurnWithdrawn; not when `leaving`, since nobody is there
        then to take the message back.
        """
        self._leaving = leaving
        if self._answer is not None:
            self._answer.stop()

    async def resume(self) -> Resumed:
        """Restore the server's slot to the boundary at which this session last rested, when it was kept."""
        ids = await self._boundary()
        if not ids:
            return Resumed()
        brought = await self.runtime.slots.bring_back(self.slot, ids)
        self._restored = brought.tokens
        return Resumed(
            tokens=brought.tokens,
            seconds=brought.seconds,
            reason=brought.reason,
            instead_of_s=brought.instead_of_s,
        )

    async def settle(self, on_progress: Callable[[PromptProgress], None] | None = None) -> Kept | None:
        """Process exactly the tokens that every next message will begin with, and keep the slot in a file.

        None when there is nothing new to keep. Costs a few tokens, since the slot is warm.
        """
        self._refuse_when_busy()
        if not self._unsettled:
            return None
        ids = await self._boundary()
        kept = await self.runtime.slots.keep(self.slot, ids, session_id=self.session.id, on_progress=on_progress)
        self._unsettled = False
        return kept

    async def close(self) -> None:
        """Stop what is under way; a session in which nothing was said or attached leaves no trace."""
        self.stop()
        # A title alone: a message was withdrawn, and is still in the tree.
        if not self.messages and not self.documents and not self.session.title:
            await asyncio.to_thread(self.runtime.store.sessions.delete, self.session.id)

    async def _boundary(self) -> tuple[int, ...]:
        history = history_of(self.messages)
        if not history.messages and not self.documents:
            return ()  # a system prompt alone is processed faster than it is restored

        def next_user(question: str) -> Sequence[Message]:
            return (Message("user", history.with_draft(question)),)

        return await self.runtime.assembler.boundary((*self._opening(), *history.messages), next_user)

    def _opening(self, documents: int | None = None) -> tuple[Message, ...]:
        return opening(self.session.system, self.documents[:documents])

    def _refuse_when_busy(self) -> None:
        if self._busy:
            raise UsageProblem("An answer is under way in this conversation.", "Stop it or wait for its end.")

    async def _turn(self, text: str | None, sampling: Sampling | None) -> AsyncGenerator[ChatEvent, None]:
        self._refuse_when_busy()
        self._busy, self._leaving = True, False
        before = list(self.messages)
        try:
            rows = list(self.messages) if text is not None else self._up_to_question()
            history = history_of(rows)
            draft = history.with_draft(text or "")
            messages = (*self._opening(), *history.messages, Message("user", well_formed(draft)))
            prompt = await self.runtime.assembler.assemble(messages)
            needed = len(prompt.ids) + self.runtime.reserve
            if needed > self.runtime.n_ctx:
                plan = await self._plan(history, text or "")
                yield Overflow(needed=needed, available=self.runtime.n_ctx, plan=plan, draft=text or "")
                return
            if text is not None:
                rows.append(await self._store_user(text))
                yield UserStored(rows[-1])
            elif not any(row.content for row in before[len(rows) :]):
                before = rows[:-1]  # there is no earlier answer to go back to
            async with contextlib.aclosing(self._answered(prompt, rows, before, sampling)) as answer:
                async for event in answer:
                    yield event
        finally:
            self._busy = False

    def _up_to_question(self) -> list[MessageRow]:
        rows = list(self.messages)
        while rows and rows[-1].role != "user":
            rows.pop()
        if not rows:
            raise UsageProblem("There is no message to answer.", "Write one.")
        return rows

    async def _store_user(self, text: str) -> MessageRow:
        sessions = self.runtime.store.sessions
        row = await asyncio.to_thread(sessions.add_message, self.session.id, "user", text)
        self.messages.append(row)
        if not self.session.title:
            await asyncio.to_thread(sessions.rename, self.session.id, title_of(text))
            renamed = await asyncio.to_thread(sessions.get, self.session.id)
            self.session = renamed or self.session
        return row

    async def _answered(
        self, prompt: Prompt, rows: list[MessageRow], before: list[MessageRow], sampling: Sampling | None
    ) -> AsyncGenerator[ChatEvent, None]:
        """The answer to the last of `rows`, a message of the user; `before` is the path to go back to without one."""
        runtime = self.runtime
        try:
            row = await asyncio.to_thread(
                runtime.store.sessions.add_message,
                self.session.id,
                "assistant",
                "",
                parent_id=rows[-1].id,
                state="partial",
                model=runtime.model_name,
            )
        except LongscrollError as error:
            yield TurnFailed(message=None, what=error.what, remedy=error.remedy)
            return
        self.messages = [*rows, row]
        stream = send(
            runtime,
            prompt,
            max_tokens=runtime.n_ctx - len(prompt.ids),
            sampling=sampling or Sampling(temperature=runtime.settings.temperature),
            id_slot=self.slot,
        )
        answer = self._answer = Answer(runtime.store, row, stream, runtime.n_ctx)
        try:
            yield AnswerStarted(row)
            async with contextlib.aclosing(answer.events()) as events:
                async for event in events:
                    yield event
            outcome = await self._outcome(answer, row)
            if isinstance(outcome, TurnFinished) and answer.state == "stopped" and not (answer.begun or self._leaving):
                outcome = await self._withdrawn(rows, before) or outcome
            yield outcome
        finally:
            self._answer = None
            if not answer.over:
                self._replace(await answer.put_away())
            # Only a slot that holds the whole prompt can be settled for next to nothing.
            self._unsettled = self._unsettled or answer.begun

    async def _withdrawn(self, rows: list[MessageRow], before: list[MessageRow]) -> TurnWithdrawn | None:
        """The path without the message that got no answer; None when that cannot be written, so that it stays."""
        try:
            await asyncio.to_thread(
                self.runtime.store.sessions.rewind, self.session.id, before[-1].id if before else None
            )
        except StorageProblem as error:
            self.runtime.warn(str(error))
            return None
        self.messages = before
        stands = any(row.id == rows[-1].id for row in before)
        return TurnWithdrawn(draft="" if stands else rows[-1].content, messages=tuple(before))

    async def _outcome(self, answer: Answer, row: MessageRow) -> TurnFinished | TurnWithdrawn | TurnFailed:
        failure = answer.failure
        if failure is not None and not isinstance(failure, LongscrollError):
            raise failure
        why = None if failure is None else await diagnosed(self.runtime, failure)
        try:
            row = self._replace(await answer.put_away())
        except StorageProblem as error:
            # The text could not be written: it stays in memory and on the screen, marked.
            unsaved = msgspec.structs.replace(row, content=answer.text, reasoning=answer.reasoning, state="failed")
            row = self._replace(unsaved)
            why = error
        if why is not None:
            return TurnFailed(message=row, what=why.what, remedy=why.remedy)
        expected, self._restored = self._restored, 0
        if not expected or answer.finished is None:
            return TurnFinished(message=row)
        return TurnFinished(
            message=row, notice=await self.runtime.slots.settle_result(expected, answer.finished.timings)
        )

    def _replace(self, row: MessageRow) -> MessageRow:
        self.messages = [row if known.id == row.id else known for known in self.messages]
        return row


def _default_system(runtime: Runtime) -> str:
    from tui.templates import load_template

    return load_template("system", runtime.paths.prompts).render().strip()
