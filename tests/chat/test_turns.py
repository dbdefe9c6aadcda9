"""What is stored becomes what is sent: roles alternate, nothing is lost, documents stand first."""

from __future__ import annotations

import pytest

from tui.chat.turns import TITLE_LENGTH, History, history_of, opening, title_of
from tui.documents.model import Document
from tui.server.types import Message
from tui.store.sessions import MessageRow, MessageState


def row(role: str, content: str, state: MessageState = "complete", reasoning: str = "") -> MessageRow:
    return MessageRow(
        id=1,
        session_id="s",
        parent_id=None,
        role=role,
        content=content,
        reasoning=reasoning,
        state=state,
        finish_reason="",
        model="",
        prompt_tokens=None,
        completion_tokens=None,
        cached_tokens=None,
        prompt_ms=None,
        predicted_ms=None,
        ttft_ms=None,
        created=0,
        updated=0,
    )


def document(name: str, text: str) -> Document:
    return Document(path=name, name=name, kind="text", text=text, spans=())


def test_finished_turns() -> None:
    rows = [row("user", "a"), row("assistant", "b", reasoning="hm"), row("user", "c"), row("assistant", "d")]
    assert history_of(rows) == History(
        (Message("user", "a"), Message("assistant", "b"), Message("user", "c"), Message("assistant", "d"))
    )


@pytest.mark.parametrize("state", ["stopped", "failed", "partial"])
def test_an_answer_that_broke_off_counts_as_far_as_it_came(state: MessageState) -> None:
    history = history_of([row("user", "a"), row("assistant", "half an", state)])
    assert history.messages == (Message("user", "a"), Message("assistant", "half an"))
    assert history.unanswered == ""


@pytest.mark.parametrize("state", ["stopped", "failed", "partial"])
def test_a_question_without_an_answer_leads_the_next_message(state: MessageState) -> None:
    rows = [row("user", "a"), row("assistant", "b"), row("user", "c"), row("assistant", "", state), row("user", "d")]
    history = history_of(rows)
    assert history.messages == (Message("user", "a"), Message("assistant", "b"))
    assert history.unanswered == "c\n\nd"
    assert history.with_draft("e") == "c\n\nd\n\ne"
    assert history.with_draft("") == "c\n\nd"


def test_an_empty_answer_that_is_complete_is_an_answer() -> None:
    history = history_of([row("user", "a"), row("assistant", "")])
    assert history == History((Message("user", "a"), Message("assistant", "")))


def test_roles_alternate_whatever_is_stored() -> None:
    rows = [row("assistant", "x"), row("assistant", "y"), row("user", "a"), row("user", "b"), row("assistant", "c")]
    messages = history_of(rows).messages
    assert [message.role for message in messages] == ["user", "assistant"] * 2
    assert [message.content for message in messages] == ["", "x\n\ny", "a\n\nb", "c"]


def test_documents_stand_in_the_system_message_and_more_of_them_only_add() -> None:
    one, two = document("a.txt", "first text"), document('b"\n.txt', "second text\n")
    (alone,) = opening("Be brief.", [one])
    (both,) = opening("Be brief.", [one, two])
    assert alone == Message("system", 'Be brief.\n\n<document name="a.txt">\nfirst text\n</document>')
    assert both.content == alone.content + '\n\n<document name="b\'␊.txt">\nsecond text\n</document>'
    assert opening("", []) == ()
    assert opening("Be brief.", []) == (Message("system", "Be brief."),)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Hello", "Hello"),
        ("\n \n  What is\tthis?  \nMore", "What is this?"),
        ("", ""),
        ("x" * TITLE_LENGTH, "x" * TITLE_LENGTH),
        ("x" * (TITLE_LENGTH + 1), "x" * (TITLE_LENGTH - 1) + "…"),
        ("word " * 30, ("word " * 11).strip() + "…"),
        ("a\x1b[2Jb", "a␛[2Jb"),
        ("漢" * 100, "漢" * (TITLE_LENGTH - 1) + "…"),
    ],
)
def test_titles(text: str, title: str) -> None:
    assert title_of(text) == title
    assert len(title_of(text)) <= TITLE_LENGTH
