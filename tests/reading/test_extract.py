"""Records from every part, by a scripted model: nothing is dropped, everything has its place, a rerun is free."""

from __future__ import annotations

import json
import re

import msgspec
import pytest

from tests.reading.conftest import MakeRuntime, paged
from tests.reading.scripted import Call, Say, ScriptedRuntime
from tui.documents.model import Document, Heading, Span
from tui.errors import DoesNotFit, InputProblem, UsageProblem
from tui.reading.events import ChunkDone, Extracted, ExtractEvent, PlanMade
from tui.reading.extract import extract_records
from tui.reading.extract_schema import parse_schema
from tui.reading.results import ExtractOptions, ExtractResult
from tui.server.errors import ServerAnswer, ServerGone

SCHEMA = parse_schema(b'{"word": "the code word", "number": "integer"}', "fields.json")
WORD = re.compile(r"the code word is (\w+-(\d+))")
OPTIONS = ExtractOptions(chunk_tokens=240)


def body(call: Call) -> str:
    return call.text.partition("End of the text.")[0]


def records(call: Call) -> list[dict[str, object]]:
    return [{"word": word, "number": int(number)} for word, number in WORD.findall(body(call))]


def finding(call: Call) -> Say:
    return Say(json.dumps(records(call)))


async def extracted(
    runtime: ScriptedRuntime, document: Document, options: ExtractOptions = OPTIONS
) -> tuple[ExtractResult, list[ExtractEvent]]:
    events = [event async for event in extract_records(runtime.runtime, document, SCHEMA, options)]
    assert isinstance(events[-1], Extracted)
    return events[-1].result, events


async def test_every_part_is_asked_and_every_record_has_its_page(scripted: MakeRuntime) -> None:
    runtime = scripted(finding, n_ctx=2048)
    document = paged(9)
    result, events = await extracted(runtime, document)
    assert [one.record["word"] for one in result.records] == [word for word, _ in WORD.findall(document.text)]
    assert [one.pages for one in result.records] == [(page,) for page in range(1, 10)]
    assert [one.cite for one in result.records] == [f"p. {page}" for page in range(1, 10)]
    assert {one.path for one in result.records} == {"report.pdf"}
    assert result.coverage.fraction == 1.0
    assert result.warnings == ()
    [plan] = [event for event in events if isinstance(event, PlanMade)]
    assert plan.chunks == result.chunks > 5
    assert runtime.client.most_busy == 2
    # One call more than parts: the schema is tried first. All are held to it.
    assert len(runtime.calls) == result.chunks + 1
    assert {call.sampling.json_schema for call in runtime.calls} == {SCHEMA.of_answer()}


async def test_a_second_run_asks_nothing(scripted: MakeRuntime) -> None:
    first, _ = await extracted(scripted(finding, n_ctx=2048), paged(9))
    again = scripted(finding, n_ctx=2048)
    second, events = await extracted(again, paged(9))
    assert not again.calls
    assert second.records == first.records
    assert second.reused_chunks == second.chunks
    assert all(event.reused for event in events if isinstance(event, ChunkDone))
    # Another question is another run.
    other = scripted(finding, n_ctx=2048)
    await extracted(other, paged(9), msgspec.structs.replace(OPTIONS, instruction="Every code word."))
    assert other.calls
    assert all("Every code word." in call.text for call in other.calls[1:])


async def test_a_list_that_is_cut_is_asked_for_in_smaller_parts(scripted: MakeRuntime) -> None:
    def cut(call: Call) -> Say:
        found = records(call)
        return Say(json.dumps(found)[:-5], "length") if len(found) > 1 else Say(json.dumps(found))

    runtime = scripted(cut, n_ctx=2048)
    document = paged(8, 4)
    result, _ = await extracted(runtime, document, ExtractOptions(chunk_tokens=600))
    assert [one.record["word"] for one in result.records] == [word for word, _ in WORD.findall(document.text)]
    assert result.coverage.fraction == 1.0


async def test_what_cannot_be_made_smaller_is_kept_as_far_as_it_came_and_named(scripted: MakeRuntime) -> None:
    def endless(call: Call) -> Say:
        return Say(json.dumps(records(call))[:-1] + ', {"word": "and so', "length") if records(call) else Say("[]")

    document = paged(3)
    result, events = await extracted(scripted(endless, n_ctx=2048), document)
    [unfinished] = [event.unfinished for event in events if isinstance(event, Extracted)]
    assert len(result.records) == 3
    assert result.coverage.fraction < 1.0
    [warning] = [text for text in result.warnings if "no end within" in text]
    assert warning.startswith("Read, but the answer was cut off: p")
    assert not any(text.startswith("Not read") for text in result.warnings)
    assert unfinished == result.coverage.characters_total - result.coverage.characters_read > 0
    # It is not in the journal as finished: another run asks again.
    again = scripted(finding, n_ctx=2048)
    whole, _ = await extracted(again, document)
    assert again.calls
    assert whole.coverage.fraction == 1.0
    assert len(whole.records) == 3


