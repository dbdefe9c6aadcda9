"""What must not end the screen: a server that is killed, a defect in a worker, bytes that are no text."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.pilot import Pilot

from tests.app.driving import shown, until
from tests.app.fake_engine import FakeEngine
from tests.support.tiny_models import build
from tui.app.app import LongscrollApp, local_app
from tui.app.screens.problem import ProblemScreen
from tui.context.plan import ContextPlan
from tui.context.runtime import RuntimeOptions
from tui.paths import Paths, get_paths
from tui.server.errors import ServerGone
from tui.settings import Settings
from tui.store.database import Store


async def ready(pilot: Pilot[Any]) -> None:
    app = pilot.app
    assert isinstance(app, LongscrollApp)
    await until(pilot, lambda: app.chat.controller.ready and not app.chat.controller.busy, tries=6000)
    await until(pilot, lambda: app.chat.meter.plan is not None, tries=6000)


async def say(pilot: Pilot[Any], text: str) -> None:
    assert isinstance(pilot.app, LongscrollApp)
    pilot.app.chat.composer.load(text)
    await pilot.press("enter")


def answers(app: LongscrollApp) -> list[str]:
    return [entry.text for entry in app.chat.transcript.page.entries if entry.kind == "assistant"]


@pytest.mark.real
async def test_a_server_killed_while_it_answers(paths: Paths, tiny_models: Path) -> None:
    model = str(build("llama", tiny_models))
    with Store(paths) as store:
        app = local_app(
            lambda: RuntimeOptions(model=model, ctx_size=8192), settings=Settings(), paths=paths, store=store
        )
        async with app.run_test(size=(100, 30)) as pilot:
            for turn in range(3):
                await ready(pilot)
                before = len(answers(app))
                await say(pilot, f"question {turn}")
                await until(pilot, lambda: len(answers(app)) > before and len(answers(app)[-1]) > 20, tries=6000)  # noqa: B023
                runtime = app.chat.controller._desk._runtime  # type: ignore[union-attr]  # the desk is a LocalDesk
                os.kill(runtime.process.pid, signal.SIGKILL)
                await until(pilot, lambda: isinstance(app.screen, ProblemScreen), tries=6000)
                assert "killed" in shown(app.chat.transcript).lower()
                stored = store.sessions.messages(app.chat.controller.session_id)
                assert stored[-1].state == "failed"
                assert len(stored[-1].content) > 20
                await pilot.press("escape")
                await pilot.press("ctrl+r")
            await ready(pilot)
            app.chat.composer.load("/quit")
            await pilot.press("enter")
            await until(pilot, lambda: not app.is_running, tries=6000)
    assert app.return_value == 0


def kill(app: LongscrollApp) -> None:
    runtime = app.chat.controller._desk._runtime  # type: ignore[union-attr]  # the desk is a LocalDesk
    os.kill(runtime.process.pid, signal.SIGKILL)


@pytest.mark.real
@pytest.mark.parametrize("moment", ["idle", "counting", "sending", "prompt", "switching", "attaching"])
async def test_a_server_killed_at_any_other_moment(
    moment: str, paths: Paths, tiny_models: Path, tmp_path: Path
) -> None:
    model = str(build("llama", tiny_models))
    long_text = "The lamp of the lighthouse was lit. " * 100
    (tmp_path / "long.txt").write_text(long_text, encoding="utf-8")
    with Store(paths) as store:
        app = local_app(
            lambda: RuntimeOptions(model=model, ctx_size=8192), settings=Settings(), paths=paths, store=store
        )
        async with app.run_test(size=(100, 30)) as pilot:
            await ready(pilot)
            chat = app.chat
            if moment == "switching":
                await say(pilot, "Hello")
                await until(pilot, lambda: bool(answers(app)) and len(answers(app)[-1]) > 20, tries=6000)
                await pilot.press("escape")
                await until(pilot, lambda: not chat.controller.busy)
                chat.action_new_session()
                await until(pilot, lambda: chat.status.activity.label.startswith(("Keeping", "Ready")))
            elif moment == "counting":
                chat.composer.load(long_text)
                chat._count()
            elif moment in ("sending", "prompt"):
                await say(pilot, long_text)
                if moment == "prompt":
                    await until(pilot, lambda: chat.answering.active)
            elif moment == "attaching":
                await say(pilot, f"/attach {tmp_path / 'long.txt'}")
                # A note that it is being read, or already that it is attached.
                await until(pilot, lambda: bool(chat.transcript.page.entries))
            kill(app)
            await until(pilot, lambda: isinstance(app.screen, ProblemScreen), tries=6000)
            await pilot.press("enter")
            await ready(pilot)
            # Whatever became of the message, it is in one place: in the conversation or in the composer.
            if moment in ("counting", "sending", "prompt"):
                asked = [entry.text for entry in chat.transcript.page.entries if entry.kind == "user"]
                assert [*asked, chat.composer.message].count(long_text) == 1
            chat.composer.load("Go on")
            await pilot.press("enter")
            await until(pilot, lambda: bool(answers(app)) and len(answers(app)[-1]) > 5, tries=6000)
            await pilot.press("ctrl+q")
            await until(pilot, lambda: not app.is_running, tries=6000)
    assert app.return_value == 0
    assert not list(paths.logs.glob("screen-*.log")), "no defect was met"


async def test_what_is_counted_when_the_server_dies_is_given_up() -> None:
    engine = FakeEngine()
    app = LongscrollApp(engine)
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        assert engine.talk is not None
        counting, left = asyncio.Event(), asyncio.Event()

        async def plan(draft: str) -> ContextPlan:
            counting.set()
            try:
                await asyncio.Event().wait()
            finally:
                left.set()
            raise AssertionError

        engine.talk.plan = plan  # type: ignore[method-assign]  # a count that takes long
        app.chat.composer.load("a draft")
        await until(pilot, counting.is_set)
        engine.failure = ServerGone("The server was killed.", "Start it again.")
        engine.death.set()
        await until(pilot, lambda: isinstance(app.screen, ProblemScreen))
        assert left.is_set()
        assert engine.shut == 1
        assert app.chat.composer.text == "a draft"


@pytest.mark.parametrize("where", ["plan", "send", "open", "resume"])
async def test_a_defect_in_a_worker_is_a_problem_not_the_end(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.app import fake_engine

    engine = FakeEngine()
    engine.rows = [fake_engine.session("a", "Earlier")]
    app = LongscrollApp(engine, session="a")

    def broken(*_given: object, **_more: object) -> Any:
        raise KeyError("a defect")

    if where in ("open", "resume"):
        place: Any = fake_engine.FakeDesk if where == "open" else fake_engine.FakeTalk
        monkeypatch.setattr(place, "talk" if where == "open" else "resume", broken)
    async with app.run_test(size=(100, 30)) as pilot:
        if where in ("open", "resume"):
            await until(pilot, lambda: isinstance(app.screen, ProblemScreen))
            await pilot.press("escape")
        else:
            await ready(pilot)
            monkeypatch.setattr(fake_engine.FakeTalk, where, broken)
            await say(pilot, "Hello")
        await until(pilot, lambda: "error of its own" in shown(app.chat.transcript))
        assert "a defect" in shown(app.chat.transcript)
        assert app.is_running
    trace = "".join(path.read_text() for path in get_paths().logs.glob("screen-*.log"))
    assert "KeyError: 'a defect'" in trace
    assert "Traceback" in trace


async def test_a_defect_in_the_drawing_ends_with_a_sentence_and_not_with_0(capsys: pytest.CaptureFixture[str]) -> None:
    app = LongscrollApp(FakeEngine())
    with pytest.raises(KeyError):
        async with app.run_test(size=(80, 24)) as pilot:
            await ready(pilot)

            def broken() -> None:
                raise KeyError("drawing")

            app.chat.transcript.call_next(broken)
            await until(pilot, lambda: not app.is_running)
    assert app.return_code == 1
    said = capsys.readouterr().err
    assert "KeyError" in said
    assert "Traceback" not in said
    assert "log file" in said


async def test_three_fast_quits_leave_nothing_unawaited(recwarn: pytest.WarningsRecorder) -> None:
    app = LongscrollApp(FakeEngine())
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        for _ in range(3):
            await app.action_quit()
        await until(pilot, lambda: not app.is_running)
    assert not [str(warning.message) for warning in recwarn if "never awaited" in str(warning.message)]


TERMINAL_APP = """
from tests.app.fake_engine import FakeEngine
from tui.app.app import LongscrollApp
from tui.app.widgets.composer import Composer
import sys

