"""The chunker: joined chunks are the text, none is over its budget, and cuts are where a person would cut."""

from __future__ import annotations

import asyncio
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.documents.counters import Counting, count_bytes_level, count_words, many
from tui.documents.chunker import chunk_document
from tui.documents.code.outline import code_headings
from tui.documents.graphemes import whole_before
from tui.documents.headings import markdown_headings
from tui.documents.model import Chunk, Document, Heading, Span, Table
from tui.documents.plain import read_plain
from tui.documents.tables import markdown_tables
from tui.errors import UsageProblem

COUNTERS = {"bytes": count_bytes_level, "words": count_words}
SENTENCES = (
    "The pump was checked at night.",
    "Nobody had seen the northern line before; it ran on.",
    "道可道，非常道。",
    "名可名，非常名！",
    "吾輩は猫である。名前はまだ無い。",
    "모든 인간은 태어날 때부터 자유롭다.",
    "كل الناس أحرار ومتساوون.",
    "सभी मनुष्य स्वतंत्र हैं।",
    "def pump(self):\n    return self.night",
    "👩‍👩‍👧‍👦🇩🇪🇫🇷👍🏽 and more",
    "มนุษย์ทั้งหลายเกิดมามีอิสระ",
    "ខ្ញុំចូលចិត្តអាន។",
    "- an item of a list that goes on",
    "  2. a nested one",
    "| a | b |\n| --- | --- |\n| 1 | 2 |\n| three | four |",
    "```\nx = 1\n\ny = 2\n```",
    "/** what it does */\nint f(int a) {\n    return a;\n}",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "e\u0301\u0323a\u0308",
    "# A heading",
    "......",
    "   ",
)
JOINTS = (" ", "\n", "\n\n", "\r\n", "\r\n\r\n", "", "\t", "\u3000", "\n\n\n    ", "\r", "\u2028")


def document(text: str, kind: str = "text", **more: object) -> Document:
    spans = (Span("file", "a", 1, 0, len(text)),) if text else ()
    given: dict[str, object] = {"path": "a", "name": "a", "kind": kind, "text": text, "spans": spans}
    return Document(**(given | more))  # type: ignore[arg-type]  # fields of many types


def markdown(text: str) -> Document:
    return document(text, "markdown", headings=markdown_headings(text), tables=markdown_tables(text))


def paged(*pages: str) -> Document:
    spans = []
    place = 0
    for number, page in enumerate(pages, 1):
        spans.append(Span("page", str(number), number, place, place + len(page)))
        place += len(page)
    return document("".join(pages), "pdf", spans=tuple(spans))


def chunk(given: Document, budget: int, count: str = "words") -> list[Chunk]:
    chunks = asyncio.run(chunk_document(given, budget, many(COUNTERS[count])))
    check(given, budget, COUNTERS[count], chunks)
    return chunks


def check(given: Document, budget: int, count: object, chunks: list[Chunk]) -> None:
    """What holds for every document, budget and counter."""
    assert "".join(chunk.text for chunk in chunks) == given.text
    place = 0
    for index, chunk in enumerate(chunks):
        assert chunk.index == index
        assert chunk.start == place < chunk.end
        assert chunk.text == given.text[chunk.start : chunk.end]
        assert chunk.tokens == count(chunk.context + chunk.text) <= budget  # type: ignore[operator]  # a counter
        place = chunk.end
        if given.pages:
            touched = given.spans_in(chunk.start, chunk.end)
            assert chunk.pages == (touched[0].number, touched[-1].number)
            assert chunk.lines is None
        else:
            assert chunk.pages is None
        if chunk.context:
            assert any(
                given.text[table.start : table.header_end] == chunk.context and chunk.start < table.end
                for table in given.tables
                if table.header_end <= chunk.start
            )
    assert place == len(given.text)
    check_lines(given, chunks)


def check_lines(given: Document, chunks: list[Chunk]) -> None:
    """Lines as they are counted by hand, for a document of one file."""
    if given.pages or given.kind == "tree" or len(given.spans) != 1:
        return
    text = given.text
    number = [1]  # of the line that each place is in
    for place, character in enumerate(text):
        ends = character == "\n" or (character == "\r" and text[place + 1 : place + 2] != "\n")
        number.append(number[-1] + ends)
    for chunk in chunks:
        bare = chunk.text.strip()
        if bare:
            first = chunk.start + len(chunk.text) - len(chunk.text.lstrip())
            assert chunk.lines == (number[first], number[first + len(bare) - 1])


