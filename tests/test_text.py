from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.text import display_safe, one_line, well_formed

ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
        ("windows\r\nline", "windows\nline"),
        ("\x1b[31mred\x1b[0m", "␛[31mred␛[0m"),
        ("\x1b]0;title\x07", "␛]0;title␇"),
        ("over\rwrite", "over␍write"),
        ("\x9b31m", "⟨U+009B⟩31m"),
        ("abc\u202edef", "abc⟨U+202E⟩def"),
        ("a\x00b\x7f", "a␀b␡"),
        ("half \ud800 pair", "half ⟨U+D800⟩ pair"),
        ("漢字 👩‍👩‍👧 e\u0301", "漢字 👩‍👩‍👧 e\u0301"),
    ],
)
def test_what_could_steer_the_terminal_becomes_a_mark(text: str, shown: str) -> None:
    assert display_safe(text) == shown


@given(ANY_TEXT)
def test_nothing_that_is_shown_is_a_control_character(text: str) -> None:
    for character in display_safe(text):
        assert character in "\n\t" or unicodedata.category(character) not in ("Cc", "Cs", "Zl", "Zp")
    assert not set(one_line(text)) & set("\n\t\r")
    display_safe(text).encode("utf-8")


@given(ANY_TEXT)
def test_well_formed_text_can_be_sent(text: str) -> None:
    assert len(well_formed(text)) == len(text)
    well_formed(text).encode("utf-8")


def test_one_line_is_cut_with_a_mark() -> None:
    assert one_line("abcdef", 4) == "abc…"
    assert one_line("abcd", 4) == "abcd"
    assert one_line("a\nb") == "a␊b"
