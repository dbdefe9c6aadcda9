from __future__ import annotations

import pytest

from tui.context.thinking import ThinkSplitter
from tui.server.types import ReasoningDelta, TextDelta


def split(prompt: str, pieces: list[str]) -> tuple[str, str]:
    splitter = ThinkSplitter(prompt)
    events = [event for piece in pieces for event in splitter.feed(piece)] + splitter.close()
    reasoning = "".join(event.text for event in events if isinstance(event, ReasoningDelta))
    return reasoning, "".join(event.text for event in events if isinstance(event, TextDelta))


@pytest.mark.parametrize(
    ("prompt", "output", "expected"),
    [
        ("…assistant\n", "plain answer", ("", "plain answer")),
        ("…assistant\n", "<think>\nhm</think>\n\nanswer", ("\nhm", "answer")),
        ("…assistant\n<think>\n", "hm</think>\nanswer", ("hm", "answer")),
        ("…assistant\n<think>", "cut in the middle", ("cut in the middle", "")),
        ("…assistant\n", "a < b and <think> later", ("", "a < b and <think> later")),
        ("…assistant\n", "<thi", ("", "<thi")),
        ("…assistant\n<think>", "x </thin y", ("x </thin y", "")),
        ("…assistant\n", "", ("", "")),
    ],
)
def test_reasoning_is_told_apart_wherever_the_tag_is_cut(prompt: str, output: str, expected: tuple[str, str]) -> None:
    for size in (1, 2, 3, 5, 100):
        pieces = [output[i : i + size] for i in range(0, len(output), size)]
        assert split(prompt, pieces) == expected
