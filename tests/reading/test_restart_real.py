"""The server is killed in the middle of a summary: it is started again, and only what was running is done again."""

from __future__ import annotations

import contextlib
import os
import signal
from collections import Counter
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.reading.conftest import paged
from tests.support.ending import answers_that_end
from tests.support.running import QUICK
from tests.support.tiny_models import build
from tui.context.runtime import Runtime, RuntimeOptions, open_runtime
from tui.paths import Paths
from tui.reading.ask import ask
from tui.reading.calls import Caller
from tui.reading.events import Answered, ChunkDone, Finished, GroupDone, ReadingEvent, SummaryRestarted
from tui.reading.results import AskOptions, SummaryOptions
from tui.reading.summarize import summarize
from tui.server import revival
from tui.server.client import AGAIN
from tui.server.errors import ServerDied
from tui.server.types import PromptProgress
from tui.settings import Settings
from tui.store.database import Store
from tui.store.journal import JournalStore

pytestmark = pytest.mark.real

SLOTS = 2


class Watch:
    """Counts the calls that came to their end, and kills the server in the middle of the one it is told."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.finished: Counter[str] = Counter()
        self.begun: Counter[str] = Counter()
        self.stored: Counter[str] = Counter()
        self.kill_at: Callable[[str], bool] = lambda text: False
        self.pids: list[int] = []
        self.running = 0
        once, put = Caller._once, JournalStore.put
        watch = self

        async def counted(caller: Caller, prompt: Any, *args: Any, **named: Any) -> Any:
            watch.begun[prompt.text] += 1
            watch.running += 1
            process = caller.runtime.process
            assert process is not None
            if watch.kill_at(prompt.text):
                watch.pids.append(process.pid)
                os.kill(process.pid, signal.SIGKILL)
            try:
                reply = await once(caller, prompt, *args, **named)
            finally:
                watch.running -= 1
            watch.finished[prompt.text] += 1
            return reply

        def stored(store: JournalStore, key: str, value: bytes) -> bool:
            watch.stored[key] += 1
            return put(store, key, value)

        monkeypatch.setattr(Caller, "_once", counted)
        monkeypatch.setattr(JournalStore, "put", stored)


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    monkeypatch.setattr(revival, "_PAUSES_S", (0.0,))
    return Watch(monkeypatch)


@contextlib.asynccontextmanager
async def opened(paths: Paths, model: Path, *, ctx_size: int = 512) -> AsyncIterator[Runtime]:
    with Store(paths) as store:
        options = RuntimeOptions(model=str(model), ctx_size=ctx_size, parallel=SLOTS)
        settings = Settings(server_args=QUICK)  # type: ignore[arg-type]  # a sequence of words
        async with open_runtime(options, settings=settings, paths=paths, store=store, restarts=True) as runtime:
            yield runtime


def at_the(number: int, what: str) -> Callable[[str], bool]:
    """True once, at the call of that number whose prompt holds `what`."""
    seen = 0

    def kill(text: str) -> bool:
        nonlocal seen
        seen += what in text
        return what in text and seen == number

    return kill


@pytest.mark.parametrize(("kind", "number"), [("map", 5), ("reduce", 1), ("final", 1)])
async def test_killed_once(paths: Paths, tiny_models: Path, watch: Watch, kind: str, number: int) -> None:
    answers_that_end(paths)
    document = paged(6, 12)
    watch.kill_at = at_the(number, f"Kind: {kind}")
    events: list[ReadingEvent] = []
    async with opened(paths, build("llama", tiny_models)) as runtime:
        events += [event async for event in summarize(runtime, document, SummaryOptions())]
        assert runtime.process is not None
        assert watch.pids
        assert runtime.process.pid not in watch.pids
        assert not any(map(psutil.pid_exists, watch.pids))
        (told,) = runtime.warnings
        assert told.startswith("llama-server ended: it was killed")
        assert "It was started again; only what was running is done again." in told
    last = events[-1]
    assert isinstance(last, Finished)
    assert last.result.coverage.fraction == 1.0
    assert {entry.state for entry in last.ledger} == {"read"}
    assert sum(isinstance(event, ChunkDone) for event in events) == last.result.chunks
    assert any(isinstance(event, GroupDone) for event in events)
    # At most the calls that ran on the slots were made twice; none was finished twice, none was stored twice.
    assert sum((watch.begun - watch.finished).values()) <= SLOTS
    assert set(watch.stored.values()) == {1}
    if kind == "final":
        assert any(isinstance(event, SummaryRestarted) for event in events)


async def test_killed_again_and_again(paths: Paths, tiny_models: Path, watch: Watch) -> None:
    """Every fourth call ends the server: as long as answers come in between, it goes on."""
    answers_that_end(paths)
    seen = 0

    def kill(text: str) -> bool:
        nonlocal seen
        seen += 1
        return seen % 4 == 0

    watch.kill_at = kill
    async with opened(paths, build("llama", tiny_models)) as runtime:
        events = [event async for event in summarize(runtime, paged(2, 12), SummaryOptions())]
        assert len(watch.pids) >= 2
        assert f"(restart {len(watch.pids)} of this run)" in runtime.warnings[-1]
    last = events[-1]
    assert isinstance(last, Finished)
    assert last.result.coverage.fraction == 1.0
    assert set(watch.stored.values()) == {1}


async def test_a_part_that_ends_the_server_each_time(paths: Paths, tiny_models: Path, watch: Watch) -> None:
    """It is given up with the reason; what was finished is in the journal."""
    answers_that_end(paths)
    watch.kill_at = lambda text: "KESTREL-004" in text
    async with opened(paths, build("llama", tiny_models)) as runtime:
        with pytest.raises(ServerDied, match="killed"):
            async for _ in summarize(runtime, paged(4, 12), SummaryOptions()):
                pass
        assert len(watch.pids) <= AGAIN + 1 + SLOTS
    assert watch.stored


async def test_killed_while_a_question_is_prepared(paths: Paths, tiny_models: Path, watch: Watch) -> None:
    """The document's tokens are processed again, and the answer comes."""
    document = paged(2, 12)
    answers: list[Answered] = []
    async with opened(paths, build("llama", tiny_models), ctx_size=4096) as runtime:
        assert runtime.process is not None
        killed = False
        async with contextlib.aclosing(ask(runtime, (document,), "Why?", AskOptions(max_tokens=20))) as events:
            async for event in events:
                if isinstance(event, PromptProgress) and not killed:
                    killed = True
                    os.kill(runtime.process.pid, signal.SIGKILL)
                if isinstance(event, Answered):
                    answers.append(event)
        assert killed
        assert len(runtime.warnings) == 1
    (answer,) = answers
    assert answer.result.error is None
    assert answer.result.completion_tokens == 20