class Seen(LongscrollApp):
    def on_mount(self):
        super().on_mount()
        self.set_interval(0.05, self.look)
    def look(self):
        if self.chat.composer.text.endswith("z"):
            self.exit(self.chat.composer.text)
        if "BOOM" in self.chat.composer.text:
            raise KeyError("boom")

import asyncio
async def main():
    app = Seen(FakeEngine())
    result = await app.run_async()
    print("TEXT", ascii(result), flush=True)
    return app.return_code or 0
sys.exit(asyncio.run(main()))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a pseudo-terminal")
@pytest.mark.parametrize(
    ("typed", "told", "code"),
    [
        (b"a\xff\xfez", "TEXT 'a\\ufffd\\ufffdz'", 0),
        (b"\x1b[200~caf\xe9 \xfc\x1b[201~z", "TEXT 'caf\\ufffd \\ufffdz'", 0),
        (b"a\x1b[:1P\x1b[1:3;5:9u\x1b[1114112u\x1b[<9999999999;1;1Mz", "TEXT 'az'", 0),
        (b"BOOM", "error of its own: KeyError", 1),
    ],
)
def test_bytes_of_a_real_terminal(typed: bytes, told: str, code: int, tmp_path: Path) -> None:
    import pty
    import select

    script = tmp_path / "seen.py"
    script.write_text(TERMINAL_APP, encoding="utf-8")
    root = Path(__file__).parents[2]
    master, slave = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, str(script)],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        close_fds=True,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", "LINES": "30", "PYTHONPATH": str(root)},
        cwd=root,
        start_new_session=True,
    )
    os.close(slave)
    seen, sent, give_up = b"", False, time.monotonic() + 60
    try:
        while time.monotonic() < give_up:
            if select.select([master], [], [], 0.1)[0]:
                try:
                    piece = os.read(master, 65536)
                except OSError:
                    break
                if not piece:
                    break
                seen += piece
            if not sent and b"Ready" in seen:
                os.write(master, typed)
                sent = True
        assert child.wait(10) == code
    finally:
        child.kill()
        child.wait()
        os.close(master)
    plain = re.sub(r"\s+", " ", re.sub(rb"\x1b\[[0-?]*[ -/]*[@-~]", b"", seen).decode("utf-8", "replace"))
    assert told in plain
    assert "Traceback" not in plain


@pytest.mark.skipif(sys.platform == "win32", reason="the driver of other systems")
@given(st.text(alphabet="\x1b[]<;:?$~OMmuPRIytabcz0129\x00\x7f\ufffd", max_size=60))
def test_no_sequence_breaks_the_parser(text: str) -> None:
    from tui.app.driver import PatientParser

    parser = PatientParser(False)
    list(parser.feed(text))
    list(parser.tick())
