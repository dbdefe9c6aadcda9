"""Summaries that models write in odd ways: each comes out with places, and nothing invented stays in brackets."""

from __future__ import annotations

import random

import pytest

from tui.documents.model import Document, Span
from tui.reading.placing import placed
from tui.reading.statements import pieces_of, written

_PIECES = (
    *("[1]", "[p. 3]", "(page 9)", "【2】", "**bold**", "# Title\n", "- ", "1. ", "\n\n", "\n", " ", "| a | b |\n"),
    *(
        "```\n",
        "The tower fell in 1901.",
        "灯塔建于1858年。",
        "…",
        "](",
        "[[",
        "]]",
        "?!",
        "\u200b",
        "a" * 300,
        "$",
        "{{ x }}",
    ),
)


@pytest.mark.parametrize("seed", range(15))
def test_any_summary_is_placed(seed: int) -> None:
    chance = random.Random(seed)
    summary = "".join(chance.choice(_PIECES) for _ in range(chance.randrange(1, 60)))
    text = "The tower was built in 1858. It fell in 1901.\n灯塔建于1858年。\n"
    document = Document(path="a", name="a", kind="pdf", text=text, spans=(Span("page", "1", 1, 0, len(text)),))
    pieces = pieces_of(summary)
    bare = written(pieces, lambda index: "")
    if "```" not in summary:
        assert "[p. 3]" not in bare
        assert "(page 9)" not in bare
    found = placed(document, summary, None)
    assert len(found.statements) == sum(piece.said is not None for piece in pieces)
    assert found.content.statements == len(found.statements)
    for statement in found.statements:
        assert statement.cite in ("", "p. 1")
        assert statement.supported is not True or statement.cite
