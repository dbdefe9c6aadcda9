"""Ids are read out of brackets; what else a model writes as a citation goes, what only looks like one stays."""

from __future__ import annotations

import pytest

from tui.reading.bracketed import cited, uncited


@pytest.mark.parametrize(
    ("written", "bare", "ids"),
    [
        ("The tower was built in 1858 [3][7].", "The tower was built in 1858.", (3, 7)),
        ("Built. [3, 7] Then it fell [p. 12].", "Built. Then it fell.", (3, 7)),
        ("Built in 1858[3]. And (p. 12) more (pages 3-4).", "Built in 1858. And more.", (3,)),
        ("塔建于1858年[3][7]。然后【4】倒塌（第12页）。", "塔建于1858年。然后倒塌。", (3, 7, 4)),
        ("It failed [notes 3-5] twice", "It failed twice", (3, 4, 5)),
        ("see [3]; [4], and [5] here", "see here", (3, 4, 5)),
        ("It rose [12†source] again", "It rose again", ()),
        ("Zeit [3] und [Seite 4].", "Zeit und.", (3,)),
        ("In (2019) it [Smith 2019] fell [1].", "In (2019) it [Smith 2019] fell.", (1,)),
        ("A [link](http://a) and [1](http://b) and [x] box", "A [link](http://a) and [1](http://b) and [x] box", ()),
        ("[2023-05-01] the log begins", "[2023-05-01] the log begins", ()),
    ],
)
def test_brackets(written: str, bare: str, ids: tuple[int, ...]) -> None:
    assert cited(written) == (bare, ids)


def test_an_index_of_code_is_no_citation() -> None:
    assert uncited("argv[1] is read, then argv[2] [7].", code=True) == "argv[1] is read, then argv[2]."
