"""Summaries with a model that says what the test wants: plans, faults, the journal, the ledger."""

from __future__ import annotations

import contextlib
import itertools

import pytest

from tests.reading.conftest import MakeRuntime, paged
from tests.reading.running import run, streamed
from tests.reading.scripted import Call, Say, sensible, words
from tui.documents.model import Document
from tui.errors import DoesNotFit, InputProblem, UsageProblem
from tui.reading.answers import circles
from tui.reading.events import (
    ChunkDone,
    LevelDone,
    PlanMade,
    SummaryRestarted,
)
from tui.reading.plan import pack
from tui.reading.results import AskResult, Content, SummaryOptions, SummaryResult
from tui.reading.summarize import summarize
from tui.server.errors import ServerAnswer, ServerGone, StreamBroken

# Plans


async def test_a_document_that_fits_is_read_in_one_pass(scripted: MakeRuntime) -> None:
    runtime = scripted(n_ctx=2048)
    finished, events = await run(runtime, paged(2))
    result = finished.result
    assert (result.strategy, result.status, result.chunks, result.levels) == ("single", "done", 1, 0)
    assert result.coverage.fraction == 1.0
    assert result.pages == 2
    assert len(runtime.calls) == 1
    assert result.prompt_tokens == len(await runtime.counter.encode(runtime.calls[0].text))
    assert streamed(events) == result.summary


@pytest.mark.parametrize("n_ctx", [512, 1024, 2048, 8192])
@pytest.mark.parametrize("parallel", [1, 4])
async def test_every_context_reads_the_whole(scripted: MakeRuntime, n_ctx: int, parallel: int) -> None:
    runtime = scripted(n_ctx=n_ctx, parallel=parallel)
    document = paged(60)
    finished, events = await run(runtime, document)
    result = finished.result
    assert (result.strategy, result.status, result.error) == ("map-reduce", "done", None)
    assert result.coverage.characters_read == len(document.text)
    assert result.warnings == ()
    [plan] = [event for event in events if isinstance(event, PlanMade)]
    assert plan.chunks == result.chunks == sum(call.kind == "map" for call in runtime.calls)
    assert 1 <= result.levels <= plan.levels
    assert runtime.client.most_busy == min(parallel, plan.chunks)
    counted = [len(await runtime.counter.encode(call.text)) for call in runtime.calls]
    assert result.prompt_tokens == sum(counted)


async def test_nearly_all_of_a_long_document_at_a_tiny_context(scripted: MakeRuntime) -> None:
    runtime = scripted(n_ctx=512, parallel=3)
    finished, events = await run(runtime, paged(400))
    levels = [event for event in events if isinstance(event, LevelDone)]
    assert finished.result.status == "done"
    assert finished.result.levels == len(levels) + 1 >= 3
    assert all(level.notes_after < level.notes_before for level in levels)


async def test_the_longest_possible_answers_still_come_to_an_end(scripted: MakeRuntime) -> None:
    def wordy(call: Call) -> Say:
        return Say("".join(words(call.body.replace("- ", ""))[: call.max_tokens]))

    finished, events = await run(scripted(wordy, n_ctx=512, parallel=2), paged(80))
    assert finished.result.status == "done"
    levels = [event for event in events if isinstance(event, LevelDone)]
    assert all(level.notes_after < level.notes_before for level in levels)


async def test_a_context_too_small_for_any_part_is_said_with_both_numbers(scripted: MakeRuntime) -> None:
    with pytest.raises(DoesNotFit) as caught:
        await run(scripted(n_ctx=160), paged(3))
    assert caught.value.available == 160 < caught.value.needed
    assert "--ctx-size" in caught.value.remedy


async def test_what_fits_is_read_also_where_parts_would_not(scripted: MakeRuntime) -> None:
    document = Document(path="a", name="a", kind="text", text="The pump failed in heavy rain.", spans=())
    finished, _ = await run(scripted(n_ctx=160), document)
    assert (finished.result.status, finished.result.strategy) == ("done", "single")


