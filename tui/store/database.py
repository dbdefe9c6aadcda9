"""Everything that lasts in one database file."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from tui.paths import Paths
from tui.store.connection import Connection
from tui.store.documents import DocumentStore
from tui.store.facts import FactStore
from tui.store.journal import JournalStore
from tui.store.sessions import SessionStore


class Store:
    """The database of one installation. Every method waits for the disk: call it from a thread.

    Safe to use from several threads and from several processes at once. What a call has stored is on disk when it
    returns. Raises StorageProblem: read-only, disk full, damaged, written by a newer version.
    """

    def __init__(self, paths: Paths) -> None:
        self._connection = Connection(paths.database)
        self.sessions = SessionStore(self._connection)
        self.facts = FactStore(self._connection)
        self.journal = JournalStore(self._connection)
        self.documents = DocumentStore(self._connection)

    def close(self) -> None:
        """Close the database. Closing twice does no harm."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
