"""Facts that were measured once and hold for a build, a model or a vocabulary."""

from __future__ import annotations

import time

from tui.store.connection import Connection


class FactStore:
    """Short texts by key, such as "this vocabulary is counted alike here and by that build"."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def get(self, key: str) -> str | None:
        row = self._connection.row("SELECT value FROM facts WHERE key = ?", (key,))
        return None if row is None else str(row["value"])

    def set(self, key: str, value: str) -> None:
        """Store `value`, in place of an earlier one."""
        with self._connection.transaction() as db:
            db.execute(
                "INSERT INTO facts (key, value, updated) VALUES (?, ?, ?) "
                "ON CONFLICT (key) DO UPDATE SET value = excluded.value, updated = excluded.updated",
                (key, value, time.time()),
            )
