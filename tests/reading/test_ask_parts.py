"""Every part asked: what says nothing is left out, lists are joined with their places, a tree combines the rest."""

from __future__ import annotations

import json
import re
from collections import Counter

from tests.reading.conftest import MakeRuntime, paged
from tests.reading.scripted import Call, Say, ScriptedRuntime
from tests.reading.test_ask_passages import named, planted
from tui.documents.model import Document
from tui.reading.ask import ask, ask_all
from tui.reading.events import Answered, AskEvent, ChunkDone, Combining, GroupDone, PlanMade
from tui.reading.results import AskOptions, AskResult
from tui.server.errors import ServerAnswer
from tui.server.types import TextDelta

PARTS = AskOptions(strategy="map-reduce")
LIST = "List every code word."
CODE = re.compile(r"the code word is (\w+-\d+)")


def kind(call: Call) -> str:
    return "combine" if call.text.startswith("<|system|> You answer questions. You use only the findings") else "map"


def listing(call: Call) -> Say:
    """The code words of the part."""
    found = CODE.findall(call.text)
    return Say(json.dumps(found))


def telling(call: Call) -> Say:
    """What the part says of the otter; of several findings, all in one sentence."""
    if kind(call) == "combine":
        said = re.findall(r"\d+", " ".join(re.findall(r"^- .*watchers? (.*) at dawn", call.text, re.MULTILINE)))
        return Say(f"An otter was seen by watchers {', '.join(said)} at dawn.")
    found = re.search(r"[^\n.]*otter[^\n.]*\.", call.text.partition("End of the text")[0])
    return Say(found[0].strip() if found else "NOTHING")


async def asked(
    runtime: ScriptedRuntime, documents: list[Document], question: str, options: AskOptions = PARTS
) -> tuple[AskResult, list[AskEvent]]:
    events = [event async for event in ask(runtime.runtime, documents, question, options)]
    assert isinstance(events[-1], Answered)
    return events[-1].result, events


async def test_a_list_is_joined_with_its_places(scripted: MakeRuntime) -> None:
    runtime = scripted(listing, n_ctx=700)
    document = paged(12)
    words = CODE.findall(document.text)
    assert len(words) == 12
    result, events = await asked(runtime, [document], LIST)
    assert result.strategy == "map-reduce"
    assert result.answer.splitlines() == [f"- {word} [p. {page}]" for page, word in enumerate(words, 1)]
    [plan] = [event for event in events if isinstance(event, PlanMade)]
    assert len(runtime.calls) == plan.chunks > 3
    assert len([event for event in events if isinstance(event, ChunkDone)]) == plan.chunks
    assert runtime.client.most_busy == 2, "all slots are busy"
    assert [citation.pages for citation in result.citations] == [tuple(range(1, 13))]
    assert result.answer == "".join(event.text for event in events if isinstance(event, TextDelta))
    assert result.warnings == ()
    # Each character of the document stood in a prompt.
    asked_about = "".join(
        call.text.partition("Text:\n\n")[2].partition("\n\nEnd of the text.")[0] for call in runtime.calls
    )
    assert Counter("".join(asked_about.split())) == Counter("".join(document.text.split()))


async def test_a_second_run_asks_nothing(scripted: MakeRuntime) -> None:
    first, _ = await asked(scripted(listing, n_ctx=700), [paged(6)], LIST)
    again = scripted(listing, n_ctx=700, parallel=4)
    second, events = await asked(again, [paged(6)], LIST)
    assert not again.calls
    assert second.answer == first.answer
    assert second.prompt_tokens == 0
    assert all(event.reused for event in events if isinstance(event, ChunkDone))


async def test_a_tree_combines_what_was_said(scripted: MakeRuntime) -> None:
    document = planted(8, 2, "An otter was seen at the old lock by Ada Quill.")
    runtime = scripted(telling, n_ctx=700)
    one, _ = await asked(runtime, [document], "Who saw the otter?")
    assert one.answer == "An otter was seen at the old lock by Ada Quill.\n\n[p. 2]"
    assert all(kind(call) == "map" for call in runtime.calls), "a single finding needs no combining"

    many = planted_everywhere(40)
    runtime = scripted(telling, n_ctx=512)
    result, events = await asked(runtime, [many], "Who saw the otter?")
    assert any(isinstance(event, Combining) for event in events), "its writing is told"
    levels = {event.level for event in events if isinstance(event, GroupDone)}
    assert len(levels) > 1, "forty findings do not fit one prompt of 512 tokens"
    for number in (1, 20, 40):
        assert re.search(rf"\b{number}\b", result.answer.partition("[")[0])
    assert result.answer.endswith("[pp. 1-40]")


