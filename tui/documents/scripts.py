"""Which language a text seems to be in, as tesseract names languages: by its script, for Latin by small words."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

_SAMPLE = 20_000
_FEW = 20

# First words of the Unicode names of letters, and the language most written in them.
_BY_SCRIPT = {
    "LATIN": "eng",
    "CYRILLIC": "rus",
    "GREEK": "ell",
    "ARABIC": "ara",
    "HEBREW": "heb",
    "THAI": "tha",
    "DEVANAGARI": "hin",
    "HANGUL": "kor",
    "HIRAGANA": "jpn",
    "KATAKANA": "jpn",
    "CJK": "chi_sim",
}
# The names of tesseract's own guess at a script, where they differ.
_BY_GUESS = {"Han": "chi_sim", "HanS": "chi_sim", "HanT": "chi_tra", "Japanese": "jpn", "Korean": "kor"}
_TRADITIONAL = frozenset("這們個來時國學說會對過還後開關點與門問間東車長見現發經無動機電話頭實將從當樣麼")
_SIMPLIFIED = frozenset("这们个来时国学说会对过还后开关点与门问间东车长见现发经无动机电话头实将从当样么")
_SMALL_WORDS = {
    "eng": "the of and to in is that for was with",
    "deu": "der die und das ist nicht den mit von ein",
    "fra": "le la les et des est une dans que pour",
    "spa": "el los las y que del una por con para",
    "ita": "il che di della non per una sono gli con",
    "por": "o os as que do da não uma para com",
    "nld": "de het een van en dat niet met voor zijn",
}


def language_of(text: str) -> str:
    """`eng`, `chi_sim`, `jpn`, …: the language that `text` seems to be in; empty with too few letters to tell."""
    sample = text[:_SAMPLE]
    scripts: Counter[str] = Counter()
    for letter, count in Counter(sample).items():
        if letter.isalpha():
            scripts[unicodedata.name(letter, "?").split()[0]] += count
    if sum(scripts.values()) < _FEW:
        return ""
    kana = scripts["HIRAGANA"] + scripts["KATAKANA"]
    if kana and kana > 0.1 * scripts["CJK"]:
        # Japanese text is half Han: kana decides.
        scripts["HIRAGANA"] += scripts.pop("CJK", 0)
    language = next((_BY_SCRIPT[script] for script, _ in scripts.most_common() if script in _BY_SCRIPT), "")
    if language == "chi_sim":
        letters = Counter(sample)
        traditional, simplified = (
            sum(letters[letter] for letter in own) for own in (_TRADITIONAL - _SIMPLIFIED, _SIMPLIFIED - _TRADITIONAL)
        )
        return "chi_tra" if traditional > simplified else "chi_sim"
    if language == "eng":
        words = Counter(re.findall(r"\w+", sample.lower()))
        return max(_SMALL_WORDS, key=lambda name: sum(words[word] for word in _SMALL_WORDS[name].split()))
    return language


def language_of_script(script: str) -> str:
    """The language most written in a script that tesseract named (`Latin`, `Han`, `Cyrillic`); empty if unknown."""
    return _BY_GUESS.get(script) or _BY_SCRIPT.get(script.upper(), "")
