"""What a token costs to draw: longscroll's transcript beside Textual's own Markdown widget.

    python -m benchmarks.transcript [--seconds 10] [--rates 150,1000] [--histories 0,100,1000] [--only ours|textual]

Each case runs in a process of its own: a headless terminal of 120×40, so many earlier messages, then an answer of
Markdown fed token by token at the rate. Printed is processor time (user and system, of the whole process, the feeding
loop and the making of the terminal's sequences included), not wall time, so that a busy machine changes little.
`kept up` is whether the text was on the screen no later than half a second after its last token was due.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SIZE = (120, 40)
WORDS = re.findall(
    r"\w+",
    """
    the context of a model holds tokens and every token that was read once need not be read again when the server
    keeps its state in a slot so a long document costs its prompt only the first time while each later question
    extends what is there already and the answer begins at once instead of after many minutes of waiting
    """,
)
CODE = '''```python
def restore(slot: int, prefix: list[int]) -> Restored:
    """Bring a saved prefix back into `slot`."""
    manifest = find_manifest(prefix)
    if manifest is None:
        return Restored(0, 0.0, "nothing was saved")
    started = time.monotonic()
    for part in manifest.parts:  # every part is checked before it is used
        if checksum(part.path) != part.sha256:
            return Restored(0, 0.0, f"{part.path.name} is damaged")
    return Restored(len(prefix), time.monotonic() - started, "")
```
'''
TABLE = """| Model | Parameters | Tokens/s | Remark |
|:------|-----------:|---------:|:-------|
| small | 135 M | 92.4 | fits **anywhere** |
| medium | 8 B | 21.0 | needs `8 GiB` |
| large | 27 B | 6.3 | needs patience |
"""


def sentence(dice: random.Random) -> str:
    words = [dice.choice(WORDS) for _ in range(dice.randint(8, 24))]
    at = dice.randrange(len(words))
    words[at] = dice.choice(("**{}**", "*{}*", "`{}`", "[{}](https://example.org/page)", "{}", "{}")).format(words[at])
    return " ".join(words).capitalize() + "."


def paragraph(dice: random.Random) -> str:
    return " ".join(sentence(dice) for _ in range(dice.randint(2, 6)))


def answer(seed: int, characters: int) -> str:
    """Markdown as models write it, at least so long."""
    dice = random.Random(seed)
    parts: list[str] = []
    length = 0
    while length < characters:
        kind = dice.choice(
            ("paragraph", "paragraph", "paragraph", "list", "steps", "code", "heading", "quote", "table")
        )
        if kind == "paragraph":
            part = paragraph(dice)
        elif kind == "list":
            part = "\n".join(f"- {sentence(dice)}" for _ in range(dice.randint(3, 8)))
        elif kind == "steps":
            part = "\n".join(f"{n}. {sentence(dice)}\n   - {sentence(dice)}" for n in range(1, dice.randint(4, 9)))
        elif kind == "code":
            part = CODE.rstrip()
        elif kind == "heading":
            part = "## " + " ".join(dice.choice(WORDS) for _ in range(4)).capitalize()
        elif kind == "quote":
            part = "> " + sentence(dice)
        else:
            part = TABLE.rstrip()
        parts.append(part)
        length += len(part) + 2
    return "\n\n".join(parts)


def tokens_of(text: str) -> list[str]:
    """About as long as a model's tokens: a word of at most six letters with the blank before it, or a sign."""
    return re.findall(r"\s?\w{1,6}|\s*[^\w\s]|\s+", text)


async def feed(tokens: list[str], rate: float, put: Callable[[str], Awaitable[None] | None]) -> None:
    """Hand over each token when it is due."""
    started = time.monotonic()
    for index, token in enumerate(tokens):
        due = started + index / rate
        ahead = due - time.monotonic()
        if ahead > 0.001:
            await asyncio.sleep(ahead)
        elif index % 20 == 0:
            await asyncio.sleep(0)
        waiting = put(token)
        if waiting is not None:
            await waiting


class Drawn:
    """Mixed into the measured apps: what a terminal would get is made too, and dropped by the headless driver."""

    @property
    def is_headless(self) -> bool:
        return False


