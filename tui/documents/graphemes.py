"""Where a text may be cut without tearing what a person sees as one character."""

from __future__ import annotations

import unicodedata

_JOINER = "\u200d"
_MOST = 64
_VIRAMA = 9


def whole_before(text: str, cut: int, lowest: int) -> int:
    """The last offset in `(lowest, cut]` that tears no grapheme cluster; `cut` itself when there is none.

    Looks back 64 characters at most: longer clusters are not met in writing.
    """
    floor = max(lowest, cut - _MOST)
    place = cut
    while place > floor and not is_boundary(text, place):
        place -= 1
    return place if place > floor else cut


def whole_after(text: str, place: int) -> int:
    """The first offset above `place` that tears no grapheme cluster; 64 characters on at most."""
    end = min(len(text), place + _MOST)
    place += 1
    while place < end and not is_boundary(text, place):
        place += 1
    return min(place, len(text))


def is_boundary(text: str, place: int) -> bool:
    """Whether a cut at `place` tears no grapheme cluster."""
    if place <= 0 or place >= len(text):
        return True
    before, after = text[place - 1], text[place]
    if after < "\u0300" and before < "\u0300":
        return not (before == "\r" and after == "\n")
    if after in "\u200c\u200d" or _extends(after) or before == _JOINER or _is_prepended(before):
        return False
    if unicodedata.combining(before) == _VIRAMA and unicodedata.category(after) == "Lo":
        return False  # a consonant written under or into the one before it
    if _is_regional(before) and _is_regional(after):
        return _regionals_before(text, place) % 2 == 0
    return not _same_syllable(before, after)


def _extends(character: str) -> bool:
    """Marks, variation selectors, emoji modifiers and tags: they belong to what stands before them."""
    code = ord(character)
    return (
        unicodedata.category(character) in ("Mn", "Me", "Mc")
        or 0x1F3FB <= code <= 0x1F3FF
        or 0xE0020 <= code <= 0xE007F
        or code in (0xFF9E, 0xFF9F, 0x0E33, 0x0EB3)
    )


def _is_prepended(character: str) -> bool:
    code = ord(character)
    return 0x0600 <= code <= 0x0605 or code in (0x06DD, 0x070F, 0x0890, 0x0891, 0x08E2, 0x0D4E, 0x110BD, 0x110CD)


def _is_regional(character: str) -> bool:
    return 0x1F1E6 <= ord(character) <= 0x1F1FF


def _regionals_before(text: str, place: int) -> int:
    start = place
    while start > 0 and place - start < _MOST and _is_regional(text[start - 1]):
        start -= 1
    return place - start


def _same_syllable(before: str, after: str) -> bool:
    """Hangul written as separate letters: leading, vowel and trailing letters form one syllable."""
    first, second = ord(before), ord(after)
    leading = 0x1100 <= first <= 0x115F or 0xA960 <= first <= 0xA97C
    vowel = 0x1160 <= first <= 0x11A7 or 0xD7B0 <= first <= 0xD7C6
    trailing = 0x11A8 <= first <= 0x11FF or 0xD7CB <= first <= 0xD7FB
    syllable = 0xAC00 <= first <= 0xD7A3
    next_leading = 0x1100 <= second <= 0x115F or 0xA960 <= second <= 0xA97C
    next_vowel = 0x1160 <= second <= 0x11A7 or 0xD7B0 <= second <= 0xD7C6
    next_trailing = 0x11A8 <= second <= 0x11FF or 0xD7CB <= second <= 0xD7FB
    next_syllable = 0xAC00 <= second <= 0xD7A3
    if leading:
        return next_leading or next_vowel or next_syllable
    open_syllable = syllable and (first - 0xAC00) % 28 == 0
    if vowel or open_syllable:
        return next_vowel or next_trailing
    return (trailing or syllable) and next_trailing
