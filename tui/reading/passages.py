"""Which parts of a text speak of what a question asks: BM25 over small parts, in any language and in code.

Okapi BM25 as in Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), section 3.4,
with the inverse document frequency that is never negative (Lucene's): ln(1 + (N - n + 0.5) / (n + 0.5)).
"""

from __future__ import annotations

import bisect
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from tui.reading.terms import terms

K1 = 1.2
"""How soon a word that comes again and again stops counting more; 1.2 to 2 in that paper, 1.2 in Lucene."""
B = 0.75
"""How much longer parts are held back; 0.5 to 0.8 in that paper, 0.75 in Lucene."""
BESIDE = 0.25
"""A part beside a good one is likely to go on with it: it gets this share of its neighbour's score."""

NAME_MARK = "="
"""Before a term that is a whole name of code, which is no word of the text."""
_LONGEST_NAME = 4
"""Words of a name that a question says apart."""
_NAME = re.compile(  # with an end to each word, so that a line of a million letters is looked at once
    r"[A-Za-z_]\w{0,60}(?:(?:\.|::|->|-|/)\w{1,60})+|[A-Za-z]{1,60}_\w+|_\w+|[a-z]{1,60}[A-Z]\w*", re.ASCII
)
_STOP_WORDS = """
a an the of in on at to for from by with as is are was were be been being am do does did done has have had will would
can could shall should may might must and or but not no if then than that this these those there here it its they them
their he she his her we us our you your i me my who whom whose which what when where why how all any each every some
such about into over under between during say said tell told please many much mention
der die das den dem des ein eine einer eines einem einen ist sind war waren wird werden und oder nicht von zu im mit
auf für wer was wann wo warum wie welche welcher welches wieviel
le la les un une des du de et ou est sont était dans sur pour par avec qui que quoi quand où pourquoi comment quel
quelle quels quelles combien ce cette ces
el los las una unos unas y o es son era fue en por para con quién qué cuándo dónde cómo cuál cuáles cuántos
"""
_STOP = frozenset(term for word in _STOP_WORDS.split() for term in (word, *terms(word)))
"""Words that ask, and words that every text is full of."""
_GENERAL = frozenset(
    term
    for word in (
        "document",
        "text",
        "passage",
        "page",
        "book",
        "file",
        "list",
        "name",
        "find",
        "show",
        "give",
        "summary",
        "summarize",
        "summarise",
    )
    for term in terms(word)
)
"""Words that a question may be about, but not these alone."""
_ASKING = re.compile(
    "(?:请问|列出|列举|告诉我|所有的?|全部的?|有?哪些|哪个|哪里|哪儿|什么时候|为什么|是什么|什么|怎么样?|怎样|如何|多少|是否|这个|那个|一下)"
    "|(?:教えてください|ください|何ですか|ですか|ますか|ましたか|でしょうか|どこで|どこ|いつ|なぜ|どのように|どの|どんな|これは|それは|すべて|全て|誰が|誰)"
)
"""Chinese and Japanese have no spaces, so what asks is taken out before the rest is cut into pairs of characters."""
_PARTICLES = frozenset("的了是在有和与及吗呢么のかはがをにでとも")


def question_terms(question: str) -> tuple[str, ...]:
    """What a question asks about, each term once, without the words that only ask; empty for `What does it say?`."""
    found = dict.fromkeys(_indexed(_ASKING.sub(" ", question)))
    telling = tuple(term for term in found if term not in _STOP and term not in _PARTICLES)
    return () if _GENERAL.issuperset(telling) else telling


def _indexed(text: str) -> list[str]:
    """Terms, and names in code whole beside their parts: `os.path.join` is rarer than its three words."""
    return [*terms(text), *(_name(match.group()) for match in _NAME.finditer(text))]


def _name(written: str) -> str:
    """A name in one form: `parse_args`, `parseArgs` and `parse-args` are one."""
    return NAME_MARK + re.sub(r"\W|_", "", written.lower())


