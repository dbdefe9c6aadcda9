"""Special tokens in text: where a template's own tokens are, and whether a content holds the text of one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

C_SPACE = " \t\n\v\f\r"
"""White space as C's isspace has it, which is what llama.cpp strips after some tokens."""


_FEW = 6


class Match(NamedTuple):
    """`text[start:end]` is the special token `id`."""

    start: int
    end: int
    id: int


class SpecialTokens:
    """A set of token texts that stand for one token each."""

    def __init__(self, ids: Mapping[str, int], strips_after: frozenset[int] = frozenset()) -> None:
        self.ids = dict(ids)
        self.strips_after = strips_after
        self._pattern = re.compile(_one_of(self.ids)) if self.ids else None
        self._openings = sorted({token[0] for token in self.ids})

    def occur_in(self, text: str) -> bool:
        return next(self._present(text), None) is not None

    def _present(self, text: str) -> Iterator[str]:
        """Special tokens in `text`, as they come; where two begin alike, the longer."""
        if self._pattern is None:
            return
        if len(self._openings) > _FEW:
            for found in self._pattern.finditer(text):
                yield found.group()
            return
        # Looking for one character is many times faster than looking for a pattern, and prose has few `<`.
        for opening in self._openings:
            at = text.find(opening)
            while at >= 0:
                match = self._pattern.match(text, at)
                if match is not None:
                    yield match.group()
                at = text.find(opening, at + 1)

    def find(self, text: str) -> list[Match]:
        """The special tokens in `text`, in order; where two overlap the longer wins, then the earlier."""
        present = set(self._present(text))
        matches: list[Match] = []
        free = [(0, len(text))]
        for token in sorted(present, key=lambda token: -len(token.encode())):
            left: list[tuple[int, int]] = []
            for start, end in free:
                at = text.find(token, start, end)
                while at >= 0:
                    matches.append(Match(at, at + len(token), self.ids[token]))
                    left.append((start, at))
                    start = at + len(token)
                    at = text.find(token, start, end)
                left.append((start, end))
            free = left
        return sorted(matches)


def _one_of(texts: Iterable[str]) -> str:
    """A pattern for any of `texts`, the longest first, shaped as a tree: some vocabularies have thousands."""
    tree: dict[str, dict] = {}  # type: ignore[type-arg]  # a tree of itself
    for text in texts:
        node = tree
        for char in text:
            node = node.setdefault(char, {})
        node[""] = {}
    return _branch(tree)


def _branch(node: dict[str, dict]) -> str:  # type: ignore[type-arg]  # a tree of itself
    ends = "" in node
    branches: list[str] = []
    for char, below in node.items():
        if not char:
            continue
        text = char
        while len(below) == 1 and "" not in below:
            (following, below) = next(iter(below.items()))
            text += following
        branches.append(re.escape(text) + _branch(below))
    if not branches:
        return ""
    if len(branches) == 1 and not ends:
        return branches[0]
    return f"(?:{'|'.join(branches)}){'?' if ends else ''}"
