"""The chunker: pieces of a document that tile its text, each within a token budget, cut where a person would cut.

The text is counted once in small pieces, which gives a plan; then every planned chunk is counted as a whole, and what
is over the budget is cut again. So a few large calls of the counter do, and no chunk is taken on trust.
"""

from __future__ import annotations

import asyncio
import bisect
import itertools
from collections.abc import Awaitable, Callable, Sequence

from tui.documents.boundaries import Boundaries
from tui.documents.measure import Ruler, piece_size, pieces
from tui.documents.model import Chunk, Document, Heading
from tui.errors import UsageProblem

CountMany = Callable[[Sequence[str]], Awaitable[list[int]]]
"""Token counts of texts, each counted by itself, exact; in the order given."""

_SAMPLES = 16
_SAMPLE_CHARACTERS = 1000
# One call of the counter holds at most this much, so that a cancellation is felt within a second or so.
_CALL_CHARACTERS = 1 << 20
_CALL_TEXTS = 16384
# A remainder up to this many budgets is shared evenly by two chunks instead of leaving crumbs.
_LAST_TWO = 1.35
_EVEN = 0.62
# Kept free for what the estimate inside a piece may be off.
_MARGIN = 0.01


async def chunk_document(document: Document, max_tokens: int, count_many: CountMany) -> list[Chunk]:
    """Cut `document` into chunks of at most `max_tokens` tokens each, by the exact count of the chunk's whole text.

    Joined, the chunks are the text. Cuts are taken, in this preference, at the start of a file, a heading or a page,
    after a paragraph, a sentence (Chinese and Japanese ones too), a line, a clause, a word, a character. A heading
    is not left at the end of a chunk. An empty text gives no chunks.

    Raises UsageProblem when `max_tokens` cannot hold a single character of the text, with the smallest that can.
    """
    if max_tokens < 1:
        raise UsageProblem(f"A chunk of {max_tokens} tokens holds nothing.", "Give a budget of at least 16 tokens.")
    text = document.text
    if not text:
        return []
    starts, counts = await _measure(text, max_tokens, count_many)
    plan = await asyncio.to_thread(_Plan, document, max_tokens, Ruler(starts, counts))
    ranges = await asyncio.to_thread(plan.all_chunks)
    done: list[tuple[int, int, int]] = []
    while ranges:
        sizes = await _count_ranges(text, ranges, count_many)
        over = []
        for (start, end), tokens in zip(ranges, sizes, strict=True):
            if tokens <= max_tokens:
                done.append((start, end, tokens))
            elif end - start > 1:
                over.append((start, end, tokens))
            else:
                raise await _too_small(text, max_tokens, count_many)
        ranges = await asyncio.to_thread(plan.cut_again, over)
    return await asyncio.to_thread(_chunks, document, sorted(done))


