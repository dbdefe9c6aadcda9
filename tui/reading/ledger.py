"""The ledger: for every character of a document, where it went."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from tui.documents.model import Document
from tui.documents.places import Places
from tui.reading.results import Coverage
from tui.reading.sentencing import merged

State = Literal["read", "reused", "failed"]
"""`read`: stood in a prompt whose evaluated tokens were the planned ones, and the answer came to its end;
`reused`: was read so in an earlier run, its notes come from the journal; `failed`: neither."""

Mark = Literal["", "extracted", "repeated", "split", "blank", "cut", "flawed"]
"""`extracted`: sentences of the text stand in for the model's notes; `repeated`: the model said its notes again and
again, each is kept once; `split`: read in smaller pieces than planned; `blank`: white space only, no call was made.
Failed though it was read: `cut`: the answer did not come to its end; `flawed`: not all of it could be used."""

_LEADS = {"cut": "Read, but the answer was cut off", "flawed": "Read, but not all of the answer can be used"}


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


def unfinished(ledger: Ledger) -> int:
    """Characters that were read, but whose answer is not whole."""
    return sum(entry.end - entry.start for entry in ledger.failures if entry.mark in _LEADS)


def failure_warnings(document: Document, failures: Sequence[LedgerEntry]) -> list[str]:
    """One sentence for each reason, with all the places it happened at."""
    by_reason: dict[tuple[str, str], list[LedgerEntry]] = {}
    for entry in failures:
        by_reason.setdefault((_LEADS.get(entry.mark, "Not read"), entry.reason), []).append(entry)
    return [f"{lead}: {where(document, entries)}. {reason}" for (lead, reason), entries in by_reason.items()]


def where(document: Document, entries: Sequence[LedgerEntry]) -> str:
    """All the places of these entries, as they are cited; characters where nothing is known of pages and lines."""
    ranges = merged([(entry.start, entry.end) for entry in entries], gap=0)
    cite = Places(document).cite(ranges)
    return cite or "; ".join(f"characters {start:,} to {end:,}" for start, end in ranges)