async def test_one_pass_can_be_demanded_and_refused(scripted: MakeRuntime) -> None:
    runtime = scripted(n_ctx=1024)
    with pytest.raises(DoesNotFit):
        await run(runtime, paged(20), SummaryOptions(strategy="single"))
    assert not runtime.calls
    finished, _ = await run(runtime, paged(1, 4), SummaryOptions(strategy="map-reduce"))
    assert finished.result.strategy == "map-reduce"


async def test_what_makes_no_sense_is_refused(scripted: MakeRuntime) -> None:
    with pytest.raises(InputProblem):
        await run(scripted(), Document(path="a", name="a", kind="text", text=" \n", spans=()))
    with pytest.raises(UsageProblem):
        await run(scripted(), paged(1), SummaryOptions(max_tokens=-1))


async def test_options_reach_the_prompt(scripted: MakeRuntime) -> None:
    runtime = scripted()
    options = SummaryOptions(language="German", focus="the pumps", temperature=0.7, chunk_tokens=100)
    await run(runtime, paged(10), options)
    assert all("German" in call.text and "the pumps" in call.text for call in runtime.calls)
    assert {call.sampling.temperature for call in runtime.calls} == {0.7}


async def test_document_before_instruction_and_one_head_for_all_parts(scripted: MakeRuntime) -> None:
    runtime = scripted()
    await run(runtime, paged(20))
    maps = [call.text for call in runtime.calls if call.kind == "map"]
    heads = {text[: text.index("Text:")] for text in maps}
    assert len(heads) == 1
    assert all(text.index("KESTREL") < text.index("numbered list") for text in maps if "KESTREL" in text)


# Answers that are no good


def first_answers(kind: str, *bad: Say) -> tuple[list[Call], object]:
    """A model whose first answers of a kind are bad."""
    waiting = list(bad)
    given: list[Call] = []

    def model(call: Call) -> Say:
        if call.kind == kind and waiting:
            given.append(call)
            return waiting.pop(0)
        return sensible(call)

    return given, model


async def test_an_empty_answer_is_asked_for_again_with_other_sampling(scripted: MakeRuntime) -> None:
    given, model = first_answers("map", Say(""), Say("1."))
    runtime = scripted(model, parallel=1)
    finished, _ = await run(runtime, paged(10))
    assert finished.result.status == "done"
    assert finished.result.warnings == ()
    again = [call for call in runtime.calls if call.body == given[0].body]
    assert len(again) == 3
    assert len({(call.sampling.temperature, call.sampling.repeat_penalty, call.sampling.seed) for call in again}) == 3


@pytest.mark.parametrize(
    "bad", ["", "Write 5 full sentences with its most important facts, as a numbered list.", "It is. " * 60]
)
async def test_sentences_stand_in_where_the_model_says_nothing(scripted: MakeRuntime, bad: str) -> None:
    def model(call: Call) -> Say:
        return Say(bad) if call.kind == "map" and "KESTREL-004" in call.text else sensible(call)

    runtime = scripted(model, parallel=2)
    document = paged(12)
    finished, events = await run(runtime, document)
    marked = [entry for entry in finished.ledger if entry.mark == "extracted"]
    assert marked
    assert "KESTREL-004" in document.text[marked[0].start : marked[-1].end]
    [warning] = finished.result.warnings
    assert "p. " in warning or "pp. " in warning
    if circles(bad):  # such an answer has no end
        assert finished.result.status == "partial"
        assert "circles" in warning
    else:
        assert finished.result.status == "done"
        assert "sentences of the text" in warning
    assert sum(isinstance(event, ChunkDone) for event in events) == finished.result.chunks


