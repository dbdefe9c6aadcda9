"""A long report with facts planted in it, made anew from a seed: prose that reads like one, and facts that can be found
again by their words.

Each fact names something that occurs nowhere else, with a number or a name: it is found where both stand together.
"""

from __future__ import annotations

import dataclasses
import random
import re
import unicodedata

TOKENS_PER_WORD = 1.153


@dataclasses.dataclass(frozen=True)
class Fact:
    """A planted sentence and the words by which it is known again, all of which have to be there."""

    sentence: str
    keys: tuple[str, ...]
    page: int
    """1-based; every chapter of the report is a page."""


@dataclasses.dataclass(frozen=True)
class Report:
    """`text` in chapters with headings."""

    text: str
    facts: tuple[Fact, ...]


_PLACES = (
    "Alder", "Brack", "Corrin", "Dunmere", "Elswick", "Farrow", "Gannet", "Hollin", "Inver", "Jarrow",
    "Kestrel", "Larkin",
    "Morven", "Netherby", "Orrin", "Pendle", "Quarrel", "Redmarsh", "Selby", "Tarn", "Ulver", "Varley",
    "Wenlock", "Yarrow",
)  # fmt: skip
_KINDS = ("mill", "quay", "depot", "archive", "orchard", "workshop", "ferry", "school", "pumphouse", "exchange")
_PEOPLE = (
    "Adela Moss", "Bruno Thane", "Clara Voss", "Dorian Pike", "Edda Quill", "Felix Harrow", "Greta Lund", "Hugo Sand",
    "Ines Carrow", "Jonas Reed", "Karin Holt", "Leo Marsh", "Mira Stone", "Nils Amber", "Olga Finch", "Pavel Dorn",
)  # fmt: skip
_COLOURS = ("copper", "violet", "amber", "silver", "scarlet", "indigo", "olive", "crimson", "ivory", "cobalt")
_THINGS = ("lantern", "harbour", "thistle", "falcon", "meadow", "anchor", "garnet", "willow", "compass", "beacon")

_FACTS = (
    ("The {0} {1} received a grant of {n:,} crowns from the county.", "{0}", "{n}"),
    ("In the {0} {1} the inspectors counted {n:,} sacks of seed.", "{0}", "{n}"),
    ("{p} was named head of the {0} {1} in the autumn.", "{0}", "{p}"),
    ("The code word for the {0} {1} is now {c}-{t}.", "{0}", "{c}-{t}"),
    ("The {0} {1} will be closed for good on {d} {m}.", "{0}", "{d} {m}"),
    ("A fire at the {0} {1} destroyed {n:,} books.", "{0}", "{n}"),
)
_MONTHS = ("January", "March", "April", "June", "July", "August", "October", "December")
_FILLER = (
    "The committee met {often} and spoke for the most part about the {topic}, which had been on the agenda {before}.",
    "Those who work with the {topic} every day said that {view}, although they could not give an exact reason for it.",
    "{before_cap}, the {topic} had been looked after by volunteers, and some of them still came by {often}.",
    "It was agreed that the {topic} should be described more clearly in the next report, so that {view}.",
    "Visitors asked about the {topic} {often}; the answer was always that {view}.",
    "No decision on the {topic} was taken, because the papers had arrived late and {view}.",
    "The weather was mild, the {topic} caused little trouble, and the staff felt that {view}.",
    "A longer discussion of the {topic} followed, in which it was pointed out that {view}.",
    "As far as the {topic} is concerned, nothing has changed since the office moved, except that {view}.",
    "The older members remembered how the {topic} was handled {before} and thought that {view}.",
)
_TOPICS = (
    "roof of the main hall", "heating", "lending of tools", "public reading hours", "bicycle stands",
    "garden behind the office",
    "printing of leaflets", "repair of the fence", "telephone line", "training of new colleagues",
    "cleaning of the windows",
    "postal service", "lighting in the corridor", "collection of old maps", "noise from the road",
    "question of parking",
)  # fmt: skip
_OFTEN = ("once a month", "every other week", "from time to time", "more often than planned", "twice in the season")
_BEFORE = (
    "for several years",
    "since the spring",
    "in earlier times",
    "before the new rules",
    "under the former board",
)
_VIEWS = (
    "there was no hurry", "a little patience would be enough", "everybody had done what could be done",
    "more light was needed",
    "it would cost less than people feared", "the neighbours had to be asked first", "the matter was better left alone",
    "one more round of letters would help", "the old way had its merits too", "someone should write it down properly",
)  # fmt: skip


