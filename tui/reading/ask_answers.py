"""What an answer from a part of a document is worth: nothing at all, a sentence, a list of things; lists made one."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from tui.documents.places import Range
from tui.reading.answers import bare
from tui.reading.extractive import units
from tui.reading.passages import question_terms
from tui.reading.terms import terms

NOTHING = "NOTHING"
"""What a model is asked to say when a part holds no answer."""

_NOTHING = re.compile(
    r"nothing|none|n/?a|null|no (?:answer|information|mention|such|relevant)\b.*"
    r"|not (?:mentioned|stated|given|found|specified|available|applicable)\b.*"
    r"|nichts|keine? (?:angaben?|antwort|information(?:en)?)\b.*|rien|aucune?\b.*|nada|ning[uú]n[oa]?\b.*"
    r"|niente|nessun[oa]?\b.*|nenhum[a]?\b.*|ничего|нет|없음|없습니다"
    r"|[没沒]有(?:(?:提[到及]|说明|相关|答案|信息|内容).*)?|未(?:提及|提到|说明|记载).*|无|無し?|なし"
    r"|(?:記載|記述|該当)(?:が|は)?(?:なし|ありません|ない).*",
    re.IGNORECASE | re.DOTALL,
)
_DENIES = re.compile(
    r"\b(?:(?:text|passage|document|it|part|section|excerpt)\s+(?:does\s*n[o']t|do\s+not|did\s+not|doesn[’']t|has\s+no)"
    r"(?:\s+\w+)?\s+(?:say|mention|contain|provide|answer|specify|state|include|give|list|describe|discuss|tell|information)"
    r"|(?:there is|contains|provides|has) no (?:mention|information|answer|such|reference)"
    r"|is not (?:mentioned|stated|specified|given|answered|provided|in the text)"
    r"|nicht (?:erwähnt|genannt|beantwortet|enthalten)|ne (?:mentionne|contient|dit|précise)\w* (?:pas|rien)"
    r"|no (?:menciona|contiene|dice|indica))\b"
    r"|(?:文中|文本|本文|原文|这段|该段|上文)[^。]{0,12}(?:没有|未|并未)(?:提|说|包含|回答|涉及|给出|明确)"
    r"|(?:書かれて|述べられて|記載されて|触れられて|言及されて)い(?:ません|ない)",
    re.IGNORECASE,
)
_SHORT = 12
"""Words: a denial in so short an answer is all there is to it."""
_BOTH = 30
"""Words: up to so many an answer that denies has nothing else to say."""

_LISTS = re.compile(
    r"\b(?:list|enumerate|name|give|collect|extract|find|show|identify)\b.*\b(?:all|every|each)\b|^\s*(?:please\s+)?list\b"
    r"|\b(?:all|every)\s+(?:of\s+)?(?:the\s+)?\w+.*\b(?:that|which|mentioned|named|listed|in this|in the)\b"
    r"|^\s*(?:which|what)\b.*\bare\s+(?:there|mentioned|named|listed|described|defined)\b"
    r"|\b(?:nenne|liste|zähle)\b.*\b(?:alle|auf|sämtliche)\b|\b(?:liste[rz]?|énumère[rz]?)\b.*\b(?:tou[st]|toutes)\b"
    r"|\b(?:lista|enumera)\b.*\btod[oa]s\b"
    r"|列出|列举|有哪些|(?:所有|全部)的?.*(?:是什么|哪些|有什么)|すべて.*(?:挙げ|列挙|リスト)|列挙|一覧",
    re.IGNORECASE | re.DOTALL,
)
_LABEL = re.compile(r"\s*(?:[:：]|\s[-–—=]\s|（|\s\()\s*")
_LONGEST_LABEL = 6
_SAME = 0.6


def says_nothing(answer: str) -> bool:
    """Whether an answer says that there is no answer in the part it was asked about, in one of several languages."""
    text = answer.strip().strip("*_`\"'“”。.!！()[]- \n\t")
    words = len(units(text))
    if not words:
        return True
    if words <= _SHORT and _NOTHING.fullmatch(text):
        return True
    if re.match(rf"{NOTHING}\b", text) and words <= _BOTH:
        return True
    return words <= _BOTH and _DENIES.search(text) is not None


def wants_list(question: str) -> bool:
    """Whether a question asks for all of something, so that answers from parts are lists to be joined."""
    return _LISTS.search(question) is not None


class Item(msgspec.Struct, frozen=True):
    """One thing of a list, with the places it was found at: ranges by the index of the document."""

    text: str
    places: tuple[tuple[int, Range], ...]


def items(answer: str) -> list[str]:
    """The things an answer lists, one for each line; a line that only announces them is none."""
    found = []
    for line in answer.splitlines():
        text = bare(line).replace("**", "").strip("*_ ").rstrip(" ;,；，")
        if units(text) and not text.endswith((":", "：")) and not says_nothing(text) and text not in found:
            found.append(text)
    return found


def merged(lists: Sequence[Item]) -> list[Item]:
    """Each thing once, in the order of its first place; the longest wording stays, all places are kept."""
    kept: list[tuple[frozenset[str], frozenset[str], Item]] = []
    by_label: dict[frozenset[str], list[int]] = {}
    for item in lists:
        label, rest = _key(item.text)
        same = next((at for at in by_label.get(label, []) if _agree(kept[at][1], rest)), None)
        if same is None:
            by_label.setdefault(label, []).append(len(kept))
            kept.append((label, rest, item))
            continue
        _, before, first = kept[same]
        longer = item.text if len(rest) > len(before) else first.text
        places = tuple(dict.fromkeys((*first.places, *item.places)))
        kept[same] = (label, max(before, rest, key=len), Item(longer, places))
    return [item for _, _, item in kept]


def _key(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """What a thing is called, and what is said of it. Case, marks, plural and small words make no difference."""
    parts = _LABEL.split(text, maxsplit=1)
    label = _telling(parts[0])
    if len(parts) == 1 or not label or len(label) > _LONGEST_LABEL:
        return _telling(text), frozenset()
    return label, _telling(parts[1])


def _telling(text: str) -> frozenset[str]:
    return frozenset(question_terms(text) or terms(text) or (text,))


def _agree(a: frozenset[str], b: frozenset[str]) -> bool:
    return not a or not b or len(a & b) >= _SAME * min(len(a), len(b))
