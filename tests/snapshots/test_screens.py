"""Pictures of the screen. `pytest tests/snapshots --snapshot-update` makes them anew; look at them before committing.

A picture holds for one version of the toolkit: with another one the tests are skipped, since its SVG differs.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import pytest
from textual.pilot import Pilot

from tests.app.driving import until
from tests.app.fake_engine import FakeEngine, row, session
from tui.app.app import LongscrollApp
from tui.errors import LongscrollError
from tui.server.types import ReasoningDelta, TextDelta

MADE_WITH = {"textual": "8.2.8", "rich": "15.0.0"}
Compare = Callable[..., bool]

pytestmark = pytest.mark.skipif(
    {name: version(name) for name in MADE_WITH} != MADE_WITH, reason=f"the pictures were made with {MADE_WITH}"
)

ANSWER = """\
## What the report says

The server keeps the state of a slot, so a prefix of **41,203 tokens** is processed *once*:

1. The conversation rests at a boundary.
2. `save_slot` writes it, with a checksum.

```python
def restore(slot: int) -> Restored:
    # every part is checked
    return Restored(slot, 41_203)
```

| Model | Restored | Time |
|:------|---------:|-----:|
| small | 41,203 | 1.2 s |
| 中文模型 | 8,000 | 0.3 s |

> Never believe `n_restored`. See https://example.org/notes.
"""


@pytest.fixture(autouse=True)
def _still(monkeypatch: pytest.MonkeyPatch) -> None:
    """No clock, no blinking, no animation."""
    monkeypatch.setattr("tui.app.screens.answering.monotonic", lambda: 100.0)
    monkeypatch.setattr("textual.widgets.TextArea.cursor_blink", False)
    monkeypatch.setenv("TEXTUAL_ANIMATIONS", "none")


async def at_rest(pilot: Pilot[Any]) -> None:
    app = pilot.app
    assert isinstance(app, LongscrollApp)
    await until(pilot, lambda: app.chat.meter.plan is not None and not app.chat.controller.busy)


async def answering(pilot: Pilot[Any]) -> None:
    await at_rest(pilot)
    app = pilot.app
    assert isinstance(app, LongscrollApp)
    app.chat.composer.load("What does the report say?")
    await pilot.press("enter")
    await until(pilot, lambda: app.chat.answering.pieces > 100)
    app.chat.answering.tick()
    await pilot.pause(0.2)


def streaming_engine() -> FakeEngine:
    engine = FakeEngine()
    pieces = [TextDelta(ANSWER[at : at + 4]) for at in range(0, len(ANSWER), 4)]
    engine.script = [ReasoningDelta("The user asks about the report. "), *pieces, TextDelta("\nAnd it goes o"), None]
    return engine


sizes = pytest.mark.parametrize("size", [(80, 24), (120, 40), (60, 20)], ids=["80x24", "120x40", "60x20"])
themes = pytest.mark.parametrize("theme", ["textual-dark", "textual-light"], ids=["dark", "light"])


@themes
@sizes
def test_empty(snap_compare: Compare, size: tuple[int, int], theme: str) -> None:
    assert snap_compare(LongscrollApp(FakeEngine(), theme=theme), terminal_size=size, run_before=at_rest)


@themes
@sizes
def test_streaming(snap_compare: Compare, size: tuple[int, int], theme: str) -> None:
    app = LongscrollApp(streaming_engine(), theme=theme, documents=["/home/me/report.pdf"])
    assert snap_compare(app, terminal_size=size, run_before=answering)


@themes
@sizes
def test_error(snap_compare: Compare, size: tuple[int, int], theme: str) -> None:
    engine = FakeEngine()
    engine.failure = LongscrollError(
        "The model file qwen.gguf is truncated: 1.2 GiB of 4.7 GiB are there.", "Download it again."
    )

    async def failed(pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: len(pilot.app.screen_stack) == 2)
        await pilot.pause(0.2)

    assert snap_compare(LongscrollApp(engine, theme=theme), terminal_size=size, run_before=failed)


def test_overflow(snap_compare: Compare) -> None:
    async def refused(pilot: Pilot[Any]) -> None:
        await at_rest(pilot)
        app = pilot.app
        assert isinstance(app, LongscrollApp)
        app.chat.composer.load("word " * 9000)
        await pilot.press("enter")
        await until(pilot, lambda: any(entry.kind == "error" for entry in app.chat.transcript.page.entries))
        await until(pilot, lambda: not app.chat.controller.busy and not app.chat.meter.estimated)
        await pilot.pause(0.2)

    app = LongscrollApp(FakeEngine(), documents=["/home/me/report.pdf"])
    assert snap_compare(app, terminal_size=(80, 24), run_before=refused)


def test_reopened(snap_compare: Compare) -> None:
    engine = FakeEngine()
    engine.rows = [session("a", "About the report")]
    engine.history_rows = [
        row(1, "user", "What does the report say?"),
        row(2, "assistant", ANSWER, completion_tokens=212, predicted_ms=8480.0, ttft_ms=800.0),
    ]
    assert snap_compare(LongscrollApp(engine, session="a"), terminal_size=(100, 44), run_before=at_rest)


def test_sessions(snap_compare: Compare, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.strftime", lambda *_: "02 Jan 14:05")
    engine = FakeEngine()
    titles = ("How does restoring a slot work on hybrid models, and what does it cost?", "报告摘要", "")
    engine.rows = [session(f"s{number}", title) for number, title in enumerate(titles)]

    async def listed(pilot: Pilot[Any]) -> None:
        await at_rest(pilot)
        await pilot.press("ctrl+o")
        await until(pilot, lambda: pilot.app.screen.query("OptionList").first().option_count == 4)
        await pilot.pause(0.2)

    assert snap_compare(LongscrollApp(engine), terminal_size=(80, 24), run_before=listed)


def test_help(snap_compare: Compare) -> None:
    async def helped(pilot: Pilot[Any]) -> None:
        await at_rest(pilot)
        await pilot.press("f1")
        await pilot.pause(0.3)

    assert snap_compare(LongscrollApp(FakeEngine()), terminal_size=(100, 40), run_before=helped)
