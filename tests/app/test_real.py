"""The screen on the real server with the demo model: send, stream, stop, send again, quit, reopen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.app.driving import shown, until
from tui.app.app import LongscrollApp, local_app
from tui.app.screens.chat import ChatScreen
from tui.app.screens.problem import ProblemScreen
from tui.context.runtime import RuntimeOptions
from tui.paths import Paths
from tui.settings import Settings
from tui.store.database import Store

pytestmark = [pytest.mark.real, pytest.mark.demo]


def screen(paths: Paths, store: Store, model: str = "demo", **given: Any) -> LongscrollApp:
    return local_app(
        lambda: RuntimeOptions(model=model, ctx_size=2048),
        settings=Settings(temperature=0.0),
        paths=paths,
        store=store,
        **given,
    )


async def ready(pilot: Pilot[Any]) -> ChatScreen:
    app = pilot.app
    assert isinstance(app, LongscrollApp)
    await until(pilot, lambda: app.chat.meter.plan is not None and not app.chat.controller.busy, tries=6000)
    return app.chat


async def say(pilot: Pilot[Any], text: str) -> None:
    assert isinstance(pilot.app, LongscrollApp)
    pilot.app.chat.composer.load(text)
    await pilot.press("enter")


def answers(chat: ChatScreen) -> list[Any]:
    return [entry for entry in chat.transcript.page.entries if entry.kind == "assistant"]


async def test_send_stream_stop_send_again_quit_reopen(paths: Paths, demo_in_home: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.md"
    report.write_text("# The lighthouse\n\n" + "The lighthouse of Cape Wrath was lit in 1828. " * 12, encoding="utf-8")
    with Store(paths) as store:
        app = screen(paths, store, documents=[str(report)])
        async with app.run_test(size=(100, 30)) as pilot:
            chat = await ready(pilot)
            assert "report.md is attached" in shown(chat.transcript)
            assert chat.meter.plan is not None
            assert chat.meter.plan.document_tokens > 100
            assert chat.meter.plan.exact

            # Stopped in the middle: what came so far is kept.
            await say(pilot, "Tell a very long story about the lighthouse, with many details.")
            await until(pilot, lambda: answers(chat) and len(answers(chat)[0].text) > 40, tries=6000)
            await pilot.press("escape")
            await until(pilot, lambda: not chat.controller.busy)
            assert "stopped" in answers(chat)[0].status
            first = answers(chat)[0].text

            # The meter's figure before sending is what the server then counts.
            question = "When was it lit? Answer in one sentence."
            chat.composer.load(question)
            await until(pilot, lambda: chat.meter.plan.draft > 0 and not chat.meter.estimated, tries=6000)
            counted = chat.meter.plan.prompt_tokens
            await pilot.press("enter")
            await until(pilot, lambda: len(answers(chat)) == 2 and not chat.controller.busy, tries=6000)
            assert "tokens/s" in answers(chat)[1].status
            session = chat.controller.session_id
            stored = store.sessions.messages(session)
            assert [row.state for row in stored] == ["complete", "stopped", "complete", "complete"]
            assert stored[3].prompt_tokens == counted

            await pilot.press("ctrl+q")
            await until(pilot, lambda: not app.is_running, tries=6000)
        assert app.return_value == 0

        again = screen(paths, store, session=session)
        async with again.run_test(size=(100, 30)) as pilot:
            chat = await ready(pilot)
            assert [entry.text for entry in answers(chat)] == [first, stored[3].content]
            questions = [entry.text for entry in chat.transcript.page.entries if entry.kind == "user"]
            assert questions[1] == question
            notes = "\n".join(entry.text for entry in chat.transcript.page.entries if entry.kind == "note")
            assert "Restored " in notes

            await say(pilot, "Thank you.")
            await until(pilot, lambda: len(answers(chat)) == 3 and not chat.controller.busy, tries=6000)
            last = store.sessions.messages(session)[-1]
            assert last.prompt_tokens is not None
            assert last.cached_tokens is not None
            assert last.cached_tokens >= 0.9 * (last.prompt_tokens - 40), "only what is new was processed"
            await pilot.press("ctrl+q")
            await until(pilot, lambda: not again.is_running, tries=6000)


async def test_a_message_too_long_is_refused_with_both_numbers(paths: Paths, demo_in_home: Path) -> None:
    with Store(paths) as store:
        app = screen(paths, store)
        async with app.run_test(size=(100, 30)) as pilot:
            chat = await ready(pilot)
            draft = "The lighthouse of Cape Wrath. " * 600
            await say(pilot, draft)
            await until(pilot, lambda: "Nothing was sent" in shown(chat.transcript), tries=6000)
            assert "2,048" in shown(chat.transcript)
            assert chat.composer.message == draft
            assert store.sessions.messages(chat.controller.session_id) == []
            await pilot.press("ctrl+q")
            await until(pilot, lambda: not app.is_running, tries=6000)


async def test_a_file_that_is_no_model_is_explained(paths: Paths, tmp_path: Path) -> None:
    wrong = tmp_path / "notes.gguf"
    wrong.write_text("these are notes", encoding="utf-8")
    with Store(paths) as store:
        app = screen(paths, store, model=str(wrong))
        async with app.run_test(size=(100, 30)) as pilot:
            await until(pilot, lambda: isinstance(app.screen, ProblemScreen), tries=6000)
            assert "notes.gguf" in shown(app.chat.transcript)
            await pilot.press("escape", "ctrl+q")
            await until(pilot, lambda: not app.is_running, tries=6000)
