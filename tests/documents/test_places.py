"""Where a part of a document is, and pages that are chosen."""

from __future__ import annotations

import pytest

from tui.documents.model import Document, Heading, Span, Table
from tui.documents.places import Lines, Places, page_words, runs
from tui.documents.selection import parse_pages, select_pages
from tui.errors import UsageProblem


def _pdf() -> Document:
    pages = ["First page.\n\n", "Second page.\n\n", "| a | b |\n| 1 | 2 |\n\n", "Fourth page.\n\n"]
    spans, at = [], 0
    for number, page in enumerate(pages, 1):
        spans.append(Span("page", "ix"[number % 2], number, at, at + len(page)))
        at += len(page)
    text = "".join(pages)
    table = text.index("| a")
    return Document(
        path="a.pdf",
        name="a.pdf",
        kind="pdf",
        text=text,
        spans=tuple(spans),
        headings=(Heading(0, 1, "First"), Heading(text.index("Fourth"), 1, "Fourth")),
        tables=(Table(table, table + 10, table + 20),),
    )


def _tree() -> Document:
    parts = ["(tree)\n\n", "===== a.py =====\nx = 1\ny = 2\n\n", "===== d.pdf =====\n", "One.\n", "Two.\n\n"]
    starts = [sum(map(len, parts[:index])) for index in range(len(parts) + 1)]
    spans = (
        Span("file", "(file tree)", 1, 0, starts[1]),
        Span("file", "a.py", 2, starts[1], starts[2]),
        Span("file", "d.pdf", 3, starts[2], starts[3]),
        Span("page", "1", 1, starts[3], starts[4], file="d.pdf"),
        Span("page", "2", 2, starts[4], starts[5], file="d.pdf"),
    )
    return Document(path="src", name="src", kind="tree", text="".join(parts), spans=spans)


def test_pages_are_cited_by_number_with_runs() -> None:
    document = _pdf()
    places = Places(document)
    end = len(document.text)
    assert places.pages(0, end) == (1, 2, 3, 4)
    assert places.cite([(0, 5)]) == "p. 1"
    assert places.cite([(0, end)]) == "pp. 1-4"
    fourth = document.text.index("Fourth")
    assert places.cite([(fourth, fourth + 5), (0, 3)]) == "pp. 1, 4"
    assert places.page_range([(fourth, fourth + 5), (0, 3), (0, 3)]) == (1, 4)
    assert places.cite([]) == ""


def test_white_space_at_the_ends_touches_no_page() -> None:
    document = _pdf()
    second = document.text.index("Second")
    assert Places(document).cite([(second - 2, second + 6)]) == "p. 2"


def test_files_of_a_tree_are_cited_by_path_and_line_and_their_documents_by_page() -> None:
    document = _tree()
    places = Places(document)
    y = document.text.index("y = 2")
    assert places.cite([(y, y + 5)]) == "a.py:2"
    assert places.cite([(document.text.index("x"), y + 5)]) == "a.py:1-2"
    assert places.lines(y, y + 5) == (Lines("a.py", 2, 2),)
    two = document.text.index("Two")
    assert places.cite([(two, two + 3)]) == "d.pdf p. 2"
    assert places.cite([(y, y + 5), (two, two + 3)]) == "d.pdf p. 2; a.py:2"


def test_text_is_cited_by_line_whatever_ends_its_lines() -> None:
    text = "one\r\ntwo\rthree\nfour"
    document = Document(
        path="a.txt", name="a.txt", kind="text", text=text, spans=(Span("file", "a.txt", 1, 0, len(text)),)
    )
    places = Places(document)
    assert places.cite([(0, 3)]) == "line 1"
    assert places.cite([(text.index("two"), len(text))]) == "lines 2-4"


