"""Terms: different forms of one word, number or name are one term."""

from __future__ import annotations

import pytest

from tui.reading.terms import number, stem, terms


@pytest.mark.parametrize(
    "forms",
    [
        ("cat", "cats", "Cats"),
        ("make", "makes", "making"),
        ("stop", "stops", "stopped", "stopping"),
        ("study", "studies", "studied"),
        ("box", "boxes"),
        ("class", "classes"),
        ("run", "runs", "running"),
        ("use", "uses"),
    ],
)
def test_forms_of_one_word_are_one_term(forms: tuple[str, ...]) -> None:
    assert len({terms(form)[0] for form in forms}) == 1


@pytest.mark.parametrize("word", ["bus", "analysis", "less", "this", "ring", "red", "über", "Straße"])
def test_what_is_no_ending_stays(word: str) -> None:
    assert stem(word.lower()) == word.lower()


@pytest.mark.parametrize(
    ("written", "same"),
    [
        ("1,234", "1234"),
        ("1.234", "1234"),
        ("1 234".replace(" ", "\u202f"), "1234"),
        ("1'234'567", "1234567"),
        ("3,5", "3.5"),
        ("3.5", "3.5"),
        ("1,234.5", "1234.5"),
        ("1.234,5", "1234.5"),
        ("42.", "42"),
        ("0", "0"),
        ("1.2.3", "1.2.3"),
    ],
)
def test_a_number_is_one_term_however_it_is_written(written: str, same: str) -> None:
    assert number(written) == same
    assert terms(f"about {written} times")[1] == same


def test_full_width_letters_and_digits_are_the_plain_ones() -> None:
    assert terms("ＡＢＣ　１２３") == ["abc", "123"]


def test_scripts_without_spaces_give_pairs_of_characters() -> None:
    assert terms("北京大学在") == ["北京", "京大", "大学", "学在"]
    assert terms("東京で3人") == ["東京", "京で", "3", "人"]


def test_identifiers_give_their_parts() -> None:
    assert terms("max_tokens") == terms("maxTokens") == terms("MaxTokens") == ["max", "token"]
    assert terms("HTTPServer") == ["http", "server"]
    assert terms("os.path.join") == ["os", "path", "join"]


def test_nothing_but_marks_has_no_terms() -> None:
    assert terms("… — !? ()\n") == []


@pytest.mark.parametrize("unit", ["a", "A", "a1", "A1", "aB", "a_", "0", "1,", "É"])
def test_a_long_line_without_spaces_takes_no_time(unit: str) -> None:
    assert terms(unit * 200_000)
