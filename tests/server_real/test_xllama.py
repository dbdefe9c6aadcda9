"""The server inside xllamacpp, run as a child: the same interface, found and stopped the same way."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import psutil
import pytest

from tests.server_real.conftest import QUICK, Ask
from tui.server.binary import find_server
from tui.server.errors import StartFailed
from tui.server.flags import read_flags
from tui.server.process import ServerProcess
from tui.server.types import Message, StreamFinished

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(importlib.util.find_spec("xllamacpp") is None, reason="xllamacpp is not installed"),
]


async def test_it_serves(ask: Ask, flags_cache: Path) -> None:
    binary = find_server("xllamacpp")
    flags = await read_flags(binary, flags_cache)
    assert flags.build.startswith("xllamacpp ")
    assert flags.has("--ctx-size")
    assert flags.takes_value("-fa")
    async with ServerProcess() as server:
        await server.start(binary, ask(ctx_size=2048, parallel=2), flags)
        assert (server.props.n_ctx, server.props.total_slots) == (2048, 2)
        process = psutil.Process(server.pid)
        assert "LLAMA_API_KEY" in process.environ()
        assert process.environ()["LLAMA_API_KEY"] not in " ".join(process.cmdline())
        client = server.client
        question = [Message("user", "hello")]
        events = [event async for event in client.chat(question, max_tokens=3, id_slot=1)]
        assert isinstance(events[-1], StreamFinished)
        assert events[-1].prompt_tokens == await client.count_chat(question)
        ids = await client.tokenize("one two three four five " * 30)
        await client.prefill(ids, id_slot=0)
        assert (await client.save_slot(0, "x.bin")).n_saved == len(ids)
        await client.erase_slot(0)
        assert (await client.restore_slot(0, "x.bin")).n_restored == len(ids)
    assert not process.is_running()


async def test_it_dies_with_its_cause(ask: Ask, flags_cache: Path, tmp_path: Path) -> None:
    binary = find_server("xllamacpp")
    flags = await read_flags(binary, flags_cache)
    text = tmp_path / "text.gguf"
    text.write_text("no model at all, but long enough to be read as one\n")
    for request, kind in (
        (ask(model=tmp_path / "none.gguf"), "model-missing"),
        (ask(model=text), "not-gguf"),
        (ask(extra=(*QUICK, "-ngl", "many")), "bad-value"),
    ):
        server = ServerProcess()
        with pytest.raises(StartFailed) as caught:
            await server.start(binary, request, flags)
        assert caught.value.kind == kind
    async with ServerProcess() as server:
        await server.start(binary, ask(), flags)
        os.kill(server.pid, 9)
        assert (await server.wait_failed()).kind == "killed"
