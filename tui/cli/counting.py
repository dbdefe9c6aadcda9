"""A token counter for the commands that need no answer: without a server where that is possible."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING

from tui.cli.opening import Ground, open_engine, show_start
from tui.errors import NoModel

if TYPE_CHECKING:
    from tui.context.counter import TokenCounter


class Counting:
    """The best counter there is, changed for the server's where that alone is exact.

    `context` is that of one conversation with this model in tokens, None when no model is known; `exact` holds for
    everything counted so far.
    """

    def __init__(self, ground: Ground, counter: TokenCounter, context: int | None, stack: contextlib.AsyncExitStack):
        self._ground = ground
        self._counter = counter
        self._stack = stack
        self.context = context

    @property
    def exact(self) -> bool:
        return self._counter.exact

    async def count(self, text: str) -> int:
        return (await self.count_many([text]))[0]

    async def count_many(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text."""
        was_exact = self.exact
        counts = await self._counter.count_many(texts)
        if was_exact and not self.exact and await self.ask_the_server():
            # A text that only the server can tell (very new characters): it was an estimate just now.
            return await self._counter.count_many(texts)
        return counts

    async def ask_the_server(self) -> bool:
        """Count by the server from now on. False, with a warning, when there is none to start.

        Raises NoModel when a server was named by option, or when the one that was found does not start.
        """
        from tui.server.binary import find_server

        shared, settings = self._ground.shared, self._ground.settings
        try:
            await asyncio.to_thread(find_server, shared.server, settings.llama_server)
        except NoModel as error:
            if shared.server:
                raise
            self._ground.out.warn(f"Tokens are estimated (≈), since there is no server to ask. {error}")
            return False
        runtime = await self._stack.enter_async_context(open_engine(self._ground, small=True))
        self._counter = runtime.counter
        return True


@contextlib.asynccontextmanager
async def open_counting(ground: Ground) -> AsyncIterator[Counting]:
    """The model's own tokenizer in this process once it was proved equal to the server's, else the server's, else
    (with no model, or no server to run it) an estimate, which is said on stderr.

    Raises NoModel when a model or a server was named and cannot be used.
    """
    from tui.context.counter import make_counter
    from tui.context.runtime import find_model, wanted_context
    from tui.models.modelfile import open_model
    from tui.server.launch import rounded_context

    shared, settings = ground.shared, ground.settings
    async with contextlib.AsyncExitStack() as stack:
        if ground.server_url:
            runtime = await stack.enter_async_context(open_engine(ground))
            yield Counting(ground, runtime.counter, runtime.n_ctx, stack)
            return
        if not ground.model:
            ground.out.warn(
                "No model was named, so tokens are estimated (≈). Name one with --model PATH or --model demo."
            )
            counter = await make_counter(None, None, ground.store.facts)
            yield Counting(ground, counter, rounded_context(shared.ctx_size or settings.ctx_size) or None, stack)
            return
        with ground.out.working() as progress:
            path = await find_model(ground.model, ground.paths, show_start(progress))
        model = await asyncio.to_thread(open_model, path)
        context = wanted_context(shared.ctx_size, settings.ctx_size, model, server_args=settings.server_args)
        counting = Counting(ground, await make_counter(None, path, ground.store.facts), context, stack)
        if not counting.exact:
            await counting.ask_the_server()
        yield counting
