"""From pdfium's raw page texts to text for people and models: line ends, hyphens at line ends, forbidden characters."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tui.documents.clean import REPLACEMENT, without_forbidden

# pdfium sets this in place of a hyphen and the line end after it; older fonts give U+0002 for the same.
_SOFT = "\ufffe"
_JOINED = re.compile(r"(-?)(\w+)[\ufffe\x02](?:\r?\n)?(\w+)")
_LONE_SOFT = re.compile(r"(?<=\w)[\ufffe\x02]")
_PRINTED = re.compile(r"(?<=[^\W\d_])[-\u2010\u00ad][ \t]*\r?\n(?=[^\W\d_])")
_HYPHENATED = re.compile(r"(\w+)-(?=(\w+))")
_WORD = re.compile(r"\w+")
_CONTROL = re.compile("[\x01-\x08\x0b\x0e-\x1f\x7f-\x84\x86-\x9f]")
_TRAILING = re.compile(r"[ \t]+(?=\n)|[ \t\n]+\Z")


def without_hyphen_marks(text: str) -> str:
    """`text` for judging its characters: the marks of line-end hyphens are not counted as unreadable."""
    return _LONE_SOFT.sub("-", text)


def with_hyphen_marks(text: str) -> str:
    """A text whose line-end hyphens stand as they are printed, with pdfium's mark in their place."""
    return _PRINTED.sub(_SOFT, text)


def mend_pages(raw: Sequence[str]) -> list[str]:
    """Clean texts, one for each page. Letters are never dropped: a line-end hyphen is joined or kept as a hyphen.

    It is kept when the word elsewhere in the document is written with the hyphen and never without, or when what
    follows looks like a name or a number (`COVID-19`), or in a chain (`state-of-the-art`). 80-95 % right on novel
    text; joined is the better guess.
    """
    decide = _Hyphens(raw) if any(_SOFT in text or "\x02" in text for text in raw) else None
    return [_clean(decide.mend(text) if decide else text) for text in raw]


class _Hyphens:
    """What the whole document shows about a word that was broken at a line end."""

    def __init__(self, raw: Sequence[str]) -> None:
        self._compounds: set[tuple[str, str]] = set()
        self._words: set[str] = set()
        for text in raw:
            lower = text.lower()
            self._compounds.update((match[1], match[2]) for match in _HYPHENATED.finditer(lower))
            self._words.update(_WORD.findall(lower))

    def mend(self, text: str) -> str:
        previous = None
        # A word broken over three lines needs a second pass, for matches do not overlap.
        while previous != text:
            previous = text
            text = _JOINED.sub(self._join, text)
        return _LONE_SOFT.sub("-", text)

    def _join(self, match: re.Match[str]) -> str:
        chained, left, right = match.groups()
        name = right[0].isupper() and not left[-1:].isupper()
        number = right[0].isdigit() or left[-1].isdigit()
        low = (left.lower(), right.lower())
        compound = low in self._compounds and "".join(low) not in self._words
        return f"{chained}{left}{'-' if chained or name or number or compound else ''}{right}"


def _clean(text: str) -> str:
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "")
    text, _ = without_forbidden(text)
    text = _CONTROL.sub(REPLACEMENT, text)
    return _TRAILING.sub("", text)
