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
_MARKED = re.compile(r"(?<=\w)[\ufffe\x02](?:\r?\n)?")
_HYPHENATED = re.compile(r"(\w+)-(?=(\w+))")
_WORD = re.compile(r"\w+")
_CONTROL = re.compile("[\x01-\x08\x0b\x0e-\x1f\x7f-\x84\x86-\x9f]")
# The Latin ones: others (wide letters, Han of old standards) may be meant as they are.
_LIGATURES = str.maketrans(
    {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl", 0xFB05: "st", 0xFB06: "st"}
)
# pdfium takes a vowel mark for the end of a run from right to left and leaves the letters before it as they are drawn.
_BEFORE_MARK = re.compile(
    "(?<![\u0621-\u06d3])([\u0621-\u064a\u0671-\u06d3]{2,})([\u060c\u061b.]?)([\u064b-\u0652\u0670]+)"
)
_ARTICLE = "\u0627\u0644"
_FEW_ARTICLES = 5
# Letters that are set apart come with spaces between them; between words of Chinese a space may be meant.
_HAN = r"[\u3041-\u3096\u30a1-\u30fa\u30fc\u3400-\u4dbf\u4e00-\u9fff]"
_SPACED = re.compile(rf"(?<={_HAN}) (?={_HAN})")
_CLOSE = re.compile(rf"(?<={_HAN})(?={_HAN})")
_OVERPRINTED = 4
_FEW_SPACES = 20
_SPACED_SHARE = 0.5
_TRAILING = re.compile(r"[ \t]+(?=\n)|[ \t\n]+\Z")


def without_hyphen_marks(text: str) -> str:
    """`text` for judging its characters: the marks of line-end hyphens are not counted as unreadable."""
    return _LONE_SOFT.sub("-", text)


def with_hyphen_marks(text: str) -> str:
    """A text whose line-end hyphens stand as they are printed, with pdfium's mark in their place."""
    return _PRINTED.sub(_SOFT, text)


def without_overprint(text: str) -> str:
    """A text in which a line was printed several times over (`TTTTeeeesssstttt`) with each letter once; pypdf's."""
    return "\n".join(map(_printed_once, text.split("\n")))


def _printed_once(line: str) -> str:
    packed = "".join(line.split())
    for times in (4, 3, 2):
        groups = [packed[start : start + times] for start in range(0, len(packed), times)]
        if len(groups) >= _OVERPRINTED and len(set(packed)) > 2 and all(g == g[0] * times for g in groups):
            return re.sub(rf"(\S)\1{{{times - 1}}}", r"\1", line)
    return line


def as_printed(text: str) -> str:
    """A raw text with the hyphens and line ends as they are printed, in place of pdfium's marks."""
    return _MARKED.sub("-\r\n", text)


def mend_pages(raw: Sequence[str]) -> list[str]:
    """Clean texts, one for each page. Letters are never dropped: a line-end hyphen is joined or kept as a hyphen.

    It is kept when the word elsewhere in the document is written with the hyphen and never without, or when what
    follows looks like a name or a number (`COVID-19`), or in a chain (`state-of-the-art`). 80-95 % right on novel
    text; joined is the better guess.
    """
    raw = [_with_marks_in_place(text) for text in raw] if _marks_misplaced(raw) else raw
    decide = _Hyphens(raw) if any(_SOFT in text or "\x02" in text for text in raw) else None
    return [_clean(decide.mend(text) if decide else text) for text in raw]


def _marks_misplaced(raw: Sequence[str]) -> bool:
    """Whether the letters before a vowel mark stand in reverse: Arabic words then end in the article, not begin."""
    words = [
        match[1] for text in raw if not text.isascii() for match in _BEFORE_MARK.finditer(text) if len(match[1]) > 2
    ]
    ending = [word for word in words if word.endswith(_ARTICLE[::-1])]
    starting = [word for word in words if word.startswith(_ARTICLE)]
    return len(ending) >= _FEW_ARTICLES and len(ending) > 3 * len(starting)


def _with_marks_in_place(text: str) -> str:
    return _BEFORE_MARK.sub(lambda match: f"{match[1][::-1]}{match[3]}{match[2]}", text)


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
    """Line ends as `\\n`, ligatures as their letters, spaced-out Han and kana closed up, no forbidden characters."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "")
    text, _ = without_forbidden(text)
    text = _CONTROL.sub(REPLACEMENT, text).translate(_LIGATURES)
    if len(_SPACED.findall(text)) > max(_FEW_SPACES, _SPACED_SHARE * len(_CLOSE.findall(text))):
        text = _SPACED.sub("", text)
    return _TRAILING.sub("", text)
