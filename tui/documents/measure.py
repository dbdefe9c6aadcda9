"""How many tokens lie before each place of a text: counted once over small pieces, in between estimated."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Sequence

_MIN_PIECE = 24
_MAX_PIECE = 4000


def piece_size(max_tokens: int, characters_per_token: float) -> int:
    """Characters of a piece, so that about twelve make a chunk; at most 4,000, which `/tokenize` takes well."""
    return max(_MIN_PIECE, min(_MAX_PIECE, int(max_tokens / 12 * characters_per_token)))


def pieces(text: str, length: int) -> list[int]:
    """Starts of pieces of about `length` characters, cut at white space where there is some, and the text's end."""
    starts = [0]
    end = len(text)
    while end - starts[-1] > length:
        start = starts[-1]
        limit = start + length
        # Tokenizers join a space with the word after it, so a piece starts with it.
        cut = max(text.rfind(" ", start + length // 2, limit), text.rfind("\n", start + length // 2, limit) + 1)
        starts.append(cut if cut > start else limit)
    starts.append(end)
    return starts


class Ruler:
    """Token positions of a text, from the counts of its pieces.

    The sum over pieces is at most a few percent above the count of the joined text, rarely below it; so it serves
    for planning, and every chunk is counted as a whole afterwards.
    """

    def __init__(self, starts: Sequence[int], counts: Sequence[int]) -> None:
        self._starts = starts
        self._before = [0, *itertools.accumulate(counts)]

    @property
    def total(self) -> int:
        """Tokens of the whole text, as a sum over the pieces."""
        return self._before[-1]

    def tokens_before(self, place: int) -> float:
        """Tokens of `text[:place]`, estimated inside a piece by its share."""
        index = min(bisect.bisect_right(self._starts, place) - 1, len(self._before) - 2)
        start, end = self._starts[index], self._starts[index + 1]
        share = (place - start) / (end - start) if end > start else 0.0
        return self._before[index] + share * (self._before[index + 1] - self._before[index])

    def place_of(self, tokens: float) -> int:
        """The last place with at most `tokens` tokens before it, as an estimate."""
        index = max(0, min(bisect.bisect_right(self._before, tokens) - 1, len(self._before) - 2))
        start, end = self._starts[index], self._starts[index + 1]
        count = self._before[index + 1] - self._before[index]
        if count <= 0:
            return end
        return start + int((end - start) * min(1.0, (tokens - self._before[index]) / count))
