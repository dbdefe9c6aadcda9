"""Where real passages are cut: English, Chinese, Japanese, Markdown, Python, C, CSV, each at many budgets."""

from __future__ import annotations

import asyncio
import bisect
import itertools
import re
from pathlib import Path

import pytest

from tests.documents.counters import count_bytes_level, many
from tui.documents.chunker import chunk_document
from tui.documents.endings import ends_sentence
from tui.documents.fences import fences
from tui.documents.model import Chunk, Document, Heading, Span
from tui.documents.options import ReadOptions
from tui.documents.sources import read_bytes
from tui.documents.tables import rows_of

PASSAGES = Path(__file__).parent.parent / "data" / "passages"
BUDGETS = (120, 180, 250, 400, 700)
NAMES = ("alice.txt", "taohuayuan.txt", "neko.txt", "station.md", "pump.py", "pump.c", "levels.csv")


def read(name: str) -> Document:
    return read_bytes((PASSAGES / name).read_bytes(), name, name, ReadOptions())


def chunks(document: Document, budget: int) -> list[Chunk]:
    found = asyncio.run(chunk_document(document, budget, many(count_bytes_level)))
    assert "".join(chunk.text for chunk in found) == document.text
    assert all(count_bytes_level(chunk.context + chunk.text) == chunk.tokens <= budget for chunk in found)
    return found


def within_reach(text: str, start: int, end: int) -> bool:
    """Whether a sentence ends in the second half of the chunk."""
    half = start + (end - start) // 2
    return any(
        not text[:place].rstrip().endswith(":") and ends_sentence(text[start:place]) for place in range(half, end)
    )


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("name", ["alice.txt", "taohuayuan.txt", "neko.txt", "station.md"])
def test_no_sentence_is_cut_where_its_end_is_within_reach(name: str, budget: int) -> None:
    document = read(name)
    for chunk in chunks(document, budget)[:-1]:
        if within_reach(document.text, chunk.start, chunk.end) and document.kind == "text":
            assert ends_sentence(chunk.text), chunk.text[-60:]
        elif document.kind == "markdown":
            assert ends_sentence(chunk.text) or chunk.text.rstrip().endswith((";", "|", "```")), chunk.text[-60:]


@pytest.mark.parametrize("budget", BUDGETS)
def test_markdown(budget: int) -> None:
    document = read("station.md")
    text = document.text
    (table,) = document.tables
    rows = rows_of(text, table)
    (fence,) = fences(text)
    items = [match.start() for match in re.finditer(r"^(?: {2})?- ", text, re.M)]
    ends = [*items[1:], text.index("\n## Readings")]
    found = chunks(document, budget)
    for chunk in found[:-1]:
        assert not chunk.text.rstrip().rsplit("\n", 1)[-1].startswith("#")
        cut = chunk.end
        if table.start < cut < table.end:
            assert cut in rows
        if count_bytes_level(text[fence[0] : fence[1]]) <= budget * 0.7:
            assert not fence[0] < cut < fence[1]
        if budget > 120:  # one item is longer
            assert not any(first < cut < last for first, last in zip(items, ends, strict=True))
    assert all(
        chunk.context == text[table.start : table.header_end]
        for chunk in found
        if table.header_end <= chunk.start < table.end
    )


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("name", ["pump.py", "pump.c"])
def test_functions_that_fit_are_whole(name: str, budget: int) -> None:
    document = read(name)
    text = document.text
    found = chunks(document, budget)
    ends = [chunk.end for chunk in found]
    for heading, following in itertools.pairwise([*document.headings, None]):
        assert heading is not None
        if following is not None and following.level > heading.level:
            continue
        end = following.start if following else len(text)
        body = text[heading.start : end].rstrip()
        if count_bytes_level(text[heading.start : end]) <= budget * 0.97:
            assert bisect.bisect_right(ends, heading.start) == bisect.bisect_left(ends, heading.start + len(body))
    assert not any(re.search(r"(^\s*@\w+|\*/|^\s*#.*|:)\s*\Z", chunk.text[-60:]) for chunk in found)