async def test_an_answer_without_end_splits_its_part(scripted: MakeRuntime) -> None:
    def model(call: Call) -> Say:
        if call.kind == "map" and len(call.body.split()) > 180:
            return Say(" ".join(f"word{n}" for n in range(2000)))
        return sensible(call)

    runtime = scripted(model)
    finished, _ = await run(runtime, paged(10))
    assert finished.result.status == "done"
    assert finished.result.coverage.fraction == 1.0
    assert "split" in {entry.mark for entry in finished.ledger}
    assert len(finished.ledger) > finished.result.chunks


async def test_answers_that_never_end_are_not_taken_as_read(scripted: MakeRuntime) -> None:
    def model(call: Call) -> Say:
        if call.kind == "map" and "KESTREL-003" in call.text:
            return Say(" ".join(f"word{n}" for n in range(2000)))
        return sensible(call)

    runtime = scripted(model)
    document = paged(12)
    finished, _ = await run(runtime, document)
    result = finished.result
    assert result.status == "partial"
    assert 0.5 < result.coverage.fraction < 1.0
    [gap] = [entry for entry in finished.ledger if entry.state == "failed"]
    assert "KESTREL-003" in document.text[gap.start : gap.end]
    assert any(warning.startswith("Not read: p") and "3" in warning for warning in result.warnings)
    # Even so nothing is absent: sentences of the text go into the merge.
    assert gap.mark == "extracted"

    # The next run asks for this part only.
    again = scripted()
    finished, _ = await run(again, document)
    assert finished.result.status == "done"
    assert finished.result.reused_chunks == finished.result.chunks - 1
    assert sum(call.kind == "map" for call in again.calls) == 1


async def test_thinking_that_leaves_no_room_gets_more(scripted: MakeRuntime) -> None:
    def model(call: Call) -> Say:
        if call.kind == "map" and call.max_tokens < 300:
            return Say("", "length", reasoning="Let me see")
        return sensible(call)

    finished, _ = await run(scripted(model), paged(10))
    assert finished.result.status == "done"
    assert {entry.mark for entry in finished.ledger} == {""}


async def test_tokens_the_server_left_out_make_the_part_unread(scripted: MakeRuntime) -> None:
    def model(call: Call) -> Say:
        said = sensible(call)
        said.missing = 7 if call.kind == "map" and "KESTREL-005" in call.text else 0
        return said

    runtime = scripted(model)
    finished, _ = await run(runtime, paged(12))
    assert finished.result.status == "partial"
    assert any("evaluated" in warning and "planned" in warning for warning in finished.result.warnings)


async def test_an_error_for_one_part_does_not_stop_the_others(scripted: MakeRuntime) -> None:
    def model(call: Call) -> Say:
        if call.kind == "map" and "KESTREL-002" in call.text:
            return Say("", error=ServerAnswer("boom", code=500, type="server_error"))
        return sensible(call)

    finished, _ = await run(scripted(model), paged(12))
    assert finished.result.status == "partial"
    assert finished.result.summary
    assert any("boom" in warning for warning in finished.result.warnings)


async def test_a_merge_without_answer_takes_notes_over(scripted: MakeRuntime) -> None:
    def model(call: Call) -> Say:
        return Say("") if call.kind == "reduce" else sensible(call)

    finished, _ = await run(scripted(model, n_ctx=512), paged(60))
    assert finished.result.status == "done"
    assert any("merge" in warning for warning in finished.result.warnings)

    def endless(call: Call) -> Say:
        return Say(" ".join(f"x{n}" for n in range(900))) if call.kind == "reduce" else sensible(call)

    finished, _ = await run(scripted(endless, n_ctx=512), paged(60, seed=2))
    assert finished.result.status == "partial"
    assert finished.result.coverage.fraction == 1.0


# The summary itself


async def test_a_summary_at_its_limit_is_continued(scripted: MakeRuntime) -> None:
    long = " ".join(f"w{n}" for n in range(700)) + "."

    def model(call: Call) -> Say:
        if call.text == "(continued)":
            return Say(" And so it ends.")
        return Say(long) if call.kind == "single" else sensible(call)

    finished, events = await run(scripted(model, n_ctx=4096), paged(2))
    assert finished.result.status == "done"
    assert finished.result.summary.endswith("And so it ends [p. 2].")
    assert finished.result.summary.startswith("w0 w1")
    assert streamed(events) == finished.result.summary