@st.composite
def texts(draw: st.DrawFn) -> str:
    parts = draw(
        st.lists(
            st.one_of(
                st.tuples(st.sampled_from(SENTENCES), st.sampled_from(JOINTS)).map("".join),
                st.text(max_size=12),
                st.text(alphabet="的一是不了人我在有。，", max_size=40),
                st.text(alphabet="ab .\n", max_size=60),
            ),
            max_size=60,
        )
    )
    return "".join(parts).encode("utf-8", "replace").decode()


@st.composite
def documents(draw: st.DrawFn) -> Document:
    text = draw(texts())
    kind = draw(st.sampled_from(["text", "markdown", "code", "pdf", "tree", "table", "html"]))
    if kind == "markdown":
        return markdown(text)
    if kind == "code":
        return document(text, "code", headings=code_headings(text, draw(st.sampled_from(["a.py", "a.c", "a.js"]))))
    if kind == "table":
        bounds = sorted(draw(st.integers(0, len(text))) for _ in range(3))
        return document(text, "table", tables=(Table(*bounds),) if bounds[0] < bounds[2] else ())
    cuts = sorted(set(draw(st.lists(st.integers(1, max(1, len(text) - 1)), max_size=6)))) if len(text) > 1 else []
    ends = [*cuts, len(text)]
    spans = tuple(
        Span("page" if kind == "pdf" else "file", str(number), number, start, end)
        for number, (start, end) in enumerate(zip([0, *cuts], ends, strict=True), 1)
        if end > start
    )
    starts = sorted(draw(st.lists(st.integers(0, max(0, len(text) - 1)), max_size=5))) if text else []
    headings = tuple(Heading(start, draw(st.integers(1, 3)), text[start : start + 5]) for start in starts)
    return document(text, kind, spans=spans, headings=headings)


@settings(max_examples=150, deadline=None)
@given(documents(), st.integers(16, 300), st.sampled_from(sorted(COUNTERS)))
def test_chunks_tile_the_text_within_the_budget(given: Document, budget: int, count: str) -> None:
    chunk(given, budget, count)


@settings(max_examples=60, deadline=None)
@given(documents(), st.integers(1, 15), st.sampled_from(sorted(COUNTERS)))
def test_the_smallest_budgets_work_or_are_refused_with_the_smallest_possible(
    given: Document, budget: int, count: str
) -> None:
    problem = None
    try:
        chunk(given, budget, count)
    except UsageProblem as refused:
        problem = refused
    if problem:
        smallest = max(map(COUNTERS[count], set(given.text)))
        assert budget < smallest
        assert f"{smallest} tokens" in problem.remedy
        chunk(given, smallest, count)


@pytest.mark.long
@settings(max_examples=3000, deadline=None)
@given(documents(), st.integers(1, 400), st.sampled_from(sorted(COUNTERS)))
def test_chunks_of_very_many_documents(given: Document, budget: int, count: str) -> None:
    if budget >= max(map(COUNTERS[count], set(given.text)), default=1):
        chunk(given, budget, count)


@settings(max_examples=150, deadline=None)
@given(documents(), st.integers(16, 120), st.sampled_from(sorted(COUNTERS)))
def test_no_grapheme_is_torn_that_fits_a_chunk(given: Document, budget: int, count: str) -> None:
    regex = pytest.importorskip("regex")
    clusters = regex.findall(r"\X", given.text)
    of = {}
    place = 0
    for cluster in clusters:
        of |= dict.fromkeys(range(place + 1, place + len(cluster)), cluster)
        place += len(cluster)
    for piece in chunk(given, budget, count):
        torn = of.get(piece.end)
        assert torn is None or COUNTERS[count](torn) > budget or len(torn) > 64


def test_an_empty_text_has_no_chunks() -> None:
    assert chunk(document(""), 16) == []


def test_a_text_that_fits_is_one_chunk() -> None:
    (only,) = chunk(document("A few words.\n\nAnd a few more.\n"), 16)
    assert only.tokens == 9


