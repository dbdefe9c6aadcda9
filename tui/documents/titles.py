"""Headings in plain text, which has no marks for them: found only where a line stands apart and is worded as one.

What is no heading costs little (a chunk begins there), but a table of contents, a list, a log or a dialogue full of
them would spoil every chunk; so lines that follow each other with nothing between them are none.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from tui.documents.clean import title_safe
from tui.documents.model import Heading

_MOST = 80
"""Characters of a line that may be a heading."""
_MOST_HAN = 40
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n|\Z)")
_ROMAN = r"[IVXLC]+|[ivxlc]+"
_WORDS = (
    "One|Two|Three|Four|Five|Six|Seven|Eight|Nine|Ten|Eleven|Twelve|Thirteen|Fourteen|Fifteen|Sixteen|Seventeen|"
    "Eighteen|Nineteen|Twenty(?:[- ]\\w+)?|Thirty(?:[- ]\\w+)?|Forty(?:[- ]\\w+)?|Fifty(?:[- ]\\w+)?|"
    "(?:the )?(?:First|Second|Third|Fourth|Fifth|Sixth|Seventh|Eighth|Ninth|Tenth|Last)|the Last"
)
_PARTS = "part|book|volume|teil|band|buch|partie|livre|tome|parte|libro|act|akt|acte|acto"
_CHAPTERS = "chapter|kapitel|chapitre|capítulo|capitulo|capitolo|letter|canto|stave|appendix|anhang|annexe|anexo|глава"
_SECTIONS = "section|abschnitt|sección|scene|szene|scène|escena"
_NAMED = re.compile(
    rf"(?:(?P<part>{_PARTS})|(?P<chapter>{_CHAPTERS})|(?P<section>{_SECTIONS}))"
    rf"\s+(?P<number>\d{{1,3}}(?:\.\d{{1,3}})*|{_ROMAN}|{_WORDS}|(?<=x )[A-Z]|(?<=g )[A-Z])(?!\w)"
    rf"(?P<after>\s*[.:—–-]*\s*)(?P<title>.*)",
    re.I,
)
_ALONE = re.compile(
    "(?:prologue|epilogue|preface|foreword|introduction|conclusions?|afterword|abstract|references|bibliography|"
    "acknowledge?ments|glossary|index|contents|table of contents|prolog|epilog|vorwort|nachwort|einleitung|"
    "préface|avant-propos|prólogo|epílogo|introducción|"
    "序章|终章|終章|序言|前言|楔子|引子|引言|尾声|尾聲|后记|後記|附录|附錄|目录|目錄|目次|プロローグ|エピローグ|あとがき|まえがき)[.:]?",
    re.I,
)
_HAN_NUMBER = "[0-9０-９〇零一二三四五六七八九十百千两兩]{1,8}"
_HAN = re.compile(
    rf"第\s?{_HAN_NUMBER}\s?(?:(?P<part>[卷部篇编編]分?)(?=[\s:：、]|\Z)|(?P<chapter>章|[回集话話](?=[\s:：、]|\Z))"
    rf"|(?P<section>[节節幕](?=[\s:：、]|\Z)))|제\s?\d{{1,3}}\s?(?:(?P<kpart>[편부])|(?P<kchapter>장)|(?P<ksection>절))"
    r"(?=[\s:.]|\Z)"
)
_ARTICLE = re.compile(rf"[ \t\u3000]*(第{_HAN_NUMBER}[条條](?:之{_HAN_NUMBER})?)(?=[ \t\u3000])")
_FEW_ARTICLES = 3
_NUMBERED = re.compile(r"(?P<number>\d{1,2}(?:\.\d{1,2}){0,3})\.?\s+(?P<title>[^\W\d_].*)")
_NUMERAL = re.compile(r"(?P<number>[IVXLC]{1,7})(?:\.?|[.:—–-]\s+(?P<title>[^\W\d_].*))")
_CAPITALS = re.compile(r"[^\W\d_][\w ,'’:&().-]*")
_RULE = re.compile(r"(?:={3,}|-{3,}|~{3,})\s*")
_RULES = {"=": 1, "-": 2, "~": 3}
# Dots or a gap before a page number: a line of a table of contents. Two gaps: a row of a table.
_LISTED = re.compile(r"(?:\.\s?){3,}|…{2,}|·{3,}|\s{2,}\d+\Z|\t\s*\d+\Z|[^\W\d_][ \t]{3,}\w")
_ENDS = tuple(".,;!?。，；！？、")
_ROMAN_VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}
_PART, _CHAPTER, _SECTION, _ARTICLE_RANK = 1, 2, 3, 9
_REPEATED = 3


class _Line(msgspec.Struct, frozen=True):
    start: int
    text: str
    """Without white space at both ends; empty for a blank line."""
    indent: bool


class _Found(msgspec.Struct, frozen=True):
    line: int
    last: int
    """Index of its last line."""
    rank: int
    form: str
    title: str
    number: int = 0


def plain_headings(text: str) -> tuple[Heading, ...]:
    """Headings of a plain text, in order, each at the start of its line.

    Chapters and parts by their names and numbers, numbered and underlined titles, lines in capitals, the articles of
    Chinese laws. Levels are those that the text has, the highest 1.
    """
    lines = [
        _Line(match.start(), match[0].strip(), match[0][:1] in " \t") for match in _LINE.finditer(text) if match[0]
    ]
    found = list(_candidates(lines))
    found = _without_lists(_counted(_without_shouting(found, lines)), lines)
    found = sorted([*found, *_articles(lines)], key=lambda one: one.line)
    ranks = {rank: level for level, rank in enumerate(sorted({one.rank for one in found}), 1)}
    return tuple(Heading(lines[one.line].start, ranks[one.rank], title_safe(one.title)) for one in found)


def _candidates(lines: Sequence[_Line]) -> Iterator[_Found]:
    index = 0
    while index < len(lines):
        found = _at(lines, index)
        if found is not None:
            yield found
            index = found.last
        index += 1


def _at(lines: Sequence[_Line], index: int) -> _Found | None:
    """The heading that the line is, as far as it and its neighbours can tell."""
    line = lines[index]
    text = line.text
    apart = not _text_at(lines, index - 1)
    if not text or len(text) > _MOST or not (apart or text[0] in "第제"):
        return None
    found = _worded(lines, index, apart=apart)
    return None if found is None or _LISTED.search(text) else found


def _worded(lines: Sequence[_Line], index: int, *, apart: bool) -> _Found | None:
    line = lines[index]
    text = line.text
    below = _text_at(lines, index + 1)
    if below and apart and not line.indent and _RULE.fullmatch(below) and _underlines(below, text):
        return _Found(index, index + 1, _RULES[below[0]], "underlined", text)
    han = _HAN.match(text) if text[0] in "第제" else None
    if han is not None:
        # Chinese novels have no blank lines: a sentence ends above, and the line is a title by its look.
        before = _text_at(lines, index - 1)
        if (
            not (apart or before[-1] in "。！？”」』…" or _HAN.match(before))
            or len(text) > _MOST_HAN
            or _sentence_like(text)
        ):
            return None
        return _Found(index, index, _rank(han), "han", text)
    if not apart or text[0].islower():
        return None
    named = _NAMED.fullmatch(text)
    if named is not None and _titled(named):
        if not below or named["title"]:
            return _Found(index, index, _rank(named), "named", text) if not below else None
        # The title stands in a line of its own right below.
        if (
            len(below) <= _MOST
            and not _NAMED.fullmatch(below)
            and not _text_at(lines, index + 2)
            and not below.endswith((",", ";"))
        ):
            return _Found(index, index + 1, _rank(named), "named", f"{text} {below}")
        return None
    if below:
        return None
    if _ALONE.fullmatch(text):
        return _Found(index, index, _CHAPTER, "alone", text)
    if text[0].isdecimal():
        return _by_number(index, text)
    return (_by_number(index, text) if text[0] in _ROMAN_VALUES else None) or _in_capitals(index, text)


def _by_number(index: int, text: str) -> _Found | None:
    if text.endswith(_ENDS) and not _NUMERAL.fullmatch(text):
        return None
    numbered = _NUMBERED.fullmatch(text)
    if numbered is not None:
        if not numbered["title"][0].isupper() and numbered["title"][0].islower():
            return None
        parts = numbered["number"].split(".")
        form = "numbered" if len(parts) == 1 else "deep"
        return _Found(index, index, _CHAPTER + len(parts) - 1, form, text, int(parts[-1]))
    numeral = _NUMERAL.fullmatch(text)
    if numeral is not None and (numeral["title"] is None or not text.endswith(_ENDS)):
        return _Found(index, index, _CHAPTER, "numeral", text, _value(numeral["number"]))
    return None


def _in_capitals(index: int, text: str) -> _Found | None:
    letters = "".join(letter for letter in text if letter.isalpha()) if text.isupper() else ""
    if (
        len(letters) < 4
        or not all(letter.isupper() for letter in letters)
        or text.endswith((*_ENDS, ":"))
        or not _CAPITALS.fullmatch(text)
    ):
        return None
    if len(letters) < 0.6 * len(text.replace(" ", "")) or text in ("THE END", "FIN", "ENDE"):
        return None
    return _Found(index, index, _SECTION, "capitals", text)


def _without_shouting(found: Sequence[_Found], lines: Sequence[_Line]) -> list[_Found]:
    """Without the lines in capitals that are no titles: names of speakers, states of a log, a text all in capitals."""
    capitals = [one for one in found if one.form == "capitals"]
    titles = Counter(one.title for one in capitals)
    filled = sum(1 for line in lines if line.text)
    others = [one for one in found if one.form != "capitals"]
    if len(capitals) > 0.1 * filled and len(capitals) > 2:
        return others
    first = min((one.line for one in others if one.rank <= _CHAPTER), default=len(lines))
    kept = [
        # Before the first chapter stand the book's name and what belongs to the front.
        msgspec.structs.replace(one, rank=_CHAPTER) if one.line < first else one
        for one in capitals
        if titles[one.title] < _REPEATED
    ]
    return sorted([*others, *kept], key=lambda one: one.line)


def _counted(found: Sequence[_Found]) -> list[_Found]:
    """Without numbers that do not count on: they must begin with 1 and go up by one, to 2 at least."""
    kept = []
    for form in ("numbered", "numeral"):
        series: list[_Found] = []
        for one in (one for one in found if one.form == form):
            if one.number == 1:
                if len(series) > 1:
                    kept += series
                series = [one]
            elif series and one.number == series[-1].number + 1:
                series.append(one)
        if len(series) > 1:
            kept += series
    deep = [one for one in found if one.form == "deep"]
    kept += deep if len(deep) > 1 else []
    kept += [one for one in found if one.form not in ("numbered", "numeral", "deep")]
    return sorted(kept, key=lambda one: one.line)


def _without_lists(found: Sequence[_Found], lines: Sequence[_Line]) -> list[_Found]:
    """Without lines that follow each other with nothing between: a table of contents or a list.

    Where two of one kind do, none is a heading, but for one or two at the end whose titles stood there before: the
    first chapter after the table of contents. Of a title page in capitals the first line is one.
    """
    kept: list[_Found] = []
    run: list[_Found] = []

    def close() -> None:
        kinds = Counter((one.form, one.rank) for one in run if one.form != "capitals")
        capitals = [one for one in run if one.form == "capitals"]
        if max(kinds.values(), default=0) < 2:
            first = capitals[:1] if kinds or len(capitals) < _REPEATED else []
            kept.extend(one for one in run if one.form != "capitals" or one in first)
            return
        titles = [one.title.casefold() for one in run]
        last = len(run)
        times = Counter(titles)
        while last and times[titles[last - 1]] > 1:
            times[titles[last - 1]] -= 1
            last -= 1
        if len(run) - last <= 2:
            kept.extend(run[last:])

    for one in found:
        if run and any(line.text for line in lines[run[-1].last + 1 : one.line]):
            close()
            run = []
        run.append(one)
    close()
    return kept


def _articles(lines: Sequence[_Line]) -> list[_Found]:
    """`第三条　…`: the articles of a law, which are paragraphs whose number is their title."""
    found = [
        _Found(index, index, _ARTICLE_RANK, "article", match[1])
        for index, line in enumerate(lines)
        if (match := _ARTICLE.match(line.text))
    ]
    return found if len(found) >= _FEW_ARTICLES else []


def _text_at(lines: Sequence[_Line], index: int) -> str:
    return lines[index].text if 0 <= index < len(lines) else ""


def _rank(match: re.Match[str]) -> int:
    groups = match.groupdict()
    if groups.get("part") or groups.get("kpart"):
        return _PART
    return _SECTION if groups.get("section") or groups.get("ksection") else _CHAPTER


def _titled(named: re.Match[str]) -> bool:
    """Whether `Chapter 3 …` names a chapter, and is no sentence that begins so."""
    title, after = named["title"], named["after"].strip()
    if not named[0][0].isupper():
        return False
    if not title:
        return after in ("", ".", ":")
    if after and not title[0].islower():
        return not title.endswith((",", ";", ":"))
    return title[0].isupper() and (named[0].isupper() or not title.endswith(_ENDS))


def _sentence_like(text: str) -> bool:
    return text.endswith(tuple("。，；、,;")) or any(mark in text for mark in "。；") or text.count("，") > 1


def _underlines(rule: str, text: str) -> bool:
    if text.startswith((">", "|", "+", "#", "-", "=", "~")) or text.endswith((",", ";")) or "|" in text:
        return False
    width = sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)
    return len(text) - 2 <= len(rule) <= width + 2


def _value(numeral: str) -> int:
    total = 0
    for letter, after in zip(numeral, [*numeral[1:], ""], strict=True):
        value = _ROMAN_VALUES[letter]
        total += -value if value < _ROMAN_VALUES.get(after, 0) else value
    return total
