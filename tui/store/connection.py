"""One SQLite connection, used by any thread, that keeps what it was told to keep."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tui.errors import StorageProblem
from tui.paths import cannot_write, ensure
from tui.store.migrations import APPLICATION_ID, MIGRATIONS

BUSY_TIMEOUT_MS = 10_000
"""How long one terminal waits for another to finish writing."""

_NEARLY_FULL = 64 << 10

Parameter = str | bytes | int | float | None


class Connection:
    """A database file in WAL mode where a finished transaction survives a crash and a power cut.

    One connection behind one lock: the statements here are short, and a writer must wait for the disk anyway.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        ensure(path.parent)
        _create_private(path)
        try:
            self._db = sqlite3.connect(
                path, timeout=BUSY_TIMEOUT_MS / 1000, isolation_level=None, check_same_thread=False
            )
        except sqlite3.Error as error:
            raise storage_problem(path, error) from error
        try:
            self._db.row_factory = sqlite3.Row
            self._prepare()
        except sqlite3.Error as error:
            self._db.close()
            raise storage_problem(path, error) from error
        except BaseException:
            self._db.close()
            raise

    def _prepare(self) -> None:
        self._db.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
        self._refuse_foreign()
        _set_wal(self._db)
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.execute("PRAGMA foreign_keys = ON")
        self._migrate()

    def _pragma(self, name: str) -> int:
        return int(self._db.execute(f"PRAGMA {name}").fetchone()[0])

    def _refuse_foreign(self) -> None:
        version = self._pragma("user_version")
        mark = self._pragma("application_id")
        tables = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if mark != APPLICATION_ID and (mark or version or tables):
            raise StorageProblem(
                f"{self.path} is a database of another program.",
                "Move it away, or set LONGSCROLL_HOME to another folder.",
            )
        if version > len(MIGRATIONS):
            raise StorageProblem(
                f"{self.path} was written by a newer longscroll (its format is {version}, "
                f"this one knows up to {len(MIGRATIONS)}).",
                "Update longscroll, or set LONGSCROLL_HOME to another folder.",
            )

    def _migrate(self) -> None:
        while self._pragma("user_version") < len(MIGRATIONS):
            with self.transaction() as db:
                # Read again under the write lock: another terminal may have done it meanwhile.
                version = self._pragma("user_version")
                if version < len(MIGRATIONS):
                    MIGRATIONS[version](db)
                    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                    db.execute(f"PRAGMA user_version = {version + 1}")

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All of the block's statements or none; on disk when the block has ended. Raises StorageProblem."""
        with self._lock, self._sentences():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    def rows(self, sql: str, parameters: Sequence[Parameter] = ()) -> list[dict[str, Any]]:
        """The rows of a query. Raises StorageProblem."""
        with self._lock, self._sentences():
            return [dict(row) for row in self._db.execute(sql, parameters)]

    def row(self, sql: str, parameters: Sequence[Parameter] = ()) -> dict[str, Any] | None:
        """The first row of a query. Raises StorageProblem."""
        with self._lock, self._sentences():
            found = self._db.execute(sql, parameters).fetchone()
            return None if found is None else dict(found)

    def close(self) -> None:
        """Close; the write-ahead log is folded into the file. Closing twice does no harm."""
        with self._lock, self._sentences():
            self._db.close()

    @contextmanager
    def _sentences(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.ProgrammingError:
            raise
        except sqlite3.Error as error:
            raise storage_problem(self.path, error) from error


def _create_private(path: Path) -> None:
    """Make the file, or find it, readable by its owner alone; SQLite gives its side files the same mode."""
    if path.is_dir():
        raise StorageProblem(
            f"{path} is a folder; the database should be there.",
            "Move it away, or set LONGSCROLL_HOME to another folder.",
        )
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        if stat.S_IMODE(path.stat().st_mode) & 0o077:
            path.chmod(0o600)
    except OSError as error:
        raise cannot_write(path, error) from error


def _set_wal(db: sqlite3.Connection) -> None:
    """Switch to WAL. SQLite does not wait for the lock here when another process switches at the same time."""
    deadline = time.monotonic() + BUSY_TIMEOUT_MS / 1000
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL").fetchone()
            return
        except sqlite3.OperationalError as error:
            if not error.sqlite_errorname.startswith("SQLITE_BUSY") or time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def _nearly_full(path: Path) -> bool:
    try:
        return shutil.disk_usage(path.parent).free < _NEARLY_FULL
    except OSError:
        return False


def storage_problem(path: Path, error: sqlite3.Error) -> StorageProblem:
    """What happened to the database and what to do, from SQLite's error."""
    name = getattr(error, "sqlite_errorname", "") or ""
    elsewhere = "or set LONGSCROLL_HOME to a folder you can write to."
    # Where the side files cannot grow, SQLite reports a full disk as an error of the disk.
    if name.startswith("SQLITE_FULL") or (name.startswith("SQLITE_IOERR") and _nearly_full(path)):
        return StorageProblem(f"The disk is full: {path} cannot be written.", f"Free some space {elsewhere}")
    if name.startswith("SQLITE_READONLY"):
        return StorageProblem(f"{path} cannot be written: it is read-only.", f"Make it writable {elsewhere}")
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")):
        return StorageProblem(
            f"The database {path} is damaged ({error}).",
            f"Move it away and a new one is made; keep the old one with {path.name}-wal for a repair.",
        )
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return StorageProblem(
            f"Another program has been writing to {path} for {BUSY_TIMEOUT_MS // 1000} s.",
            "Close the other longscroll and try again.",
        )
    if name.startswith("SQLITE_CANTOPEN"):
        return StorageProblem(f"The database {path} cannot be opened.", f"Check its permissions {elsewhere}")
    if name.startswith("SQLITE_IOERR"):
        return StorageProblem(
            f"The disk reported an error at {path} ({error}).", f"Check the disk and its free space, {elsewhere}"
        )
    return StorageProblem(f"The database {path} could not be used ({error}).", f"Check the file {elsewhere}")
