"""What SlotKeeper and the probe decide by themselves, without a server."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tui.context.probe import largest_difference, probe_prompt, wants_swa_full
from tui.context.slots import Identity, SlotKeeper, flags_that_matter
from tui.models.modelfile import Memory
from tui.paths import Paths
from tui.server.client import LlamaClient
from tui.server.flags import ServerFlags
from tui.server.types import Timings
from tui.store.database import Store
from tui.store.slotfiles import SlotIdentity


def identity(memory: Memory, *flags: str, cache: str = "f16", per_token: int = 0) -> Identity:
    return Identity(
        slot=SlotIdentity(fingerprint="f", build="b", parallel=1, cache_type_k=cache, cache_type_v=cache, flags=flags),
        n_ctx=4096,
        memory=memory,
        kv_bytes_per_token=per_token,
        model=Path("/none"),
    )


@pytest.mark.parametrize(
    ("extra", "kept"),
    [
        ((), ()),
        (("-ngl", "99", "-t", "4", "--mlock"), ()),
        (("-ngl", "-1", "--rope-scaling", "yarn"), ("--rope-scaling", "yarn")),
        (("--lora", "a.gguf", "--no-warmup"), ("--lora", "a.gguf")),
        (("--override-kv", "x=int:-1", "-ctk", "q8_0"), ("--override-kv", "x=int:-1", "-ctk", "q8_0")),
        (("--something-new",), ("--something-new",)),
    ],
)
def test_flags_that_matter(extra: tuple[str, ...], kept: tuple[str, ...]) -> None:
    assert flags_that_matter(extra) == kept


def test_estimated_size() -> None:
    assert identity("full", per_token=23_040).estimate(1000) == 23_056_000
    assert identity("full", per_token=23_040, cache="q8_0").estimate(1000) == 12_256_000
    assert identity("full", per_token=23_040, cache="q4_0").estimate(1000) == 6_496_000
    assert identity("recurrent").estimate(1000) == 0


def test_wants_swa_full() -> None:
    with_it = ServerFlags("b", {"--swa-full": ("--swa-full", "")})
    assert wants_swa_full("swa", with_it)
    assert not wants_swa_full("full", with_it)
    assert not wants_swa_full("swa", ServerFlags("b", {}))


def test_differences() -> None:
    warm = [(1, -0.2), (2, -1.5)]
    assert largest_difference(warm, warm) == 0
    assert largest_difference(warm, [(1, -0.25), (2, -1.5)]) == pytest.approx(0.05)
    assert largest_difference(warm, [(1, -0.2), (3, -1.6)]) == pytest.approx(0.1)
    assert largest_difference(warm, [(9, -0.2), (2, -1.5)]) == math.inf
    assert largest_difference(warm, warm[:1]) == math.inf
    assert largest_difference(warm, [(1, -math.inf), (2, -1.5)]) == math.inf
    assert largest_difference(warm, [(1, math.nan), (2, -1.5)]) == math.inf


@pytest.mark.parametrize("count", [1, 100, 10_000])
def test_probe_prompt_is_longer_than_the_window(count: int) -> None:
    kept, prompt = probe_prompt(list(range(count)), 512)
    assert kept == 640
    assert len(prompt) == 648
    assert prompt[:count] == list(range(min(count, 648)))


@pytest.mark.parametrize(
    ("memory", "flags", "reused", "words"),
    [
        ("full", (), 1000, ""),
        ("full", (), 999, ""),
        ("swa", (), 990, ""),
        ("full", (), 989, "differs from the saved one after 989 tokens"),
        ("full", (), 0, "did not take up"),
        ("hybrid", (), 0, "cannot be taken back"),
        ("recurrent", (), 0, "cannot be taken back"),
        ("swa", (), 0, "without --swa-full"),
        ("swa", ("--swa-full",), 0, "did not take up"),
    ],
)
async def test_what_falls_short_is_said(
    memory: Memory, flags: tuple[str, ...], reused: int, words: str, paths: Paths
) -> None:
    with Store(paths) as store:
        keeper = SlotKeeper(LlamaClient("http://127.0.0.1:9"), None, identity(memory, *flags), store.facts)
        sentence = await keeper.settle_result(1000, Timings(cache_n=reused, prompt_n=1010 - reused))
        assert words in sentence
        assert bool(sentence) == bool(words)
        if sentence:
            assert f"{1000 - reused:,} token" in sentence
        assert await keeper.settle_result(0, Timings()) == ""


async def test_a_server_elsewhere_keeps_nothing(paths: Paths) -> None:
    with Store(paths) as store:
        keeper = SlotKeeper(LlamaClient("http://127.0.0.1:9"), None, None, store.facts)
        assert not keeper.available
        kept = await keeper.keep(0, [1, 2, 3])
        assert (kept.tokens, bool(kept.reason)) == (0, True)
        back = await keeper.bring_back(0, [1, 2, 3])
        assert (back.tokens, back.reason) == (0, "")
        assert await keeper.forget("s") == 0
        assert await keeper.prove(0, [1]) is None
