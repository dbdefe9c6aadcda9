"""Conversations: sessions, their messages as a tree, and the documents attached to them."""

from __future__ import annotations

import os
import secrets
import sqlite3
import time
from typing import Any, Literal, TypedDict, Unpack

import msgspec

from tui.errors import StorageProblem
from tui.store.connection import Connection
from tui.store.documents import COLUMNS, DocumentRow, document_row
from tui.text import well_formed

MessageState = Literal["complete", "partial", "stopped", "failed"]
"""`partial`: still being written, or cut off by a crash; `stopped`: by the user; `failed`: by an error."""

ROOT = 0
"""As `parent_id`: the message begins a conversation of its own instead of following the last one."""

# Without the letters that are taken for digits.
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


class SessionRow(msgspec.Struct, frozen=True, kw_only=True):
    """One conversation."""

    id: str
    title: str
    model: str
    """Name of the model it was begun with."""
    fingerprint: str
    """Of that model's file."""
    system: str
    """System prompt."""
    head: int | None
    """The last message of the active path; None when there is no message."""
    created: float
    updated: float
    """Both in seconds since 1970."""


class MessageRow(msgspec.Struct, frozen=True, kw_only=True):
    """One message. Counts are tokens, times milliseconds; None where nothing was measured."""

    id: int
    session_id: str
    parent_id: int | None
    role: str
    content: str
    reasoning: str
    state: MessageState
    finish_reason: str
    """`stop`, `length`, `context`; empty while unfinished and for the user's messages."""
    model: str
    prompt_tokens: int | None
    completion_tokens: int | None
    cached_tokens: int | None
    prompt_ms: float | None
    predicted_ms: float | None
    ttft_ms: float | None
    created: float
    updated: float


class MessageFields(TypedDict, total=False):
    """What may be told of a message when it is added and changed afterwards."""

    content: str
    reasoning: str
    state: MessageState
    finish_reason: str
    model: str
    prompt_tokens: int | None
    completion_tokens: int | None
    cached_tokens: int | None
    prompt_ms: float | None
    predicted_ms: float | None
    ttft_ms: float | None


class _Details(TypedDict, total=False):
    reasoning: str
    finish_reason: str
    model: str
    prompt_tokens: int | None
    completion_tokens: int | None
    cached_tokens: int | None
    prompt_ms: float | None
    predicted_ms: float | None
    ttft_ms: float | None


_FIELDS = frozenset(MessageFields.__annotations__)
_EMPTY: dict[str, Any] = {"reasoning": "", "finish_reason": "", "model": ""}

# `list` below is a method, so the types are named out here.
_Sessions = list[SessionRow]
_Messages = list[MessageRow]
_Documents = list[DocumentRow]