def test_heading_paths_and_lines_of_code() -> None:
    document = read("pump.py")
    found = chunks(document, 160)
    lines = document.text.split("\n")
    paths = {chunk.heading for chunk in found}
    assert {"Pump › start", "Pump › drain", "busiest"} <= paths
    for chunk in found:
        assert chunk.lines is not None
        first, last = chunk.lines
        assert lines[first - 1].strip() == chunk.text.strip().split("\n")[0].strip()
        assert lines[last - 1].strip() == chunk.text.strip().split("\n")[-1].strip()


def test_what_stands_after_a_class_is_not_in_it() -> None:
    body = "".join(f"    value_{n} = {n}\n" for n in range(30))
    text = f"class Pump:\n    def run(self):\n    {body.replace(chr(10), chr(10) + '    ')}\n\n" + "x = 1\n" * 80
    data = text.encode()
    document = read_bytes(data, "a.py", "a.py", ReadOptions())
    assert chunks(document, 150)[-1].heading == ""


@pytest.mark.parametrize("budget", BUDGETS)
def test_records(budget: int) -> None:
    document = read("levels.csv")
    (table,) = document.tables
    rows = rows_of(document.text, table)
    found = chunks(document, budget)
    assert len(found) > 1
    for chunk in found[1:]:
        assert chunk.start in rows
        assert chunk.context == "month,station,level,remark\n"


def test_a_tree_is_cut_at_files_and_pages_know_theirs() -> None:
    files = [("src/a.py", "def a():\n    return 1\n" * 13), ("notes.md", "One two three. Four five six.\n\n" * 8)]
    parts, spans, place = [], [], 0
    for number, (name, body) in enumerate(files, 1):
        part = f"===== {name} =====\n{body}\n"
        spans.append(Span("file", name, number, place, place + len(part)))
        parts.append(part)
        place += len(part)
    for page in (1, 2, 3):
        part = f"Page {page} has these words. And it ends here.\n\n" * 4
        spans.append(Span("page", str(page), page, place, place + len(part), "docs/b.pdf"))
        parts.append(part)
        place += len(part)
    document = Document(path="a", name="a", kind="tree", text="".join(parts), spans=tuple(spans))
    sizes = [count_bytes_level(part) for part in parts]
    found = chunks(document, int(max(*sizes[:2], sum(sizes[2:])) * 1.05))
    assert len(found) > 1
    assert {chunk.start for chunk in found} <= {span.start for span in spans[:3]}
    assert [chunk.files for chunk in found] == [("src/a.py",), ("notes.md",), ("docs/b.pdf",)]
    assert [chunk.pages for chunk in found] == [None, None, (1, 3)]
    assert [chunk.lines for chunk in found] == [(1, 26), (1, 15), None]


def test_markdown_in_a_tree_keeps_its_headings() -> None:
    body = "Words of the section come here and stay for a while.\n" * 6
    text = f"===== a.md =====\n# One\n\n{body}\n## Two\n\n{body}\n"
    headings = tuple(
        Heading(text.index(f"{'#' * level} {title}"), level, title) for level, title in ((1, "One"), (2, "Two"))
    )
    spans = (Span("file", "a.md", 1, 0, len(text)),)
    document = Document(path="a", name="a", kind="tree", text=text, spans=spans, headings=headings)
    found = chunks(document, 150)
    assert found[-1].heading == "One › Two"
    assert not any(chunk.text.rstrip().rsplit("\n", 1)[-1].startswith("#") for chunk in found)


@pytest.mark.parametrize("name", NAMES)
def test_every_passage_at_small_budgets(name: str) -> None:
    document = read(name)
    for budget in range(16, 64, 5):
        chunks(document, budget)
