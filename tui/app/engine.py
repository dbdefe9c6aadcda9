"""What the screen needs of the engine, and the engine of this machine. No Textual; heavy imports wait for their use."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from tui.paths import ensure

if TYPE_CHECKING:
    from tui.chat.events import ChatEvent, Resumed
    from tui.context.plan import ContextPlan
    from tui.context.runtime import OnState, Runtime, RuntimeOptions
    from tui.context.slots import Kept
    from tui.documents.model import Document
    from tui.errors import LongscrollError
    from tui.paths import Paths
    from tui.server.types import PromptProgress
    from tui.settings import Settings
    from tui.store.database import Store
    from tui.store.sessions import MessageRow, SessionRow


class Talk(Protocol):
    """An open conversation: what `tui.chat.conversation.Conversation` offers and the screen uses."""

    session: SessionRow
    messages: list[MessageRow]
    documents: list[Document]

    @property
    def busy(self) -> bool: ...
    async def attach(self, document: Document) -> None: ...
    async def detach(self, document: Document) -> None: ...
    async def plan(self, draft: str) -> ContextPlan: ...
    def send(self, text: str) -> AsyncGenerator[ChatEvent, None]: ...
    def retry(self) -> AsyncGenerator[ChatEvent, None]: ...
    def stop(self, *, leaving: bool = False) -> None: ...
    async def resume(self) -> Resumed: ...
    async def settle(self, on_progress: Callable[[PromptProgress], None] | None = None) -> Kept | None: ...
    async def close(self) -> None: ...


class Desk(Protocol):
    """A running engine."""

    @property
    def model_name(self) -> str: ...
    @property
    def n_ctx(self) -> int: ...
    @property
    def largest_context(self) -> int:
        """The context the model was trained for, in tokens; 0 when not known."""
        ...

    @property
    def warnings(self) -> Sequence[str]: ...
    async def talk(self, session_id: str) -> Talk:
        """The session of that id; a new one for an empty id."""
        ...

    async def died(self) -> LongscrollError:
        """Resolves when the server ends unasked, with the reason."""
        ...


class Engine(Protocol):
    """Where desks, sessions and documents come from."""

    @property
    def logs(self) -> Path:
        """The folder of the log files."""
        ...

    def open(self, on_state: OnState) -> AbstractAsyncContextManager[Desk]: ...
    async def sessions(self) -> Sequence[SessionRow]:
        """Newest first; needs no running server. One in which nothing was said is titled by its documents."""
        ...

    async def delete(self, session_id: str) -> None:
        """Delete a conversation that is not open, with its slot files."""
        ...

    async def history(self, session_id: str) -> tuple[SessionRow, Sequence[MessageRow]] | None:
        """A session and its messages as they are stored, without a server; None when there is none of that id."""
        ...

    async def read(self, path: str) -> Document:
        """Raises InputProblem."""
        ...


class LocalDesk:
    """The runtime of this machine as a desk."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    @property
    def model_name(self) -> str:
        return self._runtime.model_name

    @property
    def n_ctx(self) -> int:
        return self._runtime.n_ctx

    @property
    def largest_context(self) -> int:
        return self._runtime.model.n_ctx_train if self._runtime.model else 0

    @property
    def warnings(self) -> Sequence[str]:
        return self._runtime.warnings

    async def talk(self, session_id: str) -> Talk:
        from tui.chat.conversation import Conversation

        if session_id:
            return await Conversation.open(self._runtime, session_id)
        return await Conversation.create(self._runtime)

    async def died(self) -> LongscrollError:
        if self._runtime.process is None:
            # A server that someone else started: its end shows in the next request.
            await asyncio.Event().wait()
            raise AssertionError("an event that is never set was set")
        return await self._runtime.process.wait_failed()


class LocalEngine:
    """The engine of this machine: starts a llama-server or attaches to one, as the options say."""

    def __init__(
        self, options: Callable[[], RuntimeOptions], *, settings: Settings, paths: Paths, store: Store
    ) -> None:
        self._options = options
        self._settings = settings
        self._paths = paths
        self._store = store

    @property
    def logs(self) -> Path:
        return self._paths.logs

    @contextlib.asynccontextmanager
    async def open(self, on_state: OnState) -> AsyncIterator[Desk]:
        open_runtime = await asyncio.to_thread(_import_runtime)
        async with open_runtime(
            self._options(), settings=self._settings, paths=self._paths, store=self._store, on_state=on_state
        ) as runtime:
            yield LocalDesk(runtime)

    async def sessions(self) -> Sequence[SessionRow]:
        return await asyncio.to_thread(self._listed)

    def _listed(self) -> Sequence[SessionRow]:
        from msgspec.structs import replace

        def titled(row: SessionRow) -> SessionRow:
            names = () if row.title else (known.name for known in self._store.sessions.attachments(row.id))
            return replace(row, title=row.title or ", ".join(names))

        return [titled(row) for row in self._store.sessions.list()]

    async def delete(self, session_id: str) -> None:
        from tui.store.slotfiles import SlotFiles

        await asyncio.to_thread(self._store.sessions.delete, session_id)
        # They hold the conversation's text as well.
        await asyncio.to_thread(lambda: SlotFiles(ensure(self._paths.slots)).remove_session(session_id))

    async def history(self, session_id: str) -> tuple[SessionRow, Sequence[MessageRow]] | None:
        session = await asyncio.to_thread(self._store.sessions.get, session_id)
        if session is None:
            return None
        return session, await asyncio.to_thread(self._store.sessions.messages, session_id)

    async def read(self, path: str) -> Document:
        from tui.documents.loader import read_document

        return await read_document(
            path, timeout_s=self._settings.read_timeout_s, memory_mib=self._settings.read_memory_mib
        )


def _import_runtime() -> Callable[..., AbstractAsyncContextManager[Runtime]]:
    """Imported in a thread: httpx, tiktoken and what they bring take longer than the first paint."""
    import tui.chat.conversation  # noqa: F401  # needed next, and as heavy
    from tui.context.runtime import open_runtime

    return open_runtime
