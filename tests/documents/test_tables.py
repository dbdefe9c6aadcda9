"""Tables: found in Markdown, cut between rows only, their header repeated as context."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from tests.documents.counters import count_bytes_level, many
from tui.documents.chunker import chunk_document
from tui.documents.model import Chunk, Document, Span, Table
from tui.documents.plain import read_plain
from tui.documents.tables import markdown_tables, rows_of

TEXT = """Before.

| Station | Level |
| :--- | ---: |
| north | 3.1 |
| south \\| west | 2.8 |

```
| not | a table |
| --- | --- |
| but | code |
```

Name | Year
--- | ---
Ada | 1815

not a table
---

|only|one|
"""


def test_tables_of_markdown() -> None:
    found = markdown_tables(TEXT)
    assert [TEXT[table.start : table.header_end] for table in found] == [
        "| Station | Level |\n| :--- | ---: |\n",
        "Name | Year\n--- | ---\n",
    ]
    assert [TEXT[table.header_end : table.end] for table in found] == [
        "| north | 3.1 |\n| south \\| west | 2.8 |\n",
        "Ada | 1815\n",
    ]


def test_windows_line_ends() -> None:
    text = TEXT.replace("\n", "\r\n")
    assert [text[table.start : table.end].replace("\r\n", "\n") for table in markdown_tables(text)] == [
        TEXT[table.start : table.end] for table in markdown_tables(TEXT)
    ]


@pytest.mark.parametrize("unit", ["|-|\n", "| a |\n", "|", "a|b\n-|-\n", "```\n"])
def test_tables_of_strange_texts_are_found_in_one_pass(unit: str) -> None:
    text = unit * (400_000 // len(unit))
    for table in markdown_tables(text):
        assert table.start < table.header_end <= table.end <= len(text)


def test_rows_are_lines_or_what_the_reader_said() -> None:
    text = 'a,b\n1,"x\ny"\n2,z\n'
    assert rows_of(text, Table(0, 4, len(text))) == [4, 9, 12, 16]
    assert rows_of(text, Table(0, 4, len(text), (0, 4, 12))) == [4, 12, 16]


def chunks_of(document: Document, budget: int) -> list[Chunk]:
    found = asyncio.run(chunk_document(document, budget, many(count_bytes_level)))
    assert "".join(chunk.text for chunk in found) == document.text
    assert all(chunk.tokens == count_bytes_level(chunk.context + chunk.text) <= budget for chunk in found)
    return found


def test_rows_are_whole_and_the_header_is_repeated() -> None:
    header = "| station | level | remark |\n| --- | --- | --- |\n"
    rows = "".join(f"| pump {n} | {n}.5 | Checked. And so on. |\n" for n in range(120))
    document = read_plain(f"# Report\n\nSome words.\n\n{header}{rows}\nAfter it.\n".encode(), "a.md", "a.md")
    assert 2 * count_bytes_level(header) <= 120
    for budget in (120, 200, 500):
        found = chunks_of(document, budget)
        assert len(found) > 3
        for before, after in itertools.pairwise(found):
            assert before.text.endswith("|\n") or before.end <= document.tables[0].start
            inside = document.tables[0].header_end <= after.start < document.tables[0].end
            assert after.context == (header if inside else "")
            assert not before.text.endswith(header)


def test_a_header_larger_than_half_the_budget_is_not_repeated() -> None:
    header = f"| {' | '.join(f'a long name of column {n}' for n in range(9))} |\n|{' --- |' * 9}\n"
    rows = f"|{' x |' * 9}\n" * 60
    document = read_plain((header + rows).encode(), "a.md", "a.md")
    found = chunks_of(document, 150)
    assert len(found) > 3
    assert not any(chunk.context for chunk in found)


def test_a_row_is_rather_whole_than_under_its_header() -> None:
    header = "| a | b |\n| --- | --- |\n"
    row = f"| {'word ' * 12}| {'more ' * 10}|\n"
    document = read_plain((header + row * 20).encode(), "a.md", "a.md")
    room = count_bytes_level(row) + 4
    assert count_bytes_level(header) <= room // 2 < count_bytes_level(header + row)
    found = chunks_of(document, room)
    assert all(chunk.text.endswith("|\n") for chunk in found)


def test_records_with_line_ends_inside() -> None:
    head = "name,remark\n"
    records = [f'pump {n},"first line. Second one.\nthird, {n}"\n' for n in range(60)]
    text = head + "".join(records)
    starts = [0]
    for record in (head, *records[:-1]):
        starts.append(starts[-1] + len(record))
    document = Document(
        path="a.csv",
        name="a.csv",
        kind="table",
        text=text,
        spans=(Span("file", "a.csv", 1, 0, len(text)),),
        tables=(Table(0, len(head), len(text), tuple(starts)),),
    )
    found = chunks_of(document, 150)
    assert len(found) > 3
    assert all(chunk.start in starts for chunk in found)
    assert {chunk.context for chunk in found[1:]} == {head}