async def run_ours(rate: float, history: int, seconds: float) -> dict[str, float]:
    from textual.app import App, ComposeResult

    from tui.app.widgets.transcript import TranscriptView

    class Bench(Drawn, App[None]):
        CSS_PATH = ROOT / "tui" / "app" / "theme.tcss"

        def compose(self) -> ComposeResult:
            yield TranscriptView()

    app = Bench()
    tokens = tokens_of(answer(7, int(rate * seconds * 6)))[: int(rate * seconds)]
    async with app.run_test(size=SIZE) as pilot:
        view = app.query_one(TranscriptView)
        before = time.process_time()
        for index in range(history // 2):
            view.add_message("user", f"Question {index}: what does the document say about slots?")
            view.add_message("assistant", answer(index % 40, 1500), status="312 tokens · 21.4 tokens/s")
        await pilot.pause(0.3)
        mounted = time.process_time() - before
        entry = view.add_message("assistant", live=True)
        await pilot.pause(0.2)
        clock, wall = time.process_time(), time.monotonic()
        await feed(tokens, rate, lambda token: view.append(entry, token))
        view.finish(entry)
        await asyncio.sleep(0.1)
        shown = "".join(line.text for line in view.page.window(view.page.total - 2, 2))
        spent, took = time.process_time() - clock, time.monotonic() - wall
        assert tokens[-1].strip() in shown, (tokens[-1], shown)
    return {"tokens": len(tokens), "cpu": spent, "wall": took, "mount": mounted}


async def run_textual(rate: float, history: int, seconds: float) -> dict[str, float]:
    from textual.app import App, ComposeResult
    from textual.containers import VerticalScroll
    from textual.widgets import Markdown

    class Bench(Drawn, App[None]):
        def compose(self) -> ComposeResult:
            yield VerticalScroll()

    app = Bench()
    tokens = tokens_of(answer(7, int(rate * seconds * 6)))[: int(rate * seconds)]
    async with app.run_test(size=SIZE) as pilot:
        scroll = app.query_one(VerticalScroll)
        before = time.process_time()
        for index in range(history // 2):
            await scroll.mount(Markdown(f"Question {index}: what does the document say about slots?"))
            await scroll.mount(Markdown(answer(index % 40, 1500)))
        await pilot.pause(0.3)
        mounted = time.process_time() - before
        live = Markdown("")
        await scroll.mount(live)
        scroll.anchor()
        await pilot.pause(0.2)
        stream = Markdown.get_stream(live)
        clock, wall = time.process_time(), time.monotonic()
        await feed(tokens, rate, stream.write)
        await stream.stop()
        await pilot.pause()
        spent, took = time.process_time() - clock, time.monotonic() - wall
    return {"tokens": len(tokens), "cpu": spent, "wall": took, "mount": mounted}


async def run_feed(rate: float, _history: int, seconds: float) -> dict[str, float]:
    """The feeding loop alone: what the measurement itself costs."""
    tokens = tokens_of(answer(7, int(rate * seconds * 6)))[: int(rate * seconds)]
    clock, wall = time.process_time(), time.monotonic()
    await feed(tokens, rate, [].append)
    return {"tokens": len(tokens), "cpu": time.process_time() - clock, "wall": time.monotonic() - wall, "mount": 0.0}


CASES = {"ours": run_ours, "textual": run_textual, "feed": run_feed}
NAMES = {"ours": "longscroll", "textual": "Textual Markdown", "feed": "(feeding loop alone)"}


def measure(which: str, rate: float, history: int, seconds: float, limit: float) -> dict[str, float] | None:
    command = [sys.executable, __file__, "--case", which, str(rate), str(history), str(seconds)]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=limit, check=True)
    except subprocess.TimeoutExpired:
        return None
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--seconds", type=float, default=10.0, help="how long the answer streams")
    options.add_argument("--rates", default="150,1000", help="tokens per second")
    options.add_argument("--histories", default="0,100,1000", help="earlier messages")
    options.add_argument("--only", choices=("ours", "textual"), help="one of the two")
    options.add_argument("--limit", type=float, default=180.0, help="seconds after which a case is given up")
    options.add_argument("--case", nargs=4, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.case:
        which, rate, history, seconds = chosen.case
        sys.path.insert(0, str(ROOT))
        print(json.dumps(asyncio.run(CASES[which](float(rate), int(history), float(seconds)))))
        return
    print("| widget | tokens/s | earlier messages | ms a token | of a core | kept up | showing the earlier ones |")
    print("| --- | ---: | ---: | ---: | ---: | --- | ---: |")
    for which in ("feed", "ours", "textual"):
        if chosen.only and which not in (chosen.only, "feed"):
            continue
        for rate in (float(rate) for rate in chosen.rates.split(",")):
            for history in (int(history) for history in chosen.histories.split(",")):
                if which == "feed" and history:
                    continue
                found = measure(which, rate, history, chosen.seconds, chosen.limit)
                line = f"| {NAMES[which]} | {rate:,.0f} | {history:,} |"
                if found is None:
                    print(f"{line} given up after {chosen.limit:.0f} s | | | |", flush=True)
                    continue
                per_token = found["cpu"] / found["tokens"] * 1000
                late = found["wall"] - found["tokens"] / rate
                share = found["cpu"] / found["wall"]
                kept_up = "yes" if late < 0.5 else f"{late:.1f} s late"
                print(f"{line} {per_token:.3f} | {share:.2f} | {kept_up} | {found['mount']:.2f} s |", flush=True)


if __name__ == "__main__":
    main()
