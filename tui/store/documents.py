"""Documents that were read, kept as opaque bytes so that no file is read twice."""

from __future__ import annotations

import os
import time
import zlib
from typing import Any

import msgspec

from tui.errors import StorageProblem
from tui.store.connection import Connection
from tui.text import well_formed

COLUMNS = "id, key, sha256, path, name, kind, characters, pages, size, created"


class DocumentRow(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a stored document without unpacking it."""

    id: int
    key: str
    """Content hash, reader version and options: what the reading depends on."""
    sha256: str
    """Of the source: the file's bytes."""
    path: str
    """As the user named it; of an attachment, as it was named in that session."""
    name: str
    kind: str
    characters: int
    pages: int
    size: int
    """Bytes of the packed document before compression."""
    created: float
    """Seconds since 1970."""


def document_row(row: dict[str, Any]) -> DocumentRow:
    """A row of the table as a struct."""
    return DocumentRow(**{**row, "path": os.fsdecode(row["path"])})


class DocumentStore:
    """A cache of read documents, by key and by id."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def put(
        self,
        data: bytes,
        *,
        key: str,
        sha256: str,
        path: str,
        name: str,
        kind: str,
        characters: int,
        pages: int = 0,
    ) -> int:
        """Store a packed document and return its id; the id of the one that is there when the key is known."""
        packed = zlib.compress(data)
        with self._connection.transaction() as db:
            db.execute(
                "INSERT OR IGNORE INTO documents "
                "(key, sha256, path, name, kind, characters, pages, size, data, created) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    key,
                    sha256,
                    os.fsencode(path),
                    well_formed(name),
                    kind,
                    characters,
                    pages,
                    len(data),
                    packed,
                    time.time(),
                ),
            )
            return int(db.execute("SELECT id FROM documents WHERE key = ?", (key,)).fetchone()[0])

    def get(self, document_id: int) -> DocumentRow | None:
        row = self._connection.row(f"SELECT {COLUMNS} FROM documents WHERE id = ?", (document_id,))
        return None if row is None else document_row(row)

    def by_key(self, key: str) -> DocumentRow | None:
        row = self._connection.row(f"SELECT {COLUMNS} FROM documents WHERE key = ?", (key,))
        return None if row is None else document_row(row)

    def data(self, document_id: int) -> bytes:
        """The packed document. Raises StorageProblem when there is none or its bytes are damaged."""
        row = self._connection.row("SELECT name, size, data FROM documents WHERE id = ?", (document_id,))
        if row is None:
            raise StorageProblem(
                f"The stored document number {document_id} is not in the database any more.", "Attach the file again."
            )
        try:
            data = zlib.decompress(row["data"])
        except zlib.error as error:
            raise _damaged(row["name"], str(error)) from error
        if len(data) != row["size"]:
            raise _damaged(row["name"], f"{len(data)} bytes instead of {row['size']}")
        return data

    def trim(self, most_bytes: int) -> int:
        """Drop the oldest documents that were only kept as a cache until at most `most_bytes` of such are left.

        What a session has or had attached (`attached:` in its key) is no cache and stays. Returns how many went.
        """
        rows = self._connection.rows(
            "SELECT id, length(data) AS packed FROM documents WHERE key LIKE 'read:%' "
            "AND NOT EXISTS (SELECT 1 FROM attachments WHERE document_id = documents.id) ORDER BY created DESC, id DESC"
        )
        kept = 0
        gone = 0
        for row in rows:
            kept += row["packed"]
            if kept > most_bytes:
                gone += self.remove(row["id"])
        return gone

    def remove(self, document_id: int) -> bool:
        """Drop a document that no session has attached. False when it is attached or not there."""
        with self._connection.transaction() as db:
            cursor = db.execute(
                "DELETE FROM documents WHERE id = ? "
                "AND NOT EXISTS (SELECT 1 FROM attachments WHERE document_id = documents.id)",
                (document_id,),
            )
            return cursor.rowcount == 1


def _damaged(name: str, reason: str) -> StorageProblem:
    return StorageProblem(f"The stored text of {name} is damaged ({reason}).", "Attach the file again.")
