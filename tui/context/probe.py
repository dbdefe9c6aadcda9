"""Whether a sliding-window model answers the same after a restore as without: measured, once, before it is believed.

A slot file of such a model holds the window only, and servers differ in what they make of it: some reuse nothing, some
continue with other numbers. So the same prompt is continued warm and restored, and the likeliest next tokens compared.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from tui.models.gguf import read_header
from tui.server.client import LlamaClient
from tui.server.flags import ServerFlags
from tui.store.facts import FactStore
from tui.store.slotfiles import SlotFiles, SlotIdentity

Verdict = Literal["equal", "differs", "nothing reused"]

FLOOR = 0.1
"""Difference of log-probabilities that batch shapes alone have been seen to make."""

CEILING = 0.5
"""A cold run that differs from the warm one by more excuses nothing."""

POSITIONS = 8
"""Next-token predictions that are compared."""

_UNNAMED_WINDOW = 4096
"""Tokens, for architectures whose files name no window (gemma2 has this one)."""

_NEAR_TIE = math.log(0.6)
"""A likeliest token above this probability has no rival that rounding could put before it."""


class ProbeResult(msgspec.Struct, frozen=True, kw_only=True):
    """What one probe has measured."""

    verdict: Verdict
    tokens: int
    """Length of the prompt that was kept and restored."""
    reused: int
    """How many of them the server reused."""
    difference: float
    """Largest difference of log-probabilities between warm and restored; -1 when nothing was reused, or when another
    token came out that was no near tie."""
    usual: float
    """The same between a cold and a warm run; FLOOR when that was enough and no cold run was made."""


def wants_swa_full(memory: str, flags: ServerFlags) -> bool:
    """Whether a server should be started with `--swa-full`: without it older builds reuse nothing after a restore."""
    return memory == "swa" and flags.has("--swa-full")


def sliding_window(path: Path) -> int:
    """Tokens in the window of the model at `path`. Reads the file's header: call it from a thread."""
    header = read_header(path)
    return header.number(f"{header.string('general.architecture')}.attention.sliding_window") or _UNNAMED_WINDOW


def fact_key(identity: SlotIdentity) -> str:
    """Where the result for this build, model and flags is remembered."""
    return "restore-probe/1/" + identity.key(())


def remembered(facts: FactStore, identity: SlotIdentity) -> ProbeResult | None:
    """An earlier result; None when there is none. Waits for the disk."""
    text = facts.get(fact_key(identity))
    if text is None:
        return None
    try:
        return msgspec.json.decode(text, type=ProbeResult)
    except msgspec.DecodeError:
        return None  # written by another version: it is measured again


def remember(facts: FactStore, identity: SlotIdentity, result: ProbeResult) -> None:
    """Keep a result for the next time. Waits for the disk."""
    facts.set(fact_key(identity), msgspec.json.encode(result).decode())


def probe_prompt(ids: Sequence[int], window: int) -> tuple[int, list[int]]:
    """Where the kept part ends, and the whole prompt: longer than the window, made of `ids`, repeated if need be."""
    kept = window + max(64, window // 4)
    wanted = kept + POSITIONS
    whole = list(ids[:wanted])
    while len(whole) < wanted:
        whole += ids[: wanted - len(whole)]
    return kept, whole


async def run_probe(
    client: LlamaClient, files: SlotFiles, id_slot: int, ids: Sequence[int], *, window: int
) -> ProbeResult:
    """Measure on slot `id_slot`, which must be idle and is empty afterwards.

    Costs about 1.25 windows of prompt, twice that when warm and restored differ by more than FLOOR. Raises ServerAnswer
    when the slot cannot be saved or restored.
    """
    kept, prompt = probe_prompt(ids, window)
    temp = files.temp_name()
    try:
        await client.erase_slot(id_slot)
        await client.prefill(prompt[:kept], id_slot=id_slot)
        await client.save_slot(id_slot, temp)
        warm = await _predictions(client, id_slot, prompt, kept)
        await client.erase_slot(id_slot)
        await client.restore_slot(id_slot, temp)
        timings = await client.prefill(prompt[: kept + 1], id_slot=id_slot)
        if timings.cache_n < kept // 2:
            return ProbeResult(
                verdict="nothing reused", tokens=kept, reused=timings.cache_n, difference=-1.0, usual=FLOOR
            )
        # Again, so that both runs see the same steps.
        await client.restore_slot(id_slot, temp)
        restored = await _predictions(client, id_slot, prompt, kept)
        difference = largest_difference(warm, restored)
        usual = FLOOR
        if difference > FLOOR:
            await client.erase_slot(id_slot)
            cold = await _predictions(client, id_slot, prompt, kept)
            usual = min(max(FLOOR, largest_difference(warm, cold)), CEILING)
        return ProbeResult(
            verdict="equal" if difference <= usual else "differs",
            tokens=kept,
            reused=timings.cache_n,
            difference=difference if math.isfinite(difference) else -1.0,
            usual=usual,
        )
    finally:
        await asyncio.to_thread(files.discard, temp)
        await client.erase_slot(id_slot)


async def _predictions(client: LlamaClient, id_slot: int, prompt: Sequence[int], kept: int) -> list[tuple[int, float]]:
    """The likeliest next token after each of the last POSITIONS prefixes of `prompt`, with its log-probability.

    The prompt's own tokens go on, not the predicted ones: a near tie then changes one prediction, not all that follow.
    """
    found: list[tuple[int, float]] = []
    for end in range(kept + 1, kept + POSITIONS + 1):
        found += await client.probe(prompt[:end], 1, id_slot=id_slot)
    return found


def largest_difference(one: Sequence[tuple[int, float]], other: Sequence[tuple[int, float]]) -> float:
    """Largest difference of log-probabilities; infinite when another token came out that was no near tie."""
    if len(one) != len(other):
        return math.inf
    largest = 0.0
    for (id_one, log_one), (id_other, log_other) in zip(one, other, strict=True):
        if id_one != id_other and max(log_one, log_other) > _NEAR_TIE:
            return math.inf
        if log_one != log_other:
            difference = abs(log_one - log_other)
            largest = math.inf if math.isnan(difference) else max(largest, difference)
    return largest
