"""The parts of prompt assembly that need no server: special tokens in text, renderings taken apart, caches."""

from __future__ import annotations

import itertools
import random

import pytest

from tui.context.lru import SizedCache
from tui.context.prompt import _common_length
from tui.context.rendering import Frame, Markers, align
from tui.context.specials import Match, SpecialTokens
from tui.server.types import Message


def test_special_tokens_are_found_the_longest_first() -> None:
    tokens = SpecialTokens({"<a>": 1, "<a>b": 2, "<": 3, "|x|": 4, "x": 5})
    assert tokens.find("<a>b <a> < |x|x") == [
        Match(0, 4, 2),
        Match(5, 8, 1),
        Match(9, 10, 3),
        Match(11, 14, 4),
        Match(14, 15, 5),
    ]
    assert tokens.find("") == tokens.find("nothing here") == []
    assert tokens.occur_in("a<")
    assert not tokens.occur_in("a>")
    assert not SpecialTokens({}).occur_in("<a>")


def test_thousands_of_special_tokens() -> None:
    tokens = SpecialTokens({f"<unused{i}>": i for i in range(6000)} | {"[multi.mod(al)]": 6001, "▁▁": 6002})
    text = "x <unused7> <unused77><unused777> <unused9999> [multi.mod(al)] ▁▁▁" * 50
    assert [match.id for match in tokens.find(text)] == [7, 77, 777, 6001, 6002] * 50


def test_finding_agrees_with_a_plain_search() -> None:
    rng = random.Random(4)
    for _ in range(300):
        names = {"".join(rng.choices("ab<|", k=rng.randint(1, 4))) for _ in range(rng.randint(1, 6))}
        tokens = SpecialTokens({name: i for i, name in enumerate(sorted(names))})
        text = "".join(rng.choices("ab<|c", k=30))
        found = tokens.find(text)
        assert all(text[m.start : m.end] in names and tokens.ids[text[m.start : m.end]] == m.id for m in found)
        assert all(a.end <= b.start for a, b in itertools.pairwise(found))
        assert bool(found) == tokens.occur_in(text) == any(name in text for name in names)


def test_a_rendering_is_taken_apart_at_its_markers() -> None:
    markers = Markers()
    messages = [Message("system", "s"), Message("user", ""), Message("user", "q")]
    marked = markers.mark(messages)
    assert [message.role for message in marked] == ["system", "user", "user"]
    assert marked[1].content == ""
    frame = markers.split(f"<S>{marked[0].content}<U>{marked[2].content}<again>{marked[2].content}<A>")
    assert frame == Frame(("<S>", "<U>", "<again>", "<A>"), (0, 2, 2))
    assert frame.fill(["x", "", "yy"]) == ("<S>x<U>yy<again>yy<A>", [(3, 4), (7, 9), (16, 18)])


FRAME = Frame(("<s>", "</s>\n<u>", "</u>"), (0, 1))


@pytest.mark.parametrize(
    ("text", "contents", "found"),
    [
        ("<s>a</s>\n<u>b</u>", ["a", "b"], ["a", "b"]),
        ("<s>a</s>\n<u>b</u>", [" a \n", "\tb"], ["a", "b"]),
        ("<s></s>\n<u>b</u>", ["", "b"], ["", "b"]),
        ("<s>\n\nx</s>\n<u>b</u>", ["<think>hm</think>\n\n x", "b"], None),
        ("<s>x</s>\n<u>b</u>", ["<think>hm</think>\n\nx", "b"], ["x", "b"]),
        # The content holds the template's own text: the right end is found all the same.
        ("<s>a</s>\n<u>b</s>\n<u>c</u>", ["a</s>\n<u>b", "c"], ["a</s>\n<u>b", "c"]),
        ("<s>A</s>\n<u>b</u>", ["a", "b"], None),
        ("<s>a</s>\n<u>b</u> more", ["a", "b"], None),
        ("other", ["a", "b"], None),
    ],
)
def test_contents_are_found_in_the_real_rendering(text: str, contents: list[str], found: list[str] | None) -> None:
    ranges = align(text, FRAME, contents)
    assert (None if ranges is None else [text[start:end] for start, end in ranges]) == found


def test_taking_back_a_content_that_was_placed_wrongly() -> None:
    frame = Frame(("", "", "", "|"), (0, 1, 2))
    text = " a a |"
    ranges = align(text, frame, [" a ", "a ", ""])
    assert ranges == [(0, 3), (3, 5), (5, 5)]
    assert align("x" * 40 + "|", Frame(("", *[""] * 39, "|"), tuple(range(40))), [" x "] * 40) is not None


def test_many_ways_that_all_fail_end_soon() -> None:
    frame = Frame(("", *[""] * 30, "!"), tuple(range(31)))
    assert align("a" * 31 + "?", frame, [" a\n"] * 31) is None


def test_the_cache_forgets_what_was_used_longest_ago() -> None:
    cache: SizedCache[str, int] = SizedCache(10)
    cache.put("a", 1, 4)
    cache.put("b", 2, 4)
    assert cache.get("a") == 1
    cache.put("c", 3, 4)
    assert (cache.get("a"), cache.get("b"), cache.get("c")) == (1, None, 3)
    cache.put("huge", 4, 11)
    assert cache.get("huge") is None
    cache.put("a", 5, 1)
    cache.put("d", 6, 5)
    assert [cache.get(key) for key in "acd"] == [5, 3, 6]
    assert len(cache) == 3


def test_the_common_beginning() -> None:
    rng = random.Random(2)
    for _ in range(200):
        a = [rng.randint(0, 1) for _ in range(rng.randint(0, 12))]
        b = [rng.randint(0, 1) for _ in range(rng.randint(0, 12))]
        expected = 0
        while expected < min(len(a), len(b)) and a[expected] == b[expected]:
            expected += 1
        assert _common_length(a, b) == expected
