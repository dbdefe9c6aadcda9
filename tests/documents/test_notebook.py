"""Jupyter notebooks: cells, outputs, and files that are none."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tui.documents.model import Document
from tui.documents.notebook import MAX_OUTPUT, read_notebook
from tui.documents.refusal import Refusal


def read(*cells: dict[str, Any], **more: Any) -> Document:
    book = {"nbformat": 4, "metadata": {"kernelspec": {"language": "R", "name": "ir"}}, "cells": list(cells), **more}
    document = read_notebook(json.dumps(book).encode(), "a.ipynb", "a.ipynb")
    assert [(span.start, span.end) for span in document.spans] == [(0, len(document.text))]
    return document


def code(source: str, *outputs: dict[str, Any]) -> dict[str, Any]:
    return {"cell_type": "code", "source": source, "outputs": list(outputs)}


def markdown(source: str | list[str]) -> dict[str, Any]:
    return {"cell_type": "markdown", "source": source}


def shown(**data: Any) -> dict[str, Any]:
    return {"output_type": "display_data", "data": {key.replace("__", "/"): value for key, value in data.items()}}


def test_cells_in_order_with_exact_headings() -> None:
    document = read(
        markdown(["# One\n", "\n", "Text *here*"]),
        code("x <- 1\nx", {"output_type": "stream", "text": ["[1] 1\n"]}),
        markdown("Second\n---"),
        {"cell_type": "raw", "source": "raw"},
        markdown("  \n"),
    )
    assert document.text == (
        "# One\n\nText *here*\n\n```r\nx <- 1\nx\n```\n\n```output\n[1] 1\n```\n\nSecond\n---\n\nraw\n"
    )
    assert [(found.level, found.title) for found in document.headings] == [(1, "One"), (2, "Second")]
    for found in document.headings:
        assert document.text[found.start :].lstrip("# ").startswith(found.title)
    assert document.warnings == ()


def test_a_table_in_a_text_cell_is_one_and_one_in_an_output_is_not() -> None:
    rows = "| a | b |\n| - | - |\n| 1 | 2 |"
    document = read(markdown(rows), code("x", {"output_type": "stream", "text": rows}))
    (table,) = document.tables
    assert document.text[table.start : table.end] == rows + "\n"


def test_a_hash_in_code_is_no_heading_and_fences_hold() -> None:
    document = read(code("# comment\n```\nx"))
    assert document.text == "````r\n# comment\n```\nx\n````\n"
    assert document.headings == ()


def test_outputs_as_a_terminal_leaves_them() -> None:
    document = read(
        code(
            "run()",
            {"output_type": "stream", "text": "10%\r50%\r100%\n\x1b[31mred\x1b[0m\r\n"},
            {"output_type": "error", "ename": "ValueError", "evalue": "bad", "traceback": ["\x1b[0;31mTrace", "bad"]},
            {"output_type": "error", "ename": "KeyError", "evalue": "k", "traceback": []},
        )
    )
    assert document.text.endswith(
        "```output\n100%\nred\n```\n\n```output\nTrace\nbad\n```\n\n```output\nKeyError: k\n```\n"
    )


def test_the_best_readable_form_of_a_result() -> None:
    document = read(
        code(
            "show()",
            shown(text__plain=["  a\n", "0 1"], text__html="<table></table>"),
            shown(text__plain="<IPython.core.display.HTML object>", text__html="<p>from <b>HTML</b></p>"),
            shown(text__plain="<IPython.core.display.Latex object>", text__latex="$x^2$"),
            shown(application__json={"k": [1]}),
            shown(image__png="AAAA", text__plain="<Figure size 640x480 with 1 Axes>"),
            shown(**{"application__vnd.jupyter.widget-view+json": {}}, text__plain="Box()"),
        )
    )
    outputs = document.text.split("\n\n")[1:]
    assert outputs[0] == "```output\n  a\n0 1\n```"
    assert "from" in outputs[1]
    assert "<b>" not in outputs[1]
    assert outputs[2:4] == ["```output\n$x^2$\n```", '```output\n{\n "k": [\n  1\n ]\n}\n```']
    assert outputs[4] == "[picture: <Figure size 640x480 with 1 Axes>]"
    assert sorted(document.warnings) == ["1 interactive result was not read.", "1 picture was not read."]


def test_long_outputs_are_cut_in_the_middle_and_said_so() -> None:
    long = "a" * MAX_OUTPUT + "b" * 5
    document = read(code("x", {"output_type": "stream", "text": long[:MAX_OUTPUT]}))
    assert document.warnings == ()
    document = read(markdown("m"), code("x", {"output_type": "stream", "text": long}))
    assert "[… 5 characters left out …]" in document.text
    assert "bbbbb\n" in document.text
    assert document.warnings == ("Of outputs longer than 50,000 characters the middle was left out, in cell 2.",)


def test_pictures_inside_the_text_are_taken_out_and_named() -> None:
    cell = {**markdown(f"![a](data:image/png;base64,{'A' * 400}) end"), "attachments": {"b.png": {}}}
    document = read(cell)
    assert document.text == "![a](data:…) end\n"
    assert sorted(document.warnings) == ["1 picture inside the text was not read.", "1 picture was not read."]


def test_format_3() -> None:
    book = {
        "nbformat": 3,
        "metadata": {"name": ""},
        "worksheets": [
            {
                "cells": [
                    {"cell_type": "heading", "level": 2, "source": ["Old ", "title"]},
                    {
                        "cell_type": "code",
                        "language": "python",
                        "input": ["1 + 1"],
                        "outputs": [
                            {"output_type": "pyout", "text": ["2"]},
                            {"output_type": "display_data", "png": "AAAA"},
                            {"output_type": "pyerr", "ename": "E", "evalue": "v", "traceback": []},
                        ],
                    },
                ]
            }
        ],
    }
    document = read_notebook(json.dumps(book).encode(), "a", "a")
    assert document.text == (
        "## Old title\n\n```python\n1 + 1\n```\n\n```output\n2\n```\n\n[picture]\n\n```output\nE: v\n```\n"
    )
    assert [(found.start, found.level, found.title) for found in document.headings] == [(0, 2, "Old title")]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b'{"cells": [', "JSON is damaged (line 1"),
        (b'{"cells": [\n<<<<<<< HEAD\n', "JSON is damaged (line 2"),
        (b"[1]", "no cells"),
        (b'{"cells": {}}', "no cells"),
        pytest.param(b"[" * 100_000, "nested too deeply", id="deep"),
        pytest.param(b'{"cells": [], "n": ' + b"9" * 5000 + b"}", "a number too long", id="long"),
        (b'{"cells": [1, null, {"cell_type": 5, "source": 7, "outputs": 3, "attachments": 1}]}', "without text"),
    ],
)
def test_what_is_no_notebook_is_refused(data: bytes, words: str) -> None:
    with pytest.raises(Refusal) as caught:
        read_notebook(data, "a.ipynb", "a.ipynb")
    assert words in caught.value.reason
    assert caught.value.remedy.endswith(".")


def test_lone_surrogates_and_nul_do_not_come_through() -> None:
    document = read(markdown("# T\ud800\n\nx\x00y"))
    document.text.encode()
    assert document.headings[0].title.encode()
    assert "x\ufffdy" in document.text
    assert "2 characters" in document.warnings[0]


def test_cells_of_impossible_types_are_named() -> None:
    odd: Any = "no cell"
    document = read(markdown("Text"), odd, {"cell_type": 7, "source": "x"}, {"cell_type": "code", "source": {"a": 1}})
    assert document.text == "Text\n"
    assert document.warnings == ("Cells 2-4 are no cell of a notebook and were not read.",)
