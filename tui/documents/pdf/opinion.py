"""The second opinion: pypdf reads the pages on which pdfium found unexpectedly little, and only those.

pypdf is 8 to 16 times slower, so it gets a few seconds for a document and no more.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence

import msgspec

from tui.documents.clean import unreadable_share
from tui.documents.limits import CallTimedOut, call_limit
from tui.documents.model import PageNote
from tui.documents.pdf.engine import FEW, RawPage
from tui.documents.pdf.second import SecondReader

_SECONDS = 5.0
_SECONDS_A_PAGE = 2.0
# A page is short when it has less than this share of the document's median; damaged streams were met at 0.47.
_SHORT = 0.5
_ENOUGH_PAGES = 4
_ENOUGH_CHARACTERS = 200
# The other text wins when it holds nearly all of pdfium's (by three-letter pieces) and a quarter more besides.
_HOLDS = 0.6
_ADDS = 0.25
_PIECE = 3


class Opinions(msgspec.Struct, frozen=True):
    """What pypdf gave: texts that replace pdfium's, by page number; notes for the user."""

    texts: dict[int, str]
    notes: tuple[PageNote, ...] = ()
    hurried: bool = False
    """Whether time ran out for some page."""


def second_opinions(raw: Sequence[RawPage], second: SecondReader, unusable: float) -> Opinions:
    """Read the suspicious pages again and decide for each which text stands.

    Suspicious: not loadable, unreadable characters (share of at least `unusable`), no text where something is drawn,
    and pages far shorter than the document's median.
    """
    texts: dict[int, str] = {}
    damaged: list[int] = []
    unchecked: list[int] = []
    hurried = False
    median = _median(raw)
    end = time.monotonic() + _SECONDS
    for page in sorted(raw, key=lambda page: (_rank(page, median, unusable), page.number)):
        rank = _rank(page, median, unusable)
        if rank == _SOUND:
            break
        left = end - time.monotonic()
        if left <= 0 or second.broken:
            hurried = hurried or not second.broken
            if rank == _LOOKS_SHORT and not second.broken:
                unchecked.append(page.number)
            continue
        try:
            with call_limit(min(left, _SECONDS_A_PAGE)):
                text, reason = second.page_text(page.number)
        except CallTimedOut:
            unchecked.append(page.number)
            hurried = True
            continue
        if text is None:
            if rank == _LOOKS_SHORT and reason:
                damaged.append(page.number)
        elif _better(page, text, unusable):
            texts[page.number] = text
    return Opinions(texts, tuple(_notes(sorted(texts), sorted(damaged), sorted(unchecked))), hurried)


_NOT_LOADED, _GARBLED, _WITHOUT_TEXT, _LOOKS_SHORT, _SOUND = range(5)


def _rank(page: RawPage, median: float, unusable: float) -> int:
    if page.state == "failed":
        return _NOT_LOADED
    if page.characters >= FEW and page.unreadable >= unusable:
        return _GARBLED
    if page.characters < FEW:
        return _WITHOUT_TEXT if page.has_content else _SOUND
    return _LOOKS_SHORT if page.characters < _SHORT * median else _SOUND


def _median(raw: Sequence[RawPage]) -> float:
    lengths = [page.characters for page in raw if page.characters >= FEW]
    if len(lengths) < _ENOUGH_PAGES:
        return 0.0
    median = statistics.median(lengths)
    return median if median >= _ENOUGH_CHARACTERS else 0.0


def _better(page: RawPage, text: str, unusable: float) -> bool:
    characters = len("".join(text.split()))
    if characters < FEW:
        return False
    unreadable = unreadable_share(text.replace("\x00", ""))
    if page.state == "failed" or page.characters < FEW:
        return unreadable < unusable
    if page.unreadable >= unusable:
        return unreadable < unusable / 2 and characters >= 0.8 * page.characters
    ours, theirs = _pieces(page.text), _pieces(text)
    added = len(theirs - ours)
    return (
        unreadable <= page.unreadable
        and added >= max(FEW, _ADDS * len(ours))
        and len(ours & theirs) >= _HOLDS * len(ours)
    )


def _pieces(text: str) -> set[str]:
    """The distinct three-letter pieces of a text: the same measure for every script, blind to repeated overprinting."""
    packed = "".join(text.split())
    return {packed[start : start + _PIECE] for start in range(len(packed) - _PIECE + 1)}


def _notes(taken: list[int], damaged: list[int], unchecked: list[int]) -> list[PageNote]:
    found = []
    if taken:
        more = "Of {} the second reader's text was taken, for it found more; its word order may be rougher."
        found.append(PageNote(tuple(taken), more, more))
    if damaged:
        content, missing = "The content of {} is damaged; part of", "text may be missing."
        found.append(PageNote(tuple(damaged), f"{content} its {missing}", f"{content} their {missing}"))
    if unchecked:
        short = "unexpectedly short and could not be checked a second time in time."
        found.append(PageNote(tuple(unchecked), f"{{}} was {short}", f"{{}} were {short}"))
    return found
