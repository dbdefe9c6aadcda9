"""A server that dies is started again: once for all who wait, with the same client, and not without end."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator

import psutil
import pytest

from tests.server_real.conftest import QUICK, Ask
from tui.server import client as client_module
from tui.server import revival
from tui.server import stream as stream_module
from tui.server.binary import ServerBinary
from tui.server.client import AGAIN
from tui.server.errors import ServerDied, ServerGone, StartFailed, StreamBroken
from tui.server.flags import ServerFlags
from tui.server.process import ServerProcess
from tui.server.revival import MOST, Reviver
from tui.server.types import Message, TextDelta

pytestmark = pytest.mark.real

STORY = [Message("user", "Tell me a long story.")]


class Watched:
    """A server with its reviver and what that told."""

    def __init__(self, server: ServerProcess) -> None:
        self.server = server
        self.told: list[tuple[str, int]] = []
        self.revive = Reviver(server, lambda death, restarts: self.told.append((death.kind, restarts)))
        server.client.revive = self.revive

    def kill(self) -> int:
        pid = self.server.pid
        os.kill(pid, 9)
        return pid


@pytest.fixture
async def watched(server: ServerProcess) -> AsyncIterator[Watched]:
    made = Watched(server)
    yield made
    await made.revive.aclose()


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(revival, "_PAUSES_S", (0.0,))


async def test_requests_that_change_nothing_go_on(watched: Watched) -> None:
    client = watched.server.client
    before = await client.tokenize("one two three")
    template = await client.apply_template(STORY)
    first = watched.kill()
    many = await asyncio.gather(*(client.tokenize("one two three") for _ in range(8)), client.apply_template(STORY))
    assert many == [before] * 8 + [template]
    assert watched.told == [("killed", 1)], "one restart for all of them"
    assert watched.server.client is client
    assert watched.server.phase == "ready"
    assert not psutil.pid_exists(first)
    assert client.generation == 1


async def test_streams_on_all_slots_are_broken_and_can_be_asked_for_again(watched: Watched) -> None:
    server, client = watched.server, watched.server.client
    props = server.props
    answering = [asyncio.Event() for _ in range(2)]

    async def answer(slot: int) -> int:
        generation = client.generation
        try:
            async for event in client.chat(STORY, max_tokens=2000, id_slot=slot):
                if isinstance(event, TextDelta):
                    answering[slot].set()
        except StreamBroken as error:  # not StreamCancelled: nobody is stopping it
            await watched.revive(error, generation)
        return len([event async for event in client.chat(STORY, max_tokens=3, id_slot=slot)])

    work = [asyncio.create_task(answer(slot)) for slot in range(2)]
    await asyncio.gather(*(event.wait() for event in answering))
    watched.kill()
    assert all(count > 3 for count in await asyncio.gather(*work))
    assert watched.told == [("killed", 1)]
    assert (server.props.n_ctx, server.props.total_slots) == (props.n_ctx, props.total_slots)
    logs = sorted(path.name for path in server._wanted.request.log_file.parent.iterdir())  # type: ignore[union-attr]
    assert len(logs) == 2, "the log of the one that died is kept"


@pytest.mark.usefixtures("at_once")
async def test_not_without_end(watched: Watched) -> None:
    """A server that dies each time before it has answered anything is given up; an answer in between counts anew."""
    client, process = watched.server.client, watched.server
    for _ in range(2):
        for _ in range(MOST - 1):
            watched.kill()
            await client.tokenize("x")
        assert [event async for event in client.chat(STORY, max_tokens=1)]
    for _ in range(MOST):
        watched.kill()
        await client.tokenize("x")
    watched.kill()
    with pytest.raises(ServerDied, match="started again 3 times") as caught:
        await client.tokenize("x")
    assert caught.value.kind == "killed"
    assert process.pid == 0
    assert watched.told[-1] == ("killed", 2 * (MOST - 1) + MOST)


@pytest.mark.usefixtures("at_once")
async def test_a_request_that_kills_the_server_each_time_is_given_up(watched: Watched) -> None:
    """Also where answers on other slots are finished meanwhile."""
    client = watched.server.client
    send = client._send
    asked = 0

    async def deadly(method: str, path: str, content: bytes | None) -> object:
        nonlocal asked
        if path == "/tokenize":
            asked += 1
            client.answered += 1
            watched.kill()
        return await send(method, path, content)

    client._send = deadly  # type: ignore[method-assign, assignment]
    with pytest.raises(ServerGone):
        await client.tokenize("x")
    assert asked == AGAIN + 1


@pytest.mark.usefixtures("at_once")
async def test_another_model_in_its_place_is_not_taken(
    server_binary: ServerBinary, server_flags: ServerFlags, ask: Ask, tiny_llama: os.PathLike[str], tmp_path: object
) -> None:
    from pathlib import Path

    model = Path(str(tmp_path)) / "model.gguf"
    model.write_bytes(Path(tiny_llama).read_bytes())
    async with ServerProcess() as process:
        await process.start(server_binary, ask(model=model, extra=QUICK), server_flags)
        watched = Watched(process)
        watched.kill()
        await process.wait_failed()
        model.write_bytes(Path(tiny_llama).read_bytes())
        os.utime(model, ns=(1, 1))
        with pytest.raises(ServerDied, match="not the one that was used") as caught:
            await watched.server._kept.tokenize("x")  # type: ignore[union-attr]  # there is one
        assert isinstance(caught.value.__cause__, StartFailed)
        await watched.revive.aclose()


async def test_stopping_ends_a_restart(watched: Watched) -> None:
    client = watched.server.client
    watched.kill()
    asking = asyncio.create_task(client.tokenize("x"))
    while watched.server.phase not in ("starting", "loading"):  # noqa: ASYNC110
        await asyncio.sleep(0)
    await watched.revive.aclose()
    await watched.server.stop()
    with pytest.raises(ServerGone):
        await asking
    assert watched.server.pid == 0
    assert watched.server.phase == "stopped"


async def test_who_waits_may_be_cancelled_and_the_others_go_on(watched: Watched) -> None:
    client = watched.server.client
    watched.kill()
    first, second = asyncio.create_task(client.tokenize("x")), asyncio.create_task(client.tokenize("x"))
    while watched.server.phase not in ("starting", "loading"):  # noqa: ASYNC110
        await asyncio.sleep(0)
    first.cancel()
    assert await second
    assert first.cancelled() or first.done()
    assert len(watched.told) == 1


async def test_a_server_that_lives_is_not_started_again(watched: Watched) -> None:
    pid = watched.server.pid
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(revival, "_DEATH_S", 0.05)
        await watched.revive(ServerGone("The connection broke."), 0)
    assert watched.server.pid == pid
    assert not watched.told


@pytest.mark.skipif(os.name != "posix", reason="SIGSTOP")
async def test_a_server_that_answers_nobody_is_ended_and_started_again(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_module, "_HEALTH_TIMEOUT_S", 0.2)
    monkeypatch.setattr(stream_module, "SILENCE_S", 0.2)
    monkeypatch.setattr(revival, "_DEATH_S", 0.2)
    client = watched.server.client
    before = await client.tokenize("one two three")
    os.kill(watched.server.pid, signal.SIGSTOP)
    # The wait is short for the stopped server only: one that starts on a busy machine takes longer than that.
    asking = asyncio.create_task(client.tokenize("one two three"))
    while watched.server.phase == "ready":  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    monkeypatch.undo()
    assert await asking == before
    assert watched.told == [("hung", 1)]