def test_markdown_is_cited_by_heading_and_above_the_first_one_by_line() -> None:
    text = "Before.\n# Top\nText.\n## Deep\nMore.\n"
    headings = (Heading(8, 1, "Top"), Heading(text.index("##"), 2, "Deep"))
    document = Document(
        path="a.md",
        name="a.md",
        kind="markdown",
        text=text,
        spans=(Span("file", "a.md", 1, 0, len(text)),),
        headings=headings,
    )
    places = Places(document)
    more = text.index("More")
    assert places.cite([(more, more + 4)]) == "§ Deep"
    assert places.cite([(14, 18), (more, more + 4), (more, more + 5)]) == "§ Top; § Deep"
    assert places.cite([(0, 5)]) == "line 1"
    assert places.cite([(14, more)]) == "§ Top; § Deep", "a range that goes on under the next heading"
    assert places.heading(0) == ""


def test_a_range_under_many_headings_names_the_first_and_the_last() -> None:
    text = "".join(f"# H{number}\nText.\n" for number in range(9))
    headings = tuple(Heading(text.index(f"# H{number}"), 1, f"H{number}") for number in range(9))
    document = Document(
        path="a.md",
        name="a.md",
        kind="markdown",
        text=text,
        spans=(Span("file", "a", 1, 0, len(text)),),
        headings=headings,
    )
    assert Places(document).cite([(0, len(text))]) == "§ H0 to § H8"


def test_a_book_without_headings_is_cited_by_its_sections() -> None:
    text = "aaa\nbbb\n"
    document = Document(
        path="a.epub", name="a.epub", kind="epub", text=text,
        spans=(Span("section", "Loomings", 1, 0, 4), Span("section", "The Spouter-Inn", 2, 4, 8)),
    )  # fmt: skip
    assert Places(document).cite([(4, 7)]) == "§ The Spouter-Inn"


def test_runs() -> None:
    assert runs([]) == ""
    assert runs([3, 1, 2, 9, 9]) == "1-3, 9"
    assert page_words([7]) == "p. 7"
    assert page_words([7, 8]) == "pp. 7-8"


@pytest.mark.parametrize(
    ("wanted", "ranges"),
    [
        ("5", ((5, 5),)),
        ("5-10,14", ((5, 10), (14, 14))),
        (" 2 - 3 , 9- ", ((2, 3), (9, None))),
        ("1–2，4", ((1, 2), (4, 4))),
    ],
)
def test_pages_as_people_write_them(wanted: str, ranges: tuple[tuple[int, int | None], ...]) -> None:
    assert parse_pages(wanted) == ranges


@pytest.mark.parametrize("wanted", ["", "a", "0", "5-3", "-3", "1,,2", "1.5", "1-2-3"])
def test_pages_that_make_no_sense(wanted: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        parse_pages(wanted)
    assert caught.value.remedy


def test_chosen_pages_keep_their_numbers_headings_and_tables() -> None:
    document = _pdf()
    chosen = select_pages(document, "3-")
    assert chosen.text == document.text[document.spans[2].start :]
    assert [span.number for span in chosen.spans] == [3, 4]
    assert chosen.spans[0].start == 0
    assert chosen.spans[-1].end == len(chosen.text)
    assert [(heading.title, chosen.text[heading.start :][:6]) for heading in chosen.headings] == [("Fourth", "Fourth")]
    assert chosen.text[chosen.tables[0].start : chosen.tables[0].end] == "| a | b |\n| 1 | 2 |\n"
    assert chosen.warnings == ("Only pages 3-4 of 4 were taken, as asked.",)
    assert Places(chosen).cite([(0, 5)]) == "p. 3"


def test_what_was_taken_is_said_when_something_was_left() -> None:
    assert select_pages(_pdf(), "2").warnings == ("Only page 2 of 4 was taken, as asked.",)
    assert select_pages(_pdf(), "1-") == _pdf()


def test_a_page_that_does_not_exist_and_a_document_without_pages() -> None:
    with pytest.raises(UsageProblem, match="no page 5"):
        select_pages(_pdf(), "2,5")
    with pytest.raises(UsageProblem, match="has no pages"):
        select_pages(_tree(), "1")
