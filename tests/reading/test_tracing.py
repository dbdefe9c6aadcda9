"""Which sentences bear a statement out: paraphrases are found, statements about something else are not."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import pytest

from tui.reading.foreign import SENTENCES
from tui.reading.sentencing import merged, sentence_ranges
from tui.reading.tracing import Sources, containment

SAMPLE = (Path(__file__).resolve().parents[2] / "tui" / "assets" / "sample.md").read_text(encoding="utf-8")


def sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_ranges(text)]


def test_sentences_of_wrapped_lists_and_chinese_text() -> None:
    wrapped = (
        "The pump was repaired by two engineers from the harbour\noffice before noon. Dr. Hale paid 3.5 pounds. It ran."
    )
    assert sentences(wrapped) == [
        "The pump was repaired by two engineers from the harbour\noffice before noon.",
        "Dr. Hale paid 3.5 pounds.",
        "It ran.",
    ]
    assert sentences("# Title\n\n- one\n- two\n\n| a | b |\n| 1 | 2 |\n") == [
        *("# Title", "- one", "- two", "| a | b |", "| 1 | 2 |"),
    ]
    assert sentences("水泵坏了。第二天修好了！费用是300元。") == ["水泵坏了。", "第二天修好了！", "费用是300元。"]
    for text in (SAMPLE, wrapped):
        ranges = sentence_ranges(text)
        assert all(a[1] <= b[0] for a, b in itertools.pairwise(ranges))
        kept = "".join(text[start:end] for start, end in ranges)
        assert "".join(kept.split()) == "".join(text.split())


def test_paraphrases_are_traced_to_their_sentence_and_foreign_sentences_to_none() -> None:
    chance = random.Random(7)
    sources = Sources(SAMPLE)
    foreign = [word for sentence in SENTENCES["en"] for word in sentence.split()]
    found = total = 0
    for start, end in sources.ranges:
        words = SAMPLE[start:end].split()
        if len(words) < 10:
            continue
        said = " ".join(word if chance.random() > 0.3 else chance.choice(foreign) for word in words)
        trace = sources.trace(said)
        total += 1
        found += trace.good and (start, end) in trace.ranges
    assert total > 40
    assert found >= 0.9 * total
    wrong = sum(sources.trace(sentence).good for sentence in SENTENCES["en"])
    assert wrong <= 0.05 * len(SENTENCES["en"])


def test_two_sentences_that_bear_a_statement_out_together() -> None:
    text = "The tower was built in 1858 by Anna Lind. The weather was fine. It fell in the storm of 1901."
    trace = Sources(text).trace("The tower that Anna Lind built in 1858 fell in the storm of 1901.")
    assert trace.good
    assert [text[start:end] for start, end in sorted(trace.ranges)] == [
        "The tower was built in 1858 by Anna Lind.",
        "It fell in the storm of 1901.",
    ]


def test_chinese_is_traced_by_its_pairs_of_characters() -> None:
    text = "灯塔建于1858年，由林德设计。天气很好。1901年的风暴摧毁了灯塔。管理员搬到了城里。"
    trace = Sources(text).trace("灯塔在1901年被风暴摧毁。")
    assert trace.good
    assert text[slice(*trace.ranges[0])] == "1901年的风暴摧毁了灯塔。"
    assert not Sources(text).trace(SENTENCES["zh"][0]).good


def test_names_and_numbers_lead_through_a_translation() -> None:
    text = "The tower was built in 1858 by Anna Lind. The weather was fine for a week in Malmo."
    trace = Sources(text).trace("Der Turm wurde 1858 von Anna Lind errichtet.")
    assert trace.anchored
    assert text[slice(*trace.ranges[0])].startswith("The tower")


def test_sources_that_support_several_statements() -> None:
    text = "The tower was built in 1858. The weather was fine. It fell in 1901. People cheered. The keeper left in May."
    found = Sources(text).supporting(["The tower was built in 1858.", "The tower fell in 1901."], 2)
    assert [text[start:end] for start, end in found] == ["The tower was built in 1858.", "It fell in 1901."]
    part = (text.index("It fell"), len(text))
    assert not Sources(text, [part]).trace("The tower was built in 1858.").good


@pytest.mark.parametrize(
    ("ranges", "joined"), [([(5, 9), (0, 4)], ((0, 9),)), ([(0, 4), (7, 9)], ((0, 4), (7, 9))), ([], ())]
)
def test_ranges_that_touch_are_one(ranges: list[tuple[int, int]], joined: tuple[tuple[int, int], ...]) -> None:
    assert merged(ranges) == joined


def test_containment() -> None:
    assert containment("The tower fell in 1901.", "In 1901 a storm came and the old tower fell") == 1.0
    assert containment("The tower fell in 1901.", "Nobody knows") == 0.0
