"""The journal: what `put` has returned for is there, whatever happens to the writer."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tui.paths import Paths
from tui.store.database import Store

ROOT = Path(__file__).resolve().parents[2]

WRITER = """
import sys
from tui.paths import get_paths
from tui.store.database import Store
store = Store(get_paths())
session = store.sessions.create(sys.argv[1])
print(session.id, flush=True)
message = store.sessions.add_message(session.id, "assistant", "", state="partial")
for number in range(1000000):
    store.journal.put(f"{sys.argv[1]}-{number}", str(number).encode() * 400)
    store.sessions.update_message(message.id, content="word " * number)
    print(number, flush=True)
"""


def test_first_value_wins(store: Store) -> None:
    assert store.journal.put("k", b"one")
    assert not store.journal.put("k", b"two")
    assert store.journal.get("k") == b"one"
    assert store.journal.get("other") is None
    assert store.journal.put("empty", b"")
    assert store.journal.get("empty") == b""
    assert store.journal.count() == 2


def test_many_keys_at_once(store: Store) -> None:
    with store._connection.transaction() as db:
        db.executemany("INSERT INTO journal VALUES (?, ?, 0)", [(str(n), str(n).encode()) for n in range(3000)])
    found = store.journal.get_many([*(str(n) for n in range(0, 3000, 2)), "0", "missing"])
    assert found == {str(n): str(n).encode() for n in range(0, 3000, 2)}
    assert store.journal.get_many([]) == {}


@pytest.mark.skipif(os.name == "nt", reason="SIGKILL")
def test_killed_writers_lose_nothing_that_was_stored(own_home: Path, paths: Paths) -> None:
    random_source = random.Random(7)
    environment = {**os.environ, "LONGSCROLL_HOME": str(own_home)}
    stored: dict[str, list[int]] = {}
    for round_number in range(12):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(round_number)], cwd=ROOT, env=environment, stdout=subprocess.PIPE
        )
        assert writer.stdout is not None
        session = writer.stdout.readline().decode().strip()
        done = [int(writer.stdout.readline()) for _ in range(random_source.randrange(1, 40))]
        writer.kill()
        done += [int(line) for line in writer.stdout.read().splitlines(keepends=True) if line.endswith(b"\n")]
        writer.wait()
        writer.stdout.close()
        stored[session] = done
        with Store(paths) as store:
            assert store._connection.row("PRAGMA integrity_check") == {"integrity_check": "ok"}
            for number in done:
                assert store.journal.get(f"{round_number}-{number}") == str(number).encode() * 400
            (message,) = store.sessions.messages(session)
            assert message.state == "partial"
            assert len(message.content) >= len("word " * done[-1])
    assert len(stored) == 12