def test_a_budget_of_nothing_is_refused() -> None:
    with pytest.raises(UsageProblem):
        chunk(document("words"), 0)


def test_one_emoji_larger_than_the_budget_is_told() -> None:
    with pytest.raises(UsageProblem, match="4 tokens"):
        chunk(document("ab 👍 cd"), 3, "bytes")


def ends(chunks: list[Chunk]) -> list[str]:
    return [piece.text.rstrip()[-1:] for piece in chunks[:-1]]


def test_cuts_at_paragraphs() -> None:
    paragraph = "One two three. Four five six seven eight. Nine ten.\n\n"
    chunks = chunk(document(paragraph * 30), 40)
    assert len(chunks) <= 20
    assert all(piece.text.endswith(".\n\n") for piece in chunks)


def test_cuts_at_sentences() -> None:
    text = "The pump ran on and on. Mr. Brown saw it at 3.5 bar. Nobody else came, e.g. from the town. " * 30
    for piece in chunk(document(text), 50)[:-1]:
        assert piece.text.rstrip().endswith(("on.", "bar.", "town."))


@pytest.mark.parametrize("sentence", ["道可道，非常道。", "名可名，非常名！", "「吾輩は猫である。」", "是不是呢？"])
def test_cuts_at_chinese_and_japanese_sentences(sentence: str) -> None:
    for piece in chunk(document(sentence * 120), 64, "bytes")[:-1]:
        assert piece.text.endswith(sentence[-1])


def test_cuts_at_words_when_there_is_nothing_better() -> None:
    text = "wordsandmore " * 400
    for piece in chunk(document(text), 30)[:-1]:
        assert set(piece.text.split()) == {"wordsandmore"}


def test_cuts_inside_a_word_only_when_it_is_larger_than_a_chunk() -> None:
    chunks = chunk(document("x" * 5000 + " end"), 100, "bytes")
    assert all(len(piece.text) > 30 for piece in chunks[:-2])


def test_windows_lines_are_lines_and_not_paragraphs() -> None:
    text = ("One line of words here\r\n" * 4 + "\r\n") * 30
    chunks = chunk(document(text), 45)
    assert all(piece.text.endswith("\r\n\r\n") for piece in chunks)


def test_no_heading_is_left_at_the_end_of_a_chunk() -> None:
    body = "Some words of a section that go on for a while. "
    text = "".join(f"## Heading {number}\n\n{body * (1 + number % 5)}\n\n" for number in range(60))
    for budget in (40, 64, 100, 200):
        for piece in chunk(markdown(text), budget)[:-1]:
            assert not piece.text.rstrip().rsplit("\n", 1)[-1].startswith("#")


def test_headings_that_follow_each_other_stay_together() -> None:
    part = "# Part\n\n## Chapter\n\nSection\n-------\n\n" + "Words of the section come here. " * 6 + "\n\n"
    for piece in chunk(markdown(part * 20), 60)[:-1]:
        last = piece.text.rstrip().rsplit("\n", 1)[-1]
        assert not last.startswith(("#", "---", "Section"))


def test_heading_paths() -> None:
    body = "Words of the section come here and stay for a while. " * 3 + "\n\n"
    text = f"intro {body}# One\n\n{body}## Two\n\n{body}# Three\n\n{body}### Deep\n\n{body}"
    paths = [piece.heading for piece in chunk(markdown(text), 48)]
    assert paths == ["", "One", "One › Two", "Three", "Three › Deep"]


def test_pages_of_a_chunk() -> None:
    given = paged(*(f"Page {number} has these few words on it and ends.\n\n" for number in range(1, 13)))
    chunks = chunk(given, 33)
    assert chunks[0].pages == (1, 3)
    assert {number for piece in chunks for number in range(piece.pages[0], piece.pages[1] + 1)} == set(range(1, 13))  # type: ignore[index]


def test_a_page_that_ends_with_a_sentence_is_a_better_cut_than_the_next_sentence() -> None:
    page = "One two three four. " * 10 + "\n\n"
    chunks = chunk(paged(*[page] * 8), 60)
    assert all(piece.pages is not None and piece.pages[0] == piece.pages[1] for piece in chunks)


