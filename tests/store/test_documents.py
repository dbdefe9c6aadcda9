"""Stored documents."""

from __future__ import annotations

import random

import pytest

from tui.errors import StorageProblem
from tui.store.database import Store


def put(store: Store, data: bytes, key: str = "k") -> int:
    return store.documents.put(
        data, key=key, sha256="s", path="/a/b.pdf", name="b.pdf", kind="pdf", characters=9, pages=3
    )


def test_there_and_back(store: Store) -> None:
    data = bytes(range(256)) * 4000
    number = put(store, data)
    row = store.documents.get(number)
    assert row is not None
    assert (row.key, row.path, row.name, row.kind, row.characters, row.pages) == ("k", "/a/b.pdf", "b.pdf", "pdf", 9, 3)
    assert row.size == len(data)
    assert store.documents.by_key("k") == row
    assert store.documents.data(number) == data
    assert store.documents.get(99) is None
    assert store.documents.by_key("other") is None


def test_the_first_reading_stays(store: Store) -> None:
    first = put(store, b"first")
    assert put(store, b"second") == first
    assert store.documents.data(first) == b"first"
    assert put(store, b"other", key="other") != first


@pytest.mark.parametrize("data", [b"not zlib", b"x\x9c\x03\x00\x00\x00\x00\x01"])
def test_damage_is_found(store: Store, data: bytes) -> None:
    number = put(store, b"some text")
    with store._connection.transaction() as db:
        db.execute("UPDATE documents SET data = ?", (data,))
    with pytest.raises(StorageProblem, match="damaged") as caught:
        store.documents.data(number)
    assert "Attach" in caught.value.remedy


def test_missing(store: Store) -> None:
    with pytest.raises(StorageProblem, match="not in the database"):
        store.documents.data(5)


def test_only_what_no_session_holds_is_removed(store: Store) -> None:
    number = put(store, b"x")
    session = store.sessions.create("t").id
    store.sessions.attach(session, number, "b.pdf")
    assert not store.documents.remove(number)
    store.sessions.delete(session)
    assert store.documents.remove(number)
    assert not store.documents.remove(number)


def test_the_oldest_of_the_cache_go_and_no_attachment(store: Store) -> None:
    def keep(key: str) -> int:
        data = random.Random(key).randbytes(1000)  # no packing makes it smaller
        return store.documents.put(data, key=key, sha256="", path=key, name=key, kind="pdf", characters=1)

    first, attached, second, third = keep("read:1"), keep("attached:1"), keep("read:2"), keep("read:3")
    session = store.sessions.create("t")
    shared = keep("read:0")
    store.sessions.attach(session.id, shared, "shared")
    assert store.documents.trim(10_000) == 0
    assert store.documents.trim(2500) == 1
    assert store.documents.get(first) is None
    assert all(map(store.documents.get, (attached, second, third, shared)))
    assert store.documents.trim(0) == 2
    assert all(map(store.documents.get, (attached, shared)))
