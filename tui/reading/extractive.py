"""Sentences of a text that say most about it, chosen without a model: what stands in when the model gives no answer."""

from __future__ import annotations

import asyncio
import math
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence

CountMany = Callable[[Sequence[str]], Awaitable[list[int]]]

# A sentence ends at its punctuation and what closes after it, or at a line's end.
_SENTENCE = re.compile(r"[^\n]*?(?:[.!?…]+[\"'”’)\]]*(?=\s|$)|[。！？]+[”’」』）]*|$)", re.MULTILINE)
_UNIT = re.compile(r"[^\W_]+", re.UNICODE)
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_SHORTEST = 20
_MOST = 2000


def sentences(text: str) -> list[str]:
    """The sentences of a text without surrounding space, in order."""
    return [found for match in _SENTENCE.finditer(text) if (found := match.group().strip())]


def units(text: str) -> list[str]:
    """Words in lower case; each Chinese or Japanese character counts as one."""
    found: list[str] = []
    for word in _UNIT.findall(text.lower()):
        if _CJK.search(word):
            found += list(word)
        else:
            found.append(word)
    return found


def ranked(text: str) -> list[tuple[int, str]]:
    """Sentences with their place in the text, those first whose words are the most telling of it."""
    candidates = sentences(text)[:_MOST]
    words = [units(sentence) for sentence in candidates]
    in_how_many = Counter(word for sentence in words for word in set(sentence))

    def weight(sentence: list[str]) -> float:
        # Words that come back elsewhere in the text tell of it; long sentences have no advantage.
        telling = sum(math.log(1 + in_how_many[word]) for word in set(sentence) if len(word) > 3 or word.isdigit())
        return telling / (1 + math.sqrt(len(sentence)))

    order = sorted(range(len(candidates)), key=lambda i: (len(candidates[i]) < _SHORTEST, -weight(words[i]), i))
    return [(i, candidates[i]) for i in order]


async def extract(text: str, max_tokens: int, count_many: CountMany, *, most: int = 5) -> list[str]:
    """At most `most` telling sentences, in the text's order, that together count at most `max_tokens`.

    A sentence that alone is longer is cut to its first words and ends in `…`; at least one comes back unless there is
    no room for a single word.
    """
    order = (await asyncio.to_thread(ranked, text))[: 4 * most]
    counts = await count_many([f"- {sentence}\n" for _, sentence in order])
    chosen: list[tuple[int, str]] = []
    room = max_tokens
    for (place, sentence), count in zip(order, counts, strict=True):
        if len(chosen) < most and count <= room:
            chosen.append((place, sentence))
            room -= count
    if not chosen and order:
        cut = await _cut(order[0][1], max_tokens, count_many)
        return [cut] if cut else []
    return [sentence for _, sentence in sorted(chosen)]


async def _cut(sentence: str, max_tokens: int, count_many: CountMany) -> str:
    low, high = 0, len(sentence)
    while low < high:
        middle = (low + high + 1) // 2
        if (await count_many([f"- {sentence[:middle]}…\n"]))[0] <= max_tokens:
            low = middle
        else:
            high = middle - 1
    return f"{sentence[:low].rstrip()}…" if low else ""
