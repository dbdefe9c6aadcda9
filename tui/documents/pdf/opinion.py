"""The second opinion: pypdf reads the pages on which pdfium found unexpectedly little, and only those.

pypdf is 8 to 16 times slower, so it gets a few seconds for a document and no more.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence

import msgspec

from tui.documents.clean import pages, unreadable_share
from tui.documents.limits import CallTimedOut, call_limit
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
    """What pypdf gave: texts that replace pdfium's, by page number; pages it found damaged; sentences for the user."""

    texts: dict[int, str]
    warnings: tuple[str, ...] = ()


def second_opinions(raw: Sequence[RawPage], second: SecondReader, unusable: float) -> Opinions:
    """Read the suspicious pages again and decide for each which text stands.

    Suspicious: not loadable, unreadable characters (share of at least `unusable`), no text where something is drawn,
    and pages far shorter than the document's median.
    """
    texts: dict[int, str] = {}
    damaged: list[int] = []
    unchecked: list[int] = []
    median = _median(raw)
    end = time.monotonic() + _SECONDS
    for page in sorted(raw, key=lambda page: (_rank(page, median, unusable), page.number)):
        rank = _rank(page, median, unusable)
        if rank == _SOUND:
            break
        left = end - time.monotonic()
        if left <= 0 or second.broken:
            if rank == _LOOKS_SHORT and not second.broken:
                unchecked.append(page.number)
            continue
        try:
            with call_limit(min(left, _SECONDS_A_PAGE)):
                text, reason = second.page_text(page.number)
        except CallTimedOut:
            unchecked.append(page.number)
            continue
        if text is None:
            if rank == _LOOKS_SHORT and reason:
                damaged.append(page.number)
        elif _better(page, text, unusable):
            texts[page.number] = text
    return Opinions(texts, tuple(_sentences(sorted(texts), sorted(damaged), sorted(unchecked))))


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


def _sentences(taken: list[int], damaged: list[int], unchecked: list[int]) -> list[str]:
    found = []
    if taken:
        where, one = pages(taken)
        found.append(
            f"Of {where} the second reader's text was taken, for it found more; its word order may be rougher."
        )
    if damaged:
        where, one = pages(damaged)
        found.append(f"The content of {where} is damaged; part of {'its' if one else 'their'} text may be missing.")
    if unchecked:
        where, one = pages(unchecked)
        verb = "was" if one else "were"
        found.append(f"{where.capitalize()} {verb} unexpectedly short and could not be checked a second time in time.")
    return found
