"""The journal: finished parts of long runs, so that no run pays for a part twice."""

from __future__ import annotations

import time
from collections.abc import Iterable

from tui.store.connection import Connection

_AT_ONCE = 500


class JournalStore:
    """Values by key, written once. The key names all that the value depends on; so the first value stays."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def get(self, key: str) -> bytes | None:
        row = self._connection.row("SELECT value FROM journal WHERE key = ?", (key,))
        return None if row is None else bytes(row["value"])

    def get_many(self, keys: Iterable[str]) -> dict[str, bytes]:
        """The values of those keys that are there."""
        wanted = list(dict.fromkeys(keys))
        found: dict[str, bytes] = {}
        for start in range(0, len(wanted), _AT_ONCE):
            part = wanted[start : start + _AT_ONCE]
            marks = ",".join("?" * len(part))
            for row in self._connection.rows(f"SELECT key, value FROM journal WHERE key IN ({marks})", part):
                found[row["key"]] = bytes(row["value"])
        return found

    def put(self, key: str, value: bytes) -> bool:
        """Store `value`; it is on disk when this returns. False when the key was there: its first value stays."""
        with self._connection.transaction() as db:
            cursor = db.execute(
                "INSERT OR IGNORE INTO journal (key, value, created) VALUES (?, ?, ?)", (key, value, time.time())
            )
            return cursor.rowcount == 1

    def count(self) -> int:
        """Number of entries."""
        row = self._connection.row("SELECT count(*) AS n FROM journal")
        return 0 if row is None else int(row["n"])
