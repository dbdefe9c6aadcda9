"""The ledger adds up, and names places as people do."""

from __future__ import annotations

from tui.documents.model import Document, Span
from tui.reading.ledger import Ledger, LedgerEntry, State, failure_warnings, page_list, place, places


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


def test_page_lists() -> None:
    assert page_list([3]) == "page 3"
    assert page_list([9, 3, 4, 5, 5]) == "pages 3-5, 9"


def test_places() -> None:
    document = pages(10, 10, 10)
    assert place(document, 5, 25) == "pages 1-3"
    assert place(document, 10, 20) == "page 2"
    plain = Document(path="a", name="a", kind="text", text="x" * 30, spans=())
    assert place(plain, 1000, 2000) == "characters 1,000 to 2,000"
    ranges = [entry(20, 25), entry(0, 5), entry(5, 9)]
    assert places(plain, ranges) == "characters 0 to 9; characters 20 to 25"
    tree = Document(
        path="a",
        name="a",
        kind="tree",
        text="x" * 50,
        spans=tuple(Span("file", f"f{n}.py", n, n * 10 - 10, n * 10) for n in range(1, 6)),
    )
    assert place(tree, 0, 20) == "f1.py, f2.py"
    assert place(tree, 0, 50) == "f1.py, f2.py, f3.py and 2 more"


def test_failures_are_named_by_page_once_for_each_reason() -> None:
    failures = [
        entry(0, 10, "failed", "It broke."),
        entry(20, 30, "failed", "It broke."),
        entry(10, 20, "failed", "No."),
    ]
    assert failure_warnings(pages(10, 10, 10), failures) == [
        "Not read: pages 1, 3. It broke.",
        "Not read: page 2. No.",
    ]
