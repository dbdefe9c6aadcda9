"""What an ending looks like: of a sentence, a paragraph, a clause, a line, a list item, in the world's scripts."""

from __future__ import annotations

import re

# A cut is worth the share of the budget that the chunk fills plus this: so a sentence's end wins over a word's unless
# the chunk would be less than 0.35 full, and a paragraph's over a sentence's that fills it 0.1 more.
FILE, SECTION, UNIT, PAGE, PARAGRAPH = 0.95, 0.92, 0.8, 0.75, 0.75
SENTENCE, CLAUSE, WORD = 0.65, 0.15, 0.0
_ITEM, _NESTED_ITEM = 0.72, 0.69
_BLOCK, _CODE_LINE, _LINE = 0.55, 0.45, 0.15
# A line of a PDF ends where the paper ended, mostly inside a sentence.
PDF_LINE = 0.1
CHARACTER = -0.5

# One mark and few brackets: the last mark of a row is what ends the sentence, and long rows stay cheap.
_END = r"[.!?…][)\]}\"'’”»]{0,3}+"
_ABBREVIATIONS = (
    "[A-Z]", r"\d", r"\d\d", "Mr", "Ms", "Mrs", "Dr", "St", "vs", "cf", "pp", "No", "al", "ca", "Eq", "Eqs", "Fig",
    "Figs", "Sec", "Sect", "Ch", "Chap", "Vol", "Prof", "Jr", "Sr", r"e\.g", r"i\.e",
)  # fmt: skip
_NOT_ABBREVIATED = "".join(rf"(?<!\b{short}\.)" for short in _ABBREVIATIONS)
_WIDE_END = r"[。！？｡‼⁇⁈⁉।॥؟۔።។៕།][」』）】〉》〕”’\"')\]]{0,3}"
_NEWLINE = r"(?:\r\n|\r(?!\n)|[\n\v\f\x85\u2028\u2029])"
# Scripts that are written without spaces; a line may not begin with what is in the second class.
_WIDE = r"\u2e80-\u303f\u3040-\u30ff\u3100-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff"
_CLOSING = r"、。，．！？；：」』）】〉》〕”’…ーっゃゅょッャュョ々"

_NUMBER = "一二三四五六七八九十"
_MARK = (
    r"(?:(?:[-*+•‣◦▪●○–—]|\d{1,3}[.)]|[a-z][.)]|[ivx]{1,5}[.)]|\([a-z0-9]{1,3}\))[ \t]+(?=\S)"
    rf"|(?:\d{{1,3}}|[{_NUMBER}]{{1,3}})、|[（(][{_NUMBER}\d]{{1,3}}[)）]|[・①-⑳])"
)
ITEM = re.compile(rf"[ \t\u3000]*+{_MARK}")
"""A line that begins a list item."""


def _last(pattern: str) -> re.Pattern[str]:
    """A pattern that finds the last place in a range: the greedy head runs to its end and comes back."""
    return re.compile(rf"(?s:.*)(?:{pattern})")


_LAST_PARAGRAPH = _last(rf"{_NEWLINE}[ \t\u3000]*+{_NEWLINE}")
# In code a blank line before a line that is not indented ends a function or a class.
_LAST_TOP_LEVEL = _last(rf"{_NEWLINE}[ \t]*+{_NEWLINE}(?=[^\s)\]}}])")
_LAST_SENTENCE = _last(rf"{_END}(?:{_NOT_ABBREVIATED})\s++(?![a-z])|{_WIDE_END}\s*")
_LAST_LINE = _last(_NEWLINE)
# A line of code after which something else begins: not after an opening, nor before what closes or goes on.
_LAST_STATEMENT = _last(r"(?<![:{(\[,\\=&|+])(?:\r\n|\n)(?![ \t]*+(?:[)\]}]|(?:else|elif|except|finally|catch|end)\b))")
_LAST_ITEM = _last(rf"{_NEWLINE}(?={_MARK})")
_LAST_NESTED = _last(rf"{_NEWLINE}(?=[ \t\u3000]{{1,16}}+{_MARK})")
_LAST_CLAUSE = _last(r"[,;:–—]\s+|[，、；：·]")
_LAST_WORD = _last(rf"\s|(?<=[{_WIDE}])(?![{_CLOSING}])|(?=[{_WIDE}])(?![{_CLOSING}])")

_SENTENCE_ENDS = re.compile(rf"(?:{_END}|{_WIDE_END}|[:：])\s*\Z")

Form = tuple[tuple[re.Pattern[str], float], ...]
"""Patterns that find the last place of a kind, each with what a cut there is worth."""

CODE: Form = (
    (_LAST_TOP_LEVEL, PARAGRAPH),
    (_LAST_PARAGRAPH, _BLOCK),
    (_LAST_STATEMENT, _CODE_LINE),
    (_LAST_LINE, _LINE),
    (_LAST_WORD, WORD),
)


def _prose(line: float) -> Form:
    return (
        (_LAST_PARAGRAPH, PARAGRAPH),
        (_LAST_ITEM, _ITEM),
        (_LAST_NESTED, _NESTED_ITEM),
        (_LAST_SENTENCE, SENTENCE),
        (_LAST_LINE, line),
        (_LAST_CLAUSE, CLAUSE),
        (_LAST_WORD, WORD),
    )


PROSE = _prose(_LINE)
PAPER = _prose(PDF_LINE)
# Records of a table are its lines, whatever sentences their fields hold.
RECORDS: Form = ((_LAST_LINE, PARAGRAPH), (_LAST_SENTENCE, SENTENCE - 0.3), (_LAST_CLAUSE, CLAUSE), (_LAST_WORD, WORD))


def ends_sentence(text: str) -> bool:
    """Whether `text` stops at the end of a sentence, or after a colon."""
    return _SENTENCE_ENDS.search(text) is not None