def test_a_page_torn_inside_a_sentence_is_no_reason_to_cut_there() -> None:
    first = "One two three four. " * 9 + "This sentence goes on"
    given = paged(f"{first}\n", "over the page and then ends. " + "One two three four. " * 9)
    for piece in chunk(given, 50)[:-1]:
        assert piece.text.rstrip().endswith(".")


def test_files_of_a_tree() -> None:
    part = "===== {} =====\n" + "x = 1\n" * 10 + "\n"
    text = "".join(part.format(name) for name in "abcdef")
    size = len(part.format("a"))
    spans = tuple(
        Span("file", name, place + 1, place * size, (place + 1) * size) for place, name in enumerate("abcdef")
    )
    chunks = chunk(document(text, "tree", spans=spans), 60)
    assert [piece.files for piece in chunks] == [(name,) for name in "abcdef"]


def test_code_is_cut_between_functions() -> None:
    function = "def pump(self, night):\n    first = 1\n\n    second = 2\n    return first + second\n\n\n"
    for piece in chunk(document(function * 40, "code"), 70)[1:]:
        assert piece.text.startswith("def ")


def test_no_crumbs_at_the_end() -> None:
    text = "word " * 110
    sizes = [piece.tokens for piece in chunk(document(text), 100)]
    assert len(sizes) == 2
    assert min(sizes) >= 40


def test_chunks_are_well_filled() -> None:
    text = " ".join(random.Random(3).choices(SENTENCES[:6], k=3000))
    chunks = chunk(document(text), 400, "bytes")
    assert sum(piece.tokens for piece in chunks[:-1]) / (len(chunks) - 1) > 0.85 * 400


def test_the_work_grows_with_the_text_and_not_faster() -> None:
    """By what the counter is asked, which needs no clock: two passes, in few calls."""
    paragraph = "The pump was checked at night. Nobody had seen the northern line before.\n\n"
    asked = []
    for times in (500, 5000):
        counter = Counting(count_words)
        given = document(paragraph * times)
        asyncio.run(chunk_document(given, 300, counter.many))
        assert counter.characters <= 2.3 * len(given.text) + 20_000
        asked.append(len(counter.calls))
    assert asked[1] <= asked[0] + 4


@pytest.mark.parametrize("unit", [".", " ", "\n", "。", "a", "\r\n", "👍🏽", "\u0301", "#", "- ", ".\n", "(", "\u3000"])
def test_monotonous_texts_take_no_longer_than_others(unit: str) -> None:
    """Each would take minutes if a search went back over a row of the same character from each of its places."""
    given = markdown(unit * (200_000 // len(unit)))
    asyncio.run(chunk_document(given, 2000, many(lambda text: len(text) // 8 + 1)))


@pytest.mark.parametrize(
    "unit", ["# a\n", "# a\n\n", "\n\n", "f(){\n", "def a():\n", "| a |\n| - |\n", "```\n", "- a\n  - b\n"]
)
@pytest.mark.parametrize("name", ["a.md", "a.py", "a.c"])
@pytest.mark.parametrize("budget", [16, 2000])
def test_rows_of_headings_items_and_tables_are_cut_as_quickly(name: str, unit: str, budget: int) -> None:
    given = read_plain((unit * (50_000 // len(unit)) + "x").encode(), name, name)
    chunks = asyncio.run(chunk_document(given, budget, many(lambda text: len(text) // 4 + 1)))
    assert len(chunks) <= 3 * 50_000 / 4 / budget + 2


async def test_cancelling_is_possible_while_counting() -> None:
    async def slow(texts: object) -> list[int]:
        await asyncio.sleep(3600)
        return []

    task = asyncio.create_task(chunk_document(document("words " * 1000), 100, slow))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@given(st.text(alphabet="aé\u0301\u200d👩👧🇩🇪👍\U0001f3fdक्षि각ᄀ각\r\n \u0600", max_size=40), st.integers(1, 40))
def test_cuts_between_graphemes_as_unicode_says(text: str, cut: int) -> None:
    regex = pytest.importorskip("regex")
    cut = min(cut, len(text))
    whole = {0}
    for cluster in regex.findall(r"\X", text):
        whole.add(max(whole) + len(cluster))
    below = [place for place in whole if 0 < place <= cut]
    if cut:
        found = whole_before(text, cut, 0)
        # Where Unicode joins more than we do not, we may only be the more careful.
        assert found in whole or not below
        assert found <= cut
