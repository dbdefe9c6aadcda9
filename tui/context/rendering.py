"""Which characters of a rendered prompt are the template's and which are a message's.

A chat template is a program; what it does with a message is learned by rendering the same conversation with a marker in
place of each content, and finding the markers.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from typing import NamedTuple

from tui.context.specials import C_SPACE
from tui.server.types import Message

_MAX_STEPS = 20_000


class Frame(NamedTuple):
    """A rendering taken apart: `pieces[0]`, content `order[0]`, `pieces[1]`, content `order[1]`, … `pieces[-1]`."""

    pieces: tuple[str, ...]
    order: tuple[int, ...]

    def fill(self, contents: Sequence[str]) -> tuple[str, list[tuple[int, int]]]:
        """The text with `contents` as they are, and where each lies in it."""
        text = self.pieces[0]
        ranges: list[tuple[int, int]] = []
        for index, piece in zip(self.order, self.pieces[1:], strict=True):
            ranges.append((len(text), len(text) + len(contents[index])))
            text += contents[index] + piece
        return text, ranges


class Markers:
    """Contents that no message has and no template changes."""

    def __init__(self) -> None:
        self._word = f"M{secrets.token_hex(8)}n"
        self._pattern = re.compile(rf"{self._word}(\d+)e")

    def mark(self, messages: Sequence[Message]) -> tuple[Message, ...]:
        """The messages with a marker for each content; an empty one stays empty, since templates ask about that."""
        return tuple(
            Message(message.role, f"{self._word}{i}e" if message.content else "") for i, message in enumerate(messages)
        )

    def split(self, rendered: str) -> Frame:
        parts = self._pattern.split(rendered)
        return Frame(tuple(parts[::2]), tuple(int(index) for index in parts[1::2]))


def align(text: str, frame: Frame, contents: Sequence[str]) -> list[tuple[int, int]] | None:
    """Where in the real rendering `text` the contents lie, in the frame's order; None when the two do not match.

    Contents may have been stripped of white space or of their reasoning by the template.
    """
    pieces, order = frame
    variants = [_variants(content) for content in contents]
    if not text.startswith(pieces[0]):
        return None
    ranges: list[tuple[int, int]] = []
    # One entry per content placed so far: the variants that are still to be tried there.
    tries: list[list[str]] = []
    position = len(pieces[0])
    for _ in range(_MAX_STEPS):
        depth = len(ranges)
        if depth == len(order):
            if position == len(text):
                return ranges
        elif len(tries) == depth:
            tries.append(list(variants[order[depth]]))
        placed = False
        while len(tries) > depth and tries[depth]:
            variant = tries[depth].pop(0)
            end = position + len(variant)
            if text.startswith(variant, position) and text.startswith(pieces[depth + 1], end):
                ranges.append((position, end))
                position = end + len(pieces[depth + 1])
                placed = True
                break
        if placed:
            continue
        if not ranges:
            return None
        # Nothing fits here: take the last content back and try its next variant.
        if len(tries) > depth:
            tries.pop()
        position = ranges.pop()[0]
    return None


def _variants(content: str) -> tuple[str, ...]:
    """What templates make of a content, the likeliest first."""
    answer = content.rpartition("</think>")[2]
    found = [content, content.strip(C_SPACE), content.rstrip(C_SPACE), content.lstrip(C_SPACE), content.strip("\n")]
    found += [content.strip(), answer.lstrip("\n"), answer.strip(C_SPACE), answer.strip(), ""]
    return tuple(dict.fromkeys(found))
