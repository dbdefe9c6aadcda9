"""A runtime on a tiny model, opened as both faces open it."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from tests.support.tiny_models import build
from tui.context.runtime import Runtime, RuntimeOptions, open_runtime
from tui.paths import Paths
from tui.settings import Settings
from tui.store.database import Store

OpenRuntime = Callable[..., AbstractAsyncContextManager[Runtime]]


@pytest.fixture
def open_tiny(paths: Paths, tiny_models: Path) -> OpenRuntime:
    """Opens a runtime in this test's home on the tiny model of a kind; each call is a server and a database anew."""

    @contextlib.asynccontextmanager
    async def opened(
        kind: str = "llama", ctx_size: int = 1024, settings: Settings | None = None
    ) -> AsyncIterator[Runtime]:
        options = RuntimeOptions(model=str(build(kind, tiny_models)), ctx_size=ctx_size)
        store = Store(paths)
        try:
            async with open_runtime(options, settings=settings or Settings(), paths=paths, store=store) as runtime:
                yield runtime
        finally:
            store.close()

    return opened
