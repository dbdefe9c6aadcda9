"""The database file: made private, moved forward, shared between processes, and clear about what is wrong with it."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from tui.errors import StorageProblem
from tui.paths import Paths
from tui.store import connection, migrations
from tui.store.connection import Connection
from tui.store.database import Store

ROOT = Path(__file__).resolve().parents[2]


def test_new_database_is_durable_and_private(paths: Paths) -> None:
    with Store(paths) as store:
        store.facts.set("a", "b")
        row = store._connection.row
        assert row("PRAGMA journal_mode") == {"journal_mode": "wal"}
        assert row("PRAGMA synchronous") == {"synchronous": 2}
        assert row("PRAGMA foreign_keys") == {"foreign_keys": 1}
        assert row("PRAGMA user_version") == {"user_version": len(migrations.MIGRATIONS)}
        if os.name != "nt":
            files = list(paths.state.glob("longscroll.db*"))
            assert len(files) == 3
            assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
            assert stat.S_IMODE(paths.state.stat().st_mode) == 0o700
    store.close()


@pytest.mark.skipif(os.name == "nt", reason="POSIX modes")
def test_readable_database_is_made_private(paths: Paths) -> None:
    Store(paths).close()
    paths.database.chmod(0o644)
    Store(paths).close()
    assert stat.S_IMODE(paths.database.stat().st_mode) == 0o600


def test_reopened_with_all_that_was_stored(paths: Paths) -> None:
    with Store(paths) as store:
        store.facts.set("tokenizer", "proven")
        store.facts.set("tokenizer", "proven twice")
    with Store(paths) as store:
        assert store.facts.get("tokenizer") == "proven twice"
        assert store.facts.get("other") is None


def test_home_is_a_file(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.write_text("")
    with pytest.raises(StorageProblem, match="cannot be written") as caught:
        Store(Paths(home / "config", home / "state", home / "cache"))
    assert "LONGSCROLL_HOME" in caught.value.remedy


def test_database_is_a_folder(paths: Paths) -> None:
    paths.database.mkdir(parents=True)
    with pytest.raises(StorageProblem, match="is a folder"):
        Store(paths)


def test_not_a_database(paths: Paths) -> None:
    paths.state.mkdir(parents=True)
    paths.database.write_bytes(b"this is a letter, not a database\n" * 200)
    with pytest.raises(StorageProblem, match="damaged") as caught:
        Store(paths)
    assert caught.value.remedy
    assert paths.database.read_bytes().startswith(b"this is a letter")


def test_damaged_page(paths: Paths) -> None:
    with Store(paths) as store:
        for number in range(200):
            store.journal.put(str(number), bytes(2000))
    data = bytearray(paths.database.read_bytes())
    data[4096 * 20 : 4096 * 60] = b"\xa5" * 4096 * 40
    paths.database.write_bytes(data)
    with pytest.raises(StorageProblem, match="damaged"), Store(paths) as store:
        store.journal.get_many(str(number) for number in range(200))
        store.journal.count()


def test_database_of_another_program(paths: Paths) -> None:
    paths.state.mkdir(parents=True)
    with sqlite3.connect(paths.database) as db:
        db.execute("CREATE TABLE birds (name TEXT)")
    db.close()
    with pytest.raises(StorageProblem, match="another program"):
        Store(paths)


def test_newer_format_is_left_alone(paths: Paths) -> None:
    Store(paths).close()
    with sqlite3.connect(paths.database) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(StorageProblem, match=r"newer longscroll.*99") as caught:
        Store(paths)
    assert "Update" in caught.value.remedy


def test_formats_move_forward(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    Store(paths).close()

    def second(db: sqlite3.Connection) -> None:
        db.execute("ALTER TABLE facts ADD COLUMN source TEXT NOT NULL DEFAULT 'old'")

    def breaks(db: sqlite3.Connection) -> None:
        db.execute("CREATE TABLE half (a)")
        raise RuntimeError("a step that fails")

    monkeypatch.setattr(connection, "MIGRATIONS", (*migrations.MIGRATIONS, second, breaks))
    with pytest.raises(RuntimeError):
        Store(paths)
    monkeypatch.setattr(connection, "MIGRATIONS", (*migrations.MIGRATIONS, second))
    with Store(paths) as store:
        store.facts.set("a", "b")
        assert store._connection.rows("SELECT source FROM facts") == [{"source": "old"}]
        assert store._connection.row("SELECT count(*) AS n FROM sqlite_master WHERE name = 'half'") == {"n": 0}
        assert store._connection.row("PRAGMA user_version") == {"user_version": 2}


def test_full_disk(paths: Paths) -> None:
    with Store(paths) as store:
        store.journal.put("before", b"kept")
        pages = store._connection.row("PRAGMA page_count")
        assert pages is not None
        store._connection.row(f"PRAGMA max_page_count = {pages['page_count'] + 2}")
        with pytest.raises(StorageProblem, match="The disk is full") as caught:
            store.journal.put("large", bytes(1_000_000))
        assert "Free some space" in caught.value.remedy
        assert store.journal.get("before") == b"kept"
        assert store.journal.get("large") is None
        store._connection.row("PRAGMA max_page_count = 1000000")
        assert store.journal.put("large", bytes(1_000_000))


def test_read_only_database(paths: Paths) -> None:
    with Store(paths) as store:
        store._connection.row("PRAGMA query_only = ON")
        with pytest.raises(StorageProblem, match="read-only"):
            store.facts.set("a", "b")


@pytest.mark.skipif(os.name == "nt", reason="POSIX modes")
@pytest.mark.parametrize("made_before", [False, True])
def test_read_only_home(made_before: bool) -> None:
    # Not under tmp_path: its parents are closed to the user that tries.
    home = Path(tempfile.mkdtemp(prefix="longscroll-test-"))
    try:
        if made_before:
            Store(Paths(home / "config", home / "state", home / "cache")).close()
            (home / "state" / "longscroll.db").chmod(0o444)
            (home / "state").chmod(0o555)
        home.chmod(0o555)
        code = (
            "import os\nfrom tui.paths import get_paths\nfrom tui.store.database import Store\n"
            "from tui.errors import StorageProblem\n"
            "if os.geteuid() == 0: os.setuid(65534)  # root may write anywhere\n"
            "try:\n    Store(get_paths()); print('opened')\n"
            "except StorageProblem as error:\n    print(error.what, '|', error.remedy)\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env={**os.environ, "LONGSCROLL_HOME": str(home)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "cannot be written" in done.stdout
        assert "LONGSCROLL_HOME" in done.stdout
    finally:
        home.chmod(0o755)
        if made_before:
            (home / "state").chmod(0o755)
        shutil.rmtree(home)


def test_another_program_holds_the_lock(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "BUSY_TIMEOUT_MS", 50)
    with Store(paths) as store:
        other = sqlite3.connect(paths.database, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageProblem, match="Another program"):
            store.facts.set("a", "b")
        other.execute("ROLLBACK")
        other.close()
        store.facts.set("a", "b")


def test_an_error_in_a_transaction_leaves_nothing(paths: Paths) -> None:
    database = Connection(paths.database)
    with pytest.raises(KeyboardInterrupt), database.transaction() as db:
        db.execute("INSERT INTO facts VALUES ('a', 'b', 0)")
        raise KeyboardInterrupt
    assert database.rows("SELECT * FROM facts") == []
    database.close()


def test_many_threads(paths: Paths) -> None:
    with Store(paths) as store:
        session = store.sessions.create("one")

        def write(name: str) -> None:
            for number in range(20):
                store.journal.put(f"{name}-{number}", name.encode())
                store.sessions.add_message(session.id, "user", f"{name} {number}")

        threads = [threading.Thread(target=write, args=(str(n),)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert store.journal.count() == 80
        assert len(store.sessions.messages(session.id)) == 80


def test_processes_open_a_new_home_at_once(own_home: Path, paths: Paths) -> None:
    code = (
        "import sys\nfrom tui.paths import get_paths\nfrom tui.store.database import Store\n"
        "store = Store(get_paths())\n"
        "for n in range(10): store.journal.put(f'{sys.argv[1]}-{n}', b'x')\n"
        "store.close()\n"
    )
    environment = {**os.environ, "LONGSCROLL_HOME": str(own_home)}
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(n)], cwd=ROOT, env=environment, stderr=subprocess.PIPE)
        for n in range(4)
    ]
    errors = [process.communicate()[1].decode() for process in running]
    assert [process.returncode for process in running] == [0] * 4, errors
    with Store(paths) as store:
        assert store.journal.count() == 40
