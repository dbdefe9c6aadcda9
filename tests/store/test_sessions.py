"""Sessions and their messages."""

from __future__ import annotations

import pytest

from tui.errors import StorageProblem
from tui.store.database import Store
from tui.store.sessions import ROOT


def put_document(store: Store, name: str) -> int:
    return store.documents.put(b"x", key=f"key of {name}", sha256="", path=name, name=name, kind="text", characters=1)


def test_a_session_lives(store: Store) -> None:
    row = store.sessions.create("First", "smol", "f1", "Be brief.")
    assert len(row.id) == 8
    assert row.id.isalnum()
    assert store.sessions.get(row.id) == row
    assert row.head is None
    store.sessions.rename(row.id, "Renamed")
    found = store.sessions.get(row.id)
    assert found is not None
    assert (found.title, found.updated) == ("Renamed", row.updated)
    assert store.sessions.delete(row.id)
    assert not store.sessions.delete(row.id)
    assert store.sessions.get(row.id) is None


def test_newest_first(store: Store) -> None:
    ids = [store.sessions.create(str(n)).id for n in range(5)]
    assert [row.id for row in store.sessions.list()] == ids[::-1]
    store.sessions.touch(ids[1])
    store.sessions.add_message(ids[0], "user", "hello")
    assert [row.id for row in store.sessions.list(limit=3)] == [ids[0], ids[1], ids[4]]


def test_messages_follow_each_other(store: Store) -> None:
    session = store.sessions.create("t")
    first = store.sessions.add_message(session.id, "user", "How long?")
    second = store.sessions.add_message(session.id, "assistant", "", state="partial", model="smol")
    assert (first.parent_id, second.parent_id) == (None, first.id)
    growing = store.sessions.update_message(second.id, content="Very")
    assert (growing.content, growing.state, growing.model) == ("Very", "partial", "smol")
    done = store.sessions.update_message(
        second.id,
        content="Very long.",
        reasoning="Hm.",
        state="complete",
        finish_reason="stop",
        prompt_tokens=30,
        completion_tokens=4,
        cached_tokens=20,
        prompt_ms=12.5,
        predicted_ms=80.0,
        ttft_ms=14.0,
    )
    assert store.sessions.messages(session.id) == [first, done]
    assert (done.prompt_tokens, done.ttft_ms) == (30, 14.0)
    found = store.sessions.get(session.id)
    assert found is not None
    assert found.head == second.id


def test_active_path_of_a_tree(store: Store) -> None:
    session = store.sessions.create("t").id
    question = store.sessions.add_message(session, "user", "q")
    store.sessions.add_message(session, "assistant", "answer 1")
    again = store.sessions.add_message(session, "assistant", "answer 2", parent_id=question.id)
    assert [m.content for m in store.sessions.messages(session)] == ["q", "answer 2"]
    follow = store.sessions.add_message(session, "user", "next")
    assert follow.parent_id == again.id
    edited = store.sessions.add_message(session, "user", "q, edited", parent_id=ROOT)
    assert edited.parent_id is None
    assert [m.content for m in store.sessions.messages(session)] == ["q, edited"]


def test_long_conversations(store: Store) -> None:
    session = store.sessions.create("t").id
    with store._connection.transaction() as db:
        for number in range(3000):
            db.execute(
                "INSERT INTO messages (session_id, parent_id, role, content, reasoning, state, finish_reason, model,"
                " created, updated)"
                " VALUES (?, (SELECT max(id) FROM messages), 'user', ?, '', 'complete', '', '', 0, 0)",
                (session, str(number)),
            )
        db.execute("UPDATE sessions SET head = (SELECT max(id) FROM messages) WHERE id = ?", (session,))
    assert [m.content for m in store.sessions.messages(session)] == [str(n) for n in range(3000)]
    assert store.sessions.delete(session)
    assert store._connection.row("SELECT count(*) AS n FROM messages") == {"n": 0}


