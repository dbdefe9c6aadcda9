"""The journal: what is finished is not done again, whatever ended the run."""

from __future__ import annotations

import contextlib

import msgspec
import pytest

from tests.reading.conftest import MakeRuntime, paged
from tests.reading.running import run, streamed
from tests.reading.scripted import Call, Say, sensible
from tui.errors import StorageProblem
from tui.reading.events import ChunkDone, PlanMade
from tui.reading.results import SummaryOptions
from tui.reading.summarize import summarize


async def test_a_stopped_run_goes_on_where_it_was(scripted: MakeRuntime) -> None:
    document = paged(40)
    first = scripted(parallel=4)
    done = 0
    async with contextlib.aclosing(summarize(first.runtime, document)) as events:
        async for event in events:
            done += isinstance(event, ChunkDone)
            if done == 5:
                break
    assert not first.client.busy, "every slot was let go"

    second = scripted(parallel=2)
    finished, events2 = await run(second, document)
    # A write that was under way when the run was stopped may have come to its end.
    assert 5 <= finished.result.reused_chunks <= 5 + 3
    assert finished.result.coverage.fraction == 1.0
    [plan] = [event for event in events2 if isinstance(event, PlanMade)]
    assert plan.reused == finished.result.reused_chunks
    before = {call.body for call in first.calls[:5]}
    assert not before & {call.body for call in second.calls}
    assert {entry.state for entry in finished.ledger} == {"read", "reused"}


async def test_a_finished_run_is_had_again_byte_for_byte_without_a_call(scripted: MakeRuntime) -> None:
    document = paged(60)
    first, _ = await run(scripted(n_ctx=512), document)
    runtime = scripted(n_ctx=512, parallel=1)
    second, _ = await run(runtime, document)
    assert not runtime.calls
    assert second.result.summary == first.result.summary
    assert second.result.reused_chunks == second.result.chunks
    assert second.result.prompt_tokens == 0
    assert second.result.coverage.fraction == 1.0


async def test_a_journal_that_cannot_be_written_costs_the_resuming_not_the_run(
    scripted: MakeRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = scripted()

    def full(key: str, value: bytes) -> bool:
        raise StorageProblem("The disk is full.", "Free some space.")

    monkeypatch.setattr(runtime.store.journal, "put", full)
    finished, _ = await run(runtime, paged(20))
    assert finished.result.status == "done"
    assert any("could not be resumed" in warning and "disk" in warning for warning in finished.result.warnings)


async def test_entries_of_another_version_are_made_again(
    scripted: MakeRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = scripted()
    monkeypatch.setattr(runtime.store.journal, "get_many", lambda keys: dict.fromkeys(keys, b"\x00nonsense"))
    finished, _ = await run(runtime, paged(20))
    assert finished.result.status == "done"
    assert finished.result.reused_chunks == 0


async def test_one_pass_without_a_usable_summary_is_followed_by_parts(scripted: MakeRuntime) -> None:
    def model(call: Call) -> Say:
        return Say("") if call.kind == "single" else sensible(call)

    document = paged(8)
    finished, events = await run(scripted(model, n_ctx=4096), document, SummaryOptions(chunk_tokens=300))
    assert (finished.result.status, finished.result.strategy) == ("done", "map-reduce")
    assert [event.strategy for event in events if isinstance(event, PlanMade)] == ["single", "map-reduce"]
    assert streamed(events) == finished.result.summary

    # The next run knows that already.
    runtime = scripted(model, n_ctx=4096)
    again, _ = await run(runtime, document, SummaryOptions(chunk_tokens=300))
    assert again.result.summary == finished.result.summary
    assert not runtime.calls

    # Where one pass was demanded, it is not known, and what stands in says so.
    runtime = scripted(model, n_ctx=4096)
    finished, _ = await run(runtime, document, SummaryOptions(chunk_tokens=300, strategy="single"))
    assert (finished.result.status, finished.result.strategy) == ("partial", "single")
    assert runtime.calls


async def test_a_list_that_goes_in_circles_is_kept_once(scripted: MakeRuntime) -> None:
    def model(call: Call) -> Say:
        if call.kind == "map" and "KESTREL-002" in call.text:
            one, two = " ".join(call.body.split()[:12]), " ".join(call.body.split()[12:24])
            return Say(f"1. {one}.\n2. {two}.\n" * 30)
        return sensible(call)

    finished, _ = await run(scripted(model), paged(12))
    assert finished.result.status == "done"
    assert "repeated" in {entry.mark for entry in finished.ledger}
    assert any("On p" in warning and "again and again" in warning for warning in finished.result.warnings)


@pytest.mark.parametrize("what", ["text", "model", "template", "temperature", "focus"])
async def test_what_an_answer_depends_on_is_in_its_key(scripted: MakeRuntime, what: str) -> None:
    document, options = paged(20), SummaryOptions()
    first = scripted()
    await run(first, document)
    second = scripted()
    if what == "text":
        document = paged(20, seed=2)
    elif what == "model":
        second.fingerprint = "another"
    elif what == "template":
        first.paths.prompts.mkdir(parents=True)
        own = first.paths.prompts / "summarize-map.md"
        own.write_text("{{ text }}\n\nAs a numbered list: {{ notes }} facts.", encoding="utf-8")
    elif what == "temperature":
        options = SummaryOptions(temperature=0.9)
    else:
        options = SummaryOptions(focus="pumps")
    finished, _ = await run(second, document, options)
    assert finished.result.reused_chunks == 0


async def test_the_number_of_slots_is_not_in_the_key(scripted: MakeRuntime) -> None:
    document = paged(30)
    options = SummaryOptions(chunk_tokens=150)
    await run(scripted(parallel=1), document, options)
    runtime = scripted(parallel=1)
    finished, _ = await run(runtime, document, options)
    assert finished.result.reused_chunks == finished.result.chunks


async def test_parts_that_differ_in_the_white_space_around_them_are_not_taken_for_each_other(
    scripted: MakeRuntime,
) -> None:
    """Their prompts are the same, but their ranges are not: the ledger would tell of characters that are not there."""
    longer = paged(6)
    shorter = msgspec.structs.replace(longer, text=longer.text.rstrip(), spans=())
    options = SummaryOptions(strategy="map-reduce")
    await run(scripted(), msgspec.structs.replace(longer, spans=()), options)
    finished, _ = await run(scripted(), shorter, options)  # `run` checks that the ledger tiles the document
    assert finished.result.coverage.characters_read == len(shorter.text)
    assert 0 < finished.result.reused_chunks < finished.result.chunks