async def test_a_summary_without_end_is_partial_and_not_journalled(scripted: MakeRuntime) -> None:
    def model(call: Call) -> Say:
        if call.kind in ("final", "single") or call.text == "(continued)":
            return Say(" ".join(f"w{call.number}x{n}" for n in range(3000)))
        return sensible(call)

    document = paged(20)
    finished, events = await run(scripted(model), document)
    assert finished.result.status == "partial"
    assert finished.result.coverage.fraction == 1.0
    assert finished.result.summary
    assert streamed(events) == finished.result.summary
    assert any("limit" in warning for warning in finished.result.warnings)

    finished, _ = await run(scripted(), document)
    assert finished.result.status == "done"
    assert finished.result.reused_chunks == finished.result.chunks


async def test_a_summary_that_is_no_good_is_asked_for_again(scripted: MakeRuntime) -> None:
    given, model = first_answers("final", Say("so it is and so it was " * 30), Say(""))
    finished, events = await run(scripted(model), paged(20))
    assert finished.result.status == "done"
    assert len(given) == 2
    assert sum(isinstance(event, SummaryRestarted) for event in events) == 2
    assert streamed(events) == finished.result.summary


async def test_sentences_stand_in_for_a_summary_that_never_comes(scripted: MakeRuntime) -> None:
    def model(call: Call) -> Say:
        return Say("") if call.kind in ("final", "single") else sensible(call)

    for document in (paged(20), paged(1, 5)):
        finished, events = await run(scripted(model), document)
        assert finished.result.status == "partial"
        assert finished.result.summary == streamed(events)
        assert finished.result.summary.startswith("- ")
        assert any("stand in" in warning for warning in finished.result.warnings)


# The server goes away


async def test_a_dead_server_ends_the_run_and_what_was_finished_is_kept(scripted: MakeRuntime) -> None:
    runtime = scripted(parallel=1)

    def model(call: Call) -> Say:
        if call.number == 4:
            runtime.client.alive = False
            return Say("", error=StreamBroken("gone"))
        return sensible(call)

    runtime.client.model = model
    document = paged(20)
    with pytest.raises(ServerGone):
        await run(runtime, document)

    finished, _ = await run(scripted(parallel=3), document)
    assert finished.result.reused_chunks == 4
    assert finished.result.status == "done"


async def test_a_stream_that_breaks_is_asked_for_again_while_the_server_lives(scripted: MakeRuntime) -> None:
    _, model = first_answers("map", Say("half an ans", error=StreamBroken("broken")))
    finished, _ = await run(scripted(model), paged(10))
    assert finished.result.status == "done"


async def test_a_template_that_leaves_the_text_out_is_refused(scripted: MakeRuntime) -> None:
    runtime = scripted()
    runtime.paths.prompts.mkdir(parents=True)
    (runtime.paths.prompts / "summarize-map.md").write_text("List facts.", encoding="utf-8")
    with pytest.raises(UsageProblem, match="leaves the text out"):
        await run(runtime, paged(5))


async def test_blank_pages_cost_nothing(scripted: MakeRuntime) -> None:
    document = paged(3)
    text = document.text + " \n" * 4000
    runtime = scripted(n_ctx=512)
    finished, _ = await run(runtime, Document(path="a", name="a", kind="text", text=text, spans=()))
    assert finished.result.status == "done"
    assert "blank" in {entry.mark for entry in finished.ledger}
    assert all(call.body.strip() for call in runtime.calls)


