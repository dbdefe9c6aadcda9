"""A real llama-server on a model for as long as a `with` lasts, started and stopped by the program's own code."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from tui.server.binary import ServerBinary
from tui.server.client import LlamaClient
from tui.server.flags import read_flags
from tui.server.launch import LaunchRequest
from tui.server.process import ServerProcess

QUICK = ("-fit", "off", "--no-warmup", "-nr", "-t", "2")
"""Small models need none of this, and some processors repack weights into a form they then stumble over."""


@contextlib.asynccontextmanager
async def running(
    binary: ServerBinary, model: Path, folder: Path, *, ctx_size: int = 8192
) -> AsyncIterator[LlamaClient]:
    """The client of a server that keeps its files in `folder`."""
    request = LaunchRequest(
        model=model, ctx_size=ctx_size, slot_dir=folder / "slots", log_file=folder / "server.log", extra=QUICK
    )
    async with ServerProcess() as process:
        await process.start(binary, request, await read_flags(binary, folder))
        yield process.client