def planted_report(*, facts: int = 60, tokens: int = 60_000, seed: int = 1) -> Report:
    """A report of about `tokens` tokens (by an English tokenizer) with `facts` facts spread evenly over it."""
    chance = random.Random(seed)
    words = int(tokens / TOKENS_PER_WORD)
    made = _facts(facts, chance)
    chapters: list[str] = []
    planted: list[Fact] = []
    for number, (sentence, keys) in enumerate(made):
        share = words * (number + 1) // facts - words * number // facts
        body = _chapter(share - len(sentence.split()), chance)
        # Neither first nor last: a place that a reader of beginnings and ends would miss.
        body.insert(chance.randrange(len(body) // 4, 3 * len(body) // 4), sentence)
        paragraphs = ["".join(f"{line} " for line in body[at : at + 5]).rstrip() for at in range(0, len(body), 5)]
        chapters.append(f"## Chapter {number + 1}: the {chance.choice(_TOPICS)}\n\n" + "\n\n".join(paragraphs) + "\n\n")
        planted.append(Fact(sentence, keys, number + 1))
    return Report("# Report of the county office\n\n" + "".join(chapters), tuple(planted))


def _facts(wanted: int, chance: random.Random) -> list[tuple[str, tuple[str, ...]]]:
    subjects = [(place, kind) for place in _PLACES for kind in _KINDS]
    chance.shuffle(subjects)
    found = []
    for number in range(wanted):
        place, kind = subjects[number]
        form, *keys = _FACTS[number % len(_FACTS)]
        values = {
            "n": chance.randrange(1_100, 98_000),
            "p": chance.choice(_PEOPLE),
            "c": chance.choice(_COLOURS),
            "t": chance.choice(_THINGS),
            "d": chance.randrange(1, 29),
            "m": chance.choice(_MONTHS),
        }
        # A place with its kind is unique; so both are asked for.
        found.append(
            (
                form.format(place, kind, **values),
                (place, kind, *(key.format(place, kind, **values) for key in keys if key != "{0}")),
            )
        )
    return found


def _chapter(words: int, chance: random.Random) -> list[str]:
    found: list[str] = []
    total = 0
    while total < words:
        before = chance.choice(_BEFORE)
        line = chance.choice(_FILLER).format(
            topic=chance.choice(_TOPICS),
            often=chance.choice(_OFTEN),
            before=before,
            before_cap=before[0].upper() + before[1:],
            view=chance.choice(_VIEWS),
        )
        found.append(line)
        total += len(line.split())
    return found


def holds(statement: str, fact: Fact) -> bool:
    """Whether one statement says the fact: all of its key words stand in it, numbers in any form."""
    said = _plain(statement)
    return all(_plain(key) in said for key in fact.keys)


def _plain(text: str) -> str:
    text = unicodedata.normalize("NFKC", text).lower()
    text = re.sub(r"(?<=\d)[,.\s](?=\d{3}\b)", "", text)
    return re.sub(r"[\s\-\u2010-\u2015]+", " ", text)


def recall(statements: list[str], facts: tuple[Fact, ...]) -> float:
    """The share of facts that stand in one of the statements."""
    return sum(any(holds(statement, fact) for statement in statements) for fact in facts) / len(facts)
