"""Work that reports events as it goes, and work spread over the server's slots."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence
from typing import Any, TypeVar

_E = TypeVar("_E")
_T = TypeVar("_T")
_R = TypeVar("_R")


async def events_of(
    work: Callable[[Callable[[_E], None]], Coroutine[Any, Any, None]],
) -> AsyncGenerator[_E, None]:
    """The events that `work(emit)` emits, as they come; then what it raised, if it did.

    Closing the generator, or cancelling its reader, cancels the work and waits until it has let go of its slots.
    """
    queue: asyncio.Queue[_E | None] = asyncio.Queue()
    task = asyncio.create_task(work(queue.put_nowait))
    task.add_done_callback(lambda _: queue.put_nowait(None))
    try:
        while (event := await queue.get()) is not None:
            yield event
        await task
    finally:
        await _end([task])


async def over_slots(items: Sequence[_T], slots: int, work: Callable[[int, _T], Awaitable[_R]]) -> list[_R]:
    """`work(slot, item)` for every item, each slot taking the next one when it is free; results in the items' order.

    The first error cancels the rest and is raised.
    """
    results: dict[int, _R] = {}
    waiting = iter(enumerate(items))

    async def worker(slot: int) -> None:
        for index, item in waiting:
            results[index] = await work(slot, item)

    tasks = [asyncio.create_task(worker(slot)) for slot in range(min(slots, len(items)))]
    try:
        if tasks:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        for task in tasks:
            if task.done():
                task.result()
    finally:
        await _end(tasks)
    return [results[index] for index in range(len(items))]


async def _end(tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled():
            task.exception()  # raised already, or nobody asks for it any more