async def test_what_cannot_be_combined_stands_one_below_the_other(scripted: MakeRuntime) -> None:
    def circling(call: Call) -> Say:
        return Say("the otter swims " * 40) if kind(call) == "combine" else telling(call)

    runtime = scripted(circling, n_ctx=2000)
    result, _ = await asked(runtime, [planted_everywhere(6)], "Who saw the otter?")
    lines = result.answer.splitlines()
    assert len(lines) >= 2
    assert all(re.search(r" \[pp?\. [\d, -]+\]$", line) for line in lines)
    assert any("one below the other" in text for text in result.warnings)


async def test_nothing_anywhere(scripted: MakeRuntime) -> None:
    runtime = scripted(lambda call: Say("The text does not mention it."), n_ctx=700)
    result, _ = await asked(runtime, [paged(5)], "Who saw the otter?")
    assert result.answer == "No part of the documents says anything about this."
    assert result.citations == ()
    assert all(kind(call) == "map" for call in runtime.calls)


async def test_an_answer_without_end_is_asked_for_in_smaller_parts(scripted: MakeRuntime) -> None:
    limit = 6

    def long(call: Call) -> Say:
        found = CODE.findall(call.text)
        return Say(json.dumps(found)[:-3], "length") if len(found) > 1 else Say(json.dumps(found))

    runtime = scripted(long, n_ctx=1024)
    document = paged(limit, 6)
    result, _ = await asked(runtime, [document], LIST)
    words = CODE.findall(document.text)
    assert [line.split()[1] for line in result.answer.splitlines()] == words
    assert result.warnings == ()


async def test_parts_that_fail_are_named(scripted: MakeRuntime) -> None:
    def failing(call: Call) -> Say:
        if "KESTREL-003" in call.text or "-003" in call.text:
            return Say("", error=ServerAnswer("it broke", code=500, type="server_error"))
        return listing(call)

    runtime = scripted(failing, n_ctx=700)
    document = paged(6)
    result, events = await asked(runtime, [document], LIST)
    [complete] = [event.complete for event in events if isinstance(event, Answered)]
    [warning] = [text for text in result.warnings if text.startswith("Not read: ")]
    assert "3" in warning
    assert "it broke" in warning
    assert not complete
    # The next run asks only what failed.
    again = scripted(listing, n_ctx=700)
    whole, _ = await asked(again, [document], LIST)
    assert 0 < len(again.calls) <= 2
    assert len(whole.answer.splitlines()) == 6


async def test_several_questions_are_asked_of_a_part_in_a_row(scripted: MakeRuntime) -> None:
    """So that the part's tokens are in the slot already for the second."""

    def both(call: Call) -> Say:
        return listing(call) if "code word." in call.text else telling(call)

    runtime = scripted(both, n_ctx=700)
    questions = [LIST, "Who saw the otter?"]
    document = planted(6, 4, "An otter was seen at the old lock by Ada Quill.")
    events = [event async for event in ask_all(runtime.runtime, [document], questions, PARTS)]
    first, second = [event.result for event in events if isinstance(event, Answered)]
    assert len(first.answer.splitlines()) == 6
    assert second.answer.endswith("[p. 4]")
    for slot in (0, 1):
        texts = [call.text.partition("End of the text")[0] for call in runtime.calls if call.slot == slot]
        assert texts[::2] == texts[1::2]
    assert first.prompt_tokens + second.prompt_tokens == sum(await counted(runtime))


async def test_places_of_several_documents(scripted: MakeRuntime) -> None:
    runtime = scripted(listing, n_ctx=700)
    documents = [named(paged(2, seed=1), "a.pdf"), named(paged(2, seed=1), "b.pdf")]
    result, _ = await asked(runtime, documents, LIST)
    assert result.answer.splitlines()[0].endswith("[a.pdf p. 1; b.pdf p. 1]")
    assert [citation.path for citation in result.citations] == ["a.pdf", "b.pdf"]


async def counted(runtime: ScriptedRuntime) -> list[int]:
    return await runtime.counter.count_many([call.text for call in runtime.calls])


def planted_everywhere(pages: int) -> Document:
    from tui.documents.model import Span

    text, spans = "", []
    for number in range(1, pages + 1):
        page = f"The pump was repaired {'by the crew ' * 60}.\nAn otter was seen by watcher {number} at dawn.\n\n"
        spans.append(Span("page", str(number), number, len(text), len(text) + len(page)))
        text += page
    return Document(path="report.pdf", name="report.pdf", kind="pdf", text=text, spans=tuple(spans))
