"""Documents among the files of a tree: read by their own readers, cited by their pages, never fatal."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.documents.pdfs import WORDS, pages
from tui.documents import sources
from tui.documents.limits import CallTimedOut, call_limit
from tui.documents.model import Document
from tui.documents.options import ReadOptions
from tui.documents.places import Places
from tui.documents.refusal import Refusal
from tui.documents.tree.reader import HEAD_LABEL, read_tree

PAGE = "<!doctype html><html><body><h1>Pumps</h1><p>How a pump is mended.</p></body></html>"


def tree(root: Path, options: ReadOptions | None = None) -> Document:
    """The tree as a document, its spans checked to tile the text."""
    document = read_tree(root, str(root), root.name, options)
    place = 0
    for span in document.spans:
        assert span.start == place <= span.end
        place = span.end
    assert place == len(document.text)
    return document


def spans(document: Document) -> list[tuple[str, str, int]]:
    return [(span.kind, span.file or span.label, span.number) for span in document.spans]


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    (tmp_path / "a.py").write_text("a = 1\n", encoding="utf-8")
    (tmp_path / "z.py").write_text("z = 1\n", encoding="utf-8")
    (tmp_path / "paper.pdf").write_bytes(pages([f"First page. {WORDS}"], [f"Second page. {WORDS}"]))
    return tmp_path


def test_a_pdf_among_code_is_read_with_its_pages(mixed: Path) -> None:
    document = tree(mixed)
    assert spans(document) == [
        ("file", HEAD_LABEL, 1),
        ("file", "a.py", 2),
        ("page", "paper.pdf", 1),
        ("page", "paper.pdf", 2),
        ("file", "z.py", 4),
    ]
    assert document.text.count("===== paper.pdf =====\n") == 1
    first = document.spans[2]
    assert document.text[first.start : first.end].startswith("===== paper.pdf =====\nFirst page.")
    places = Places(document)
    second = document.text.index("Second page")
    assert places.cite([(second, second + 5)]) == "paper.pdf p. 2"
    line = document.text.index("z = 1")
    assert places.cite([(line, line + 5)]) == "z.py:1"
    assert document.pages == 2
    assert not document.warnings


def test_a_document_that_cannot_be_read_is_named_with_its_reason(mixed: Path) -> None:
    (mixed / "bad.pdf").write_bytes(b"%PDF-1.7 and nothing more")
    (mixed / "slides.pptx").write_bytes(b"PK\x03\x04 no zip at all")
    document = tree(mixed)
    said = "\n".join(document.warnings)
    assert "bad.pdf: It " in said
    assert "slides.pptx: It is a presentation" in said
    assert said.count("was not read") == 2
    assert "bad.pdf  (a document, not read)\n" in document.text
    assert "First page." in document.text


def test_a_tree_of_documents_alone_is_read(tmp_path: Path) -> None:
    (tmp_path / "paper.pdf").write_bytes(pages([WORDS]))
    assert WORDS[:20] in tree(tmp_path).text


def test_a_document_that_takes_too_long_costs_itself_alone(mixed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(*_: object) -> Document:
        while True:
            time.sleep(0.01)

    monkeypatch.setattr(sources, "read_bytes", slow)
    document = tree(mixed, ReadOptions(seconds=0.6))
    assert document.warnings == ("paper.pdf: It took longer than 0.1 s, and was not read.",)


@pytest.mark.parametrize("error", [MemoryError(), ValueError("odd"), RecursionError()])
def test_a_reader_that_fails_costs_its_document_alone(
    mixed: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def broken(*_: object) -> Document:
        raise error

    monkeypatch.setattr(sources, "read_bytes", broken)
    (warning,) = tree(mixed).warnings
    assert warning.startswith("paper.pdf: It ")


def test_when_the_time_is_up_the_text_is_read_all_the_same(mixed: Path) -> None:
    document = tree(mixed, ReadOptions(seconds=0))
    assert "z = 1" in document.text
    assert "1 document in the folder was not read, for the time was up; give it by its own name: paper.pdf" in (
        document.warnings
    )


def test_a_password_is_for_the_documents_inside_too(tmp_path: Path) -> None:
    from tests.support.papers import write_pdf

    (tmp_path / "a.py").write_text("a = 1\n", encoding="utf-8")
    write_pdf(tmp_path / "closed.pdf", [WORDS], password="open it")
    assert "closed.pdf: It " in tree(tmp_path).warnings[0]
    assert WORDS[:20] in tree(tmp_path, ReadOptions(password="open it")).text


def test_web_pages_are_source_among_code_and_documents_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "page.html").write_text(PAGE, encoding="utf-8")
    (tmp_path / "data.json").write_text("{}", encoding="utf-8")
    assert "<h1>" not in tree(tmp_path).text
    assert "How a pump is mended." in tree(tmp_path).text
    (tmp_path / "app.py").write_text("a = 1\n", encoding="utf-8")
    assert "<h1>Pumps</h1>" in tree(tmp_path).text


def test_tables_and_notebooks_are_read_by_their_readers(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("a = 1\n", encoding="utf-8")
    (tmp_path / "b.csv").write_text("name,age\nAda,36\nBob,41\n", encoding="utf-8")
    document = tree(tmp_path)
    (table,) = document.tables
    assert "name" in document.text[table.start : table.header_end]
    assert "Ada" in document.text[table.header_end : table.end]


def test_limits_stand_inside_each_other() -> None:
    with pytest.raises(CallTimedOut), call_limit(0.05):
        with call_limit(10):
            pass
        while True:
            time.sleep(0.005)


def test_nothing_at_all(tmp_path: Path) -> None:
    (tmp_path / "bad.pdf").write_bytes(b"%PDF-1.7")
    with pytest.raises(Refusal) as caught:
        tree(tmp_path)
    assert "bad.pdf" in caught.value.remedy


def test_source_that_speaks_of_documents_is_source(tmp_path: Path) -> None:
    sources = {
        "a.py": 'HEAD = b"%PDF-1.7"\nOBJECT = b"1 0 obj"\n',
        "page.php": "<!DOCTYPE html>\n<html><?php echo 1; ?></html>\n",
        "notes.md": "# About\n\nA file begins with %PDF-1.4 and has 1 0 obj in it.\n",
        "how.txt": "A file begins with %PDF-1.4.\n",
    }
    for name, text in sources.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    document = tree(tmp_path)
    assert not document.warnings
    assert all(text in document.text for text in sources.values())
    junk = tmp_path / "received"
    junk.write_bytes(b"HTTP/1.1 200 OK\r\n\r\n" + pages([WORDS]))
    assert ("page", "received", 1) in spans(tree(tmp_path))
