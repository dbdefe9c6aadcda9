"""Passages in a prompt: as many as the exact budget holds, in the documents' order, each under its place."""

from __future__ import annotations

import re

import pytest

from tests.reading.conftest import MakeRuntime, paged
from tests.reading.scripted import Call, Say, ScriptedRuntime
from tui.documents.model import Document, Span, Table
from tui.errors import DoesNotFit
from tui.reading.ask import ask, ask_all
from tui.reading.ask_passages import choose
from tui.reading.events import Answered, AskEvent, AskStarted, Overflow, PassagesChosen
from tui.reading.results import AskOptions, AskResult
from tui.reading.units import Units
from tui.server.errors import StreamBroken
from tui.server.types import TextDelta
from tui.templates import load_template

PASSAGES = AskOptions(strategy="passages", max_tokens=60)


def planted(pages: int, page: int, sentence: str) -> Document:
    """A paged document with a sentence of its own on one page."""
    document = paged(pages)
    text, spans, edge = "", [], 0
    for span in document.spans:
        part = document.text[span.start : span.end]
        part = part.rstrip("\n") + f"\n{sentence}\n\n" if span.number == page else part
        spans.append(Span("page", span.label, span.number, edge, edge + len(part)))
        text, edge = text + part, edge + len(part)
    return Document(path="report.pdf", name="report.pdf", kind="pdf", text=text, spans=tuple(spans))


def quoting(call: Call) -> Say:
    """The first sentence of the prompt that speaks of the otter."""
    found = re.search(r"[^\n.]*otter[^\n.]*\.", call.text)
    return Say(found[0] if found else "The passages do not say.")


async def asked(
    runtime: ScriptedRuntime, documents: list[Document], question: str, options: AskOptions = PASSAGES
) -> tuple[AskResult, list[AskEvent]]:
    events = [event async for event in ask(runtime.runtime, documents, question, options)]
    assert isinstance(events[-1], Answered)
    return events[-1].result, events


async def test_the_place_is_found_and_cited(scripted: MakeRuntime) -> None:
    runtime = scripted(quoting, n_ctx=1500)
    document = planted(30, 17, "An otter was seen at the old lock by Ada Quill.")
    result, events = await asked(runtime, [document], "Who saw an otter at the lock?")
    assert result.strategy == "passages"
    assert result.answer == "An otter was seen at the old lock by Ada Quill.\n\n[p. 17]"
    assert result.answer == "".join(event.text for event in events if isinstance(event, TextDelta))
    [citation] = result.citations
    assert citation.path == "report.pdf"
    assert 17 in citation.pages
    [chosen] = [event for event in events if isinstance(event, PassagesChosen)]
    assert 0 < chosen.parts < chosen.of_parts
    [call] = runtime.calls
    assert chosen.passages == 1
    assert f"\n[{chosen.cite}]\n" in call.text
    assert call.text.count("otter") == 2, "in the passage and in the question"


async def test_what_does_not_fit_is_said_with_both_numbers_and_passages_follow(scripted: MakeRuntime) -> None:
    runtime = scripted(quoting, n_ctx=1500)
    document = planted(30, 17, "An otter was seen at the old lock by Ada Quill.")
    result, events = await asked(runtime, [document], "Who saw an otter?", AskOptions(max_tokens=60))
    [overflow] = [event for event in events if isinstance(event, Overflow)]
    assert overflow.available == 1500
    assert overflow.needed > await runtime.counter.count(document.text) + 60
    assert any(f"{overflow.needed:,}" in text and "1,500" in text for text in result.warnings)
    [chosen] = [event for event in events if isinstance(event, PassagesChosen)]
    assert set(chosen.said) <= set(result.warnings)
    assert "[p. 17]" in result.answer
    with pytest.raises(DoesNotFit) as caught:
        await asked(runtime, [document], "Who saw an otter?", AskOptions(max_tokens=60, on_overflow="refuse"))
    assert caught.value.needed == overflow.needed
    with pytest.raises(DoesNotFit):
        await asked(runtime, [document], "Who saw an otter?", AskOptions(max_tokens=60, strategy="whole"))


