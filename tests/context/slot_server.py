"""A real server with a SlotKeeper, started anew as often as a test likes."""

from __future__ import annotations

import contextlib
import random
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from tui.context.slots import Identity, SlotKeeper, wants_swa_full
from tui.models.modelfile import open_model
from tui.paths import Paths
from tui.server.binary import ServerBinary
from tui.server.client import LlamaClient
from tui.server.flags import read_flags
from tui.server.launch import LaunchRequest
from tui.server.process import ServerProcess
from tui.server.types import StreamFinished
from tui.store.database import Store
from tui.store.slotfiles import SlotFiles

CONTEXT = 4096


def token_ids(count: int, seed: int = 1) -> list[int]:
    """Ordinary tokens of the tiny vocabularies."""
    source = random.Random(seed)
    return [source.randrange(10, 200) for _ in range(count)]


class Bench(msgspec.Struct, frozen=True):
    """One running server and what stands on it. `calls` are the slot requests the server has seen."""

    client: LlamaClient
    keeper: SlotKeeper
    files: SlotFiles
    identity: Identity
    store: Store
    process: ServerProcess
    calls: list[tuple[str, str]]

    async def answer(self, ids: Sequence[int], *, tokens: int = 1, id_slot: int = 0) -> StreamFinished:
        """The end of a greedy answer."""
        async for event in self.client.complete(ids, max_tokens=tokens, id_slot=id_slot):
            if isinstance(event, StreamFinished):
                return event
        raise AssertionError("no end of the stream")


class Workshop:
    """Starts servers with one home, so that what one keeps the next may find."""

    def __init__(self, binary: ServerBinary, paths: Paths) -> None:
        self._binary = binary
        self._paths = paths

    @contextlib.asynccontextmanager
    async def serve(
        self, model: Path, *, swa_full: bool | None = None, parallel: int = 1, **files: Any
    ) -> AsyncIterator[Bench]:
        flags = await read_flags(self._binary, self._paths.cache)
        about = open_model(model)
        request = LaunchRequest(
            model=model,
            ctx_size=CONTEXT,
            parallel=parallel,
            slot_dir=self._paths.slots,
            log_file=self._paths.logs / "server.log",
            swa_full=wants_swa_full(about.memory, flags) if swa_full is None else swa_full,
        )
        self._paths.logs.mkdir(parents=True, exist_ok=True)
        slots = SlotFiles(self._paths.slots, **files)
        process = ServerProcess()
        with Store(self._paths) as store:
            try:
                await process.start(self._binary, request, flags)
                identity = Identity.of(about, process.props, request, build=flags.build)
                calls = _watch(process.client)
                keeper = SlotKeeper(process.client, slots, identity, store.facts)
                yield Bench(process.client, keeper, slots, identity, store, process, calls)
            finally:
                await process.stop()


def _watch(client: LlamaClient) -> list[tuple[str, str]]:
    calls: list[tuple[str, str]] = []
    send = client._slot

    async def noted(id_slot: int, action: str, filename: str, kind: type[Any], time_name: str) -> Any:
        calls.append((action, filename))
        return await send(id_slot, action, filename, kind, time_name)

    client._slot = noted  # type: ignore[method-assign]  # every request still goes to the real server
    return calls
