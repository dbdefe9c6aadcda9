"""A token counter for the commands that need no answer: without a server where that is possible."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import msgspec

from tui.cli.opening import Ground, open_engine, show_start
from tui.errors import NoModel

if TYPE_CHECKING:
    from tui.context.counter import TokenCounter


class Counting(msgspec.Struct, frozen=True):
    """A counter, and the context of one conversation with this model; None when no model is known."""

    counter: TokenCounter
    context: int | None


@contextlib.asynccontextmanager
async def open_counting(ground: Ground) -> AsyncIterator[Counting]:
    """The best counter there is: the model's own tokenizer in this process once it was proved equal to the server's,
    else the server's, else (with no model, or no server to run it) an estimate, which is said on stderr.

    Raises NoModel when a model or a server was named and cannot be used.
    """
    from tui.context.counter import make_counter
    from tui.context.runtime import find_model, wanted_context
    from tui.models.modelfile import open_model
    from tui.server.binary import find_server

    shared, settings = ground.shared, ground.settings
    if ground.server_url:
        async with open_engine(ground) as runtime:
            yield Counting(runtime.counter, runtime.n_ctx)
        return
    if not ground.model:
        ground.out.warn("No model was named, so tokens are estimated (≈). Name one with --model PATH or --model demo.")
        yield Counting(await make_counter(None, None, ground.store.facts), shared.ctx_size or settings.ctx_size or None)
        return
    with ground.out.working() as progress:
        path = await find_model(ground.model, ground.paths, show_start(progress))
    model = await asyncio.to_thread(open_model, path)
    context = wanted_context(shared.ctx_size, settings.ctx_size, model)
    if model.n_ctx_train:
        context = min(context, model.n_ctx_train)  # the server caps it there too
    counter = await make_counter(None, path, ground.store.facts)
    if counter.exact:
        yield Counting(counter, context)
        return
    try:
        await asyncio.to_thread(find_server, shared.server, settings.llama_server)
    except NoModel as error:
        if shared.server:
            raise
        ground.out.warn(f"Tokens are estimated (≈), since there is no server to ask. {error}")
        yield Counting(counter, context)
        return
    async with open_engine(ground, small=True) as runtime:
        yield Counting(runtime.counter, context)