@pytest.mark.parametrize("n_ctx", [400, 640, 1024, 1777, 3000])
@pytest.mark.parametrize("reserve", [20, 200])
async def test_as_many_as_fit_and_not_one_more(scripted: MakeRuntime, n_ctx: int, reserve: int) -> None:
    """The prompt and the answer's room never exceed the context, and the next best part would."""
    runtime = scripted(quoting, n_ctx=n_ctx)
    documents = [paged(12, seed=3), paged(9, seed=4)]
    units = await Units.make(runtime.runtime, documents, 100)
    template = load_template("ask-passages", None)
    question = "Which pump failed and which valve was replaced by the harbour office?"
    chosen = await choose(runtime.runtime, units, template, question, reserve)
    assert len(chosen.prompt.ids) + reserve <= n_ctx
    assert list(chosen.parts) == sorted(chosen.parts)
    assert chosen.found
    most = await choose(runtime.runtime, units, template, question, reserve - 10_000)
    assert len(most.prompt.ids) > n_ctx - reserve, "not all parts fit, so something had to be chosen"
    runtime.n_ctx += 120
    longer = await choose(runtime.runtime, units, template, question, reserve)
    assert set(chosen.parts) < set(longer.parts), "with room for one more part, it is taken"
    # The passages stand in the documents' order, word for word.
    text = chosen.prompt.text
    places = [text.index(units.chunks[part].text.strip()) for part in chosen.parts]
    assert places == sorted(places)


async def test_an_answer_from_a_table_is_traced_to_its_row(scripted: MakeRuntime) -> None:
    text = "name,unit,default\n" + "".join(f"p{number},seconds,{number % 3}0\n" for number in range(1, 13))
    spans = (Span("file", "p.csv", 1, 0, len(text)),)
    table = Document(
        path="p.csv", name="p.csv", kind="table", text=text, spans=spans, tables=(Table(0, 18, len(text)),)
    )
    units = await Units.make(scripted(quoting).runtime, [table])
    for number in (4, 7, 12):
        assert units.cite(units.trace(f"The default of p{number} is {number % 3}0.")) == f"line {number + 1}"


async def test_room_that_is_left_is_filled_to_its_half_ends_first(scripted: MakeRuntime) -> None:
    """One page speaks of the otter: beginning and end, where people sign, and a spread go with it."""
    runtime = scripted(quoting, n_ctx=4000)
    units = await Units.make(runtime.runtime, [planted(60, 30, "An otter was seen by Ada Quill.")], 100)
    template = load_template("ask-passages", None)
    chosen = await choose(runtime.runtime, units, template, "Who saw an otter?", 100)
    [speaks] = [part for part, chunk in enumerate(units.chunks) if "otter" in chunk.text]
    assert {0, speaks - 2, speaks - 1, speaks, speaks + 1, speaks + 2, len(units) - 1} <= set(chosen.parts)
    assert list(chosen.parts) == sorted(chosen.parts)
    assert 3900 / 2 - 150 < len(chosen.prompt.ids) <= 3900 / 2 + 150
    # What speaks of the question goes before all that does not.
    runtime.n_ctx = 700
    assert speaks in (await choose(runtime.runtime, units, template, "Who saw an otter?", 100)).parts


async def test_a_context_without_room_for_a_passage(scripted: MakeRuntime) -> None:
    with pytest.raises(DoesNotFit) as caught:
        await asked(scripted(quoting, n_ctx=300), [paged(4)], "Which pump?", AskOptions(strategy="passages"))
    assert caught.value.available == 300
    assert "--ctx-size" in caught.value.remedy


async def test_a_question_without_a_word_of_the_text_gets_a_spread_and_says_so(scripted: MakeRuntime) -> None:
    runtime = scripted(lambda call: Say("Von Pumpen."), n_ctx=1500)
    document = paged(20)
    for question in ("Wovon handelt es überhaupt?", "What does it say?"):
        result, _ = await asked(runtime, [document], question)
        [warning] = [text for text in result.warnings if "No word of the question" in text]
        assert "map-reduce" in warning
        [citation] = result.citations
        assert min(citation.pages) == 1
        assert max(citation.pages) > 12
        assert result.answer.startswith("Von Pumpen.\n\n[passages: pp. ")


