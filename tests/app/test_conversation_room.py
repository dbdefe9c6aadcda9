"""Conversations on the screen: which one is open, which documents it holds, what fits, what is given back."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.app.driving import shown, until
from tests.app.fake_engine import FakeEngine, FakeTalk, plan_of, row, session
from tui.app import notes
from tui.app.app import LongscrollApp
from tui.app.engine import LocalEngine
from tui.app.screens.chat import ChatScreen
from tui.app.screens.problem import ProblemScreen
from tui.app.screens.sessions import SessionsScreen
from tui.context.plan import ContextPlan
from tui.context.runtime import RuntimeOptions
from tui.documents.model import Document
from tui.errors import LongscrollError
from tui.paths import Paths
from tui.server.types import PromptProgress, TextDelta
from tui.settings import Settings
from tui.store.database import Store


def page(app: LongscrollApp) -> str:
    return " ".join(line.lstrip("▌· ") for line in shown(app.chat.transcript).splitlines())


def toasts(app: LongscrollApp) -> str:
    return " ".join(notification.message for notification in app._notifications)


def kinds(app: LongscrollApp) -> list[str]:
    return [entry.kind for entry in app.chat.transcript.page.entries]


async def ready(pilot: Pilot[Any]) -> ChatScreen:
    app = pilot.app
    assert isinstance(app, LongscrollApp)
    await until(pilot, lambda: app.chat.controller.ready and not app.chat.controller.busy)
    await until(pilot, lambda: app.chat.meter.plan is not None)
    return app.chat


async def say(pilot: Pilot[Any], text: str) -> None:
    assert isinstance(pilot.app, LongscrollApp)
    pilot.app.chat.composer.load(text)
    await pilot.press("enter")


# Which conversation


async def test_an_unknown_session_is_said_and_a_new_one_is_open() -> None:
    engine = FakeEngine()
    app = LongscrollApp(engine, session="wrong")
    async with app.run_test(size=(100, 24)) as pilot:
        chat = await ready(pilot)
        assert "There is no session wrong." in page(app)
        assert chat.bar.title == "New conversation"
        await say(pilot, "Hello")
        await until(pilot, lambda: "Hello there." in page(app))


async def test_a_conversation_that_cannot_be_opened_is_no_dead_end(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = FakeEngine()
    engine.rows = [session("a", "Damaged")]

    async def resume(self: FakeTalk) -> None:
        raise LongscrollError("Its document is damaged.")

    app = LongscrollApp(engine, session="a")
    with monkeypatch.context() as patched:
        patched.setattr(FakeTalk, "resume", resume)
        async with app.run_test(size=(100, 24)) as pilot:
            await until(pilot, lambda: isinstance(app.screen, ProblemScreen))
            await pilot.press("escape", "ctrl+n")
            await ready(pilot)
            assert app.chat.bar.title == "New conversation"


async def test_the_list_shows_ids_and_deletes_when_asked_twice() -> None:
    engine = FakeEngine()
    engine.rows = [session("aaaa1111", "Earlier"), session("bbbb2222", "Other")]
    app = LongscrollApp(engine, session="aaaa1111")
    async with app.run_test(size=(90, 24)) as pilot:
        await ready(pilot)
        await pilot.press("ctrl+o")
        await until(pilot, lambda: isinstance(app.screen, SessionsScreen))
        options = app.screen.query("OptionList").first()
        await until(pilot, lambda: options.option_count == 3)
        assert "bbbb2222" in str(options.get_option("bbbb2222").prompt)
        await pilot.press("d", "d")
        assert len(engine.rows) == 2, "the open one stays"
        await pilot.press("down", "d")
        assert len(engine.rows) == 2, "asked once"
        await pilot.press("up", "down", "d")
        assert len(engine.rows) == 2, "looked elsewhere in between"
        await pilot.press("d")
        await until(pilot, lambda: options.option_count == 2)
        assert [row.id for row in engine.rows] == ["aaaa1111"]


async def test_what_the_engine_lists_and_deletes(paths: Paths) -> None:
    with Store(paths) as store:
        engine = LocalEngine(lambda: RuntimeOptions(), settings=Settings(), paths=paths, store=store)
        silent = store.sessions.create("")
        document = store.documents.put(
            b"x", key="k", sha256="0" * 64, path="report.pdf", name="report.pdf", kind="pdf", characters=1
        )
        store.sessions.attach(silent.id, document, "report.pdf")
        assert [row.title for row in await engine.sessions()] == ["report.pdf"]
        await engine.delete(silent.id)
        assert await engine.sessions() == []


# Documents and room


def document(name: str, words: int = 5) -> Document:
    return Document(path=f"/x/{name}", name=name, kind="text", text="word " * words, spans=())


async def test_an_attached_document_says_its_tokens_and_can_be_taken_out() -> None:
    app = LongscrollApp(FakeEngine())
    async with app.run_test(size=(110, 30)) as pilot:
        chat = await ready(pilot)
        await say(pilot, "/attach")
        await until(pilot, lambda: "/attach PATH" in toasts(app))
        await say(pilot, "/attach /x/one.pdf")
        await until(pilot, lambda: "one.pdf is attached (1 page, 4,500 characters, 900 tokens)" in page(app))
        await say(pilot, "/attach /x/two.pdf")
        await until(pilot, lambda: "two.pdf is attached" in page(app))
        await ready(pilot)
        await say(pilot, "/detach")
        await until(pilot, lambda: "Attached: one.pdf, two.pdf" in toasts(app))
        await say(pilot, "/detach ONE")
        await until(pilot, lambda: "one.pdf is not part of the conversation any more" in page(app))
        await until(pilot, lambda: chat.meter.plan is not None and chat.meter.plan.document_tokens == 900)
        await say(pilot, "/detach")
        await until(pilot, lambda: chat.meter.plan is not None and chat.meter.plan.document_tokens == 0)


async def test_a_document_too_large_is_said_at_once_and_the_way_out_works(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = FakeEngine()

    async def read(path: str) -> Document:
        return document("huge.txt", 9000)

    monkeypatch.setattr(engine, "read", read)
    app = LongscrollApp(engine, documents=["/x/huge.txt"])
    async with app.run_test(size=(110, 30)) as pilot:
        await ready(pilot)
        assert "needs 10,048 tokens" in page(app)
        assert "1,856 too few" in page(app)
        assert "/detach huge.txt" in page(app)
        assert "longscroll summarize" in page(app)
        assert page(app).count("too few") == 1
        await say(pilot, "/detach huge.txt")
        await until(pilot, lambda: "not part of the conversation any more" in page(app))
        await ready(pilot)
        await say(pilot, "Hello")
        await until(pilot, lambda: "Hello there." in page(app))


def plan(**parts: Any) -> ContextPlan:
    return ContextPlan(**{"context": 8192, "system": 24, "reserve": 1024, **parts})


@pytest.mark.parametrize(
    ("given", "largest", "helps", "cannot_help"),
    [
        (plan(draft=9000), 8192, ["Shorten"], ["--ctx-size", "/detach", "Ctrl+N"]),
        (plan(draft=9000), 32768, ["Shorten", "--ctx-size 10048", "32,768"], ["/detach"]),
        (plan(draft=9000), 0, ["--ctx-size 10048"], ["trained"]),
        (plan(documents=(("a.pdf", 3), ("b.pdf", 9000)), draft=9), 8192, ["/detach b.pdf", "summarize"], ["horten"]),
        (plan(history=7100, draft=200), 8192, ["horten", "Ctrl+N"], ["/detach", "--ctx-size"]),
        (plan(system=9000, draft=1), 8192, ["takes less", "holds more"], ["horten"]),
    ],
)
def test_only_what_can_help_is_advised(
    given: ContextPlan, largest: int, helps: list[str], cannot_help: list[str]
) -> None:
    said = notes.advice(given, largest)
    for words in helps:
        assert words in said or words == "takes less"
    for words in cannot_help:
        assert words not in said


async def test_a_failed_attachment_leaves_no_reading() -> None:
    app = LongscrollApp(FakeEngine())
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        await say(pilot, "/attach /x/missing.pdf")
        await until(pilot, lambda: "does not exist" in page(app))
        assert "Reading" not in page(app)


# Stopping, waiting, giving back


async def test_stopped_before_the_answer_the_message_is_the_draft_again() -> None:
    engine = FakeEngine()
    engine.script = [PromptProgress(total=400, cached=0, processed=100, time_ms=500.0), None]
    app = LongscrollApp(engine)
    async with app.run_test(size=(80, 24)) as pilot:
        chat = await ready(pilot)
        for _ in range(3):
            await say(pilot, "Go")
            await until(pilot, lambda: chat.status.activity.label == "Reading the prompt")
            await pilot.press("m", "o", "r", "e")
            await pilot.press("escape")
            await until(pilot, lambda: not chat.controller.busy and chat.composer.message == "Go\n\nmore")
            assert kinds(app) == []
        assert engine.talk is not None
        assert engine.talk.messages == []


async def test_asking_again_stacks_nothing_up() -> None:
    engine = FakeEngine()
    engine.script = [TextDelta("half an answer"), None]
    app = LongscrollApp(engine)
    async with app.run_test(size=(80, 24)) as pilot:
        chat = await ready(pilot)
        await say(pilot, "Go")
        for turn in range(3):
            await until(pilot, lambda: chat.controller.answering and "half an answer" in page(app))
            await pilot.press("escape")
            await until(pilot, lambda: not chat.controller.busy)
            assert kinds(app) == ["user", "assistant"], turn
            assert page(app).count("stopped") == 1
            await pilot.press("ctrl+r")
            await until(pilot, lambda: chat.controller.answering)


async def test_a_message_waits_for_the_model_and_can_be_taken_back() -> None:
    engine = FakeEngine()
    engine.rows = [session("a", "Earlier")]
    engine.history_rows = [row(1, "user", "old question"), row(2, "assistant", "old answer")]
    engine.opening.clear()
    app = LongscrollApp(engine, session="a")
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.chat.status.activity.label == "Loading the model")
        await say(pilot, "first")
        await until(pilot, lambda: "waits for the model" in page(app))
        assert app.chat.composer.text == ""
        await pilot.press("escape")
        await until(pilot, lambda: app.chat.composer.text == "first")
        assert "waits for the model" not in page(app)
        await pilot.press("enter")
        engine.opening.set()
        await until(pilot, lambda: "Hello there." in page(app))
        assert kinds(app)[-2:] == ["user", "assistant"]
        assert "waits for the model" not in page(app)
        assert page(app).index("old answer") < page(app).index("first")
        assert app.chat.composer.text == ""


async def test_a_message_that_waited_in_vain_is_given_back() -> None:
    engine = FakeEngine()
    engine.opening.clear()
    app = LongscrollApp(engine)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.chat.status.activity.label == "Loading the model")
        await say(pilot, "first")
        await until(pilot, lambda: "waits for the model" in page(app))
        engine.failure = LongscrollError("Out of memory.", "Take a smaller context.")
        engine.opening.set()
        await until(pilot, lambda: isinstance(app.screen, ProblemScreen))
        assert app.chat.composer.message == "first"
        await pilot.press("!", "?")
        assert app.chat.composer.message == "first!?", "what is typed behind the dialog is not lost"


# The meter


async def test_the_meter_shows_no_figures_of_another_conversation_or_of_before() -> None:
    engine = FakeEngine()
    engine.rows = [session("a", "Earlier"), session("b", "Other")]
    engine.history_rows = [row(1, "user", "old question"), row(2, "assistant", "old answer")]
    engine.script = [PromptProgress(total=400, cached=0, processed=100, time_ms=500.0), None, TextDelta("x")]
    app = LongscrollApp(engine, session="a")
    async with app.run_test(size=(80, 24)) as pilot:
        chat = await ready(pilot)
        # Sent before the draft was ever counted: what was sent is history, exactly.
        await say(pilot, "three more words")
        await until(pilot, lambda: chat.status.activity.label == "Reading the prompt")
        assert chat.meter.plan == plan_of(4 + 3, "")
        assert not chat.meter.estimated
        engine.go.set()
        await until(pilot, lambda: not chat.controller.busy)

        resuming = asyncio.Event()

        async def resume(self: FakeTalk) -> Any:
            await resuming.wait()
            return await real(self)

        real = FakeTalk.resume
        FakeTalk.resume = resume  # type: ignore[method-assign]  # a restore that takes long
        try:
            chat._switch("b")
            await until(pilot, lambda: chat.bar.title == "Other")
            assert chat.meter.plan is None
            resuming.set()
            await ready(pilot)
        finally:
            FakeTalk.resume = real  # type: ignore[method-assign]


# Small things


async def test_ctrl_c_and_the_palette_speak_our_words() -> None:
    app = LongscrollApp(FakeEngine())
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        app.chat.transcript.focus()
        await pilot.press("ctrl+c")
        await until(pilot, lambda: "Ctrl+Q leaves longscroll" in toasts(app))
        titles = [command.title for command in app.get_system_commands(app.chat)]
        assert not {"Keys", "Maximize", "Screenshot"} & set(titles)
        assert any(title.startswith("Detach") for title in titles)


@pytest.mark.parametrize(("width", "whole"), [(60, True), (24, False)])
async def test_the_title_comes_before_the_model(width: int, whole: bool) -> None:
    engine = FakeEngine()
    engine.rows = [session("a", "A title of a fair length, really")]
    app = LongscrollApp(engine, session="a")
    async with app.run_test(size=(width, 20)) as pilot:
        chat = await ready(pilot)
        row_of_it = str(chat.bar.render())
        assert ("A title of a fair length, really" in row_of_it) == whole
        assert "Tiny" in row_of_it
