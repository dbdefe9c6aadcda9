"""Lines are never wider than asked, and nothing of the text is lost between them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tui.app.widgets.transcript.wrap import clusters, fold, wrap

# What breaks column counting: wide, combining, joined, selected, flagged and invisible characters.
TRICKY = "ab  c-d.中文、。（）日本한é\u0301\u200d👩👧❤\ufe0f🇫🇷\u200b\u00adक्षि "
texts = st.text(st.sampled_from(TRICKY), max_size=80) | st.text(st.characters(exclude_characters="\n"), max_size=60)


@given(texts, st.integers(2, 30))
def test_lines_fit_and_the_text_is_whole(text: str, width: int) -> None:
    for cut in (wrap, fold):
        pieces = cut(text, width)
        assert "".join(text[piece.start : piece.end] + piece.glue for piece in pieces) == text + "\n"
        assert all(cell_len(text[piece.start : piece.end]) <= width for piece in pieces)


@given(texts)
def test_clusters_tile_the_text(text: str) -> None:
    found = clusters(text)
    assert "".join(text[start:end] for start, end, _cells in found) == text
    assert all(cells == cell_len(text[start:end]) for start, end, cells in found)


def shown(text: str, width: int) -> list[str]:
    return [text[piece.start : piece.end] for piece in wrap(text, width)]


def test_words_stay_whole_where_they_fit() -> None:
    assert shown("the quick brown fox", 10) == ["the quick", "brown fox"]
    assert shown("incomprehensibilities", 10) == ["incomprehe", "nsibilitie", "s"]


def test_chinese_breaks_anywhere_but_before_closing_signs() -> None:
    assert shown("这是一个测试。好", 12) == ["这是一个测", "试。好"]


def test_joined_emoji_are_one_character() -> None:
    family = "👩\u200d👩\u200d👧"
    assert clusters(family + "a") == [(0, 5, cell_len(family)), (5, 6, 1)]
