"""Plain text, Markdown and source code: the text stays as it is in the file."""

from __future__ import annotations

import pytest

from tui.documents import headings
from tui.documents.headings import markdown_headings
from tui.documents.plain import read_plain
from tui.documents.refusal import Refusal

MARKDOWN = """---
title: not a heading
---

# The *whole* `story` of [it](https://example.org)

Some text

Second
======

```
# not this one
```

> ## Quoted

- # In a list

## Last ##
"""


def test_markdown_headings() -> None:
    found = markdown_headings(MARKDOWN)
    assert [(heading.level, heading.title) for heading in found] == [
        (1, "The whole story of it"),
        (1, "Second"),
        (2, "Quoted"),
        (1, "In a list"),
        (2, "Last"),
    ]
    for heading in found:
        assert heading.start == 0 or MARKDOWN[heading.start - 1] == "\n"
    assert MARKDOWN[found[1].start :].startswith("Second\n======")


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_every_line_end_gives_the_right_offsets(newline: str) -> None:
    text = MARKDOWN.replace("\n", newline)
    found = markdown_headings(text)
    if newline != "\r":  # front matter is a matter of \n
        assert len(found) == 5
    assert text[found[-1].start :].startswith("## Last")


def test_markdown_stays_verbatim() -> None:
    text = MARKDOWN.replace("\n", "\r\n")
    document = read_plain(text.encode(), "a.md", "a.md")
    assert document.text == text
    assert document.kind == "markdown"
    assert len(document.headings) == 5


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("a.txt", b"words", "text"),
        ("noname", b"words", "text"),
        ("a.md", b"# words", "markdown"),
        ("a.PY", b"x = 1", "code"),
        ("Makefile", b"all:", "code"),
        ("script", b"#!/bin/sh\necho", "code"),
        ("BMW.txt", b"BMW is a car, MZ a motorcycle, ID3 a tag", "text"),
        ("gguf.md", b"GGUF is how models are kept.", "markdown"),
        ("gif.txt", b"GIF89a: how pictures are packed", "text"),
        ("ogg.txt", b"OggS begins each page, fLaC a stream, wOFF a font", "text"),
    ],
)
def test_kinds(name: str, data: bytes, kind: str) -> None:
    document = read_plain(data, name, name)
    assert document.kind == kind
    assert document.text == data.decode()
    assert [(span.start, span.end) for span in document.spans] == [(0, len(document.text))]


def test_a_web_page_is_read_as_source_and_said_so() -> None:
    document = read_plain(b"<!DOCTYPE html>\n<html><body>x</body></html>", "a.txt", "a.txt")
    assert document.kind == "code"
    assert "tags included" in document.warnings[0]


def test_utf16_source_is_no_binary_file() -> None:
    document = read_plain("int main() { return 0; }\n".encode("utf-16") * 1, "a.c", "a.c")
    assert document.text == "int main() { return 0; }\n"


def test_formats_that_are_not_read_are_named() -> None:
    with pytest.raises(Refusal, match="named as a Word document but is none"):
        read_plain(b"PK\x03\x04" + b"\x00" * 40, "a.docx", "a.docx")
    with pytest.raises(Refusal, match="is a spreadsheet, not text"):
        read_plain(b"PK\x03\x04" + b"\x00" * 40, "a.xlsx", "a.xlsx")
    with pytest.raises(Refusal, match="is a picture, not text"):
        read_plain(b"GIF89a\x08\x00\x08\x00\xf0", "a.txt", "a.txt")
    with pytest.raises(Refusal, match="is a model"):
        read_plain(b"GGUF\x03\x00\x00\x00" + b"\x00" * 40, "a.txt", "a.txt")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_large_text_has_the_same_headings(monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    lines = [
        "---", "title: a", "# none", "---", "# One *two* `three`", "", "words", "and more", "", "Under", "=====", "",
        "```python", "<!-- x -->", "# none", "```", "", "## Four ##", "", "    # code", "", "<!--", "# none", "-->", "",
        "Lower", "---", "", "#", "", "#none", "", "# C#", "- item", "- item", "", "---", "",
        "### A [link](http://x) &amp; more", "", "| a | b |", "|---|---|", "| 1 | 2 |", "", "~~~", "# none",
    ]  # fmt: skip
    text = end.join(lines) + end
    expected = markdown_headings(text)
    assert [heading.title for heading in expected][:3] == ["One two three", "Under", "Four"]
    monkeypatch.setattr(headings, "_LARGE", 0)
    assert markdown_headings(text) == expected
