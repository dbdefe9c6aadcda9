"""Slots kept by one server process and brought back by another, on the real llama-server with tiny models."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.context.slot_server import CONTEXT, Workshop, token_ids
from tests.support.tiny_models import build, write
from tests.support.tiny_vocabulary import make_vocabulary
from tui.context import probe
from tui.context.slots import BroughtBack
from tui.paths import Paths
from tui.server.binary import ServerBinary
from tui.server.errors import ServerGone
from tui.server.types import PromptProgress, SlotSaved, Timings
from tui.store.slotfiles import SlotFiles, SlotManifest

pytestmark = pytest.mark.real

DOCUMENT = token_ids(3000)
QUESTION = token_ids(20, seed=2)
NOTHING = BroughtBack()


@pytest.fixture
def workshop(server_binary: ServerBinary, paths: Paths) -> Workshop:
    return Workshop(server_binary, paths)


def the_file(files: SlotFiles) -> Path:
    (manifest,) = files.all()
    return files.path(manifest.filename)


@pytest.mark.parametrize("kind", ["llama", "qwen35moe", "qwen3next", "mamba"])
async def test_kept_and_brought_back_by_a_new_server(kind: str, workshop: Workshop, tiny_models: Path) -> None:
    model = build(kind, tiny_models)
    steps: list[PromptProgress] = []
    async with workshop.serve(model) as bench:
        assert await bench.keeper.bring_back(0, DOCUMENT) == NOTHING
        kept = await bench.keeper.keep(0, DOCUMENT, session_id="s1", on_progress=steps.append)
        assert (kept.tokens, kept.processed, kept.reason) == (3000, 3000, "")
        assert steps[-1].processed == 3000
        if os.name != "nt":
            assert stat.S_IMODE(the_file(bench.files).stat().st_mode) == 0o600
        warm = await bench.client.probe([*DOCUMENT, *QUESTION], 6, id_slot=0)
    async with workshop.serve(model) as bench:
        back = await bench.keeper.bring_back(0, DOCUMENT)
        assert (back.tokens, back.reason) == (3000, "")
        assert back.instead_of_s > 0
        end = await bench.answer([*DOCUMENT, *QUESTION])
        assert (end.cached_tokens, end.timings.prompt_n) == (3000, 20)
        assert await bench.keeper.settle_result(back.tokens, end.timings) == ""
        # The same from the whole prompt; the numbers are those of the warm run, to the last digit.
        assert (await bench.keeper.bring_back(0, [*DOCUMENT, *QUESTION])).tokens == 3000
        assert await bench.client.probe([*DOCUMENT, *QUESTION], 6, id_slot=0) == warm
        assert await bench.keeper.forget("s1") == 1
        assert list(bench.files.folder.iterdir()) == []


async def test_a_sliding_window_with_its_whole_cache(workshop: Workshop, tiny_models: Path) -> None:
    model = build("gemma3", tiny_models)
    async with workshop.serve(model, swa_full=True) as bench:
        assert (await bench.keeper.keep(0, DOCUMENT)).tokens == 3000
    async with workshop.serve(model, swa_full=True) as bench:
        back = await bench.keeper.bring_back(0, DOCUMENT)
        result = probe.remembered(bench.store.facts, bench.identity.slot)
        assert result is not None
        assert (result.tokens, result.verdict) == (640, "equal")
        assert 0 <= result.difference <= result.usual
        assert (back.tokens, back.reason) == (3000, "")
        end = await bench.answer([*DOCUMENT, *QUESTION])
        assert end.cached_tokens >= 2970
        assert await bench.keeper.settle_result(back.tokens, end.timings) == ""
    async with workshop.serve(model, swa_full=True) as bench:
        assert (await bench.keeper.bring_back(0, DOCUMENT)).tokens == 3000
        # The result was remembered: nothing but the one restore.
        assert [action for action, _ in bench.calls] == ["restore"]


async def test_a_sliding_window_without_its_whole_cache(workshop: Workshop, tiny_models: Path) -> None:
    model = build("gemma3", tiny_models)
    async with workshop.serve(model, swa_full=False) as bench:
        assert (await bench.keeper.keep(0, DOCUMENT)).tokens == 3000
    async with workshop.serve(model, swa_full=False) as bench:
        back = await bench.keeper.bring_back(0, DOCUMENT)
        result = probe.remembered(bench.store.facts, bench.identity.slot)
        assert result is not None
        end = await bench.answer([*DOCUMENT, *QUESTION])
        if result.verdict == "equal":  # builds that keep checkpoints in the file
            assert end.cached_tokens >= 2970
            return
        assert result.verdict == "nothing reused"
        assert back.tokens == 0
        assert "without --swa-full" in back.reason
        assert "3,000 tokens will be processed again, which takes ≈" in back.reason
        assert end.cached_tokens == 0
        # What cannot be brought back is not kept, for the same reason in the same words.
        assert (await bench.keeper.keep(0, [*DOCUMENT[:2999], 7])).reason == back.reason
        # Known to be of no use: nothing is processed for it and nothing written.
        kept = await bench.keeper.keep(0, DOCUMENT[:2000])
        assert (kept.tokens, kept.processed) == (0, 0)
        assert "without --swa-full" in kept.reason
        assert "2,000 tokens" in kept.reason


async def test_inside_one_window_no_proof_is_needed(workshop: Workshop, tiny_models: Path) -> None:
    model = build("gemma3", tiny_models)
    short = DOCUMENT[:500]
    async with workshop.serve(model, swa_full=True) as bench:
        assert (await bench.keeper.keep(0, short)).tokens == 500
        warm = await bench.client.probe([*short, *QUESTION], 6, id_slot=0)
    async with workshop.serve(model, swa_full=True) as bench:
        back = await bench.keeper.bring_back(0, short)
        assert (back.tokens, back.reason) == (500, "")
        assert await bench.client.probe([*short, *QUESTION], 6, id_slot=0) == warm
        assert (await bench.keeper.bring_back(0, short)).tokens == 500
        assert (await bench.answer([*short, *QUESTION])).cached_tokens == 500
        assert probe.remembered(bench.store.facts, bench.identity.slot) is None


async def test_a_short_prompt_does_not_pay_for_the_proof(workshop: Workshop, tiny_models: Path) -> None:
    async with workshop.serve(build("gemma3", tiny_models), swa_full=False) as bench:
        assert (await bench.keeper.keep(0, DOCUMENT[:500])).tokens == 500
        bench.calls.clear()
        back = await bench.keeper.bring_back(0, DOCUMENT[:500])
        assert back.tokens == 0
        assert "sliding window (512 tokens). 500 tokens will be processed again" in back.reason
        assert bench.calls == []


async def test_no_proof_while_others_are_at_work(workshop: Workshop, tiny_models: Path) -> None:
    async with workshop.serve(build("gemma3", tiny_models), parallel=2) as bench:
        assert (await bench.keeper.keep(0, DOCUMENT)).tokens == 3000
        stream = bench.client.complete(QUESTION, max_tokens=3000, id_slot=1)
        await anext(stream)
        back = await bench.keeper.bring_back(0, DOCUMENT)
        await stream.aclose()
        assert back.tokens == 0
        assert "idle" in back.reason
        assert probe.remembered(bench.store.facts, bench.identity.slot) is None


@pytest.mark.parametrize("kind", ["llama", "mamba"])
async def test_the_longest_prefix(kind: str, workshop: Workshop, tiny_models: Path) -> None:
    async with workshop.serve(build(kind, tiny_models)) as bench:
        for ids in (DOCUMENT[:500], DOCUMENT[:1000], DOCUMENT[:2000], token_ids(2500, seed=5)):
            assert (await bench.keeper.keep(0, ids)).tokens == len(ids)
        back = await bench.keeper.bring_back(0, DOCUMENT[:1500])
        assert (back.tokens, back.reason) == (1000, "")
        assert (await bench.answer(DOCUMENT[:1500])).cached_tokens == 1000
        # The kept prefix is the whole prompt: a running state could not be used then.
        back = await bench.keeper.bring_back(0, DOCUMENT[:1000], more_follows=False)
        end = await bench.answer(DOCUMENT[:1000])
        assert (back.tokens, end.cached_tokens) == ((1000, 999) if kind == "llama" else (500, 500))
        assert await bench.keeper.settle_result(back.tokens, end.timings) == ""
        assert await bench.keeper.bring_back(0, [7, *DOCUMENT]) == NOTHING
        assert await bench.keeper.bring_back(0, []) == NOTHING


@pytest.mark.parametrize("kind", ["llama", "qwen35moe"])
async def test_a_conversation_settles_at_each_boundary(kind: str, workshop: Workshop, tiny_models: Path) -> None:
    model = build(kind, tiny_models)
    boundary = DOCUMENT[:1000]
    for turn in range(3):
        async with workshop.serve(model) as bench:
            back = await bench.keeper.bring_back(0, boundary)
            assert back.tokens == (0 if turn == 0 else len(boundary))
            asked = [*boundary, *token_ids(30, seed=10 + turn)]
            end = await bench.answer(asked, tokens=40)
            assert end.cached_tokens == back.tokens
            # As a template does that drops the reasoning: other tokens follow than were generated.
            boundary = [*asked, *token_ids(15, seed=20 + turn)]
            kept = await bench.keeper.keep(0, boundary, session_id="s")
            assert kept.tokens == len(boundary)
            assert kept.processed <= 15 + 8
            assert len(bench.files.all()) <= 2


async def test_kept_once_restored_into_every_slot(workshop: Workshop, tiny_models: Path) -> None:
    async with workshop.serve(build("qwen35moe", tiny_models), parallel=3) as bench:
        assert (await bench.keeper.keep(0, DOCUMENT)).tokens == 3000
        again = await bench.keeper.keep(1, DOCUMENT)
        assert (again.tokens, again.processed) == (3000, 0)
        await asyncio.gather(*(bench.keeper.bring_back(slot, DOCUMENT) for slot in (1, 2)))
        for slot in (1, 2):
            assert (await bench.answer([*DOCUMENT, *QUESTION], id_slot=slot)).cached_tokens == 3000


async def test_one_at_a_time_in_a_slot(workshop: Workshop, tiny_models: Path) -> None:
    async with workshop.serve(build("llama", tiny_models)) as bench:
        prompts = [token_ids(700, seed=seed) for seed in range(4)]
        kept = await asyncio.gather(*(bench.keeper.keep(0, ids) for ids in prompts))
        assert [k.tokens for k in kept] == [700] * 4
        for ids in prompts:
            assert (await bench.keeper.bring_back(0, ids)).tokens == 700
            assert (await bench.answer([*ids, *QUESTION])).cached_tokens == 700


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


def halve(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-100] ^= 1
    path.write_bytes(data)


def empty(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize("harm", [cut, halve, flip, empty, Path.unlink])
async def test_damaged_files_never_reach_the_server(
    harm: Callable[[Path], None], workshop: Workshop, tiny_models: Path
) -> None:
    model = build("llama", tiny_models)
    async with workshop.serve(model) as bench:
        await bench.keeper.keep(0, DOCUMENT[:1000])
        await bench.keeper.keep(0, DOCUMENT)
        longest = bench.files.prefixes(DOCUMENT)[0]
    harm(bench.files.path(longest.filename))
    async with workshop.serve(model) as bench:
        back = await bench.keeper.bring_back(0, DOCUMENT)
        # The shorter one is whole, and is used.
        assert back.tokens == 1000
        assert "damaged" in back.reason or "gone" in back.reason
        assert "2,000 tokens will be processed again" in back.reason
        assert [action for action, _ in bench.calls] == ["restore"]
        assert longest.filename not in [name for _, name in bench.calls]
        assert (await bench.answer([*DOCUMENT, *QUESTION])).cached_tokens == 1000
        # The damaged file is no more; it is written anew.
        assert [m.n_tokens for m in bench.files.all()] == [1000]
        assert (await bench.keeper.keep(0, DOCUMENT)).tokens == 3000


async def test_swapped_files_never_reach_the_server(workshop: Workshop, tiny_models: Path) -> None:
    model = build("llama", tiny_models)
    other = token_ids(3000, seed=4)
    async with workshop.serve(model) as bench:
        for ids in (DOCUMENT, other):
            await bench.keeper.keep(0, ids)
        one, two = (bench.files.path(m.filename) for m in bench.files.all())
        assert one.stat().st_size == two.stat().st_size
        aside = one.with_suffix(".aside")
        one.rename(aside)
        two.rename(one)
        aside.rename(two)
        bench.calls.clear()
        for ids in (DOCUMENT, other):
            back = await bench.keeper.bring_back(0, ids)
            assert back.tokens == 0
            assert "checksum" in back.reason
            assert "3,000 tokens will be processed again" in back.reason
        assert bench.calls == []


async def test_another_model_of_the_same_shape(workshop: Workshop, tiny_models: Path, tmp_path: Path) -> None:
    model = build("llama", tiny_models)
    twin = tmp_path / "twin.gguf"
    write("llama", twin, make_vocabulary("llama-bpe", bos=True, template_has_bos=True), seed=99)
    assert twin.stat().st_size == model.stat().st_size
    async with workshop.serve(model) as bench:
        await bench.keeper.keep(0, DOCUMENT)
        mine = the_file(bench.files)
    async with workshop.serve(twin) as bench:
        back = await bench.keeper.bring_back(0, DOCUMENT)
        assert back.tokens == 0
        assert "another model file" in back.reason
        assert bench.calls == []
        # Even its file under the name of ours is told apart.
        await bench.keeper.keep(0, DOCUMENT)
        (theirs,) = [m for m in bench.files.all() if m.identity == bench.identity.slot]
        mine.write_bytes(bench.files.path(theirs.filename).read_bytes())
    async with workshop.serve(model) as bench:
        back = await bench.keeper.bring_back(0, DOCUMENT)
        assert back.tokens == 0
        assert "checksum" in back.reason
        assert bench.calls == []


async def test_another_number_of_slots(workshop: Workshop, tiny_models: Path) -> None:
    model = build("llama", tiny_models)
    async with workshop.serve(model) as bench:
        await bench.keeper.keep(0, DOCUMENT)
    async with workshop.serve(model, parallel=2) as bench:
        back = await bench.keeper.bring_back(0, DOCUMENT)
        assert back.tokens == 0
        assert "another number of slots (1 instead of 2)" in back.reason
        assert bench.calls == []
        # It stays for the server it belongs to.
        assert len(bench.files.all()) == 1


def forge(files: SlotFiles, manifest: SlotManifest, data: bytes) -> None:
    """A file with a manifest that vouches for it, as if the server had written it so."""
    temp = files.temp_name()
    files.path(temp).write_bytes(data)
    files.commit(temp, ids=DOCUMENT, identity=manifest.identity, n_written=len(data), n_ctx=CONTEXT)


async def test_a_file_the_server_refuses_is_not_tried_again(workshop: Workshop, tiny_models: Path) -> None:
    async with workshop.serve(build("llama", tiny_models)) as bench:
        await bench.keeper.keep(0, DOCUMENT)
        forge(bench.files, bench.files.all()[0], b"nonsense" * 1000)
        back = await bench.keeper.bring_back(0, DOCUMENT)
        assert back.tokens == 0
        assert "The server refused the slot file" in back.reason
        assert bench.files.all() == []
        assert await bench.keeper.bring_back(0, DOCUMENT) == NOTHING


async def test_a_file_the_server_dies_of_is_not_tried_again(workshop: Workshop, tiny_models: Path) -> None:
    model = build("llama", tiny_models)
    async with workshop.serve(model) as bench:
        await bench.keeper.keep(0, DOCUMENT)
        forge(bench.files, bench.files.all()[0], the_file(bench.files).read_bytes()[:-1])
        try:
            back = await bench.keeper.bring_back(0, DOCUMENT)
            assert back.tokens == 0  # a build that only refuses it
        except ServerGone:
            assert bench.process.phase in ("ready", "failed")
        assert bench.files.all() == []
    async with workshop.serve(model) as bench:
        assert await bench.keeper.bring_back(0, DOCUMENT) == NOTHING


@pytest.mark.parametrize("between", [token_ids(3000, seed=6), token_ids(2000, seed=6)], ids=["as long", "shorter"])
async def test_another_request_came_between(
    between: list[int], workshop: Workshop, tiny_models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with workshop.serve(build("llama", tiny_models)) as bench:
        prefill = bench.client.prefill

        async def interrupted(ids: Any, **options: Any) -> Timings:
            timings = await prefill(ids, **options)
            await prefill(between, id_slot=0)
            return timings

        monkeypatch.setattr(bench.client, "prefill", interrupted)
        kept = await bench.keeper.keep(0, DOCUMENT)
        assert kept.tokens == 0
        assert "instead of 3,000" in kept.reason or "another request came between" in kept.reason
        assert list(bench.files.folder.iterdir()) == []


async def test_no_room_is_known_before_anything_is_processed(workshop: Workshop, tiny_models: Path) -> None:
    model = build("llama", tiny_models)
    async with workshop.serve(model, headroom=1 << 60) as bench:
        kept = await bench.keeper.keep(0, DOCUMENT)
        assert (kept.tokens, kept.processed) == (0, 0)
        assert "free on the disk" in kept.reason
        assert "Free some space" in kept.reason
        assert bench.calls == []
    async with workshop.serve(model, budget=1000) as bench:
        kept = await bench.keeper.keep(0, DOCUMENT)
        assert (kept.tokens, kept.processed) == (0, 0)
        assert "may take 1000 B together" in kept.reason


async def test_a_size_not_known_before_still_keeps_the_budget(workshop: Workshop, tiny_models: Path) -> None:
    async with workshop.serve(build("mamba", tiny_models), budget=10_000) as bench:
        kept = await bench.keeper.keep(0, DOCUMENT)
        assert kept.tokens == 0
        assert "was not kept" in kept.reason
        assert list(bench.files.folder.iterdir()) == []


async def test_least_recently_used_go_first(workshop: Workshop, tiny_models: Path) -> None:
    async with workshop.serve(build("llama", tiny_models)) as bench:
        prompts = [token_ids(1000, seed=seed) for seed in range(3)]
        kept = await bench.keeper.keep(0, prompts[0])
        bench.files.budget = round(2.6 * kept.size)
        await bench.keeper.keep(0, prompts[1])
        assert (await bench.keeper.bring_back(0, prompts[0])).tokens == 1000
        assert (await bench.keeper.keep(0, prompts[2])).tokens == 1000
        assert bench.files.total() <= bench.files.budget
        assert (await bench.keeper.bring_back(0, prompts[0])).tokens == 1000
        assert await bench.keeper.bring_back(0, prompts[1]) == NOTHING


async def test_the_own_earlier_file_gives_way_last(workshop: Workshop, tiny_models: Path) -> None:
    async with workshop.serve(build("llama", tiny_models), parallel=2) as bench:
        kept = await bench.keeper.keep(0, DOCUMENT[:1000])
        await bench.keeper.keep(1, token_ids(1000, seed=5))
        bench.files.budget = round(3.5 * kept.size)
        assert (await bench.keeper.keep(0, DOCUMENT[:2000])).tokens == 2000
        assert [m.n_tokens for m in bench.files.prefixes(DOCUMENT)] == [2000]
        assert (await bench.keeper.bring_back(0, DOCUMENT)).tokens == 2000
        # The other slot's file is in use.
        assert (await bench.keeper.keep(0, DOCUMENT)).tokens == 0
        assert (await bench.keeper.bring_back(1, token_ids(1000, seed=5))).tokens == 1000


async def test_the_folder_is_gone(workshop: Workshop, tiny_models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with workshop.serve(build("llama", tiny_models)) as bench:
        await bench.keeper.keep(0, DOCUMENT[:10])
        save = bench.client.save_slot

        async def after_removal(id_slot: int, filename: str) -> SlotSaved:
            for path in bench.files.folder.iterdir():
                path.unlink()
            bench.files.folder.rmdir()
            return await save(id_slot, filename)

        monkeypatch.setattr(bench.client, "save_slot", after_removal)
        kept = await bench.keeper.keep(0, DOCUMENT)
        assert kept.tokens == 0
        assert "could not be saved" in kept.reason
        monkeypatch.undo()
        assert "cannot be written" in (await bench.keeper.keep(0, DOCUMENT)).reason
        assert await bench.keeper.bring_back(0, DOCUMENT) == NOTHING
        assert (await bench.answer([*DOCUMENT, *QUESTION])).cached_tokens == 3000