async def _measure(text: str, max_tokens: int, count_many: CountMany) -> tuple[list[int], list[int]]:
    """Starts of small pieces (with the text's end) and their token counts."""
    step = max(_SAMPLE_CHARACTERS, len(text) // _SAMPLES)
    samples = [text[start : start + _SAMPLE_CHARACTERS] for start in range(0, len(text), step)]
    tokens = sum(await count_many(samples))
    per_token = sum(map(len, samples)) / max(1, tokens)
    starts = await asyncio.to_thread(pieces, text, piece_size(max_tokens, per_token))
    return starts, await _count_ranges(text, list(itertools.pairwise(starts)), count_many)


async def _count_ranges(text: str, ranges: Sequence[tuple[int, int]], count_many: CountMany) -> list[int]:
    counts: list[int] = []
    batch: list[str] = []
    size = 0
    for start, end in ranges:
        batch.append(text[start:end])
        size += end - start
        if size >= _CALL_CHARACTERS or len(batch) >= _CALL_TEXTS:
            counts += await count_many(batch)
            batch, size = [], 0
    if batch:
        counts += await count_many(batch)
    return counts


async def _too_small(text: str, max_tokens: int, count_many: CountMany) -> UsageProblem:
    """The error for a budget that one character exceeds, naming what the text's largest character needs."""
    smallest = max(await count_many(sorted(set(text))))
    return UsageProblem(
        f"A chunk of {max_tokens} tokens cannot hold every character of this text.",
        f"The smallest budget possible here is {smallest} tokens.",
    )


class _Plan:
    """Where the chunks of one document are cut, by estimated token positions."""

    def __init__(self, document: Document, max_tokens: int, ruler: Ruler) -> None:
        self._text = document.text
        self._max = max_tokens
        self._ruler = ruler
        self._boundaries = Boundaries(document)

    def all_chunks(self) -> list[tuple[int, int]]:
        """Ranges that tile the text, each within the budget by the estimate."""
        budget = self._max - self._max * _MARGIN
        end = len(self._text)
        ranges: list[tuple[int, int]] = []
        start = 0
        while start < end:
            left = self._ruler.total - self._ruler.tokens_before(start)
            if left <= budget:
                cut = end
            elif left <= budget * _LAST_TWO:
                cut = self._cut(start, end, min(budget, left * _EVEN))
            else:
                cut = self._cut(start, end, budget)
            ranges.append((start, cut))
            start = cut
        return ranges

    def cut_again(self, over: Sequence[tuple[int, int, int]]) -> list[tuple[int, int]]:
        """Two smaller ranges for each `(start, end, tokens)` that was counted over the budget."""
        ranges: list[tuple[int, int]] = []
        for start, end, tokens in over:
            span = self._ruler.tokens_before(end) - self._ruler.tokens_before(start)
            # The estimate was off by `tokens / span` here; a chunk a little over is shared about evenly.
            fitting = span * self._max * (1 - _MARGIN) / tokens
            cut = self._cut(start, end, min(fitting, span * _EVEN))
            ranges += [(start, cut), (cut, end)]
        return ranges

    def _cut(self, start: int, end: int, budget: float) -> int:
        """The best cut in `(start, end)` with at most `budget` estimated tokens before it, at least one character."""
        before = self._ruler.tokens_before(start)
        limit = max(start + 1, min(end - 1, self._ruler.place_of(before + budget)))
        if limit == start + 1:
            return limit
        room = max(budget, 1e-9)

        def fill(place: int) -> float:
            return (self._ruler.tokens_before(place) - before) / room

        return self._boundaries.best(start, limit, end, fill)


def _chunks(document: Document, done: Sequence[tuple[int, int, int]]) -> list[Chunk]:
    """The chunks with their pages, files and heading paths."""
    text = document.text
    starts = [span.start for span in document.spans]
    heading_starts, paths = _heading_paths(document.headings)
    paged = document.pages > 0
    chunks = []
    for index, (start, end, tokens) in enumerate(done):
        first = max(0, bisect.bisect_right(starts, start) - 1)
        touched = document.spans[first : max(first + 1, bisect.bisect_left(starts, end))]
        # White space before a heading does not belong to the section before it.
        shown = start
        while shown < end - 1 and text[shown].isspace():
            shown += 1
        at = bisect.bisect_right(heading_starts, shown) - 1
        chunks.append(
            Chunk(
                index=index,
                start=start,
                end=end,
                text=text[start:end],
                tokens=tokens,
                pages=(touched[0].number, touched[-1].number) if paged else None,
                files=tuple(span.label for span in touched) if document.kind == "tree" else (),
                heading=paths[at] if at >= 0 else "",
            )
        )
    return chunks


def _heading_paths(headings: Sequence[Heading]) -> tuple[list[int], list[str]]:
    """For each heading its start and its path, ` › ` between levels."""
    above: list[Heading] = []
    paths = []
    ordered = sorted(headings, key=lambda heading: heading.start)
    for heading in ordered:
        while above and above[-1].level >= heading.level:
            above.pop()
        above.append(heading)
        paths.append(" › ".join(part.title for part in above if part.title))
    return [heading.start for heading in ordered], paths