def possible_names(question: str) -> tuple[str, ...]:
    """Names of code that a question may mean when it says them in plain words: `parse args` may be `parse_args`."""
    words = re.findall(r"[a-z0-9]+", question.lower())
    return tuple(
        _name("".join(words[start : start + size]))
        for size in range(2, _LONGEST_NAME + 1)
        for start in range(len(words) - size + 1)
    )


class Index:
    """Parts of texts, to be found by what they say. Takes about a second for each megabyte: make it in a thread."""

    def __init__(self, texts: Sequence[str]) -> None:
        counted = [Counter(_indexed(text)) for text in texts]
        self._lengths = [counter.total() for counter in counted]
        self._mean = sum(self._lengths) / len(counted) if counted else 0.0
        self._found: dict[str, list[tuple[int, int]]] = {}
        for part, counter in enumerate(counted):
            for term, count in counter.items():
                self._found.setdefault(term, []).append((part, count))

    def __len__(self) -> int:
        return len(self._lengths)

    def weight(self, term: str) -> float:
        """How telling a term is: 0 when no part holds it, small when most do."""
        holders = len(self._found.get(term, ()))
        return math.log(1 + (len(self) - holders + 0.5) / (holders + 0.5)) if holders else 0.0

    def find(self, question: str) -> list[float]:
        """The score of every part for a question; all 0.0 when it asks about nothing that stands in one."""
        wanted = question_terms(question)
        return self.scores((*wanted, *possible_names(question)) if wanted else ())

    def scores(self, wanted: Iterable[str]) -> list[float]:
        """The BM25 score of every part for these terms, each of which counts once."""
        scores = [0.0] * len(self)
        for term in set(wanted):
            weight = self.weight(term)
            for part, count in self._found.get(term, ()):
                length = 1 - B + B * self._lengths[part] / self._mean
                scores[part] += weight * count * (K1 + 1) / (count + K1 * length)
        return scores

    def share(self, wanted: Iterable[str], part: int) -> float:
        """Which share of these terms, by their weight, a part holds. Terms that no part holds count as much as any."""
        most = math.log(1 + (len(self) + 0.5) / 0.5)
        total = held = 0.0
        for term in set(wanted):
            weight = self.weight(term) or most
            places = self._found.get(term, [])
            at = bisect.bisect_left(places, (part, 0))
            total += weight
            held += weight if at < len(places) and places[at][0] == part else 0.0
        return held / total if total else 0.0


def ranked(scores: Sequence[float], ends: Iterable[int] = ()) -> list[int]:
    """The parts that speak of it, best first and of equals the earlier; none when no term was found.

    `ends` are indexes at which another document begins: what stands before is no neighbour of what comes after.
    """
    apart = set(ends)
    raised = list(scores)
    for part, score in enumerate(scores):
        before = scores[part - 1] if part > 0 and part not in apart else 0.0
        after = scores[part + 1] if part + 1 < len(scores) and part + 1 not in apart else 0.0
        raised[part] = score + BESIDE * max(before, after)
    found = [part for part, score in enumerate(raised) if score > 0]
    return sorted(found, key=lambda part: (-raised[part], part))


def spread(count: int) -> list[int]:
    """All of `count` parts, in an order whose every beginning is spread over the whole: first, middle, quarters, …"""
    order: list[int] = []
    step = 1
    while step < count:
        step *= 2
    seen: set[int] = set()
    while step >= 1:
        for part in range(0, count, step):
            if part not in seen:
                seen.add(part)
                order.append(part)
        step //= 2
    return order


def joined(parts: Iterable[int], ends: Iterable[int] = ()) -> list[tuple[int, int]]:
    """Parts in order, neighbours as one: (first, past the last). Documents (see `ranked`) stay apart."""
    apart = set(ends)
    groups: list[tuple[int, int]] = []
    for part in sorted(set(parts)):
        if groups and groups[-1][1] == part and part not in apart:
            groups[-1] = (groups[-1][0], part + 1)
        else:
            groups.append((part, part + 1))
    return groups
