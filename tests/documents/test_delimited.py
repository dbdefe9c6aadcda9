"""CSV and TSV: the text stays as it is; header, records and faults are found."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui.documents.delimited import read_delimited
from tui.documents.loader import read_document
from tui.documents.model import Document
from tui.documents.options import ReadOptions
from tui.documents.refusal import Refusal


def read(text: str | bytes, name: str = "a.csv") -> Document:
    data = text.encode() if isinstance(text, str) else text
    document = read_delimited(data, name, name, ReadOptions())
    if isinstance(text, str):
        assert document.text == text
    assert [(span.start, span.end) for span in document.spans] == [(0, len(document.text))]
    return document


def header(document: Document) -> str:
    (table,) = document.tables
    assert table.end == len(document.text)
    return document.text[table.start : table.header_end]


@pytest.mark.parametrize(
    ("text", "name", "head"),
    [
        ("name,age\nBob,3\nEve,4\n", "a.csv", "name,age\n"),
        ("name;age\r\nBob;3,5\r\nEve;4,1\r\n", "a.csv", "name;age\r\n"),
        ("name|note\nBob|a, b, c\nEve|d\n", "a.csv", "name|note\n"),
        ("a\tb\n1\t2,3,4\n3\t4,5,6\n", "a.tsv", "a\tb\n"),
        (",size\n0,12\n1,13\n", "a.csv", ",size\n"),
        ("a,b\r1,2\r", "a.csv", "a,b\r"),
        ("sep=;\r\nid;text\r\n1;b\r\n", "a.csv", "id;text\r\n"),
        ("amount\n12\n13\n", "a.csv", None),
        ('"first ""name""",b\n1,2\n', "a.csv", '"first ""name""",b\n'),
        ("名前,年齢\n太郎,12\n", "a.csv", "名前,年齢\n"),
        ("1,2\n3,4\n", "a.csv", ""),
        ("2024-01-02,$5\n2024-01-03,$6\n", "a.csv", ""),
        ("yes,no\nno,yes\nyes,no\n", "a.csv", ""),
        ("Bob,3\n", "a.csv", ""),
    ],
)
def test_delimiter_and_header(text: str, name: str, head: str | None) -> None:
    document = read(text, name)
    assert document.warnings == ()
    assert document.kind == "table"
    if head is None:
        assert document.tables == ()
    else:
        assert header(document) == head
        assert document.tables[0].row_starts == ()


def test_line_ends_inside_a_field() -> None:
    text = 'id,text\n1,"a\nb ""q"", c"\n\n2,"x\r\ny"\n3,z\n'
    (table,) = read(text).tables
    rows = [text[start:end] for start, end in zip(table.row_starts, [*table.row_starts[1:], table.end], strict=True)]
    assert rows == ["id,text\n", '1,"a\nb ""q"", c"\n\n', '2,"x\r\ny"\n', "3,z\n"]


def test_ragged_records_are_named_by_line() -> None:
    document = read("a,b\n1,2\n3\n4,5\n6,7,8\n")
    assert document.warnings == ("2 records have another number of fields than the usual 2: lines 3, 5.",)


def test_a_quotation_mark_without_partner_swallows_nothing() -> None:
    document = read('id,text\n1,"never ends\n2,b\n3,c\n')
    assert header(document) == "id,text\n"
    assert document.warnings == ("A quotation mark has no partner, so each line was taken for a record.",)
    inches = read('id,text\n1,5" pipe\n2,6" pipe\n3,7" pipe\n')
    assert inches.warnings == ()


def test_prose_is_no_table() -> None:
    document = read("Just prose, with commas\nand more\nlines, of, text.\nThe end.\n")
    assert document.tables == ()
    assert "plain lines" in document.warnings[0]


def test_encodings_are_told() -> None:
    document = read(b"\xff\xfe" + "a,b\n1,2\n".encode("utf-16-le"))
    assert document.encoding == "utf-16-le"
    assert header(document) == "a,b\n"
    assert "byte order mark" in document.warnings[0]
    japanese = read_delimited("名前;年\n太郎;1\n".encode("cp932"), "a", "a.csv", ReadOptions(encoding="cp932"))
    assert header(japanese) == "名前;年\n"


def test_long_fields_and_nothing_at_all() -> None:
    assert header(read("a,b\n" + "x" * 300_000 + ",2\n")) == "a,b\n"
    with pytest.raises(Refusal, match="white space"):
        read(" \n")
    with pytest.raises(Refusal, match="binary"):
        read(bytes(range(256)) * 8)


async def test_through_the_loader(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_bytes(b"a,b\r\n1,2\r\n")
    document = await read_document(file)
    assert document.text == "a,b\r\n1,2\r\n"
    assert header(document) == "a,b\r\n"
