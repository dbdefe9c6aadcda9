"""The chat screen on an engine that follows a script: what the user does, what is shown, what the engine is told."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from textual.pilot import Pilot

from tests.app.driving import shown, until
from tests.app.fake_engine import FakeEngine, row, session
from tui.app.app import LongscrollApp
from tui.app.screens.chat import ChatScreen
from tui.app.screens.problem import ProblemScreen
from tui.app.screens.sessions import SessionsScreen
from tui.chat.events import TurnFailed
from tui.errors import LongscrollError
from tui.server.types import PromptProgress, ReasoningDelta, TextDelta


def page(app: LongscrollApp) -> str:
    return shown(app.chat.transcript)


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


async def test_a_turn_from_the_question_to_the_figures() -> None:
    engine = FakeEngine()
    app = LongscrollApp(engine)
    async with app.run_test(size=(80, 24)) as pilot:
        chat = await ready(pilot)
        assert "8,192" in chat.bar.model
        await say(pilot, "Who are you?")
        await until(pilot, lambda: "2 tokens · 20.0 tokens/s" in page(app))
        assert "▌ Who are you?" in page(app)
        assert "Hello there." in page(app)
        assert chat.composer.text == ""
        assert chat.bar.title == "Who are you?"
        await until(pilot, lambda: chat.meter.plan is not None and chat.meter.plan.history == 5)
        assert not chat.meter.estimated


async def test_prompt_progress_then_reasoning_apart_then_escape_stops() -> None:
    engine = FakeEngine()
    engine.script = [
        PromptProgress(total=4000, cached=0, processed=1000, time_ms=5000.0),
        None,
        ReasoningDelta("let me think"),
        TextDelta("A beginning"),
        None,
        TextDelta(" that never comes"),
    ]
    app = LongscrollApp(engine)
    async with app.run_test(size=(100, 24)) as pilot:
        chat = await ready(pilot)
        await say(pilot, "Go")
        await until(pilot, lambda: chat.status.activity.label == "Reading the prompt")
        assert "≈15 s left" in chat.status.activity.detail
        engine.go.set()
        engine.go.clear()
        await until(pilot, lambda: "A beginning" in page(app))
        assert "┊ let me think" in page(app)
        await pilot.press("escape")
        await until(pilot, lambda: "stopped" in page(app))
        assert "never comes" not in page(app)
        await until(pilot, lambda: chat.status.activity.label == "Ready")


async def test_nothing_is_sent_while_an_answer_is_under_way() -> None:
    engine = FakeEngine()
    engine.script = [TextDelta("one"), None]
    app = LongscrollApp(engine)
    async with app.run_test(size=(80, 24)) as pilot:
        chat = await ready(pilot)
        await say(pilot, "first")
        await until(pilot, lambda: "one" in page(app))
        await say(pilot, "second")
        await pilot.pause()
        assert chat.composer.text == "second"
        assert engine.talk is not None
        assert len(engine.talk.messages) == 1
        engine.go.set()
        await until(pilot, lambda: not chat.controller.busy)


async def test_an_overflow_names_both_numbers_and_keeps_the_draft() -> None:
    engine = FakeEngine()
    app = LongscrollApp(engine)
    async with app.run_test(size=(100, 24)) as pilot:
        chat = await ready(pilot)
        draft = "word " * 9000
        chat.composer.load(draft)
        await pilot.press("enter")
        await until(pilot, lambda: "Nothing was sent" in page(app))
        assert "10,048 tokens" in page(app)
        assert "8,192" in page(app)
        assert chat.composer.message == draft
        assert engine.talk is not None
        assert engine.talk.messages == []
        assert chat.meter.plan is not None
        assert chat.meter.plan.free < 0


async def test_documents_are_attached_at_the_start_and_by_command() -> None:
    engine = FakeEngine()
    app = LongscrollApp(engine, documents=["/x/scan.pdf", "/x/missing.pdf"])
    async with app.run_test(size=(80, 24)) as pilot:
        chat = await ready(pilot)
        assert "scan.pdf is attached (1 page" in page(app)
        assert "Page 3 has no text layer." in page(app)
        assert "/x/missing.pdf does not exist. Check the path." in page(app).replace("\n▌", "")
        await say(pilot, "/attach '/y/two words.pdf'")
        await until(pilot, lambda: "two words.pdf is attached" in page(app))
        assert chat.composer.text == ""
        await until(pilot, lambda: chat.meter.plan is not None and chat.meter.plan.document_tokens == 1800)


async def test_escape_stops_the_reading_of_a_document() -> None:
    app = LongscrollApp(FakeEngine())
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        await say(pilot, "/attach /x/slow.pdf")
        await until(pilot, lambda: "Reading /x/slow.pdf" in page(app))
        await pilot.press("escape")
        await until(pilot, lambda: "was not attached" in page(app))
        await ready(pilot)


async def test_an_unknown_command_is_not_sent() -> None:
    engine = FakeEngine()
    app = LongscrollApp(engine)
    async with app.run_test(size=(80, 24)) as pilot:
        chat = await ready(pilot)
        await say(pilot, "/atach x")
        await pilot.pause()
        assert chat.composer.text == "/atach x"
        assert engine.talk is not None
        assert engine.talk.messages == []


async def test_a_failed_answer_keeps_what_came_and_can_be_asked_again() -> None:
    engine = FakeEngine()
    kept = row(1, "assistant", "half", state="failed")
    engine.script = [TextDelta("half"), TurnFailed(message=kept, what="The server died.", remedy="Take less.")]
    app = LongscrollApp(engine)
    async with app.run_test(size=(80, 24)) as pilot:
        chat = await ready(pilot)
        await say(pilot, "Go")
        await until(pilot, lambda: "The server died." in page(app))
        assert "half" in page(app)
        assert "Take less." in page(app)
        engine.script = [TextDelta("whole")]
        await until(pilot, lambda: not chat.controller.busy)
        await pilot.press("ctrl+r")
        await until(pilot, lambda: "whole" in page(app))


async def test_a_server_that_does_not_start_is_explained_and_started_again() -> None:
    engine = FakeEngine()
    engine.failure = LongscrollError("model.gguf is truncated.", "Download it again.")
    app = LongscrollApp(engine)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, ProblemScreen))
        assert "model.gguf is truncated." in page(app)
        engine.failure = None
        await pilot.press("enter")
        await ready(pilot)
        assert engine.opened == 1


async def test_conversations_can_be_read_without_a_server() -> None:
    engine = FakeEngine()
    engine.rows = [session("a", "Earlier"), session("b", "Other")]
    engine.history_rows = [row(1, "user", "old question"), row(2, "assistant", "old answer")]
    engine.failure = LongscrollError("There is no model.", "Name one.")
    app = LongscrollApp(engine, session="a")
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, ProblemScreen))
        await pilot.press("escape")
        assert "old answer" in page(app)
        assert "There is no model." in page(app)
        await pilot.press("ctrl+o")
        await until(pilot, lambda: isinstance(app.screen, SessionsScreen))
        await until(pilot, lambda: app.screen.query("OptionList").first().option_count == 3)
        await pilot.press("down", "enter")
        await until(pilot, lambda: app.chat.bar.title == "Other")
        engine.failure = None
        await pilot.press("ctrl+r")
        await ready(pilot)
        assert app.chat.controller.session_id == "b"


async def test_a_server_that_dies_later_is_started_again_with_the_conversation() -> None:
    engine = FakeEngine()
    engine.rows = [session("a", "Earlier")]
    engine.history_rows = [row(1, "user", "old question"), row(2, "assistant", "old answer")]
    app = LongscrollApp(engine, session="a")
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        engine.failure = LongscrollError("Out of memory.", "Take a smaller context.")
        engine.death.set()
        await until(pilot, lambda: isinstance(app.screen, ProblemScreen))
        engine.death.clear()
        engine.failure = None
        await pilot.press("enter")
        await until(pilot, lambda: engine.opened == 2)
        await ready(pilot)
        assert "old answer" in page(app)


async def test_a_session_is_reopened_with_its_history_and_slot() -> None:
    engine = FakeEngine()
    engine.rows = [session("a", "Earlier"), session("b", "Other")]
    engine.history_rows = [
        row(1, "user", "old question"),
        row(2, "assistant", "old answer", reasoning="old thought", completion_tokens=7, predicted_ms=350.0),
    ]
    app = LongscrollApp(engine, session="a")
    async with app.run_test(size=(80, 24)) as pilot:
        chat = await ready(pilot)
        assert chat.bar.title == "Earlier"
        for text in ("▌ old question", "┊ old thought", "old answer", "7 tokens · 20.0 tokens/s"):
            assert text in page(app)
        assert "Restored 4,203 tokens in 1.2 s instead of ≈3 min 30 s." in page(app)
        await pilot.press("up")
        assert chat.composer.text == "old question"
        await pilot.press("ctrl+o")
        await until(pilot, lambda: isinstance(app.screen, SessionsScreen))
        await until(pilot, lambda: app.screen.query("OptionList").first().option_count == 3)
        await pilot.press("down", "enter")
        await until(pilot, lambda: chat.bar.title == "Other")
        assert engine.settled == 1
        await pilot.press("ctrl+n")
        await until(pilot, lambda: chat.bar.title == "New conversation")
        await ready(pilot)
        assert "old answer" not in page(app)


async def test_quit_keeps_the_conversation_and_stops_the_server() -> None:
    engine = FakeEngine()
    engine.script = [TextDelta("one"), None]
    app = LongscrollApp(engine)
    async with app.run_test(size=(80, 24)) as pilot:
        chat = await ready(pilot)
        await say(pilot, "Go")
        await until(pilot, lambda: "one" in page(app))
        engine.settling.clear()
        await pilot.press("ctrl+q")
        await until(pilot, lambda: chat.status.activity.label == "Keeping the conversation's tokens")
        assert engine.talk is not None
        assert engine.talk.messages[-1].state == "stopped"
        assert engine.shut == 0
        engine.settling.set()
        await until(pilot, lambda: not app.is_running)
    assert (engine.settled, engine.closed_talks, engine.shut) == (1, 1, 1)
    assert app.return_value == 0


async def test_the_second_quit_does_not_wait() -> None:
    engine = FakeEngine()
    engine.settling.clear()
    app = LongscrollApp(engine)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        await pilot.press("ctrl+q")
        await until(pilot, lambda: engine.settled == 1)
        await pilot.press("ctrl+q")
        await until(pilot, lambda: not app.is_running)
    assert engine.shut == 1, "the server is stopped all the same"


async def test_quit_while_the_model_loads() -> None:
    engine = FakeEngine()
    engine.opening.clear()
    app = LongscrollApp(engine)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.chat.status.activity.label == "Loading the model")
        await pilot.press("ctrl+q")
        await until(pilot, lambda: not app.is_running)


async def test_typing_with_the_transcript_in_focus_goes_to_the_composer() -> None:
    app = LongscrollApp(FakeEngine())
    async with app.run_test(size=(80, 24)) as pilot:
        chat = await ready(pilot)
        chat.transcript.focus()
        await pilot.press("H", "i")
        assert chat.composer.text == "Hi"
        assert chat.focused is chat.composer


async def test_help_and_palette_open() -> None:
    app = LongscrollApp(FakeEngine())
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        await pilot.press("f1")
        await until(pilot, lambda: "Keys" in shown(app.screen.query_one("TranscriptView")))
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.chat)
        await pilot.press("ctrl+p")
        await until(pilot, lambda: app.screen is not app.chat)


@pytest.mark.parametrize("size", [(60, 20), (30, 10), (12, 5)])
async def test_small_screens_hold(size: tuple[int, int]) -> None:
    engine = FakeEngine()
    engine.script = [TextDelta("# Title\n\n| a | b |\n|--|--|\n| 1 | 2 |\n")]
    app = LongscrollApp(engine)
    async with app.run_test(size=size) as pilot:
        await ready(pilot)
        await say(pilot, "Go")
        await until(pilot, lambda: bool(app.chat.transcript.page.entries[-1].status))
        await pilot.resize_terminal(100, 30)
        await until(pilot, lambda: "Title" in page(app))


async def test_model_text_never_steers_the_terminal() -> None:
    engine = FakeEngine()
    hostile = "\x1b]0;title\x07 \x9b31m \u202eabc ``` \x1b[2J"
    engine.script = [ReasoningDelta(hostile), TextDelta(hostile)]
    engine.warnings = [hostile]
    engine.rows = [msgspec.structs.replace(session("a", hostile), model=hostile)]
    app = LongscrollApp(engine, session="a", documents=[f"/x/{hostile}.pdf"])
    async with app.run_test(size=(80, 40)) as pilot:
        await ready(pilot)
        await say(pilot, hostile)
        await until(pilot, lambda: bool(app.chat.transcript.page.entries[-1].status))
        await pilot.press("ctrl+o")
        await pilot.pause(0.2)
        strips = app.screen._compositor.render_strips()
        background = app.chat._compositor.render_strips()
        text = "".join(strip.text for strip in [*strips, *background])
        assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(text)
