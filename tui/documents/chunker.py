"""The chunker: pieces of a document that tile its text, each within a token budget, cut where a person would cut.

The text is counted once in small pieces, which gives a plan; then every planned chunk is counted as a whole, and what
is over the budget is cut again. So a few large calls of the counter do, and no chunk is taken on trust.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Sequence

from tui.documents.boundaries import Boundaries
from tui.documents.described import described
from tui.documents.graphemes import whole_after
from tui.documents.measure import Ruler, piece_size, pieces
from tui.documents.model import Chunk, Document
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
    after a paragraph, a list item, a sentence (Chinese and Japanese ones too), a line, a clause, a word, a character;
    in code before a definition. A heading is not left at the end of a chunk; functions, table rows, list items and
    fenced blocks that fit are not torn. A chunk that starts inside a table has the table's header as its `context`,
    unless that takes more than half the budget. An empty text gives no chunks.

    Raises UsageProblem when `max_tokens` cannot hold a single character of the text, with the smallest that can.
    """
    if max_tokens < 1:
        raise UsageProblem(f"A chunk of {max_tokens} tokens holds nothing.", "Give a budget of at least 16 tokens.")
    text = document.text
    if not text:
        return []
    starts, counts = await _measure(text, max_tokens, count_many)
    headers = await _measure_headers(document, max_tokens, count_many)
    plan = await asyncio.to_thread(_Plan, document, max_tokens, Ruler(starts, counts), headers)
    ranges = await asyncio.to_thread(plan.all_chunks)
    done: list[tuple[int, int, int]] = []
    while ranges:
        sizes = await _count_ranges(text, ranges, count_many, plan.context)
        over = []
        for (start, end), tokens in zip(ranges, sizes, strict=True):
            if tokens <= max_tokens:
                done.append((start, end, tokens))
            elif end - start > 1 or plan.context(start):
                over.append((start, end, tokens))
            else:
                raise await _too_small(text, max_tokens, count_many)
        ranges = await asyncio.to_thread(plan.cut_again, over)
    return await asyncio.to_thread(described, document, sorted(done), plan.context)


async def _measure(text: str, max_tokens: int, count_many: CountMany) -> tuple[list[int], list[int]]:
    """Starts of small pieces (with the text's end) and their token counts."""
    step = max(_SAMPLE_CHARACTERS, len(text) // _SAMPLES)
    samples = [text[start : start + _SAMPLE_CHARACTERS] for start in range(0, len(text), step)]
    tokens = sum(await count_many(samples))
    per_token = sum(map(len, samples)) / max(1, tokens)
    starts = await asyncio.to_thread(pieces, text, piece_size(max_tokens, per_token))
    return starts, await _count_ranges(text, list(itertools.pairwise(starts)), count_many)


async def _measure_headers(document: Document, max_tokens: int, count_many: CountMany) -> dict[int, int]:
    """Tokens of the tables' headers, by the tables' starts; of those only that are worth repeating."""
    most = max_tokens // 2
    # A token of more than 32 characters on average is white space or rules.
    tables = [table for table in document.tables if 0 < table.header_end - table.start <= most * 32]
    ranges = [(table.start, table.header_end) for table in tables]
    sizes = await _count_ranges(document.text, ranges, count_many)
    return {table.start: size for table, size in zip(tables, sizes, strict=True) if size <= most}


async def _count_ranges(
    text: str,
    ranges: Sequence[tuple[int, int]],
    count_many: CountMany,
    context: Callable[[int], str] = lambda start: "",
) -> list[int]:
    """Tokens of each range, with the context that belongs to its start in front."""
    counts: list[int] = []
    batch: list[str] = []
    size = 0
    for start, end in ranges:
        batch.append(context(start) + text[start:end])
        size += len(batch[-1])
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

    def __init__(self, document: Document, max_tokens: int, ruler: Ruler, headers: dict[int, int]) -> None:
        self._text = document.text
        self._max = max_tokens
        self._ruler = ruler
        self._boundaries = Boundaries(document)
        self._headers = headers
        self._without: set[int] = set()

    def context(self, start: int) -> str:
        """What stands in front of the chunk that begins at `start`: the header of the table it begins in."""
        table = self._boundaries.units.table_at(start)
        if table is None or start < table.header_end or start in self._without or table.start not in self._headers:
            return ""
        return self._text[table.start : table.header_end]

    def _room(self, start: int) -> int:
        """Tokens of the budget that are left to the text of the chunk that begins at `start`."""
        table = self._boundaries.units.table_at(start)
        if table is None or not self.context(start):
            return self._max
        room = self._max - self._headers[table.start]
        row = self._boundaries.units.row_end(start, table)
        size = self._ruler.tokens_before(row) - self._ruler.tokens_before(start)
        if room * (1 - _MARGIN) < size <= self._max:
            self._without.add(start)  # a row is not cut for its header's sake
            return self._max
        return room

    def all_chunks(self) -> list[tuple[int, int]]:
        """Ranges that tile the text, each within the budget by the estimate."""
        end = len(self._text)
        ranges: list[tuple[int, int]] = []
        start = 0
        while start < end:
            budget = self._room(start) * (1 - _MARGIN)
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
            if self.context(start) and not self._boundaries.units.rows_inside(start, end):
                self._without.add(start)
                ranges.append((start, end))
                continue
            span = self._ruler.tokens_before(end) - self._ruler.tokens_before(start)
            room = self._room(start)
            tokens -= self._max - room
            # The estimate was off by `tokens / span` here; a chunk a little over is shared about evenly.
            fitting = span * room * (1 - _MARGIN) / max(1, tokens)
            cut = self._cut(start, end, min(fitting, span * _EVEN))
            ranges += [(start, cut), (cut, end)]
        return ranges

    def _cut(self, start: int, end: int, budget: float) -> int:
        """The best cut in `(start, end)` with at most `budget` estimated tokens before it, at least one character."""
        before = self._ruler.tokens_before(start)
        limit = max(start + 1, min(end - 1, self._ruler.place_of(before + budget)))
        first = whole_after(self._text, start)
        if limit <= first:
            # What a person sees as one character is torn only when it fills more than a chunk by itself.
            return first if first < end else limit
        room = max(budget, 1e-9)

        def fill(place: int) -> float:
            return (self._ruler.tokens_before(place) - before) / room

        return self._boundaries.best(start, limit, end, fill)
