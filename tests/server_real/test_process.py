"""A server of our own: how it starts, what can be seen of it, how it is stopped, what is left of it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
import sys
from pathlib import Path

import psutil
import pytest

from tests.server_real.conftest import QUICK, Ask
from tests.support.tiny_models import build
from tui.server import process as process_module
from tui.server.binary import ServerBinary
from tui.server.errors import StartFailed, StartStopped, StreamCancelled
from tui.server.flags import ServerFlags
from tui.server.process import ServerProcess
from tui.server.state import ServerState
from tui.server.types import Message, TextDelta

pytestmark = pytest.mark.real

STORY = [Message("user", "Tell me a long story.")]


def gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


async def test_starts_answers_and_stops(server_binary: ServerBinary, server_flags: ServerFlags, ask: Ask) -> None:
    seen: list[ServerState] = []
    server = ServerProcess()
    await server.start(server_binary, ask(ctx_size=1000, parallel=3), server_flags, on_state=seen.append)
    pid = server.pid
    assert server.phase == "ready"
    assert server.props.total_slots == 3
    assert server.props.n_ctx == 1024  # rounded up, never down
    assert server.warnings == []
    assert seen[0].phase == "starting"
    assert seen[-1].phase == "ready"
    deltas = [event async for event in server.client.chat(STORY, max_tokens=4) if isinstance(event, TextDelta)]
    assert deltas
    await server.stop()
    assert gone(pid)
    assert server.returncode == 0
    assert [state.phase for state in seen][-2:] == ["stopping", "stopped"]
    assert server.pid == 0


async def test_can_be_started_again(server_binary: ServerBinary, server_flags: ServerFlags, ask: Ask) -> None:
    server = ServerProcess()
    for _ in range(2):
        await server.start(server_binary, ask(), server_flags)
        assert await server.client.health() == "ok"
        await server.stop()
        await server.stop()


async def test_the_key_is_in_no_process_list(server: ServerProcess) -> None:
    process = psutil.Process(server.pid)
    key = process.environ()["LLAMA_API_KEY"]
    assert len(key) >= 32
    assert all(key not in word for word in process.cmdline())
    assert all(key not in word for word in server.command)


@pytest.mark.skipif(sys.platform == "win32", reason="Unix permissions")
async def test_the_log_is_the_owners_alone(server: ServerProcess, tmp_path: Path) -> None:
    log = tmp_path / "logs" / "server.log"
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "slots").stat().st_mode) == 0o700
    await server.client.chat([Message("user", "the secret word is wombat")], max_tokens=1).aclose()
    async for _ in server.client.chat([Message("user", "the secret word is wombat")], max_tokens=2):
        pass
    assert "wombat" not in log.read_text(errors="replace")


async def test_inherited_variables_do_not_configure_it(
    server_binary: ServerBinary, server_flags: ServerFlags, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLAMA_ARG_CTX_SIZE", "512")
    monkeypatch.setenv("LLAMA_ARG_N_PARALLEL", "4")
    monkeypatch.setenv("LLAMA_ARG_MODEL", "/nowhere.gguf")
    monkeypatch.setenv("LLAMA_API_KEY", "known-to-others")
    async with ServerProcess() as server:
        await server.start(server_binary, ask(), server_flags)
        assert (server.props.n_ctx, server.props.total_slots) == (1024, 1)
        environ = psutil.Process(server.pid).environ()
        assert not [name for name in environ if name.startswith("LLAMA_ARG_")]
        assert environ["LLAMA_API_KEY"] != "known-to-others"


async def test_a_capped_context_is_told(server_binary: ServerBinary, server_flags: ServerFlags, ask: Ask) -> None:
    async with ServerProcess() as server:
        await server.start(server_binary, ask(ctx_size=40_000), server_flags)
        assert server.props.n_ctx == 32768
        assert any("32,768" in warning and "40,000" in warning for warning in server.warnings)


async def test_a_taken_port_is_replaced(
    server_binary: ServerBinary, server_flags: ServerFlags, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    stranger = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
    taken = stranger.sockets[0].getsockname()[1]
    ports = iter([taken])
    free_port = process_module.free_port
    monkeypatch.setattr(process_module, "free_port", lambda: next(ports, 0) or free_port())
    async with stranger, ServerProcess() as server:
        await server.start(server_binary, ask(), server_flags)
        assert str(taken) not in server.command
        assert next(ports, None) is None


async def test_another_llama_server_on_the_port_is_not_taken_for_ours(
    server: ServerProcess,
    server_binary: ServerBinary,
    server_flags: ServerFlags,
    ask: Ask,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    taken = int(server.command[server.command.index("--port") + 1])
    ports = iter([taken])
    free_port = process_module.free_port
    monkeypatch.setattr(process_module, "free_port", lambda: next(ports, 0) or free_port())
    async with ServerProcess() as second:
        await second.start(server_binary, ask(log_file=tmp_path / "second.log"), server_flags)
        assert second.props.model_alias != server.props.model_alias
        assert str(taken) not in second.command


async def test_ports_that_are_always_taken_end_in_one_message(
    server: ServerProcess,
    server_binary: ServerBinary,
    server_flags: ServerFlags,
    ask: Ask,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    taken = int(server.command[server.command.index("--port") + 1])
    monkeypatch.setattr(process_module, "free_port", lambda: taken)
    second = ServerProcess()
    with pytest.raises(StartFailed) as caught:
        await second.start(server_binary, ask(log_file=tmp_path / "second.log"), server_flags)
    assert caught.value.kind == "port"
    assert str(taken) in caught.value.what
    assert second.phase == "failed"


async def test_stopped_with_an_open_stream(server: ServerProcess) -> None:
    pid = server.pid
    stream = server.client.chat(STORY, max_tokens=3000)
    async for event in stream:
        if isinstance(event, TextDelta):
            break
    order: list[str] = []

    async def save() -> None:
        order.append("saving")
        assert not any(slot.is_processing for slot in await server.client.slots())
        busy = [slot.id for slot in await server.client.slots() if slot.n_prompt_tokens]
        saved = await server.client.save_slot(busy[0], "last.bin")
        order.append(f"{saved.n_saved > 0}")

    await server.stop(save)
    assert order == ["saving", "True"]
    assert gone(pid)
    assert server.returncode == 0  # it ended by itself, not by the kill
    with pytest.raises(StreamCancelled):
        async for _ in stream:
            pass


async def test_stopped_in_the_middle_of_a_prompt(
    server_binary: ServerBinary, server_flags: ServerFlags, ask: Ask
) -> None:
    async with ServerProcess() as server:
        await server.start(server_binary, ask(ctx_size=32768, extra=(*QUICK, "-b", "64", "-ub", "64")), server_flags)
        ids = await server.client.tokenize("one two three four five six seven eight nine ten " * 1500)
        assert len(ids) > 10_000
        started = asyncio.Event()

        async def read() -> None:
            await server.client.prefill(ids[:30_000], id_slot=0, on_progress=lambda _: started.set())

        reading = asyncio.create_task(read())
        await started.wait()
        pid = server.pid
        await server.stop()
        assert gone(pid)
        with pytest.raises(StreamCancelled):
            await reading


async def test_before_may_fail_and_the_server_ends_all_the_same(server: ServerProcess) -> None:
    pid = server.pid

    async def save() -> None:
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        await server.stop(save)
    assert gone(pid)
    assert server.phase == "stopped"


async def test_a_cancelled_stop_ends_the_server(server: ServerProcess) -> None:
    pid = server.pid
    reached = asyncio.Event()

    async def save() -> None:
        reached.set()
        await asyncio.sleep(3600)

    stopping = asyncio.create_task(server.stop(save))
    await reached.wait()
    stopping.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stopping
    assert gone(pid)


async def test_stop_while_loading(server_binary: ServerBinary, server_flags: ServerFlags, ask: Ask) -> None:
    server = ServerProcess()
    pids: list[int] = []
    reached = asyncio.Event()

    def on_state(state: ServerState) -> None:
        if server.pid:
            pids.append(server.pid)
            reached.set()

    starting = asyncio.create_task(server.start(server_binary, ask(), server_flags, on_state=on_state))
    await reached.wait()
    await server.stop()
    assert server.phase == "stopped"
    with contextlib.suppress(StartStopped):  # it may have become ready in the same moment
        await starting
    assert gone(pids[0])


async def test_a_cancelled_start_leaves_nothing(
    server_binary: ServerBinary, server_flags: ServerFlags, ask: Ask
) -> None:
    server = ServerProcess()
    pids: list[int] = []

    def on_state(state: ServerState) -> None:
        if server.pid and not pids:
            pids.append(server.pid)
            starting.cancel()

    starting = asyncio.create_task(server.start(server_binary, ask(), server_flags, on_state=on_state))
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert gone(pids[0])
    assert server.phase == "stopped"


async def test_an_unasked_death_is_told_with_its_cause(server: ServerProcess) -> None:
    waiting = asyncio.create_task(server.wait_failed())
    await asyncio.sleep(0)
    os.kill(server.pid, 9)
    death = await waiting
    assert death.kind == "killed"
    assert death.returncode in (-9, 137)
    assert server.phase == "failed"
    await server.stop()
    assert server.phase == "stopped"


@pytest.mark.skipif(sys.platform == "win32", reason="Unix signals")
async def test_a_damaged_slot_file_is_named_as_the_cause(server: ServerProcess, tmp_path: Path) -> None:
    ids = await server.client.tokenize("hello world " * 50)
    await server.client.prefill(ids, id_slot=0)
    await server.client.save_slot(0, "cut.bin")
    file = tmp_path / "slots" / "cut.bin"
    file.write_bytes(file.read_bytes()[:-1])
    waiting = asyncio.create_task(server.wait_failed())
    from tui.server.errors import ServerGone

    with pytest.raises(ServerGone):
        await server.client.restore_slot(0, "cut.bin")
    death = await waiting
    assert death.kind == "slot-file"
    assert "slot file" in death.what


@pytest.mark.parametrize("kind", ["gemma3", "mamba", "qwen35moe", "qwen3next"])
async def test_other_kinds_of_memory_start(
    kind: str, server_binary: ServerBinary, server_flags: ServerFlags, ask: Ask, tiny_models: Path
) -> None:
    async with ServerProcess() as server:
        request = ask(model=build(kind, tiny_models), swa_full=kind == "gemma3")
        await server.start(server_binary, request, server_flags)
        ids = await server.client.tokenize("hello world " * 20)
        timings = await server.client.prefill(ids, id_slot=0)
        assert timings.cache_n + timings.prompt_n == len(ids)
        assert (await server.client.save_slot(0, "x.bin")).n_saved == len(ids)


async def test_restarted_after_it_died(server_binary: ServerBinary, server_flags: ServerFlags, ask: Ask) -> None:
    async with ServerProcess() as server:
        await server.start(server_binary, ask(), server_flags)
        os.kill(server.pid, 9)
        await server.wait_failed()
        await server.start(server_binary, ask(), server_flags)
        assert await server.client.health() == "ok"
        waiting = asyncio.create_task(server.wait_failed())
        await asyncio.sleep(0)
        assert not waiting.done()
        waiting.cancel()


@pytest.mark.skipif(sys.platform == "win32", reason="a shell script stands for the server")
async def test_a_start_that_stands_still_is_given_up(
    server_flags: ServerFlags, ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_module, "STALLED_S", 0.5)
    script = tmp_path / "llama-server"
    script.write_text("#!/bin/sh\nexec sleep 1000\n")
    script.chmod(0o755)
    server = ServerProcess()
    with pytest.raises(StartFailed, match="has not moved") as caught:
        await server.start(ServerBinary((str(script),), "asleep", "option"), ask(), server_flags)
    assert caught.value.kind == "stalled"
    assert server.pid == 0


@pytest.mark.demo
async def test_loading_is_shown(
    server_binary: ServerBinary, server_flags: ServerFlags, ask: Ask, demo_model: Path
) -> None:
    seen: list[ServerState] = []
    async with ServerProcess() as server:
        await server.start(server_binary, ask(model=demo_model, extra=()), server_flags, on_state=seen.append)
    loading = [state for state in seen if state.phase == "loading"]
    assert loading
    assert all(state.detail for state in loading)
    fractions = [state.fraction for state in loading if state.fraction is not None]
    assert fractions == sorted(fractions)
    assert all(0 <= fraction <= 1 for fraction in fractions)