async def test_records_said_in_circles_are_kept_once(scripted: MakeRuntime) -> None:
    def circling(call: Call) -> Say:
        found = records(call)
        return Say(json.dumps(found * 40)) if found else Say("[]")

    result, _ = await extracted(scripted(circling, n_ctx=4096), paged(4))
    assert len(result.records) == 4
    assert result.coverage.fraction == 1.0


async def test_records_that_are_not_as_wanted_are_asked_for_again_and_named(scripted: MakeRuntime) -> None:
    def wrong(call: Call) -> Say:
        found = [{**record, "number": "many"} if record["number"] == 3 else record for record in records(call)]
        return Say(json.dumps(found))

    result, _ = await extracted(scripted(wrong, n_ctx=2048), paged(5))
    assert [one.record["number"] for one in result.records] == [1, 2, 4, 5]
    [warning] = [text for text in result.warnings if text.startswith("Read, but not all of the answer can be used: ")]
    assert "`number`" in warning

    def mended(call: Call) -> Say:
        return finding(call) if call.sampling.seed != 1 else wrong(call)

    result, _ = await extracted(scripted(mended, n_ctx=2048), paged(5))
    assert [one.record["number"] for one in result.records] == [1, 2, 3, 4, 5]


async def test_values_that_the_text_does_not_hold_are_marked(scripted: MakeRuntime) -> None:
    def inventing(call: Call) -> Say:
        return Say(json.dumps([{**record, "number": 4711} for record in records(call)]))

    result, _ = await extracted(scripted(inventing, n_ctx=2048), paged(3))
    assert [one.unsupported for one in result.records] == [("number",)] * 3
    assert any("3 records of 3" in warning for warning in result.warnings)


async def test_the_same_record_on_two_pages_is_one(scripted: MakeRuntime) -> None:
    def same(call: Call) -> Say:
        return Say('[{"word": "PUMP", "number": null}]' if "pump" in body(call) else "[]")

    result, _ = await extracted(scripted(same, n_ctx=2048), paged(4))
    [one] = result.records
    assert result.found > 1
    assert len(one.pages) > 1
    assert one.cite.startswith("pp. ")


async def test_lines_and_headings_where_there_are_no_pages(scripted: MakeRuntime) -> None:
    text = "# Setup\n\nNothing here.\n\n# Limits\n\nHere the code word is OTTER-7 indeed.\n"
    document = Document(
        path="notes.md",
        name="notes.md",
        kind="markdown",
        text=text,
        spans=(Span("file", "notes.md", 1, 0, len(text)),),
        headings=(Heading(0, 1, "Setup"), Heading(text.index("# Limits"), 1, "Limits")),
    )
    result, _ = await extracted(scripted(finding, n_ctx=2048), document)
    [one] = result.records
    assert (one.lines, one.heading, one.cite, one.pages) == ((7, 7), "Limits", "§ Limits", ())


async def test_a_schema_that_the_server_cannot_hold_answers_to(scripted: MakeRuntime) -> None:
    refusal = ServerAnswer("Pattern must start with '^'", code=400, type="invalid_request_error")
    with pytest.raises(UsageProblem) as caught:
        await extracted(scripted(lambda call: Say("", error=refusal), n_ctx=2048), paged(2))
    assert "Pattern must start" in caught.value.what


async def test_what_makes_no_sense(scripted: MakeRuntime) -> None:
    with pytest.raises(UsageProblem, match="`wort` is no field"):
        await extracted(scripted(), paged(2), ExtractOptions(key=("wort",)))
    empty = Document(path="a.txt", name="a.txt", kind="text", text=" \n", spans=())
    with pytest.raises(InputProblem):
        await extracted(scripted(), empty)
    with pytest.raises(DoesNotFit):
        await extracted(scripted(n_ctx=160), paged(2))


async def test_a_dead_server_is_an_error_and_what_was_read_is_kept(scripted: MakeRuntime) -> None:
    def dying(call: Call) -> Say:
        return Say("", error=ServerGone("It died.")) if call.number > 4 else finding(call)

    with pytest.raises(ServerGone):
        await extracted(scripted(dying, n_ctx=2048), paged(9))
    again = scripted(finding, n_ctx=2048)
    result, _ = await extracted(again, paged(9))
    assert result.reused_chunks >= 2
    assert len(result.records) == 9
