"""Answers told apart: good notes, nothing, an echo, circles."""

from __future__ import annotations

import pytest

from tui.reading.answers import bare, circles, notes, once, problem, tidy

INSTRUCTION = (
    "You write short notes on a text. What does this text say? Write 5 full sentences with its most important facts, "
    "as a numbered list. Keep names, numbers and dates as they are."
)


@pytest.mark.parametrize(
    "answer",
    [
        "1. The tower is 41 metres high.\n2. It was lit in 1871.",
        "灯塔于1871年点亮。塔高四十一米。",
        "Ja.",
        "The names and numbers of the keepers are on the wall, with the dates, as they are in the book of the town.",
    ],
)
def test_answers_that_can_be_used(answer: str) -> None:
    assert problem(answer, INSTRUCTION) == ""


@pytest.mark.parametrize("answer", ["", "  \n", "1.\n2.\n3.", "…", "123 456", "\ufffd\ufffd"])
def test_answers_that_say_nothing(answer: str) -> None:
    assert "empty" in problem(answer, INSTRUCTION)


@pytest.mark.parametrize(
    "answer",
    [
        "Write 5 full sentences with its most important facts, as a numbered list.",
        "What does this text say? Write 5 full sentences with its most important facts, as a numbered list. Sure!",
        "a numbered list",
    ],
)
def test_echoes_of_the_instruction(answer: str) -> None:
    assert "instruction" in problem(answer, INSTRUCTION)


@pytest.mark.parametrize(
    "answer",
    [
        "The text is a list of ships. " * 20,
        "It began well and then there was a storm at sea, and after that " + "the light went out and " * 12,
        "- one ship\n" * 5,
        "灯塔点亮了。" * 30,
    ],
)
def test_circles(answer: str) -> None:
    assert circles(answer)
    assert "itself" in problem(answer, INSTRUCTION)


def test_a_long_text_that_comes_back_to_its_subject_is_no_circle() -> None:
    text = " ".join(f"The light at station {n} was lit in {1800 + n} by keeper {chr(65 + n)}." for n in range(26))
    assert not circles(text)


def test_notes_without_marks_doubles_announcements_and_talk_of_the_instruction() -> None:
    answer = (
        "Here are the most important facts:\n"
        "1. The tower is 41 metres high.\n"
        "  2) It was lit in 1871.\n"
        "- It was lit in 1871.\n"
        "### 3. Renn counted birds.\n"
        "This is a numbered list with full sentences.\n"
        "</text>\n"
        "4. 12. Oktober: das Licht\n"
    )
    assert notes(answer, INSTRUCTION) == [
        "The tower is 41 metres high.",
        "It was lit in 1871.",
        "Renn counted birds.",
        "12. Oktober: das Licht",
    ]


@pytest.mark.parametrize(
    ("line", "left"),
    [
        ("3.5 metres of snow", "3.5 metres of snow"),
        ("1871 was the year", "1871 was the year"),
        ("- 12. October", "12. October"),
        ("IV. The storm", "The storm"),
        ("3、灯塔", "灯塔"),
        ("**Bold** word", "**Bold** word"),
    ],
)
def test_only_one_list_mark_goes(line: str, left: str) -> None:
    assert bare(line) == left


def test_a_summary_keeps_its_form() -> None:
    assert tidy("<text>\n# Title\n\n- one  \n</text>\n") == "# Title\n\n- one"


def test_sentences_said_twice_are_kept_once() -> None:
    points = ["It fell in 1901 [2]. Nobody came.", "Nobody came. [3]", "It fell in 1901. It was rebuilt. [4]"]
    assert once(points) == ["It fell in 1901 [2]. Nobody came.", "It was rebuilt. [4]"]


def test_that_there_is_nothing_to_say_is_no_note() -> None:
    for said in (
        "No changes are needed.",
        "There are no new facts to add.",
        "Nothing new.",
        "没有新的信息。",
        "As an AI, I cannot.",
    ):
        assert notes(f"1. {said}") == [], said
    for said in (
        "There were no changes in the price of oil.",
        "No further information was given by the crew on Monday.",
    ):
        assert notes(f"1. {said}") == [said]
