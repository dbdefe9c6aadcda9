"""The text of a page that runs sideways or stands on its head: pdfium orders lines well only when they are upright."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import pypdfium2.raw as pdfium_c

from tui.documents.pdf.columns import in_column_order

# Characters whose direction is looked up to learn what a page is like: enough to meet a sideways table.
_PROBES = 48
_QUARTER = 90
# Letters along a curve or a slope belong to no direction; they stay with the page's own.
_SLANT = 10
_OBLIQUE = -1
_HYPHEN = 0xFFFE
_NEVER_SHOWN = 0


def page_text(page: Any) -> str:
    """The raw text of a pdfium page, each part read in the direction in which it runs; line ends as pdfium gives them.

    A page that is read sideways is turned for it, in memory and for the time of the call.
    """
    given = page.get_rotation()
    text_page = page.get_textpage()
    try:
        directions = _directions(text_page, _PROBES)
        upright = -given % 360
        if not directions or set(directions) <= {upright}:
            return in_column_order(text_page, _whole(text_page))
    finally:
        text_page.close()
    most = directions.most_common(1)[0][0]
    try:
        text, parts = _turned(page, most, most, several=len(directions) > 1)
        if not parts:
            return text
        # The part that runs as most of the page does comes first, the others follow whole.
        others = sorted(angle for angle in parts if angle != most)
        pieces = [
            parts.get(most, ""),
            *(_turned(page, angle, most, several=True)[1].get(angle, "") for angle in others),
        ]
    finally:
        page.set_rotation(given)
    merged = "\r\n".join(filter(None, pieces))
    return merged if _letters(merged) == _letters(text) else text


def _turned(page: Any, angle: int, most: int, *, several: bool) -> tuple[str, dict[int, str]]:
    """The text of the page when what runs at `angle` is upright; for `several` also its lines by their direction."""
    page.set_rotation(-angle % 360)
    text_page = page.get_textpage()
    try:
        return in_column_order(text_page, _whole(text_page)), _by_direction(text_page, most) if several else {}
    finally:
        text_page.close()


def _whole(text_page: Any) -> str:
    # The default drops what cannot be decoded; lone surrogates are marked later instead.
    text: str = text_page.get_text_range(errors="surrogatepass")
    return text


def _directions(text_page: Any, probes: int) -> Counter[int]:
    """How many of some characters run in which direction: 0, 90, 180 or 270 degrees, as the page is stored."""
    count = text_page.count_chars()
    found: Counter[int] = Counter()
    for index in range(0, count, max(1, count // probes)):
        if pdfium_c.FPDFText_IsGenerated(text_page, index) != 1:
            found[_direction(text_page, index)] += 1
    del found[_OBLIQUE]
    return found


def _direction(text_page: Any, index: int) -> int:
    degrees = math.degrees(pdfium_c.FPDFText_GetCharAngle(text_page, index))
    quarter = round(degrees / _QUARTER) * _QUARTER
    return quarter % 360 if abs(degrees - quarter) <= _SLANT else _OBLIQUE


def _by_direction(text_page: Any, most: int) -> dict[int, str]:
    """The page's lines, joined by the direction in which most of their letters run; oblique ones count as `most`."""
    lines: dict[int, list[str]] = {}
    letters: list[str] = []
    votes: Counter[int] = Counter()

    def close() -> None:
        if letters:
            direction = votes.most_common(1)[0][0] if votes else _OBLIQUE
            lines.setdefault(most if direction == _OBLIQUE else direction, []).append("".join(letters))
        letters.clear()
        votes.clear()

    for index in range(text_page.count_chars()):
        code = pdfium_c.FPDFText_GetUnicode(text_page, index)
        if code in (10, 13):
            close()
        elif code != _NEVER_SHOWN:
            letters.append(chr(_HYPHEN if pdfium_c.FPDFText_IsHyphen(text_page, index) == 1 else code))
            if pdfium_c.FPDFText_IsGenerated(text_page, index) != 1:
                votes[_direction(text_page, index)] += 1
    close()
    return {
        angle: "\r\n".join(found).encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
        for angle, found in lines.items()
    }


def _letters(text: str) -> Counter[str]:
    return Counter(letter for letter in text if not letter.isspace() and ord(letter) != _HYPHEN)
