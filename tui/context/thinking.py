"""Reasoning told apart from the answer, for prompts that go to `/completion` as token ids.

The chat endpoint does this itself; `/completion` returns the raw text. Only the `<think>…</think>` form is known
here, which the Qwen, DeepSeek and GLM templates share; any other form stays in the answer, visibly.
"""

from __future__ import annotations

from tui.server.types import ReasoningDelta, TextDelta

_OPEN, _CLOSE = "<think>", "</think>"


class ThinkSplitter:
    """Splits a stream of text pieces; a tag may be cut anywhere between two pieces.

    `prompt_text` is the rendered prompt: many templates open the reasoning themselves, so that the answer starts in it.
    """

    def __init__(self, prompt_text: str) -> None:
        tail = prompt_text[-64:].rstrip()
        self._thinking = tail.endswith(_OPEN)
        self._decided = self._thinking
        self._closed = False
        self._held = ""

    def feed(self, piece: str) -> list[TextDelta | ReasoningDelta]:
        self._held += piece
        if not self._decided:
            start = self._held.lstrip()
            if len(start) < len(_OPEN) and _OPEN.startswith(start):
                return []
            self._decided = True
            if start.startswith(_OPEN):
                self._thinking = True
                self._held = start[len(_OPEN) :]
        events: list[TextDelta | ReasoningDelta] = []
        if self._thinking:
            reasoning, found, after = self._held.partition(_CLOSE)
            if not found:
                keep = _tail_of_tag(reasoning)
                reasoning, after = reasoning[: len(reasoning) - keep], reasoning[len(reasoning) - keep :]
            self._held = after
            self._thinking, self._closed = not found, bool(found)
            if reasoning:
                events.append(ReasoningDelta(reasoning))
            if self._thinking:
                return events
        if self._closed:
            # The blank lines between the tag and the answer belong to neither.
            self._held = self._held.lstrip("\n")
            self._closed = not self._held
        if self._held:
            events.append(TextDelta(self._held))
            self._held = ""
        return events

    def close(self) -> list[TextDelta | ReasoningDelta]:
        """What was held back when the stream ended."""
        rest, self._held = self._held, ""
        if not rest:
            return []
        return [ReasoningDelta(rest) if self._thinking else TextDelta(rest)]


def _tail_of_tag(text: str) -> int:
    """How many last characters could be the start of the closing tag."""
    for length in range(min(len(_CLOSE) - 1, len(text)), 0, -1):
        if _CLOSE.startswith(text[-length:]):
            return length
    return 0
