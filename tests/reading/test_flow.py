"""Events as they come, work over slots, and both stopped cleanly."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from tui.reading.flow import events_of, over_slots


async def test_events_come_while_the_work_goes_on_and_then_its_error() -> None:
    async def work(emit: Callable[[int], None]) -> None:
        emit(1)
        await asyncio.sleep(0)
        emit(2)
        raise ValueError("at the end")

    seen = []
    with pytest.raises(ValueError, match="at the end"):
        async for event in events_of(work):
            seen.append(event)  # noqa: PERF401  (the events before the error are what is asserted)
    assert seen == [1, 2]


@pytest.mark.parametrize("how", ["close", "cancel"])
async def test_the_work_ends_before_the_reader_goes_on(how: str) -> None:
    ended = asyncio.Event()

    async def work(emit: Callable[[int], None]) -> None:
        emit(1)
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.01)
            ended.set()

    events = events_of(work)
    if how == "close":
        assert await anext(events) == 1
        await events.aclose()
    else:

        async def read() -> None:
            async for _ in events:
                pass

        reader = asyncio.create_task(read())
        await asyncio.sleep(0.01)
        reader.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reader
    assert ended.is_set()


async def test_every_item_once_in_order_and_no_slot_twice_at_a_time() -> None:
    busy: set[int] = set()
    most = 0

    async def work(slot: int, item: int) -> int:
        nonlocal most
        assert slot not in busy
        busy.add(slot)
        most = max(most, len(busy))
        await asyncio.sleep(0.001 * (item % 3))
        busy.discard(slot)
        return item * item

    assert await over_slots(range(20), 3, work) == [n * n for n in range(20)]
    assert most == 3
    assert await over_slots([], 3, work) == []


async def test_the_first_error_stops_the_rest() -> None:
    started = []

    async def work(slot: int, item: int) -> None:
        started.append(item)
        if item == 1:
            raise RuntimeError("no")
        await asyncio.sleep(0.02)

    with pytest.raises(RuntimeError, match="no"):
        await over_slots(range(50), 2, work)
    assert len(started) <= 4
