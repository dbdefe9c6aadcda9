"""Token counters for the chunker's tests: a byte-level BPE as models have it, and one that counts words."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Awaitable, Callable, Sequence

import tiktoken

_SEEDS = (
    "the and ing ion ent her that was for you with this from have not are word pump night sentence ends here "
    "第一 二十 的 了 是 在 。 ， def return self class import"
)


@functools.cache
def byte_level() -> tiktoken.Encoding:
    """A small BPE vocabulary over bytes: an emoji costs four tokens and more, common words one."""
    ranks = {bytes([byte]): byte for byte in range(256)}
    for word in itertools.chain.from_iterable((seed, f" {seed}") for seed in _SEEDS.split()):
        packed = word.encode()
        for length in range(2, len(packed) + 1):
            ranks.setdefault(packed[:length], len(ranks))
    pattern = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}{1,3}| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
    return tiktoken.Encoding("tests", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})


def count_bytes_level(text: str) -> int:
    return len(byte_level().encode_ordinary(text))


def count_words(text: str) -> int:
    """Words and signs; white space is free."""
    return len(re.findall(r"\w+|[^\w\s]", text))


class Counting:
    """`count` as a chunker wants it, remembering what it was asked."""

    def __init__(self, count: Callable[[str], int]) -> None:
        self.count = count
        self.calls: list[int] = []
        self.characters = 0

    async def many(self, texts: Sequence[str]) -> list[int]:
        self.calls.append(len(texts))
        self.characters += sum(map(len, texts))
        return [self.count(text) for text in texts]


def many(count: Callable[[str], int]) -> Callable[[Sequence[str]], Awaitable[list[int]]]:
    return Counting(count).many
