"""10 MB of English, Chinese, code and Markdown cut into chunks and counted: time, where it goes, where the cuts are.

    python -m benchmarks.chunking MODEL.gguf [--tokens 1000] [--megabytes 10] [--only KIND] [--file PATH …] [--peers]

The tokens are counted by the vocabulary of MODEL.gguf, in this process. Times are processor seconds of the process.
`--peers` cuts the same text with semantic-text-splitter and langchain-text-splitters, where they are installed; with
`--file` the text is that of a file instead of a generated one. Each place where two chunks meet is named by what is
there, by the same rules for all.
"""

from __future__ import annotations

import argparse
import asyncio
import bisect
import importlib.util
import random
import re
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tui.documents import chunker
from tui.documents.endings import ITEM, ends_sentence
from tui.documents.model import Document
from tui.documents.plain import read_plain
from tui.models.localtokenizer import build_local
from tui.models.vocabulary import read_vocabulary

SEED = 7
WORDS = re.findall(
    r"\w+",
    "the of and to in that with for from when which after under between report pump station night valve pressure "
    "water northern line engineer measured reading level quarter budget committee decided repaired inspection river "
    "flood season carefully slowly never always several important unexpected maintenance schedule replaced",
)
HAN = (
    "的一是不了人我在有他这中大来上个国到说们为子和你地出道也时年得就那要下以生会自着去之过家学对可她里后"
    "小么心多天而能好都然没日于起还发成事只作当想看文无开手十用主行方又如前所本见经头面公同三已老从动两长"
)
Cut = tuple[int, int]