async def test_no_source_is_named_for_an_answer_that_there_is_none(scripted: MakeRuntime) -> None:
    runtime = scripted(lambda call: Say("The text does not say."), n_ctx=1500)
    result, _ = await asked(runtime, [paged(20)], "Which pump failed?")
    assert result.answer == "The text does not say."


async def test_a_question_for_all_of_something_is_told_of_the_other_way(scripted: MakeRuntime) -> None:
    result, _ = await asked(scripted(quoting, n_ctx=1500), [paged(20)], "List every pump that failed.")
    assert any("--strategy map-reduce" in text for text in result.warnings)


async def test_chinese_and_code(scripted: MakeRuntime) -> None:
    lines = [f"第{n}号水泵在检查中运行正常，没有发现任何问题。\n" for n in range(400)]
    lines[250] = "南闸门的密封圈由李明更换。\n"
    text = "".join(lines)
    chinese = Document(
        path="报告.txt", name="报告.txt", kind="text", text=text, spans=(Span("file", "报告.txt", 1, 0, len(text)),)
    )
    seen: list[str] = []

    def noting(call: Call) -> Say:
        seen.append(call.text)
        return Say("李明更换了密封圈。")

    result, _ = await asked(scripted(noting, n_ctx=1200), [chinese], "谁更换了南闸门的密封圈？")
    assert "南闸门的密封圈由李明更换" in seen[0]
    assert "[line 251]" in result.answer

    text = "".join(f"def helper_{n}(value):\n    return value * {n}\n\n\n" for n in range(300))
    text += "def parseHttpHeader(line):\n    return line.partition(':')[0]\n"
    code = Document(
        path="tools.py", name="tools.py", kind="code", text=text, spans=(Span("file", "tools.py", 1, 0, len(text)),)
    )
    result, _ = await asked(scripted(noting, n_ctx=1200), [code], "What does parse_http_header return?")
    assert "def parseHttpHeader" in seen[-1]
    assert re.search(r"^\[tools\.py:\d+-1202\]$", seen[-1], re.MULTILINE)


async def test_several_documents_are_told_apart(scripted: MakeRuntime) -> None:
    other = named(planted(12, 5, "An otter was fed by Max Stone."), "other.pdf")
    first = planted(12, 9, "An otter was seen at the old lock by Ada Quill.")
    runtime = scripted(lambda call: Say("Ada Quill saw an otter at the old lock. Max Stone fed an otter."), n_ctx=1500)
    result, _ = await asked(runtime, [first, other], "Who fed or saw an otter?")
    assert result.answer.endswith("[report.pdf p. 9; other.pdf p. 5]")
    assert [citation.path for citation in result.citations] == ["report.pdf", "other.pdf"]
    assert runtime.calls[0].text.count("<document name=") == 2


async def test_several_questions_share_one_index_and_come_in_order(scripted: MakeRuntime) -> None:
    runtime = scripted(quoting, n_ctx=1500)
    document = planted(30, 17, "An otter was seen at the old lock by Ada Quill.")
    questions = ["Who saw the otter?", "Where was the otter?"]
    events = [event async for event in ask_all(runtime.runtime, [document], questions, PASSAGES)]
    assert [event.question for event in events if isinstance(event, AskStarted)] == questions
    assert [event.result.question for event in events if isinstance(event, Answered)] == questions


async def test_a_broken_stream_leaves_what_had_come_and_the_error(scripted: MakeRuntime) -> None:
    error = StreamBroken("The answer broke off.", "Try again.")
    runtime = scripted(lambda call: Say("An otter was", error=error), n_ctx=1500)
    document = planted(30, 17, "An otter was seen at the old lock by Ada Quill.")
    seen: list[AskEvent] = []
    with pytest.raises(StreamBroken):
        async for event in ask_all(runtime.runtime, [document], ["Who saw the otter?", "Where?"], PASSAGES):
            seen.append(event)  # noqa: PERF401  (the events before the error are what is asserted)
    first, second = [event.result for event in seen if isinstance(event, Answered)]
    assert first.answer == "An otter was"
    assert first.error
    assert "broke off" in first.error
    assert (second.question, second.answer, second.error) == ("Where?", "", first.error)
    assert len(runtime.calls) == 1, "nothing more is asked of a server that failed"


def named(document: Document, name: str) -> Document:
    import msgspec

    return msgspec.structs.replace(document, path=name, name=name)
