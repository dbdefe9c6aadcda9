"""Which language a text is in, as far as this room needs it: by its script, then by its commonest words."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Mapping

from tui.reading.foreign import SENTENCES
from tui.reading.terms import terms

_KANA = re.compile("[\u3040-\u30ff]")
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_SCRIPTS = (
    ("hangul", re.compile("[\u1100-\u11ff\uac00-\ud7af]")),
    ("arabic", re.compile("[\u0600-\u06ff]")),
    ("hebrew", re.compile("[\u0590-\u05ff]")),
    ("greek", re.compile("[\u0370-\u03ff]")),
    ("thai", re.compile("[\u0e00-\u0e7f]")),
    ("devanagari", re.compile("[\u0900-\u097f]")),
)
_SHARE_OF_SCRIPT = 0.3
_SHARE_OF_KANA = 0.15
_IN_SENTENCES = 3
_LEAST_SHARE = 0.04
"""Of the different terms of a text, so many are common words of its language, at least."""
_LEAST_TERMS = 5


def language_of(counted: Mapping[str, int]) -> str:
    """`en`, `zh`, `ja`, …, the name of a script, or "" where it cannot be told; from the terms and how often each is.

    A long text is told by its different terms as well as a short one: common words are few but always there.
    """
    if len(counted) < _LEAST_TERMS:
        return ""
    total = len(counted)
    kana = sum(bool(_KANA.search(term)) for term in counted) / total
    han = sum(bool(_HAN.search(term)) for term in counted) / total
    if kana + han > _SHARE_OF_SCRIPT:
        return "ja" if kana > _SHARE_OF_KANA * (kana + han) else "zh"
    for name, script in _SCRIPTS:
        if sum(bool(script.search(term)) for term in counted) > _SHARE_OF_SCRIPT * total:
            return name
    weight = sum(counted.values())
    shares = {
        language: sum(counted[term] for term in common if term in counted) / weight
        for language, common in _common_words().items()
    }
    best = max(shares, key=shares.__getitem__)
    return best if shares[best] >= _LEAST_SHARE else ""


@functools.cache
def _common_words() -> dict[str, frozenset[str]]:
    """Terms that come back in the sentences of each language that is written with spaces."""
    found = {}
    for language, sentences in SENTENCES.items():
        if language in ("zh", "ja"):
            continue
        counted = Counter(term for sentence in sentences for term in set(terms(sentence)))
        found[language] = frozenset(term for term, count in counted.items() if count >= _IN_SENTENCES)
    return found