def sentence(pick: random.Random) -> str:
    words = pick.choices(WORDS, k=pick.randint(6, 22))
    if pick.random() < 0.3:
        words[len(words) // 2] += ","
    return " ".join(words).capitalize() + pick.choice([".", ".", ".", "?", "!"])


def english(pick: random.Random) -> str:
    return " ".join(sentence(pick) for _ in range(pick.randint(2, 9))) + "\n\n"


def chinese(pick: random.Random) -> str:
    def clause() -> str:
        return "".join(pick.choices(HAN, k=pick.randint(4, 16)))

    sentences = ("，".join(clause() for _ in range(pick.randint(1, 4))) + pick.choice("。。。！？") for _ in range(6))
    return "　　" + "".join(sentences) + "\n\n"


def function(pick: random.Random, indent: str = "") -> str:
    name = "_".join(pick.choices(WORDS, k=2))
    lines = [f"{indent}def {name}({', '.join(pick.sample(WORDS, 3))}):", f'{indent}    """{sentence(pick)}"""']
    for _ in range(pick.randint(3, 30)):
        a, b = pick.choices(WORDS, k=2)
        lines.append(
            pick.choice(["", f"{indent}    {a} = {b}({a}, {pick.randint(0, 99)})", f"{indent}    if {a} > {b}:"])
        )
        if lines[-1].endswith(":"):
            lines.append(f"{indent}        return {a}[{b!r}]  # {' '.join(pick.choices(WORDS, k=4))}")
    return "\n".join(lines).rstrip() + "\n\n"


def code(pick: random.Random) -> str:
    if pick.random() < 0.4:
        methods = "".join(function(pick, "    ") for _ in range(pick.randint(2, 9)))
        return f'class {pick.choice(WORDS).title()}{pick.randint(0, 999)}:\n    """{sentence(pick)}"""\n\n{methods}\n'
    return function(pick) + "\n"


def markdown(pick: random.Random) -> str:
    what = pick.random()
    if what < 0.12:
        return f"{'#' * pick.choice([1, 2, 2, 3, 3])} {' '.join(pick.choices(WORDS, k=4)).title()}\n\n"
    if what < 0.25:
        return "".join(f"{pick.choice(['', '', '  '])}- {sentence(pick)}\n" for _ in range(pick.randint(3, 12))) + "\n"
    if what < 0.32:
        rows = "".join(
            f"| {' | '.join(' '.join(pick.choices(WORDS, k=3)) for _ in range(4))} |\n"
            for _ in range(pick.randint(5, 60))
        )
        return f"| Station | Level | Reading | Remark |\n| --- | --- | --- | --- |\n{rows}\n"
    if what < 0.38:
        return f"```python\n{function(pick)}```\n\n"
    return english(pick)


KINDS: dict[str, tuple[Callable[[random.Random], str], str]] = {
    "english": (english, "a.txt"),
    "chinese": (chinese, "a.txt"),
    "code": (code, "a.py"),
    "markdown": (markdown, "a.md"),
}


def generated(kind: str, size: int) -> Document:
    make, name = KINDS[kind]
    pick = random.Random(SEED)
    parts: list[str] = []
    left = size
    while left > 0:
        parts.append(make(pick))
        left -= len(parts[-1].encode())
    return read_plain("".join(parts).encode(), name, name)


def row_places(document: Document) -> tuple[list[int], list[int]]:
    """Starts of the tables, and of all their lines."""
    text = document.text
    lines = [
        match.end()
        for table in document.tables
        for match in re.compile(r"\n").finditer(text, table.start, table.end)
        if match.end() < table.end
    ]
    return [table.start for table in document.tables], lines


def named(document: Document, ranges: Sequence[Cut]) -> Counter[str]:
    """What stands where two chunks meet."""
    text = document.text
    headings = sorted(heading.start for heading in document.headings)
    tables, rows = row_places(document)
    found: Counter[str] = Counter()
    for _, cut in ranges[:-1]:
        begin, after = cut, cut
        while begin > 0 and text[begin - 1].isspace():
            begin -= 1
        while after < len(text) and text[after].isspace():
            after += 1
        space = text[begin:after]
        line = text.rfind("\n", 0, after) + 1
        table = bisect.bisect_right(tables, cut) - 1
        if table >= 0 and tables[table] < cut < document.tables[table].end:
            index = bisect.bisect_left(rows, line)
            found["row" if index < len(rows) and rows[index] == line and "\n" in space else "inside a row"] += 1
        elif _near(headings, begin, after):
            found["heading or definition"] += 1
        elif space.count("\n") > 1:
            found["paragraph"] += 1
        elif "\n" in space and ITEM.match(text, line):
            found["item"] += 1
        elif ends_sentence(text[max(0, begin - 20) : begin]):
            found["sentence"] += 1
        elif "\n" in space:
            found["line"] += 1
        elif begin and text[begin - 1] in ",;:，；、：":
            found["clause"] += 1
        else:
            found["word"] += 1
    return found


def _near(places: list[int], begin: int, after: int) -> bool:
    index = bisect.bisect_left(places, begin)
    return index < len(places) and places[index] <= after


def whole(document: Document, ranges: Sequence[Cut], count: Callable[[str], int], budget: int) -> tuple[int, int]:
    """Of the definitions without others inside and no larger than the budget: how many lie in one chunk, and all."""
    ends = [end for _, end in ranges]
    kept = total = 0
    headings = document.headings
    for index, heading in enumerate(headings):
        following = headings[index + 1] if index + 1 < len(headings) else None
        if following is not None and following.level > heading.level:
            continue
        end = following.start if following else len(document.text)
        body = document.text[heading.start : end].rstrip()
        if len(body) > 200_000 or count(body) > budget:
            continue
        total += 1
        kept += bisect.bisect_right(ends, heading.start) == bisect.bisect_left(ends, heading.start + len(body))
    return kept, total


class Clock:
    """Processor seconds by what they were spent on."""

    def __init__(self) -> None:
        self.spent: Counter[str] = Counter()

    def timed(self, what: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def run(*given: Any) -> Any:
            begin = time.process_time()
            try:
                return call(*given)
            finally:
                self.spent[what] += time.process_time() - begin

        return run


def ours(document: Document, count: Callable[[str], int], budget: int, clock: Clock) -> list[Cut]:
    counted = clock.timed("tokens", count)

    async def many(texts: Sequence[str]) -> list[int]:
        return [counted(text) for text in texts]

    plain = chunker.described
    chunker.described = clock.timed("lines, headings", plain)
    try:
        chunks = asyncio.run(chunker.chunk_document(document, budget, many))
    finally:
        chunker.described = plain
    return [(chunk.start, chunk.end) for chunk in chunks]


def located(text: str, pieces: Sequence[str]) -> list[Cut]:
    """Where each piece stands in the text; pieces that lost white space are searched for."""
    found, place = [], 0
    for piece in pieces:
        start = text.find(piece, place)
        start = place if start < 0 else start
        found.append((start, start + len(piece)))
        place = start + len(piece)
    return found


def peers(kind: str) -> Iterator[tuple[str, Callable[[Document, Callable[[str], int], int], list[Cut]]]]:
    if importlib.util.find_spec("semantic_text_splitter"):
        import semantic_text_splitter

        def semantic(document: Document, count: Callable[[str], int], budget: int) -> list[Cut]:
            which = (
                semantic_text_splitter.MarkdownSplitter if kind == "markdown" else semantic_text_splitter.TextSplitter
            )
            splitter = which.from_callback(count, budget, trim=False)
            return located(document.text, splitter.chunks(document.text))

        yield "semantic-text-splitter", semantic
    if importlib.util.find_spec("langchain_text_splitters"):
        import langchain_text_splitters

        def langchain(document: Document, count: Callable[[str], int], budget: int) -> list[Cut]:
            given = {"chunk_size": budget, "chunk_overlap": 0, "length_function": count}
            recursive = langchain_text_splitters.RecursiveCharacterTextSplitter
            language = {"code": "python", "markdown": "markdown"}.get(kind)
            made = (
                recursive.from_language(langchain_text_splitters.Language(language), **given)
                if language
                else recursive(**given)
            )
            return located(document.text, made.split_text(document.text))

        yield "langchain recursive", langchain


def row(document: Document, name: str, ranges: list[Cut], count: Callable[[str], int], budget: int, spent: str) -> str:
    text = document.text
    sizes = [count(text[start:end]) for start, end in ranges]
    over = sum(size > budget for size in sizes)
    tiles = "".join(text[start:end] for start, end in ranges) == text
    kinds = ", ".join(f"{what} {share}" for what, share in named(document, ranges).most_common())
    fill = statistics.mean(sizes[:-1] or sizes) / budget
    kept = ""
    if document.kind == "code":
        few, total = whole(document, ranges, count, budget)
        kept = f" · functions whole {few / max(1, total):.1%}"
    state = f"{'yes' if tiles else '**no**'} | {over}"
    return f"| {name} | {spent} | {len(ranges)} | {fill:.2f} | {state} | {kinds}{kept} |"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("model", type=Path)
    options.add_argument("--tokens", type=int, default=1000)
    options.add_argument("--megabytes", type=float, default=10)
    options.add_argument("--only", choices=sorted(KINDS), action="append")
    options.add_argument("--file", type=Path, action="append", help="a text, Markdown or source file instead")
    options.add_argument("--peers", action="store_true")
    chosen = options.parse_args()
    tokenizer = build_local(read_vocabulary(chosen.model))
    if tokenizer is None:
        raise SystemExit("The vocabulary of this model is not counted in this process.")

    def count(text: str) -> int:
        return len(tokenizer.encode(text))

    if chosen.file:
        texts = [
            (path.name, lambda path=path: read_plain(path.read_bytes(), path.name, path.name)) for path in chosen.file
        ]
    else:
        size = int(chosen.megabytes * 1e6)
        texts = [(kind, lambda kind=kind: generated(kind, size)) for kind in chosen.only or KINDS]
    print(
        "| text | processor s: all = tokens + boundaries + lines, headings | chunks | fill | lossless | over | cuts |"
    )
    print("| --- | ---: | ---: | ---: | --- | ---: | --- |")
    for name, make in texts:
        document = make()
        clock = Clock()
        begin = time.process_time()
        ranges = ours(document, count, chosen.tokens, clock)
        total = time.process_time() - begin
        tokens, lines = clock.spent["tokens"], clock.spent["lines, headings"]
        spent = f"{total:.1f} = {tokens:.1f} + {total - tokens - lines:.1f} + {lines:.1f}"
        print(row(document, f"**{name}**", ranges, count, chosen.tokens, spent), flush=True)
        if chosen.peers:
            kind = document.kind if document.kind in ("code", "markdown") else "text"
            for peer, cut in peers(kind):
                begin = time.process_time()
                ranges = cut(document, count, chosen.tokens)
                spent = f"{time.process_time() - begin:.1f}"
                print(row(document, f"{name}, {peer}", ranges, count, chosen.tokens, spent), flush=True)


if __name__ == "__main__":
    main()