def test_deleting_one_leaves_the_others(store: Store) -> None:
    one, two = store.sessions.create("one").id, store.sessions.create("two").id
    document = put_document(store, "a.txt")
    for session in (one, two):
        store.sessions.add_message(session, "user", session)
        store.sessions.attach(session, document, "a.txt")
    store.sessions.delete(one)
    assert [m.content for m in store.sessions.messages(two)] == [two]
    assert [d.name for d in store.sessions.attachments(two)] == ["a.txt"]
    assert store.sessions.messages(one) == []


def test_nothing_is_added_to_what_was_deleted(store: Store) -> None:
    session = store.sessions.create("t").id
    message = store.sessions.add_message(session, "user", "q")
    store.sessions.delete(session)
    with pytest.raises(StorageProblem, match="deleted"):
        store.sessions.add_message(session, "user", "q")
    with pytest.raises(StorageProblem, match="deleted"):
        store.sessions.update_message(message.id, content="lost?")
    with pytest.raises(StorageProblem, match="deleted"):
        store.sessions.rename(session, "x")
    with pytest.raises(StorageProblem, match="deleted"):
        store.sessions.touch(session)
    with pytest.raises(StorageProblem, match="deleted"):
        store.sessions.attach(session, put_document(store, "a"), "a")


def test_a_parent_from_another_conversation_is_refused(store: Store) -> None:
    one, two = store.sessions.create("one").id, store.sessions.create("two").id
    message = store.sessions.add_message(one, "user", "q")
    with pytest.raises(StorageProblem, match="not part of"):
        store.sessions.add_message(two, "user", "q", parent_id=message.id)


@pytest.mark.parametrize("text", ["", "a\x00b", "第一章 🦉", "lone \ud800 surrogate", "x" * 2_000_000])
def test_any_text_is_kept(store: Store, text: str) -> None:
    session = store.sessions.create(text[:50], system=text).id
    store.sessions.add_message(session, "user", text)
    (message,) = store.sessions.messages(session)
    assert message.content == text.replace("\ud800", "\ufffd")


def test_unknown_fields_are_refused(store: Store) -> None:
    session = store.sessions.create("t").id
    message = store.sessions.add_message(session, "user", "q")
    with pytest.raises(TypeError, match="no field id"):
        store.sessions.update_message(message.id, id=7)  # type: ignore[call-arg]  # what the test is about
    with pytest.raises(StorageProblem):
        store.sessions.update_message(message.id, state="odd")  # type: ignore[arg-type]  # what the test is about
    assert store.sessions.messages(session) == [message]


def test_attachments_in_order_under_the_names_given(store: Store) -> None:
    session = store.sessions.create("t").id
    first, second = put_document(store, "one.txt"), put_document(store, "two.txt")
    store.sessions.attach(session, second, "~/two.txt")
    store.sessions.attach(session, first, "bad \udcff name.txt")
    store.sessions.attach(session, second, "./two.txt")
    assert [(d.id, d.path) for d in store.sessions.attachments(session)] == [
        (second, "./two.txt"),
        (first, "bad \udcff name.txt"),
    ]


def test_a_detached_document_stays_in_the_cache(store: Store) -> None:
    session, other = store.sessions.create("t").id, store.sessions.create("u").id
    document = put_document(store, "one.txt")
    for each in (session, other):
        store.sessions.attach(each, document, "one.txt")
    assert store.sessions.detach(session, document)
    assert not store.sessions.detach(session, document)
    assert store.sessions.attachments(session) == []
    assert [row.id for row in store.sessions.attachments(other)] == [document]
    assert store.documents.data(document)


def test_the_active_path_can_end_earlier(store: Store) -> None:
    session = store.sessions.create("t").id
    first = store.sessions.add_message(session, "user", "q")
    store.sessions.add_message(session, "assistant", "a")
    store.sessions.rewind(session, first.id)
    assert store.sessions.messages(session) == [first]
    store.sessions.rewind(session, None)
    assert store.sessions.messages(session) == []
    other = store.sessions.create("u").id
    for wrong, message in ((other, first.id), ("nothere", None)):
        with pytest.raises(StorageProblem):
            store.sessions.rewind(wrong, message)
