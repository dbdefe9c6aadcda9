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
        ("At [12:30] or [00:12:30] the [1.5] log of [10.0.0.1:80] began", None, ()),
        ("[2]: http://a is where a [link][x] goes", None, ()),
        ("It fell (p = 0.03) and [Note: 3 people died].", None, ()),
    ],
)
def test_brackets(written: str, bare: str | None, ids: tuple[int, ...]) -> None:
    assert cited(written) == (written if bare is None else bare, ids)


@pytest.mark.parametrize(
    "place",
    [
        *(
            "[pg. 3]",
            "[see p. 3]",
            "[Ref: p. 3]",
            "[Page 3 of 9]",
            "[p. iv]",
            "[p. 3 ff.]",
            "[cf. pp. 3-4]",
            "[on page 3]",
        ),
        *("**[p. 3]**", "`[p. 3]`", r"\[p. 3\]", "[[p. 3]]", "[**p. 3**]", "_[p. 3]_", "［第3页］"),
        *("(Source: page 3)", "(see pg. 3)", "（见第3页）", "[vgl. S. 3]"),
    ],
)
def test_pages_that_a_model_makes_up_go_however_they_are_written(place: str) -> None:
    assert uncited(f"It was built {place}.") == "It was built."


def test_a_citation_that_was_cut_off_goes() -> None:
    assert uncited("- It was built [p. 3\n- It fell [4") == "- It was built\n- It fell"


@pytest.mark.parametrize(
    "written",
    [
        f"It fell [p. 1{', p. 2' * 200}",
        f"{'[' * 5000}{'see p. ' * 5000}{'[1, ' * 5000}",
        f"{'**[' * 3000}{'1 p. ' * 5000}x",
        f"a{' ' * 20000}b",
    ],
    ids=["pages", "words", "marks", "spaces"],
)
def test_what_goes_in_circles_takes_no_time(written: str) -> None:
    uncited(written)
    uncited(written, code=True)


def test_places_in_code_that_a_model_makes_up_go() -> None:
    assert uncited("It parses [src/a.py:3-9] and runs (`b.rs:7`).", code=True) == "It parses and runs."
    assert uncited("The host [db.local:5432] and x[i.n:3] stay.") == "The host [db.local:5432] and x[i.n:3] stay."


def test_an_index_of_code_is_no_citation() -> None:
    assert uncited("x[i.n:3] stays", code=True) == "x[i.n:3] stays"
    assert uncited("argv[1] is read, then argv[2] [7].", code=True) == "argv[1] is read, then argv[2]."
