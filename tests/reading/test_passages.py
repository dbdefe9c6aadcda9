"""Passages: the parts that speak of what is asked come first, in English, Chinese, Japanese and code."""

from __future__ import annotations

import math
import random

import pytest

from tui.reading.passages import BESIDE, K1, B, Index, joined, question_terms, ranked, spread

ENGLISH = [
    "The harbour was dredged in spring, and boats of every size came back.",
    "Pumps of the northern line failed twice; the crew replaced their seals.",
    "The inspector measured tanks and wrote a report on corrosion.",
    "Dinner was served late, and the harbour master told a story.",
]
CHINESE = [
    "春天港口清淤之后，大小船只都回来了。",
    "北线的水泵两次发生故障，工人更换了密封圈。",
    "检查员测量了储罐，并写了一份关于腐蚀的报告。",
]
JAPANESE = [
    "春に港が浚渫され、船が戻ってきた。",
    "北線のポンプが二度故障し、作業員がシールを交換した。",
    "検査員はタンクを測り、腐食の報告書を書いた。",
]
CODE = [
    "def open_engine(path):\n    return Engine(path, retries=3)\n",
    "def maxTokens(self):\n    return self._limit - self.reserve\n",
    "class HTTPServer:\n    def parse_header(self, line):\n        return line.split(':')\n",
    "import os\n\ndef join_all(parts):\n    return os.path.join(*parts)\n",
    "# The path of a join is a road where two roads join; os is short for ours.\n",
]


def first(texts: list[str], question: str) -> int:
    found = ranked(Index(texts).find(question))
    assert found, question
    return found[0]


@pytest.mark.parametrize(
    ("question", "part"),
    [
        ("Which pump failed?", 1),
        ("What did the inspectors report about corrosion?", 2),
        ("Who told stories at dinner?", 3),
        ("When was the harbour dredged?", 0),
    ],
)
def test_english(question: str, part: int) -> None:
    assert first(ENGLISH, question) == part


@pytest.mark.parametrize(
    ("texts", "question", "part"),
    [
        (CHINESE, "水泵为什么发生故障？", 1),
        (CHINESE, "检查员写了什么？", 2),
        (CHINESE, "船只什么时候回来的？", 0),
        (JAPANESE, "ポンプはどこで故障しましたか？", 1),
        (JAPANESE, "腐食について誰が報告しましたか？", 2),
    ],
)
def test_scripts_without_spaces(texts: list[str], question: str, part: int) -> None:
    assert first(texts, question) == part


@pytest.mark.parametrize(
    ("question", "part"),
    [
        ("What does open_engine return?", 0),
        ("How many retries are there?", 0),
        ("Where is max_tokens computed?", 1),
        ("Where is the header parsed?", 2),
        ("What is done with os.path.join?", 3),
        ("What does parse header do?", 2),
        ("What is os path join for?", 3),
    ],
)
def test_code(question: str, part: int) -> None:
    """Identifiers are found by their parts, and a whole one before its words apart."""
    assert first(CODE, question) == part


@pytest.mark.parametrize(
    "question",
    ["What does it say?", "What is this document about?", "Summarize this text", "为什么？", "これは何ですか", "?"],
)
def test_a_question_without_a_subject_has_no_terms(question: str) -> None:
    assert question_terms(question) == ()


def test_words_that_ask_do_not_find() -> None:
    assert question_terms("What is the list of all pumps that failed?") == ("list", "pump", "fail")
    assert question_terms("列出所有的水泵") == ("水泵",)
    assert not ranked(Index(ENGLISH).find("Wer hat die Turbine repariert?"))


def test_the_score_is_okapi_bm25() -> None:
    texts = ["pump pump valve", "valve", "tank tank tank tank"]
    mean = (3 + 1 + 4) / 3
    weight = math.log(1 + (3 - 1 + 0.5) / (1 + 0.5))
    expected = weight * 2 * (K1 + 1) / (2 + K1 * (1 - B + B * 3 / mean))
    scores = Index(texts).scores(["pump"])
    assert scores == pytest.approx([expected, 0.0, 0.0])


def test_equals_come_in_the_order_of_the_text_and_neighbours_are_raised() -> None:
    assert ranked([1.0, 0.0, 0.0, 0.0, 1.0]) == [0, 4, 1, 3]
    assert ranked([1.0, 0.0, 0.9, 0.0]) == [0, 2, 1, 3]
    assert 1.0 * BESIDE < 0.9
    # A part of another document is no neighbour.
    assert ranked([1.0, 0.0, 0.0], ends=[1]) == [0]
    assert ranked([0.0, 0.0]) == []


def test_an_index_of_nothing() -> None:
    assert Index([]).scores(["pump"]) == []
    assert Index(["", "…"]).scores(["pump"]) == [0.0, 0.0]


def test_share_counts_what_no_part_holds() -> None:
    index = Index(ENGLISH)
    assert index.share(question_terms("the pumps failed"), 1) == 1.0
    assert index.share(question_terms("the turbine exploded"), 1) == 0.0
    assert 0 < index.share(question_terms("the pump exploded"), 1) < 0.5
    assert index.share([], 1) == 0.0


@pytest.mark.parametrize("count", [0, 1, 2, 7, 8, 100])
def test_a_spread_is_over_the_whole_from_its_first_parts_on(count: int) -> None:
    order = spread(count)
    assert sorted(order) == list(range(count))
    some = sorted(order[: max(1, count // 4)])
    if count >= 8:
        gaps = [b - a for a, b in zip([0, *some], [*some, count], strict=True)]
        assert max(gaps) <= count // 2


def test_neighbours_are_joined_within_a_document() -> None:
    assert joined([4, 0, 1, 2, 6]) == [(0, 3), (4, 5), (6, 7)]
    assert joined([0, 1, 2], ends=[1]) == [(0, 1), (1, 3)]
    chosen = random.Random(1).sample(range(50), 20)
    assert sorted(part for a, b in joined(chosen) for part in range(a, b)) == sorted(chosen)


@pytest.mark.parametrize("unit", ["a", "aB1", "a_", "a.b", "_"])
def test_a_long_line_without_spaces_is_indexed_at_once(unit: str) -> None:
    assert Index([unit * 60_000]).find("Where is it?") == [0.0]
