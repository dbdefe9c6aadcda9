"""The talk with the engine: opens it, holds the conversation, and tells a view what happens. No Textual here."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from tui.app.defects import recorded
from tui.app.engine import Desk, Engine, Talk
from tui.errors import LongscrollError, UsageProblem
from tui.server.errors import ServerGone

if TYPE_CHECKING:
    from tui.chat.events import ChatEvent, Overflow, Resumed
    from tui.context.plan import ContextPlan
    from tui.context.runtime import FetchProgress
    from tui.context.slots import Kept
    from tui.documents.model import Document
    from tui.server.state import ServerState
    from tui.server.types import PromptProgress
    from tui.store.sessions import MessageRow, SessionRow

SECONDS_TO_DIE: Final = 2.0
"""How long a server that stopped answering is waited for to be seen dead, in order to name the cause."""


class View(Protocol):
    """What a screen must be able to show. All calls come on the event loop, and none may wait."""

    def engine_state(self, state: ServerState | FetchProgress) -> None: ...
    def engine_ready(self, model: str, context: int, warnings: Sequence[str]) -> None: ...
    def engine_failed(self, error: LongscrollError) -> None: ...
    def session_opened(
        self, session: SessionRow, messages: Sequence[MessageRow], documents: Sequence[Document]
    ) -> None: ...
    def resuming(self) -> None: ...
    def resumed(self, resumed: Resumed) -> None: ...
    def session_ready(self) -> None: ...
    def user_stored(self, row: MessageRow, title: str) -> None: ...
    def answer_started(self) -> None: ...
    def prompt_progress(self, progress: PromptProgress) -> None: ...
    def answer_delta(self, text: str, *, reasoning: bool) -> None: ...
    def answer_ended(self, row: MessageRow | None, notice: str) -> None: ...
    def answer_withdrawn(self, messages: Sequence[MessageRow], draft: str) -> None: ...
    def answer_failed(self, row: MessageRow | None, what: str, remedy: str) -> None: ...
    def overflow(self, overflow: Overflow) -> None: ...
    def turn_over(self) -> None: ...
    def planned(self, plan: ContextPlan, draft: str) -> None: ...
    def reading(self, path: str) -> None: ...
    def counting(self, document: Document) -> None: ...
    def attached(self, document: Document, plan: ContextPlan | None) -> None: ...
    def detached(self, document: Document) -> None: ...
    def not_attached(self, path: str, error: LongscrollError | None) -> None:
        """`error` is None when the reading was stopped."""
        ...

    def problem(self, error: LongscrollError) -> None: ...
    def keeping(self, progress: PromptProgress | None) -> None: ...
    def kept(self, kept: Kept | None) -> None: ...


class Controller:
    """One engine, one open conversation. `run` lives as long as the screen; the other calls are made beside it."""

    def __init__(self, engine: Engine, view: View, *, session: str = "", documents: Sequence[str] = ()) -> None:
        self.engine = engine
        self.closed = asyncio.Event()
        """Set once `run` is over: nothing of the engine is left."""
        self._view = view
        self._session = session
        self._waiting_documents = list(documents)
        self._desk: Desk | None = None
        self._talk: Talk | None = None
        self._closing = asyncio.Event()
        self._again = asyncio.Event()
        self._work = asyncio.Lock()
        self._counting = asyncio.Lock()
        self._reading: asyncio.Future[Document] | None = None
        self._planning: asyncio.Future[ContextPlan] | None = None
        self.answering = False
        """Whether a message is being answered."""
        self.failed = False
        """Whether the engine could not be opened or ended, and waits for `restart`."""
        self._died: asyncio.Future[LongscrollError] | None = None
        self._lost = False
        """Whether the server has died: nothing more is asked of it."""

    @property
    def opened(self) -> bool:
        """Whether the engine runs."""
        return self._desk is not None

    @property
    def ready(self) -> bool:
        """Whether a conversation is open on a running engine."""
        return self._talk is not None

    @property
    def busy(self) -> bool:
        """Whether an answer, a document or another conversation is under way."""
        return self._work.locked()

    @property
    def closing(self) -> bool:
        return self._closing.is_set()

    @property
    def largest_context(self) -> int:
        """The context the model was trained for, in tokens; 0 when not known."""
        return 0 if self._desk is None else self._desk.largest_context

    @property
    def session_id(self) -> str:
        return self._session

    async def run(self) -> None:
        """Open the engine and keep it until `close`; after a failure it is opened again when `restart` is called."""
        try:
            while not self._closing.is_set():
                self._again.clear()
                self.failed = False
                try:
                    async with self.engine.open(self._reporter()) as desk:
                        await self._at(desk)
                except Exception as error:  # noqa: BLE001  # whatever it is, the screen outlives its engine
                    self._desk = self._talk = None
                    known = await self._recorded(error)
                    if not self._closing.is_set():
                        await self._show_stored(self._session)
                        self.failed = True
                        self._view.engine_failed(known)
                        await _first(self._closing.wait(), self._again.wait())
        finally:
            self._desk = self._talk = None
            self.closed.set()

    async def _recorded(self, error: Exception) -> LongscrollError:
        return await asyncio.to_thread(recorded, error, self.engine.logs)

    async def guard(self, work: Awaitable[object]) -> None:
        """Do `work`; what it raises is a problem that the user is told, not the end of the program."""
        try:
            await work
        except Exception as error:  # noqa: BLE001  # recorded and told
            self._view.problem(await self._recorded(error))

    def _reporter(self) -> Callable[[ServerState | FetchProgress], None]:
        loop, home = asyncio.get_running_loop(), threading.get_ident()

        def report(state: ServerState | FetchProgress) -> None:
            # The download reports from a thread, and may do so a last time when the loop is gone.
            if threading.get_ident() == home:
                self._view.engine_state(state)
            elif not loop.is_closed():
                loop.call_soon_threadsafe(self._view.engine_state, state)

        return report

    async def _at(self, desk: Desk) -> None:
        self._desk, self._lost = desk, False
        self._view.engine_ready(desk.model_name, desk.n_ctx, desk.warnings)
        died = self._died = asyncio.ensure_future(desk.died())
        died.add_done_callback(self._server_died)
        try:
            try:
                await self._open(self._session)
            except ServerGone:
                # Told by its cause, when the server is one of ours and this is its end.
                with contextlib.suppress(TimeoutError):
                    raise await asyncio.wait_for(asyncio.shield(died), SECONDS_TO_DIE) from None
                raise
            await _first(self._closing.wait(), asyncio.shield(died))
            if not self._closing.is_set():
                # The turn that was under way says first what became of it.
                async with self._work:
                    raise died.result()
            async with self._work:
                if self._talk is not None:
                    await self._put_away(self._talk)
        finally:
            # Before the engine's client closes: whoever still counts would ask a closed one.
            self._desk = self._talk = None
            self._died = None
            died.cancel()
            await self._drop_planning()

    def _server_died(self, died: asyncio.Future[LongscrollError]) -> None:
        self._lost = not died.cancelled()
        if self._lost and self._planning is not None:
            self._planning.cancel()

    async def _drop_planning(self) -> None:
        if self._planning is not None:
            self._planning.cancel()
            await asyncio.wait([self._planning])

    def restart(self) -> None:
        """Try the engine again after it failed."""
        self._again.set()

    def close(self) -> None:
        """Let `run` end: stop what is under way, keep the conversation's tokens, stop the server."""
        self._closing.set()
        self.stop()

    def stop(self) -> None:
        """Stop the answer that is under way, or the reading of a document."""
        if self._talk is not None:
            self._talk.stop(leaving=self.closing)
        if self._reading is not None:
            self._reading.cancel()

    async def _put_away(self, talk: Talk) -> None:
        self._view.keeping(None)
        try:
            self._view.kept(await talk.settle(self._view.keeping))
            await talk.close()
        except LongscrollError as error:
            # The conversation itself is in the database; only the shortcut for the next start is missing.
            self._view.problem(error)

    async def _open(self, session_id: str) -> None:
        async with self._work:
            await self._open_locked(session_id)
        self._view.session_ready()

    async def _open_locked(self, session_id: str) -> None:
        if self._desk is None:
            return  # the server died while this waited for its turn
        unknown: LongscrollError | None = None
        try:
            talk = await self._desk.talk(session_id)
        except UsageProblem as error:
            # There is no such conversation, or no more: a new one is better than none.
            unknown, session_id = error, ""
            talk = await self._desk.talk("")
        self._talk = talk
        self._session = talk.session.id
        self._view.session_opened(talk.session, talk.messages, talk.documents)
        if unknown is not None:
            self._view.problem(unknown)
        if session_id:
            self._view.resuming()
            self._view.resumed(await talk.resume())
        waiting, self._waiting_documents = self._waiting_documents, []
        for path in waiting:
            await self._attach(talk, path)

    async def open_session(self, session_id: str) -> None:
        """Put the open conversation away and open another; an empty id begins a new one.

        Without an engine the stored conversation is shown, and opened when the engine is started; a new one is begun
        by trying the engine again.
        """
        if self.busy:
            return
        if self._desk is None:
            if session_id:
                await self._show_stored(session_id)
            else:
                self._session = ""
                self.restart()
            return
        try:
            async with self._work:
                if self._talk is not None:
                    await self._put_away(self._talk)
                await self._open_locked(session_id)
            self._view.session_ready()
        except LongscrollError as error:
            if not self._lost:
                self._view.problem(error)

    async def _show_stored(self, session_id: str) -> None:
        try:
            found = await self.engine.history(session_id) if session_id else None
        except LongscrollError as error:
            self._view.problem(error)
            return
        if found is not None:
            self._session = session_id
            self._view.session_opened(*found, ())

    async def send(self, text: str, *, counted: bool = False) -> None:
        """Send a message and tell the view what happens; `counted`: it has been planned just so."""
        if self._talk is not None and not self.busy and not self._lost:
            await self._turn(self._talk, self._talk.send(text), None if counted else text)
        else:
            self._view.turn_over()

    async def retry(self) -> None:
        """Answer the last message again."""
        if self._talk is not None and not self.busy and not self._lost:
            await self._turn(self._talk, self._talk.retry())
        else:
            self._view.turn_over()

    async def _turn(self, talk: Talk, events: AsyncGenerator[ChatEvent, None], uncounted: str | None = None) -> None:
        from tui.chat.events import AnswerStarted, Overflow, TurnFailed, TurnFinished, TurnWithdrawn, UserStored
        from tui.server.types import PromptProgress, ReasoningDelta, TextDelta

        view = self._view
        async with self._work:
            self.answering = True
            try:
                if uncounted is not None:
                    view.planned(await talk.plan(uncounted), uncounted)
                async with contextlib.aclosing(events) as stream:
                    async for event in stream:
                        if isinstance(event, TextDelta):
                            view.answer_delta(event.text, reasoning=False)
                        elif isinstance(event, ReasoningDelta):
                            view.answer_delta(event.text, reasoning=True)
                        elif isinstance(event, PromptProgress):
                            view.prompt_progress(event)
                        elif isinstance(event, UserStored):
                            view.user_stored(event.message, talk.session.title)
                        elif isinstance(event, AnswerStarted):
                            view.answer_started()
                        elif isinstance(event, TurnFinished):
                            view.answer_ended(event.message, event.notice)
                        elif isinstance(event, TurnWithdrawn):
                            view.answer_withdrawn(event.messages, event.draft)
                        elif isinstance(event, TurnFailed):
                            view.answer_failed(event.message, event.what, event.remedy)
                        elif isinstance(event, Overflow):
                            view.overflow(event)
            except Exception as error:  # noqa: BLE001  # a known one is told, another recorded as well
                view.problem(await self._recorded(error))
            finally:
                self.answering = False
        view.turn_over()

    async def attach(self, path: str) -> None:
        """Read a document and put it before the conversation; before there is one, as soon as there is."""
        if self.ready:
            async with self._work:
                if (talk := self._talk) is not None:
                    await self._attach(talk, path)
            if talk is not None:
                self._view.session_ready()
                return
        self._waiting_documents.append(path)

    async def _attach(self, talk: Talk, path: str) -> None:
        self._view.reading(path)
        reading = self._reading = asyncio.ensure_future(self.engine.read(path))
        try:
            document = await reading
            self._view.counting(document)
            await talk.attach(document)
        except Exception as error:  # noqa: BLE001  # a known one is told, another recorded as well
            self._view.not_attached(path, await self._recorded(error))
        except asyncio.CancelledError:
            if _being_cancelled():
                raise
            self._view.not_attached(path, None)
        else:
            self._view.attached(document, await self._counted(talk))
        finally:
            self._reading = None

    async def _counted(self, talk: Talk) -> ContextPlan | None:
        """The plan without a draft; None when it cannot be made, which is told."""
        try:
            return await talk.plan("")
        except LongscrollError as error:
            self._view.problem(error)
            return None

    @property
    def documents(self) -> Sequence[Document]:
        return () if self._talk is None else tuple(self._talk.documents)

    async def detach(self, document: Document) -> None:
        """Take a document out of the conversation."""
        async with self._work:
            if (talk := self._talk) is None:
                return
            try:
                await talk.detach(document)
            except LongscrollError as error:
                self._view.problem(error)
            else:
                self._view.detached(document)
        self._view.session_ready()

    async def plan(self, draft: str) -> None:
        """Count what the next request would hold; nothing is counted while something else is under way."""
        async with self._counting:
            talk = self._talk
            if talk is None or self.busy or self._lost:
                return
            planning = self._planning = asyncio.ensure_future(talk.plan(draft))
            try:
                plan = await planning
            except asyncio.CancelledError:
                if _being_cancelled():
                    raise
                return
            except LongscrollError as error:
                if isinstance(error, ServerGone) and self._died is not None:
                    # A server of ours that ended tells its cause itself.
                    await asyncio.wait([self._died], timeout=SECONDS_TO_DIE)
                if self._talk is talk and not self._lost and not self._closing.is_set():
                    self._view.problem(error)
                return
            finally:
                self._planning = None
            # What was counted before something else began is not what the next request holds.
            if self._talk is talk and not self.busy:
                self._view.planned(plan, draft)


def _being_cancelled() -> bool:
    """Whether it is the running task that is cancelled, not something it waited for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def _first(*waits: Coroutine[Any, Any, Any] | asyncio.Future[Any]) -> None:
    """Until one of them is done; the others are given up."""
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
