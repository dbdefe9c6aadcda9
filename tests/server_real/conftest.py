"""The real llama-server on tiny models: started in a fraction of a second, stopped with the test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from tests.server.scripted import serve
from tests.support.tiny_models import build
from tui.server.binary import ServerBinary
from tui.server.flags import ServerFlags, read_flags
from tui.server.launch import LaunchRequest
from tui.server.process import ServerProcess

__all__ = ["QUICK", "Ask", "ask", "flags_cache", "serve", "server", "server_flags", "tiny_llama"]

QUICK = ("-fit", "off", "--no-warmup", "-nr", "-t", "2")
"""Tiny models need none of this, and some processors repack weights into a form they then stumble over."""

Ask = Callable[..., LaunchRequest]


@pytest.fixture(scope="session")
def flags_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("flags")


@pytest.fixture
async def server_flags(server_binary: ServerBinary, flags_cache: Path) -> ServerFlags:
    return await read_flags(server_binary, flags_cache)


@pytest.fixture(scope="session")
def tiny_llama(tiny_models: Path) -> Path:
    return build("llama", tiny_models)


@pytest.fixture
def ask(tmp_path: Path, tiny_llama: Path) -> Ask:
    """Makes a launch request: the tiny model, 1,024 tokens, one slot, unless told otherwise."""

    def make(**other: object) -> LaunchRequest:
        values: dict[str, object] = {
            "model": tiny_llama,
            "ctx_size": 1024,
            "slot_dir": tmp_path / "slots",
            "log_file": tmp_path / "logs" / "server.log",
            "extra": QUICK,
        }
        return LaunchRequest(**{**values, **other})  # type: ignore[arg-type]  # the tests name fields freely

    return make


@pytest.fixture
async def server(server_binary: ServerBinary, server_flags: ServerFlags, ask: Ask) -> AsyncIterator[ServerProcess]:
    """A ready server on the tiny model with two slots of 4,096 tokens."""
    async with ServerProcess() as process:
        await process.start(server_binary, ask(ctx_size=4096, parallel=2), server_flags)
        yield process
