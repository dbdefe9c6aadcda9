"""`refine`: each part beside the notes so far; nothing is lost because a model leaves it out or sees no change."""

from __future__ import annotations

import itertools
import re

import pytest

from tests.reading.conftest import MakeRuntime, paged
from tests.reading.running import run, streamed
from tests.reading.scripted import Call, Say, sensible
from tui.reading.events import ChunkDone, LevelDone, PlanMade
from tui.reading.results import SummaryOptions

REFINE = SummaryOptions(strategy="refine")
_WORD = re.compile(r"Section (\d+): the code word is (KESTREL-\d+)\.")


def _known(call: Call) -> list[str]:
    head = call.text.partition("The text goes on:")[0]
    return re.findall(r"^\[\d+\] (.*)$", head, re.MULTILINE) if "Notes so far:" in head else []


def _fresh(call: Call) -> str:
    return call.text.rpartition("The text goes on:")[2] if "The text goes on:" in call.text else call.body


def facts(call: Call) -> Say:
    if call.kind == "map":
        return Say("\n".join(f"{n}. {found[0]}" for n, found in enumerate(_WORD.finditer(_fresh(call)), 1)))
    if call.kind in ("reduce", "final"):
        noted = re.findall(r"^\[(\d+)\] (.*)$", call.body, re.MULTILINE)
        return Say("\n".join(f"{n}. {text} [{label}]" for n, (label, text) in enumerate(noted[:6], 1)))
    return sensible(call)


async def test_every_part_is_read_once_in_order_beside_what_is_known(scripted: MakeRuntime) -> None:
    runtime = scripted(facts, n_ctx=2048, parallel=3)
    document = paged(40)
    finished, events = await run(runtime, document, REFINE)
    result = finished.result
    assert (result.strategy, result.status, result.coverage.fraction) == ("refine", "done", 1.0)
    assert "as asked for" in result.why
    assert runtime.client.most_busy == 1
    reads = [call for call in runtime.calls if call.kind == "map"]
    assert len(reads) == result.chunks >= 3
    assert _known(reads[0]) == []
    for before, after in itertools.pairwise(reads):
        said = [line[3:] for line in facts(before).text.splitlines()]
        assert set(said) <= set(_known(after)) or any(isinstance(event, LevelDone) for event in events)
    statements = [statement for statement in result.statements if _WORD.search(statement.text)]
    assert len(statements) >= 3
    for statement in statements:
        found = _WORD.search(statement.text)
        assert found is not None
        assert statement.cite == f"p. {found[1]}"
    assert streamed(events) == result.summary


async def test_the_notes_so_far_stay_in_their_room_and_are_not_lost(scripted: MakeRuntime) -> None:
    runtime = scripted(facts, n_ctx=1024)
    finished, events = await run(runtime, paged(120), REFINE)
    assert finished.result.status == "done"
    assert sum(isinstance(event, LevelDone) for event in events) >= 2
    reads = [call for call in runtime.calls if call.kind == "map"]
    assert len(_known(reads[-1])) > 5
    numbers = [int(found[1]) for text in _known(reads[-1]) if (found := _WORD.search(text))]
    assert min(numbers) < 20 < 90 < max(numbers)


@pytest.mark.parametrize(
    "said", ["No changes are needed.", "1. There are no new facts.", "As an AI, I cannot add to it."]
)
async def test_no_changes_is_no_answer(scripted: MakeRuntime, said: str) -> None:
    def model(call: Call) -> Say:
        return Say(said) if call.kind == "map" and "KESTREL-020" in _fresh(call) else facts(call)

    finished, _ = await run(scripted(model, n_ctx=2048), paged(40), REFINE)
    marked = [entry for entry in finished.ledger if entry.mark == "extracted"]
    assert len(marked) == 1
    assert finished.result.status == "done"


async def test_a_note_that_completes_another_takes_its_place(scripted: MakeRuntime) -> None:
    def model(call: Call) -> Say:
        known = _known(call)
        if call.kind == "map" and len(known) == 1:
            return Say("1. The pump of the northern line was repaired in March at a cost of 300 pounds [1].")
        if call.kind == "map":
            return Say("" if known else "1. The pump of the northern line was repaired in March.")
        return facts(call)

    runtime = scripted(model, n_ctx=2048)
    await run(runtime, paged(40), REFINE)
    third = [call for call in runtime.calls if call.kind == "map"][2]
    assert _known(third) == ["The pump of the northern line was repaired in March at a cost of 300 pounds."]


async def test_a_stopped_run_goes_on(scripted: MakeRuntime) -> None:
    document = paged(40)
    first = scripted(facts, n_ctx=2048)
    finished, _ = await run(first, document, REFINE)
    again = scripted(facts, n_ctx=2048)
    known, events = await run(again, document, REFINE)
    assert not again.calls
    assert known.result.summary == finished.result.summary
    [plan] = [event for event in events if isinstance(event, PlanMade)]
    assert plan.reused == known.result.reused_chunks == finished.result.chunks
    assert all(event.reused for event in events if isinstance(event, ChunkDone))
