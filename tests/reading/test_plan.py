"""Sizes of parts, notes and answers: all slots busy, and little of the program's own beside the document."""

from __future__ import annotations

import itertools
from pathlib import Path

import msgspec
import pytest

from tests.reading.conftest import MakeRuntime, paged
from tests.reading.running import run
from tests.reading.scripted import Call, Say, sensible, words
from tui.models.modelfile import ModelFile
from tui.reading.choosing import choose_slots
from tui.reading.plan import OVERHEAD, Budget, for_document, for_refining, make_budget, overhead
from tui.reading.prompts import load_summary_prompts
from tui.reading.results import SummaryOptions

SIZES = (30_000, 33_000, 47_000, 61_000, 90_000, 130_000, 250_000, 700_000, 2_000_000)


async def budget_of(scripted: MakeRuntime, n_ctx: int, *, small: bool = False) -> Budget:
    runtime = scripted(n_ctx=n_ctx)
    prompts = load_summary_prompts(None, SummaryOptions())
    return msgspec.structs.replace(await make_budget(runtime.runtime, prompts), small=small)


@pytest.mark.parametrize(("n_ctx", "small"), itertools.product((8192, 16384, 32768), (False, True)))
async def test_plans_for_long_documents_stay_below_the_limit(scripted: MakeRuntime, n_ctx: int, small: bool) -> None:
    budget = await budget_of(scripted, n_ctx, small=small)
    for tokens, slots in itertools.product(SIZES, (1, 2, 3, 4)):
        found = for_document(budget, SummaryOptions(), tokens, slots)
        parts = -(-tokens * 1.1 // found.chunk)
        assert overhead(found, int(parts)) <= OVERHEAD * tokens, (tokens, slots)
        assert found.chunk + found.frames["map"] + found.reply <= n_ctx
        assert 3 <= found.notes <= 12
        assert round(tokens * 1.1 / found.chunk) % slots == 0 or parts < slots * 2


async def test_one_two_and_four_slots_read_the_same_parts(scripted: MakeRuntime) -> None:
    for n_ctx in (1024, 8192):
        budget = await budget_of(scripted, n_ctx)
        for tokens in SIZES:
            one, two, four = (for_document(budget, SummaryOptions(), tokens, slots) for slots in (1, 2, 4))
            assert one == two == four


async def test_what_the_user_asks_for_wins(scripted: MakeRuntime) -> None:
    options = SummaryOptions(chunk_tokens=500)
    runtime = scripted(n_ctx=8192)
    budget = await make_budget(runtime.runtime, load_summary_prompts(None, options))
    assert for_document(budget, options, 50_000, 2).chunk <= 500
    assert for_refining(budget, options, 50_000).chunk <= 500
    assert for_refining(budget, SummaryOptions(), 50_000).chunk > 4096


async def test_a_whole_run_adds_at_most_its_share(scripted: MakeRuntime) -> None:
    """Notes as long as a model writes them, about 30 tokens each, and every prompt counted."""

    def model(call: Call) -> Say:
        said = [word.strip() for word in words(call.body) if word.strip()]
        asked = 5 if call.kind != "map" else int(call.asked.split("Write ")[1].split()[0])
        lines = [" ".join(said[n * 97 : n * 97 + 28]) + "." for n in range(asked)]
        return Say("\n".join(f"{n}. {line}" for n, line in enumerate(lines, 1)))

    runtime = scripted(model, n_ctx=8192)
    document = paged(180, 12)
    finished, _ = await run(runtime, document)
    result = finished.result
    assert result.tokens >= 30_000
    assert (result.status, result.retry_tokens) == ("done", 0)
    assert result.prompt_tokens <= (1 + OVERHEAD) * result.tokens
    assert result.prompt_tokens == sum([len(words(call.text)) for call in runtime.calls])
    assert any("\n> " in call.body for call in runtime.calls if call.kind == "final")


async def test_calls_made_again_are_counted_apart(scripted: MakeRuntime) -> None:
    seen: set[str] = set()

    def model(call: Call) -> Say:
        if call.kind == "map" and call.text not in seen:
            seen.add(call.text)
            return Say("")
        return sensible(call)

    runtime = scripted(model)
    finished, _ = await run(runtime, paged(12))
    maps = sum(len(words(call.text)) for call in runtime.calls if call.kind == "map")
    assert finished.result.retry_tokens == maps // 2


def test_slots_are_chosen_by_what_there_is_to_read_and_the_memory(scripted: MakeRuntime) -> None:
    assert choose_slots(None, 8192, 3_000).slots == 1
    assert choose_slots(None, 8192, 9_000).slots == 2
    assert choose_slots(None, 8192, 100_000).slots == 4
    model = ModelFile(
        path=Path("m.gguf"),
        name="m",
        size=16 << 30,
        fingerprint="x",
        architecture="llama",
        memory="full",
        n_ctx_train=131072,
        n_layer=48,
        kv_bytes_per_token=196_608,
        has_chat_template=True,
    )
    # 8,192 tokens of such a model are 1.5 GiB.
    assert choose_slots(model, 8192, 100_000, available=48 << 30).slots == 4
    few = choose_slots(model, 8192, 100_000, available=20 << 30)
    assert few.slots == 2
    assert "Memory" in few.why
    assert choose_slots(model, 8192, 100_000, available=17 << 30).slots == 1


@pytest.mark.parametrize("parallel", [2, 3, 4])
async def test_few_parts_come_in_full_waves(scripted: MakeRuntime, parallel: int) -> None:
    for pages in (60, 100):
        runtime = scripted(n_ctx=8192, parallel=parallel)
        finished, _ = await run(runtime, paged(pages, 12))
        assert finished.result.chunks % parallel == 0 or finished.result.chunks == 2
