"""Every statement carries the places that it comes from, through maps, merges and the summary; none is invented."""

from __future__ import annotations

import re

import pytest

from tests.reading.conftest import MakeRuntime, paged
from tests.reading.running import run, streamed
from tests.reading.scripted import Call, Say, sensible
from tui.documents.model import Document, Span, Table
from tui.reading.events import Finished
from tui.reading.notes import Ids, Note, parents_of, place_notes
from tui.reading.results import SummaryOptions

_CODE_WORD = re.compile(r"Section (\d+): the code word is (KESTREL-\d+)\.")
IN_PARTS = SummaryOptions(strategy="map-reduce")


def facts(call: Call) -> Say:
    """A model that notes every code word, merges notes by naming their numbers, and sums up some of them."""
    if call.kind == "map":
        return Say("\n".join(f"{n}. {found[0]}" for n, found in enumerate(_CODE_WORD.finditer(call.body), 1)))
    noted = re.findall(r"^\[(\d+)\] (.*)$", call.body, re.MULTILINE)
    if call.kind == "reduce":
        kept = noted[:: max(1, len(noted) // 3)][:3]
        return Say("\n".join(f"{n}. {text} [{label}]" for n, (label, text) in enumerate(kept, 1)))
    if call.kind == "final":
        kept = noted[:: max(1, len(noted) // 5)][:5]
        return Say("The report names code words.\n\n" + "\n".join(f"- {text} [{label}]" for label, text in kept))
    return sensible(call)


def right(finished: Finished) -> int:
    """How many statements on a code word cite its page, and only that."""
    count = 0
    for statement in finished.result.statements:
        found = _CODE_WORD.search(statement.text)
        if found:
            assert statement.cite == f"p. {found[1]}", statement
            assert statement.citations[0].pages == (int(found[1]),)
            assert statement.supported
            assert f"{statement.text.removesuffix('.')} [p. {found[1]}]." in finished.result.summary
            count += 1
    return count


@pytest.mark.parametrize("n_ctx", [512, 1024, 2048])
async def test_pages_survive_all_merges(scripted: MakeRuntime, n_ctx: int) -> None:
    finished, events = await run(scripted(facts, n_ctx=n_ctx), paged(60), IN_PARTS)
    assert finished.result.levels >= 2 or n_ctx > 512
    assert right(finished) >= 3
    assert streamed(events) == finished.result.summary


async def test_a_model_that_names_no_numbers_or_wrong_ones_gets_the_same_places(scripted: MakeRuntime) -> None:
    def silent(call: Call) -> Say:
        return Say(re.sub(r" \[\d+\]", "", facts(call).text))

    def wrong(call: Call) -> Say:
        return Say(re.sub(r" \[\d+\]", " [1][99] [p. 7] (page 3)", facts(call).text))

    for model in (silent, wrong):
        finished, _ = await run(scripted(model, n_ctx=512), paged(60, seed=3 if model is wrong else 4), IN_PARTS)
        assert right(finished) >= 3
        assert "p. 7]" not in finished.result.summary.replace("[p. 7].", "")
        assert "page 3" not in finished.result.summary


async def test_merges_see_sentences_of_the_document_beside_the_notes(scripted: MakeRuntime) -> None:
    def in_other_words(call: Call) -> Say:
        if call.kind == "map":
            found = _CODE_WORD.findall(call.body)
            return Say(
                "\n".join(
                    f"{n}. They chose the word {word} for part {part}." for n, (part, word) in enumerate(found, 1)
                )
            )
        return facts(call)

    runtime = scripted(in_other_words, n_ctx=1024)
    document = paged(80)
    await run(runtime, document, IN_PARTS)
    merges = [call.body for call in runtime.calls if call.kind in ("reduce", "final")]
    assert len(merges) > 2
    flat = " ".join(document.text.split())
    for body in merges:
        sources = re.findall(r"^> (.*)$", body, re.MULTILINE)
        assert sources
        assert all(source in flat for source in sources)


async def test_one_pass_is_traced_to_the_sentences_of_the_document(scripted: MakeRuntime) -> None:
    def model(call: Call) -> Say:
        return Say(
            "Section 2 says that the code word is KESTREL-002 [p. 9]. Elephants bathe in warm rivers every summer.\n"
            "- The code word of section 3 is KESTREL-003 (p. 1)"
        )

    finished, events = await run(scripted(model, n_ctx=4096), paged(4))
    first, invented, last = finished.result.statements
    assert (first.cite, last.cite) == ("p. 2", "p. 3")
    assert (invented.cite, invented.citations, invented.supported) == ("", (), False)
    content = finished.result.content
    assert content is not None
    assert (content.statements, content.unsupported) == (3, 1)
    assert (
        finished.result.summary
        == streamed(events)
        == (
            "Section 2 says that the code word is KESTREL-002 [p. 2]. Elephants bathe in warm rivers every summer.\n"
            "- The code word of section 3 is KESTREL-003 [p. 3]"
        )
    )


async def test_another_language_keeps_the_pages_of_its_notes(scripted: MakeRuntime) -> None:
    def model(call: Call) -> Say:
        if call.kind == "final":
            return Say("Der Bericht ist lang und handelt von vielen Dingen, die geprüft und gemessen wurden [2].")
        return facts(call)

    finished, _ = await run(scripted(model, n_ctx=2048), paged(30), SummaryOptions(language="German"))
    [statement] = finished.result.statements
    assert statement.cite == "p. 2"
    assert statement.supported is None


async def test_code_is_cited_by_path_and_line(scripted: MakeRuntime) -> None:
    one = "===== a.py =====\n" + "".join(f"# filler line number {n} of the first file\n" for n in range(5))
    two = "===== lib/b.py =====\nimport os\n\ndef mend_pump(valve):\n    return valve.open_slowly()\n"
    spans = (Span("file", "a.py", 1, 0, len(one)), Span("file", "lib/b.py", 2, len(one), len(one + two)))
    document = Document(path="src", name="src", kind="tree", text=one + two, spans=spans)
    said = "The function mend_pump takes a valve and calls open_slowly on it, see argv[1]."
    finished, _ = await run(scripted(lambda call: Say(said), n_ctx=2048), document)
    [statement] = finished.result.statements
    assert statement.cite == "lib/b.py:3-4"
    assert finished.result.summary == said.removesuffix(".") + " [lib/b.py:3-4]."
    assert {(citation.path, citation.lines) for citation in statement.citations} == {
        ("src/lib/b.py", (3, 3)),
        ("src/lib/b.py", (4, 4)),
    }


def test_notes_are_narrowed_to_their_sentences() -> None:
    text = "The tower was built in 1858. The weather was fine. It fell in the storm of 1901."
    (first, ranges), (other, none) = place_notes(
        ["The tower was built in 1858 [4].", "Elephants bathe in rivers."], text
    )
    assert first == "The tower was built in 1858."
    assert [text[start:end] for start, end in ranges] == ["The tower was built in 1858."]
    assert (other, none) == ("Elephants bathe in rivers.", ())


def test_numbers_of_notes_are_believed_unless_the_words_speak_against_them() -> None:
    ids = Ids()
    notes = [
        Note(id=ids.next(), text=text, ranges=((n, n + 1),))
        for n, text in enumerate(("The tower was built in 1858.", "It fell in the storm of 1901.", "Keepers left."))
    ]
    assert parents_of("A storm destroyed it in 1901.", [2], notes) == [notes[1]]
    assert parents_of("The tower was built in 1858.", [3], notes) == [notes[0]]
    assert parents_of("Der Wärter ging fort.", [3], notes) == [notes[2]]
    assert parents_of("Built in 1858, the tower fell in the storm of 1901.", [1, 2], notes) == notes[:2]
    assert parents_of("Elephants bathe.", [], notes) == []


async def test_chinese_statements_are_traced(scripted: MakeRuntime) -> None:
    pages = ["灯塔建于1858年，由林德设计。天气很好。\n", "1901年的风暴摧毁了灯塔。管理员搬到了城里。\n"]
    spans = (Span("page", "1", 1, 0, len(pages[0])), Span("page", "2", 2, len(pages[0]), len("".join(pages))))
    document = Document(path="a.pdf", name="a.pdf", kind="pdf", text="".join(pages), spans=spans)
    said = "灯塔于1858年由林德设计建成。灯塔在1901年被风暴摧毁。"
    runtime = scripted(lambda call: Say(said), n_ctx=2048)
    finished, _ = await run(runtime, document)
    assert finished.result.summary == "灯塔于1858年由林德设计建成 [p. 1]。灯塔在1901年被风暴摧毁 [p. 2]。"
    assert "in Chinese" in runtime.calls[0].text


async def test_the_head_of_a_table_stands_before_its_later_rows(scripted: MakeRuntime) -> None:
    header = "| Unit | Crew | Cost |\n| --- | --- | --- |\n"
    text = header + "".join(f"| pump {n} | crew from Ansel {n} | {n}00 pounds |\n" for n in range(400))
    document = Document(
        path="a.md",
        name="a.md",
        kind="markdown",
        text=text,
        spans=(Span("file", "a.md", 1, 0, len(text)),),
        tables=(Table(0, len(header), len(text)),),
    )
    runtime = scripted(n_ctx=1024)
    finished, _ = await run(runtime, document, IN_PARTS)
    maps = [call for call in runtime.calls if call.kind == "map"]
    assert len(maps) > 4
    assert all(call.body.startswith(header) for call in maps)
    assert finished.result.coverage.fraction == 1.0