def test_results_have_exactly_the_keys_of_the_contract() -> None:
    assert SummaryResult.__struct_fields__[:16] == (
        *("path", "status", "summary", "strategy", "pages", "characters", "tokens", "chunks", "levels", "coverage"),
        *("prompt_tokens", "completion_tokens", "reused_chunks", "seconds", "warnings", "error"),
    )
    assert {"why", "content", "statements", "retry_tokens"} <= set(SummaryResult.__struct_fields__)
    assert Content.__struct_fields__[:3] == ("sections", "covered", "unsupported")
    assert AskResult.__struct_fields__[:9] == (
        *("answer", "strategy", "prompt_tokens", "cached_tokens", "restored_tokens", "completion_tokens"),
        *("ttft_s", "tokens_per_second", "warnings"),
    )


def test_groups_are_few_and_even() -> None:
    assert [last - first for first, last in pack([5] * 10, 20)] == [4, 4, 2]
    assert [last - first for first, last in pack([5] * 9, 20)] == [3, 3, 3]
    assert [last - first for first, last in pack([5] * 16, 1000, groups=4)] == [4, 4, 4, 4]
    for sizes, capacity, wanted in itertools.product(
        ([3, 9, 1, 4, 8, 2], [50, 1, 1], [7], []), (8, 12, 100), (1, 2, 3)
    ):
        groups = pack(sizes, capacity, groups=wanted)
        assert [n for first, last in groups for n in range(first, last)] == list(range(len(sizes)))
        assert all(sum(sizes[first:last]) <= capacity or last - first == 1 for first, last in groups)


@pytest.mark.parametrize(("notes", "n_ctx"), itertools.product((5, 16, 40, 300), (512, 2048)))
def test_a_level_always_leaves_fewer_groups(notes: int, n_ctx: int) -> None:
    sizes = [n_ctx // 6] * notes
    assert len(pack(sizes, n_ctx // 2, groups=min(3, notes // 2))) < notes


# A small model


async def test_a_small_model_that_fails_on_the_whole_is_not_asked_twice(
    scripted: MakeRuntime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes on to parts at once, and the next run does not try the whole again."""
    monkeypatch.setattr("tui.reading.plan.is_small", lambda runtime: True)
    monkeypatch.setattr("tui.reading.writing.is_small", lambda runtime: True)
    fresh = itertools.count()
    for endless in (False, True):
        seen: list[str] = []

        def model(call: Call, endless: bool = endless, seen: list[str] = seen) -> Say:
            seen.append(call.kind)
            if call.kind == "single":
                return Say(" ".join(f"word{next(fresh)}" for _ in range(900 * endless)))
            return sensible(call)

        document = paged(4, 12, seed=1 + endless)
        runtime = scripted(model, n_ctx=4096)
        finished, _ = await run(runtime, document)
        assert finished.result.strategy == "map-reduce"
        whole = seen.count("single")
        assert whole == (3 if endless else 1), "one attempt with its continuations"
        await run(scripted(model, n_ctx=4096), document)
        assert seen.count("single") == whole


async def test_one_pass_that_is_cut_off_says_what_to_do(scripted: MakeRuntime) -> None:
    fresh = itertools.count()

    def model(call: Call) -> Say:
        return Say(" ".join(f"word{next(fresh)}" for _ in range(900)))

    for options, remedy in (
        (SummaryOptions(strategy="single"), "--strategy map-reduce"),
        (SummaryOptions(strategy="single", max_tokens=40), "Use a larger --max-tokens"),
    ):
        finished, _ = await run(scripted(model, n_ctx=4096), paged(2), options)
        assert finished.result.cut_off
        assert any(remedy in warning for warning in finished.result.warnings)


async def test_the_speed_of_an_interrupted_run_is_known(scripted: MakeRuntime, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[int] = []

    async def remember(runtime: object, timings: object, seconds: float, slots: int) -> None:
        told.append(slots)

    monkeypatch.setattr("tui.reading.summarize.remember_speed", remember)
    async with contextlib.aclosing(summarize(scripted().runtime, paged(20))) as events:
        async for event in events:
            if isinstance(event, ChunkDone):
                break
    assert told == [2]