class SessionStore:
    """Sessions, newest first. Raises StorageProblem also when a session was deleted meanwhile, elsewhere."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def create(self, title: str, model: str = "", fingerprint: str = "", system: str = "") -> SessionRow:
        """A new session with a new short id."""
        now = time.time()
        while True:
            session_id = "".join(secrets.choice(_ALPHABET) for _ in range(8))
            with self._connection.transaction() as db:
                cursor = db.execute(
                    "INSERT OR IGNORE INTO sessions (id, title, model, fingerprint, system, head, created, updated) "
                    "VALUES (?, ?, ?, ?, ?, NULL, ?, ?)",
                    (session_id, well_formed(title), model, fingerprint, well_formed(system), now, now),
                )
                taken = cursor.rowcount == 0
            if not taken:
                return self._existing(session_id)

    def get(self, session_id: str) -> SessionRow | None:
        row = self._connection.row("SELECT * FROM sessions WHERE id = ?", (session_id,))
        return None if row is None else SessionRow(**row)

    def list(self, limit: int = 100) -> _Sessions:
        """The sessions used last, newest first."""
        rows = self._connection.rows("SELECT * FROM sessions ORDER BY updated DESC, rowid DESC LIMIT ?", (limit,))
        return [SessionRow(**row) for row in rows]

    def rename(self, session_id: str, title: str) -> None:
        """Give the session another title; its place in the list stays."""
        self._change(session_id, "UPDATE sessions SET title = ? WHERE id = ?", (well_formed(title), session_id))

    def touch(self, session_id: str) -> None:
        """Note that the session was used now."""
        self._change(session_id, "UPDATE sessions SET updated = ? WHERE id = ?", (time.time(), session_id))

    def delete(self, session_id: str) -> bool:
        """Delete a session with its messages and attachments (not the documents). False when there was none.

        Its slot files hold its text too: `SlotFiles.remove_session` deletes them.
        """
        with self._connection.transaction() as db:
            return db.execute("DELETE FROM sessions WHERE id = ?", (session_id,)).rowcount == 1

    def add_message(
        self,
        session_id: str,
        role: str,
        content: str,
        *,
        parent_id: int | None = None,
        state: MessageState = "complete",
        **details: Unpack[_Details],
    ) -> MessageRow:
        """Add a message and make it the end of the active path.

        It follows the message `parent_id`: by default the end of the active path; `ROOT` begins anew.
        """
        now = time.time()
        fields = {**_EMPTY, **details, "content": content, "state": state}
        _check(fields)
        with self._connection.transaction() as db:
            head = db.execute("SELECT head FROM sessions WHERE id = ?", (session_id,)).fetchone()
            if head is None:
                raise _gone(session_id)
            parent = head[0] if parent_id is None else parent_id or None
            if parent_id:
                _check_parent(db, session_id, parent_id)
            columns = {
                "session_id": session_id,
                "parent_id": parent,
                "role": role,
                "created": now,
                "updated": now,
                **_stored(fields),
            }
            names, marks = ", ".join(columns), ", ".join("?" * len(columns))
            cursor = db.execute(f"INSERT INTO messages ({names}) VALUES ({marks})", tuple(columns.values()))
            message_id = cursor.lastrowid
            db.execute("UPDATE sessions SET head = ?, updated = ? WHERE id = ?", (message_id, now, session_id))
            row = db.execute("SELECT * FROM messages WHERE id = ?", (message_id,)).fetchone()
            return MessageRow(**dict(row))

    def update_message(self, message_id: int, **fields: Unpack[MessageFields]) -> MessageRow:
        """Change what is given, leave the rest."""
        changes = dict(fields)
        _check(changes)
        columns = {**_stored(changes), "updated": time.time()}
        settings = ", ".join(f"{name} = ?" for name in columns)
        with self._connection.transaction() as db:
            db.execute(f"UPDATE messages SET {settings} WHERE id = ?", (*columns.values(), message_id))
            row = db.execute("SELECT * FROM messages WHERE id = ?", (message_id,)).fetchone()
            if row is None:
                raise StorageProblem(
                    f"Message {message_id} is not in the database any more; its conversation was deleted.",
                    "Start a new conversation.",
                )
            return MessageRow(**dict(row))

    def messages(self, session_id: str) -> _Messages:
        """The active path, oldest first."""
        rows = self._connection.rows(
            "WITH RECURSIVE path (id, parent_id, depth) AS ("
            " SELECT m.id, m.parent_id, 0 FROM messages m JOIN sessions s ON m.id = s.head WHERE s.id = ?"
            " UNION ALL"
            " SELECT m.id, m.parent_id, path.depth + 1 FROM messages m JOIN path ON m.id = path.parent_id"
            ") SELECT messages.* FROM path JOIN messages ON messages.id = path.id ORDER BY path.depth DESC",
            (session_id,),
        )
        return [MessageRow(**row) for row in rows]

    def attach(self, session_id: str, document_id: int, path: str) -> None:
        """Attach a stored document to a session, as the user named it; attaching again changes the name only."""
        try:
            with self._connection.transaction() as db:
                db.execute(
                    "INSERT INTO attachments (session_id, document_id, path, position, created) VALUES (?, ?, ?,"
                    " (SELECT coalesce(max(position), 0) + 1 FROM attachments WHERE session_id = ?), ?)"
                    " ON CONFLICT (session_id, document_id) DO UPDATE SET path = excluded.path",
                    (session_id, document_id, os.fsencode(path), session_id, time.time()),
                )
        except StorageProblem as error:
            if isinstance(error.__cause__, sqlite3.IntegrityError):
                raise _gone(session_id) from error
            raise

    def detach(self, session_id: str, document_id: int) -> bool:
        """Take a document out of a session; the document itself stays. False when it was not attached."""
        with self._connection.transaction() as db:
            sql = "DELETE FROM attachments WHERE session_id = ? AND document_id = ?"
            return db.execute(sql, (session_id, document_id)).rowcount == 1

    def rewind(self, session_id: str, message_id: int | None) -> None:
        """Let the active path end at an earlier message, None for an empty one; what followed stays in the tree."""
        with self._connection.transaction() as db:
            if message_id is not None:
                _check_parent(db, session_id, message_id)
            if db.execute("UPDATE sessions SET head = ? WHERE id = ?", (message_id, session_id)).rowcount == 0:
                raise _gone(session_id)

    def attachments(self, session_id: str) -> _Documents:
        """The documents of a session in the order they were attached."""
        columns = ", ".join("a.path" if name == "path" else f"d.{name}" for name in COLUMNS.split(", "))
        rows = self._connection.rows(
            f"SELECT {columns} FROM attachments a JOIN documents d ON d.id = a.document_id "
            "WHERE a.session_id = ? ORDER BY a.position",
            (session_id,),
        )
        return [document_row(row) for row in rows]

    def _existing(self, session_id: str) -> SessionRow:
        row = self.get(session_id)
        if row is None:
            raise _gone(session_id)
        return row

    def _change(self, session_id: str, sql: str, parameters: tuple[Any, ...]) -> None:
        with self._connection.transaction() as db:
            if db.execute(sql, parameters).rowcount == 0:
                raise _gone(session_id)


def _check(fields: dict[str, Any]) -> None:
    unknown = sorted(fields.keys() - _FIELDS)
    if unknown:
        raise TypeError(f"a message has no field {', '.join(unknown)}")


def _stored(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: well_formed(value) if isinstance(value, str) else value for name, value in fields.items()}


def _check_parent(db: sqlite3.Connection, session_id: str, parent_id: int) -> None:
    parent = db.execute("SELECT session_id FROM messages WHERE id = ?", (parent_id,)).fetchone()
    if parent is None or parent[0] != session_id:
        raise StorageProblem(
            f"Message {parent_id} is not part of the conversation {session_id}.", "Open the conversation again."
        )


def _gone(session_id: str) -> StorageProblem:
    return StorageProblem(
        f"The conversation {session_id} is not in the database any more; it was deleted elsewhere.",
        "Start a new conversation.",
    )
