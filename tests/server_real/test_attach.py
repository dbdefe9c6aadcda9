"""Using a server that somebody else started: what proves it, what is said when it is something else."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest

from tests.server.scripted import Serve, whole
from tui.errors import NoModel, UsageProblem
from tui.server.attach import attach, server_address
from tui.server.binary import ServerBinary
from tui.server.environment import child_environment
from tui.server.errors import ServerGone, WrongKey
from tui.server.launch import free_port
from tui.server.process import ServerProcess
from tui.server.state import ServerState
from tui.server.types import Message, StreamFinished

pytestmark = pytest.mark.real


@asynccontextmanager
async def foreign(
    binary: ServerBinary, *args: str, key: str = ""
) -> AsyncIterator[tuple[str, asyncio.subprocess.Process]]:
    """A llama-server as a user starts it by hand."""
    port = free_port()
    process = await asyncio.create_subprocess_exec(
        *binary.argv0,
        "--port",
        str(port),
        *args,
        env=child_environment(binary, key),
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        yield f"http://127.0.0.1:{port}", process
    finally:
        process.kill()
        await process.wait()


async def reachable(address: str) -> None:
    host, port = address.removeprefix("http://").split(":")
    while True:
        try:
            socket.create_connection((host, int(port))).close()
            return
        except OSError:
            await asyncio.sleep(0.02)


async def test_without_a_key_and_never_stopped(server_binary: ServerBinary, tiny_llama: Path) -> None:
    async with foreign(server_binary, "-m", str(tiny_llama), "-c", "1024", "-np", "1", "--no-warmup") as (url, process):
        await reachable(url)
        seen: list[ServerState] = []
        async with await attach(url.removeprefix("http://") + "/v1/", on_state=seen.append) as server:
            assert (server.props.n_ctx, server.props.total_slots) == (1024, 1)
            assert server.warnings == []
            events = [event async for event in server.client.chat([Message("user", "hello")], max_tokens=3)]
            assert isinstance(events[-1], StreamFinished)
        assert seen[-1].phase == "ready"
        assert process.returncode is None
        assert psutil.pid_exists(process.pid)
        async with await attach(url, "a key that nobody asks for"):
            pass


@pytest.mark.demo
async def test_a_loading_server_is_waited_for(server_binary: ServerBinary, demo_model: Path) -> None:
    async with foreign(server_binary, "-m", str(demo_model), "-c", "1024", "-np", "1") as (url, _):
        await reachable(url)  # it listens long before the model is loaded
        async with await attach(url) as server:
            assert server.props.n_ctx == 1024


async def test_keys(server: ServerProcess) -> None:
    url = server.client.base_url
    with pytest.raises(WrongKey, match="wants an API key") as caught:
        await attach(url)
    assert "LONGSCROLL_API_KEY" in caught.value.remedy
    with pytest.raises(WrongKey, match="does not accept this API key"):
        await attach(url, "guess")
    key = psutil.Process(server.pid).environ()["LLAMA_API_KEY"]
    async with await attach(url, key) as attached:
        assert attached.props.total_slots == 2


async def test_a_router_is_not_enough(server_binary: ServerBinary, tiny_models: Path) -> None:
    async with foreign(server_binary, "--models-dir", str(tiny_models)) as (url, _):
        await reachable(url)
        with pytest.raises(NoModel, match="router"):
            await attach(url)


async def test_slots_that_are_hidden_are_told(server_binary: ServerBinary, tiny_llama: Path) -> None:
    async with foreign(server_binary, "-m", str(tiny_llama), "-c", "512", "-np", "1", "--no-slots") as (url, _):
        await reachable(url)
        async with await attach(url) as server:
            assert any("--no-slots" in warning for warning in server.warnings)


async def test_nobody_there() -> None:
    with pytest.raises(ServerGone, match="No server can be reached at http://127"):
        await attach(f"http://127.0.0.1:{free_port()}")


@pytest.mark.parametrize(
    "reply",
    [
        whole(200, b"<html>hello</html>", "text/html"),
        whole(200, b"{}"),
        whole(200, b"[]"),
        whole(404, b"not found", "text/plain"),
        whole(200, b'{"default_generation_settings":{"n_ctx":10},"total_slots":1}'),
        whole(500, b"\x1b[31moops", "text/plain"),
    ],
)
async def test_something_else_answers(serve: Serve, reply: bytes) -> None:
    async def answer(path: str, body: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(reply)

    with pytest.raises(NoModel, match="is not a llama-server"):
        await attach(await serve(answer))


def test_addresses_people_type() -> None:
    assert server_address("localhost:8080") == "http://localhost:8080"
    assert server_address(" http://127.0.0.1:8080/v1/ ") == "http://127.0.0.1:8080"
    assert server_address("https://host/prefix/") == "https://host/prefix"
    assert server_address("[::1]:80") == "http://[::1]:80"
    for wrong in (
        "",
        "ftp://host",
        "http://",
        "http://host:99999",
        "http://host:x",
        "http://host/?a=1",
        "http://two words:80",
        "http://[::1",
        "localhost:0",
        "http://\x1b[2J",
    ):
        with pytest.raises(UsageProblem):
            server_address(wrong)


@pytest.mark.parametrize("key", ["bad\nkey", "schl\u00fcssel", "a\x00b"])
async def test_a_key_that_is_none_is_told_without_showing_it(key: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        await attach("http://127.0.0.1:9", key)
    assert key not in str(caught.value)
    assert key.encode("unicode_escape").decode() not in str(caught.value)
