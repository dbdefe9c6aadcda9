"""The database's format: an append-only list of steps. A step that was released is never changed."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

APPLICATION_ID = 0x4C534352
"""`LSCR` in the file's header: this database is longscroll's."""


def _first(db: sqlite3.Connection) -> None:
    # `parent_id` has no cascade: SQLite counts one level of recursion per message, and a long conversation
    # would exceed its limit of 1,000. Messages go with their session, all in one transaction.
    statements = (
        """CREATE TABLE sessions (
            id TEXT PRIMARY KEY,
            title TEXT NOT NULL,
            model TEXT NOT NULL,
            fingerprint TEXT NOT NULL,
            system TEXT NOT NULL,
            head INTEGER,
            created REAL NOT NULL,
            updated REAL NOT NULL
        )""",
        "CREATE INDEX sessions_updated ON sessions (updated DESC)",
        """CREATE TABLE messages (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
            parent_id INTEGER REFERENCES messages (id) DEFERRABLE INITIALLY DEFERRED,
            role TEXT NOT NULL,
            content TEXT NOT NULL,
            reasoning TEXT NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('complete', 'partial', 'stopped', 'failed')),
            finish_reason TEXT NOT NULL,
            model TEXT NOT NULL,
            prompt_tokens INTEGER,
            completion_tokens INTEGER,
            cached_tokens INTEGER,
            prompt_ms REAL,
            predicted_ms REAL,
            ttft_ms REAL,
            created REAL NOT NULL,
            updated REAL NOT NULL
        )""",
        "CREATE INDEX messages_session ON messages (session_id)",
        "CREATE INDEX messages_parent ON messages (parent_id)",
        """CREATE TABLE documents (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            key TEXT NOT NULL UNIQUE,
            sha256 TEXT NOT NULL,
            path BLOB NOT NULL,
            name TEXT NOT NULL,
            kind TEXT NOT NULL,
            characters INTEGER NOT NULL,
            pages INTEGER NOT NULL,
            size INTEGER NOT NULL,
            data BLOB NOT NULL,
            created REAL NOT NULL
        )""",
        """CREATE TABLE attachments (
            session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
            document_id INTEGER NOT NULL REFERENCES documents (id),
            path BLOB NOT NULL,
            position INTEGER NOT NULL,
            created REAL NOT NULL,
            PRIMARY KEY (session_id, document_id)
        )""",
        "CREATE INDEX attachments_document ON attachments (document_id)",
        "CREATE TABLE facts (key TEXT PRIMARY KEY, value TEXT NOT NULL, updated REAL NOT NULL)",
        "CREATE TABLE journal (key TEXT PRIMARY KEY, value BLOB NOT NULL, created REAL NOT NULL)",
    )
    for statement in statements:
        db.execute(statement)


MIGRATIONS: tuple[Callable[[sqlite3.Connection], None], ...] = (_first,)
"""Step i moves a database from format i to i + 1; each runs in a transaction of its own."""
