"""Sending an assembled prompt: proven to fit, by the right endpoint, and settled against what the server counted."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

from tui.context.thinking import ThinkSplitter
from tui.errors import DoesNotFit
from tui.server.types import Sampling, StreamEvent, StreamFinished, TextDelta

if TYPE_CHECKING:
    from tui.context.prompt import Prompt
    from tui.context.runtime import Runtime

_NO_SAMPLING = Sampling()


async def send(
    runtime: Runtime,
    prompt: Prompt,
    *,
    max_tokens: int,
    sampling: Sampling = _NO_SAMPLING,
    id_slot: int = 0,
    cache_prompt: bool = True,
) -> AsyncGenerator[StreamEvent, None]:
    """Send `prompt` and yield the stream's events; the last one is StreamFinished.

    Raises DoesNotFit, with nothing sent, when prompt and `max_tokens` are larger than the slot's context.
    A prompt whose contents hold the text of a control token goes as token ids, so that text stays text (DESIGN §4).
    A prompt that the server counted differently is noted in `runtime.warnings`.
    """
    planned = len(prompt.ids)
    if planned + max_tokens > runtime.n_ctx:
        raise DoesNotFit(planned + max_tokens, runtime.n_ctx, "Use a larger --ctx-size or less text.")
    stream: AsyncGenerator[StreamEvent, None]
    if prompt.as_ids:
        stream = _from_ids(runtime, prompt, max_tokens, sampling, id_slot, cache_prompt)
    else:
        stream = runtime.client.chat(
            prompt.messages, max_tokens=max_tokens, sampling=sampling, id_slot=id_slot, cache_prompt=cache_prompt
        )
    async with contextlib.aclosing(stream):
        async for event in stream:
            if isinstance(event, StreamFinished) and event.prompt_tokens != planned:
                runtime.warn(
                    f"The server counted {event.prompt_tokens:,} prompt tokens where {planned:,} were planned; "
                    "the context meter is off by the difference for this model."
                )
            yield event


async def _from_ids(
    runtime: Runtime, prompt: Prompt, max_tokens: int, sampling: Sampling, id_slot: int, cache_prompt: bool
) -> AsyncGenerator[StreamEvent, None]:
    splitter = ThinkSplitter(prompt.text)
    stream = runtime.client.complete(
        prompt.ids, max_tokens=max_tokens, sampling=sampling, id_slot=id_slot, cache_prompt=cache_prompt
    )
    async with contextlib.aclosing(stream):
        async for event in stream:
            if isinstance(event, TextDelta):
                for part in splitter.feed(event.text):
                    yield part
                continue
            if isinstance(event, StreamFinished):
                for part in splitter.close():
                    yield part
            yield event
