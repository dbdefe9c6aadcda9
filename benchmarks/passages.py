"""Whether the passages that `ask` sends hold the answer: planted facts in English and Chinese, functions in real code.

    python -m benchmarks.passages [--room 1500]

No model is needed. For every question the parts are ranked, and as many are taken as `--room` tokens hold (tokens are
words, marks and Chinese characters here); printed is the share of questions whose answer stands in a part that was
taken, in the first one, and the mean of one over the rank. Beside ours: BM25 over bare lower-case words, which is what
a splitting at white space gives, and the beginning of the text, which is what is left where a prompt is cut.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import re
import sysconfig
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.planted import planted_report
from tui.documents.chunker import chunk_document
from tui.documents.model import Document
from tui.reading.passages import Index, question_terms, ranked
from tui.reading.units import PART

_TOKEN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_]+|[^\w\s]|_")
_MODULES = (
    "argparse",
    "textwrap",
    "configparser",
    "shutil",
    "calendar",
    "mailbox",
    "tarfile",
    "zipfile",
    "imaplib",
    "ast",
    "inspect",
    "pathlib",
    "turtle",
)
_QUESTIONS = (
    "How much was the grant to the {1} of {0}?",
    "How many sacks of seeds were found when the {0} {1} was inspected?",
    "Who is heading the {0} {1}?",
    "What is the {0} {1}'s code word?",
    "When does the {1} at {0} close?",
    "How many books did the {0} {1} lose in the fire?",
)
_SURNAMES, _SITES = "赵钱孙李周吴郑王冯陈", ("东闸", "西泵站", "南水库", "北码头", "中心仓库", "旧灯塔")
_ACTS = (
    ("更换了密封圈", "谁更换了{}的密封圈？"),
    ("测量了水位", "{}的水位是谁测量的？"),
    ("修好了电机", "{}的电机是由谁修好的？"),
)
_FILLER = (
    "会议讨论了下一季度的预算，没有作出决定。",
    "天气晴朗，工作人员照常值班，没有异常情况。",
    "来访者询问了开放时间和交通路线。",
)

_LETTERS = str.maketrans("0123456789abcdef", "bcdfghjklmnpqrtv")

Case = tuple[str, Callable[[str], bool]]
"""A question, and whether a text answers it."""


async def count_many(texts: Sequence[str]) -> list[int]:
    """Words, marks and Chinese characters."""
    return [len(_TOKEN.findall(text)) for text in texts]


def english() -> tuple[str, list[Case]]:
    """60 facts in a report of 60,000 tokens, asked for in other words than theirs."""
    report = planted_report()
    cases: list[Case] = []
    for number, fact in enumerate(report.facts):
        question = _QUESTIONS[number % len(_QUESTIONS)].format(*fact.keys)
        cases.append((question, lambda text, said=fact.sentence: said in text))  # type: ignore[misc]
    return report.text, cases


def chinese() -> tuple[str, list[Case]]:
    """Sentences on who did what where, among others on nothing in particular."""
    chance = random.Random(3)
    lines: list[str] = []
    cases: list[Case] = []
    for site in _SITES:
        for act, question in _ACTS:
            name = f"{chance.choice(_SURNAMES)}{chance.choice('伟芳娜敏静强磊军')}"
            said = f"{site}由{name}{act}。"
            lines += [chance.choice(_FILLER) for _ in range(60)]
            lines.append(said)
            cases.append((question.format(site), lambda text, said=said: said in text))  # type: ignore[misc]
    return "\n".join(lines), cases


def code() -> tuple[str, list[Case]]:
    """Functions of the standard library, asked for by their names in plain words."""
    folder = Path(sysconfig.get_path("stdlib"))
    text = "\n".join((folder / f"{name}.py").read_text(encoding="utf-8") for name in _MODULES)
    defined = re.findall(r"def ([a-z]+(?:_[a-z]+)+)\(", text)
    chosen = random.Random(5).sample(sorted(name for name in set(defined) if defined.count(name) == 1), 60)
    return text, [
        (f"What does {name.replace('_', ' ')} do?", lambda part, name=name: f"def {name}(" in part)  # type: ignore[misc]
        for name in chosen
    ]


def ours(texts: Sequence[str]) -> Callable[[str], list[int]]:
    index = Index(texts)
    return lambda question: ranked(index.find(question))


def bare_words(texts: Sequence[str]) -> Callable[[str], list[int]]:
    """BM25 over what white space and marks leave, everything else the same."""

    def words(text: str) -> str:
        # Each in letters that none of our rules for endings, numbers and names has anything to do with.
        return " ".join(f"{found.encode().hex().translate(_LETTERS)}x" for found in re.findall(r"\w+", text.lower()))

    index = Index([words(text) for text in texts])
    return lambda question: ranked(index.scores(question_terms(words(question))))


def beginning(texts: Sequence[str]) -> Callable[[str], list[int]]:
    return lambda _: list(range(len(texts)))


async def measure(kind: str, text: str, cases: Sequence[Case], room: int) -> None:
    """Print one row for each way of choosing."""
    document = Document(path=kind, name=kind, kind="code" if kind == "code" else "text", text=text, spans=())
    chunks = await chunk_document(document, PART, count_many)
    texts = [chunk.text for chunk in chunks]
    for name, way in (("ours", ours), ("bare words", bare_words), ("beginning", beginning)):
        began = time.process_time()
        rank = way(texts)
        held = first = 0
        reciprocal = 0.0
        for question, answers in cases:
            order = rank(question)
            left = room
            for place, part in enumerate(order, 1):
                left -= chunks[part].tokens
                if left < 0:
                    break
                if answers(texts[part]):
                    held += 1
                    first += place == 1
                    reciprocal += 1 / place
                    break
        n, spent = len(cases), time.process_time() - began
        print(
            f"| {kind} | {name} | {len(chunks):,} | {n} | {held / n:.0%} | {first / n:.0%} | {reciprocal / n:.2f} "
            f"| {spent:.2f} s |"
        )


async def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--room", type=int, default=1500, help="tokens for passages")
    room = parser.parse_args().room
    print(
        f"| text | way | parts | questions | answer in {room:,} tokens | in the first part | 1/rank | processor time |"
    )
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for kind, make in (("English", english), ("Chinese", chinese), ("code", code)):
        text, cases = make()
        await measure(kind, text, cases, room)


if __name__ == "__main__":
    asyncio.run(main())
