"""The ledger: for every character of a document, where it went."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from tui.documents.model import Document
from tui.reading.results import Coverage

State = Literal["read", "reused", "failed"]
"""`read`: stood in a prompt whose evaluated tokens were the planned ones, and the answer came to its end;
`reused`: was read so in an earlier run, its notes come from the journal; `failed`: neither."""

Mark = Literal["", "extracted", "repeated", "split", "blank"]
"""`extracted`: sentences of the text stand in for the model's notes; `repeated`: the model said its notes again and
again, each is kept once; `split`: read in smaller pieces than planned; `blank`: white space only, no call was made."""


class LedgerEntry(msgspec.Struct, frozen=True, kw_only=True):
    """`text[start:end]` of the document and what became of it."""

    start: int
    end: int
    state: State
    mark: Mark = ""
    reason: str = ""


class Ledger:
    """Entries as they come, in any order."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._entries: list[LedgerEntry] = []

    def add(self, entry: LedgerEntry) -> None:
        self._entries.append(entry)

    @property
    def entries(self) -> tuple[LedgerEntry, ...]:
        """In the document's order."""
        return tuple(sorted(self._entries, key=lambda entry: (entry.start, entry.end)))

    @property
    def failures(self) -> tuple[LedgerEntry, ...]:
        return tuple(entry for entry in self.entries if entry.state == "failed")

    def coverage(self) -> Coverage:
        """Characters read or reused; a character in two entries counts once, one in none counts as not read."""
        read = 0
        edge = 0
        for entry in self.entries:
            if entry.state == "failed":
                continue
            read += max(0, entry.end - max(entry.start, edge))
            edge = max(edge, entry.end)
        fraction = 1.0 if read == self._total else min(read / self._total, 0.9999)
        return Coverage(characters_total=self._total, characters_read=read, fraction=round(fraction, 4))


def place(document: Document, start: int, end: int) -> str:
    """Where `text[start:end]` is, in words: pages, files, else characters."""
    spans = document.spans_in(start, end)
    pages = [span.number for span in spans if span.kind == "page"]
    if pages:
        return page_list(pages)
    files = [span.label for span in spans]
    if not files or document.kind != "tree":
        return f"characters {start:,} to {end:,}"
    more = f" and {len(files) - 3} more" if len(files) > 3 else ""
    return ", ".join(files[:3]) + more


def page_list(numbers: Iterable[int]) -> str:
    """`page 3`, `pages 3-5, 9`."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    words = [str(first) if first == last else f"{first}-{last}" for first, last in runs]
    single = len(runs) == 1 and runs[0][0] == runs[0][1]
    return f"page{'' if single else 's'} {', '.join(words)}"


def failure_warnings(document: Document, failures: Sequence[LedgerEntry]) -> list[str]:
    """One sentence for each reason, with all the places it happened at."""
    by_reason: dict[str, list[LedgerEntry]] = {}
    for entry in failures:
        by_reason.setdefault(entry.reason, []).append(entry)
    return [f"Not read: {places(document, entries)}. {reason}" for reason, entries in by_reason.items()]


def places(document: Document, entries: Sequence[LedgerEntry]) -> str:
    """All the places of these entries, in words."""
    pages = [
        span.number for entry in entries for span in document.spans_in(entry.start, entry.end) if span.kind == "page"
    ]
    if pages:
        return page_list(pages)
    ranges: list[list[int]] = []
    for entry in sorted(entries, key=lambda entry: entry.start):
        if ranges and entry.start <= ranges[-1][1]:
            ranges[-1][1] = max(ranges[-1][1], entry.end)
        else:
            ranges.append([entry.start, entry.end])
    return "; ".join(place(document, start, end) for start, end in ranges)
