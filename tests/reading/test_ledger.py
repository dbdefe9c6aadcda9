"""The ledger adds up, and names places as people do."""

from __future__ import annotations

from tui.documents.model import Document, Span
from tui.reading.ledger import Ledger, LedgerEntry, State, failure_warnings, where


def pages(*lengths: int) -> Document:
    spans, edge = [], 0
    for number, length in enumerate(lengths, 1):
        spans.append(Span("page", str(number), number, edge, edge + length))
        edge += length
    return Document(path="a.pdf", name="a.pdf", kind="pdf", text="x" * edge, spans=tuple(spans))


def entry(start: int, end: int, state: State = "read", reason: str = "") -> LedgerEntry:
    return LedgerEntry(start=start, end=end, state=state, reason=reason)


def test_everything_read() -> None:
    ledger = Ledger(100)
    ledger.add(entry(50, 100, "reused"))
    ledger.add(entry(0, 50))
    assert ledger.coverage().fraction == 1.0
    assert ledger.coverage().characters_read == 100
    assert [found.start for found in ledger.entries] == [0, 50]


def test_overlaps_count_once_and_gaps_do_not_count() -> None:
    ledger = Ledger(100)
    for found in (entry(0, 40), entry(20, 50), entry(25, 30), entry(60, 90, "failed")):
        ledger.add(found)
    assert ledger.coverage().characters_read == 50
    assert ledger.coverage().fraction == 0.5


def test_a_single_missing_character_is_not_rounded_away() -> None:
    ledger = Ledger(10_000_000)
    ledger.add(entry(0, 9_999_999))
    assert ledger.coverage().fraction < 1.0


def test_places_are_named_as_they_are_cited() -> None:
    assert where(pages(10, 10, 10, 10), [entry(30, 40), entry(0, 5), entry(5, 20)]) == "pp. 1-2, 4"
    assert where(pages(10, 10), [entry(10, 20)]) == "p. 2"
    plain = Document(path="a", name="a", kind="text", text="one\ntwo\nthree\n", spans=())
    assert where(plain, [entry(4, 8), entry(10, 12)]) == "characters 4 to 8; characters 10 to 12"
    spans = (Span("file", "a", 1, 0, len(plain.text)),)
    lined = Document(path="a", name="a", kind="text", text=plain.text, spans=spans)
    assert where(lined, [entry(4, 8)]) == "line 2"


def test_failures_are_named_by_page_once_for_each_reason() -> None:
    failures = [
        entry(0, 10, "failed", "It broke."),
        entry(20, 30, "failed", "It broke."),
        entry(10, 20, "failed", "No."),
    ]
    assert failure_warnings(pages(10, 10, 10), failures) == [
        "Not read: pp. 1, 3. It broke.",
        "Not read: p. 2. No.",
    ]
