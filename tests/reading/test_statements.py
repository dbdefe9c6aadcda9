"""Summaries taken apart into statements and put together with places."""

from __future__ import annotations

from tui.reading.statements import pieces_of, with_cite, written

SUMMARY = """# Summary

The tower was built in 1858 [3][7]. It fell in 1901. [2] Dr. Smith said "no." [1]

**Main points:**
- **Cost**: it was 12.5 million [p. 3]
1. One thing [2]. Another thing! [4]

| Year | What [9] |
| --- | --- |
| 1858 | Tower [4] |

```
x[1] = 2
```
塔建于1858年[3][7]。然后倒塌（第12页）。
"""
PLACED = """# Summary

The tower was built in 1858 [p. 0]. It fell in 1901 [p. 1]. Dr. Smith said "no." [p. 2]

**Main points:**
- **Cost**: it was 12.5 million [p. 3]
1. One thing [p. 4]. Another thing! [p. 5]

| Year | What |
| --- | --- |
| 1858 | Tower [p. 6] |

```
x[1] = 2
```
塔建于1858年 [p. 7]。然后倒塌 [p. 8]。"""


def test_statements_keep_their_ids_and_get_places() -> None:
    pieces = pieces_of(SUMMARY)
    said = [piece.said for piece in pieces if piece.said]
    assert [one.ids for one in said] == [(3, 7), (2,), (1,), (), (2,), (4,), (4,), (3, 7), ()]
    assert [one.text for one in said][:3] == [
        "The tower was built in 1858.",
        "It fell in 1901.",
        'Dr. Smith said "no."',
    ]
    assert written(pieces, lambda index: f"p. {index}") == PLACED


def test_a_quotation_is_one_statement() -> None:
    text = 'She wrote: "Wind south-west, light. Sea calm. Eleven ships." [3] Then she left. An "odd mark. It stays.'
    assert [piece.said.text for piece in pieces_of(text) if piece.said] == [
        'She wrote: "Wind south-west, light. Sea calm. Eleven ships."',
        "Then she left.",
        'An "odd mark.',
        "It stays.",
    ]


def test_without_places_only_the_brackets_are_gone() -> None:
    text = "It *was* so.  \nAnd it stayed so: 3 of 4.\n\n- a point\n- another one"
    assert written(pieces_of(text), lambda index: "") == text.replace("  \n", "\n")


def test_a_place_stands_before_the_end_mark() -> None:
    assert with_cite("It fell.", "p. 3") == "It fell [p. 3]."
    assert with_cite("It fell", "p. 3") == "It fell [p. 3]"
    assert with_cite("它倒了。", "p. 3") == "它倒了 [p. 3]。"
    assert with_cite('He said "no."', "p. 3") == 'He said "no." [p. 3]'
    assert with_cite("It fell.", "") == "It fell."
