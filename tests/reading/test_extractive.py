"""Sentences chosen without a model."""

from __future__ import annotations

from collections.abc import Sequence

from tui.reading.extractive import extract, sentences, units


async def count_words(texts: Sequence[str]) -> list[int]:
    return [len(text.split()) for text in texts]


def test_sentences_in_three_scripts() -> None:
    text = 'He left at 3.5 knots. "Why?" she asked.\nA line without end\n灯塔很高。它亮了！谁来？'
    assert sentences(text) == [
        "He left at 3.5 knots.",
        '"Why?"',
        "she asked.",
        "A line without end",
        "灯塔很高。",
        "它亮了！",
        "谁来？",
    ]


def test_units() -> None:
    assert units("The 41 metres, 灯塔!") == ["the", "41", "metres", "灯", "塔"]


async def test_chosen_sentences_stand_in_the_texts_order_and_fit() -> None:
    text = (
        "Nothing here. The lighthouse keeper wrote the ledger every day. It rained. "
        "Every keeper of the lighthouse signed the ledger. A goat. The ledger of the lighthouse was lost in a storm."
    )
    found = await extract(text, 30, count_words, most=3)
    assert found == [sentence for sentence in sentences(text) if sentence in found]
    assert sum(await count_words([f"- {sentence}" for sentence in found])) <= 30
    assert all("ledger" in sentence for sentence in found)


async def test_one_sentence_that_is_too_long_is_cut_visibly() -> None:
    [found] = await extract("word " * 100, 10, count_words)
    assert found.endswith("…")
    assert len(found.split()) <= 10


async def test_nothing_comes_of_nothing() -> None:
    assert await extract(" \n ", 10, count_words) == []
    assert await extract("word", 0, count_words) == []


async def test_a_long_line_without_any_end_takes_no_long_time() -> None:
    assert len(await extract("abc " * 50_000, 50, count_words)) == 1
