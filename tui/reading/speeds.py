"""How fast this machine reads and writes with a model, from the runs so far: for the time that a run will take."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec

from tui.errors import StorageProblem
from tui.server.types import Timings

if TYPE_CHECKING:
    from tui.context.runtime import Runtime

_LEAST_PROMPT, _LEAST_WRITTEN = 256, 32
"""Tokens: from fewer nothing can be told."""
_MOST_SLOTS = 8


class Speed(msgspec.Struct, frozen=True):
    """Tokens a second of all slots together."""

    prompt: float
    written: float

    def seconds(self, prompt_tokens: int, completion_tokens: int) -> float:
        """How long so many tokens take."""
        return prompt_tokens / self.prompt + completion_tokens / self.written


def _key(runtime: Runtime, slots: int) -> str:
    return f"speed/{runtime.fingerprint}/{slots}"


async def known_speed(runtime: Runtime, slots: int) -> Speed | None:
    """What the last run with this model on so many slots has measured, else one on the nearest number of slots."""
    others = sorted(range(1, max(_MOST_SLOTS, slots) + 1), key=lambda number: abs(number - slots))
    for number in others:
        text = await asyncio.to_thread(runtime.store.facts.get, _key(runtime, number))
        if text is not None:
            try:
                return msgspec.json.decode(text, type=Speed)
            except msgspec.MsgspecError:
                continue  # written by another version: it will be measured anew
    return None


async def remember_speed(runtime: Runtime, timings: Timings, seconds: float, slots: int) -> None:
    """Keep what a run has measured: `timings` of all its calls added up, made within so many seconds."""
    speed = speed_of(timings, seconds, slots)
    if speed is None:
        return
    try:
        await asyncio.to_thread(runtime.store.facts.set, _key(runtime, slots), msgspec.json.encode(speed).decode())
    except StorageProblem as error:
        runtime.warn(f"The measured speed could not be kept: {error}")


def speed_of(timings: Timings, seconds: float, slots: int) -> Speed | None:
    """The speed of the whole machine; None when too little was done to tell.

    A call's time includes its waiting for the others, so the times of calls that ran side by side overlap: their sum
    is that many times the time that passed.
    """
    busy = (timings.prompt_ms + timings.predicted_ms) / 1000
    if timings.prompt_n < _LEAST_PROMPT or timings.predicted_n < _LEAST_WRITTEN or seconds <= 0 or busy <= 0:
        return None
    at_once = max(1.0, min(float(slots), busy / seconds))
    return Speed(prompt=timings.prompt_per_second * at_once, written=timings.predicted_per_second * at_once)
