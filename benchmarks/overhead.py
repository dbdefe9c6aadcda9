"""Tokens/s and time to first token through longscroll's chat engine beside the bare HTTP API: same server, same prompt.

The two ways alternate; the first to go alternates too. Each answer is made without the prompt cache, so every run does
the same work. The bare way is a plain streaming request with httpx and json, as a script would do it.

    python -m benchmarks.overhead [--rounds 10] [--tokens 200]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path

import httpx

from tui.context.runtime import Runtime, RuntimeOptions, open_runtime
from tui.context.send import send
from tui.paths import get_paths
from tui.server.types import Message, Sampling, TextDelta
from tui.settings import Settings
from tui.store.database import Store

SAMPLE = Path(__file__).resolve().parent.parent / "tui" / "assets" / "sample.md"
GREEDY = Sampling(temperature=0.0, seed=1)


async def through_longscroll(runtime: Runtime, messages: list[Message], tokens: int) -> AsyncIterator[str]:
    prompt = await runtime.assembler.assemble(messages)
    async for event in send(runtime, prompt, max_tokens=tokens, sampling=GREEDY, id_slot=0, cache_prompt=False):
        if isinstance(event, TextDelta):
            yield event.text


async def bare(http: httpx.AsyncClient, messages: list[Message], tokens: int) -> AsyncIterator[str]:
    body = {
        "messages": [{"role": message.role, "content": message.content} for message in messages],
        "max_tokens": tokens,
        "temperature": 0.0,
        "seed": 1,
        "stream": True,
        "cache_prompt": False,
        "id_slot": 0,
    }
    async with http.stream("POST", "/v1/chat/completions", json=body) as response:
        async for line in response.aiter_lines():
            if line.startswith("data: {"):
                for choice in json.loads(line[6:])["choices"]:
                    text = choice["delta"].get("content")
                    if text:
                        yield text


async def timed(pieces: AsyncIterator[str]) -> tuple[float, float, int]:
    """Seconds to the first piece, pieces a second after it, processor microseconds of this process for each piece."""
    start, cpu = time.perf_counter(), time.process_time()
    first = 0.0
    count = 0
    async for _ in pieces:
        count += 1
        first = first or time.perf_counter() - start
    spent = time.process_time() - cpu
    rate = (count - 1) / (time.perf_counter() - start - first)
    return first, rate, round(spent / count * 1e6)


async def measure(rounds: int, tokens: int) -> None:
    text = SAMPLE.read_text(encoding="utf-8")
    messages = [Message("system", text[:4000]), Message("user", "Tell the story of the light at length.")]
    paths = get_paths()
    store = Store(paths)
    results: dict[str, list[tuple[float, float, int]]] = {"longscroll": [], "bare HTTP": []}
    options = RuntimeOptions(model="demo", ctx_size=4096, parallel=1)
    async with open_runtime(options, settings=Settings(), paths=paths, store=store) as runtime:
        # The key is the program's secret; a stopwatch on the same server needs it all the same.
        headers = dict(runtime.client._http.headers)
        async with httpx.AsyncClient(base_url=runtime.client.base_url, headers=headers, timeout=None) as http:
            for number in range(-1, rounds):
                ways = ["longscroll", "bare HTTP"]
                for way in ways if number % 2 else reversed(ways):
                    pieces = (
                        through_longscroll(runtime, messages, tokens)
                        if way == "longscroll"
                        else bare(http, messages, tokens)
                    )
                    result = await timed(pieces)
                    if number >= 0:
                        results[way].append(result)
    store.close()
    print("| way | rounds | time to first token, median s | tokens/s, median | client CPU, µs a token |")
    print("| --- | --- | --- | --- | --- |")
    middle = {}
    for way, runs in results.items():
        first, rate, cpu = (statistics.median(column) for column in zip(*runs, strict=True))
        middle[way] = (first, rate)
        print(f"| {way} | {len(runs)} | {first:.3f} | {rate:.1f} | {cpu:.0f} |")
    pairs = list(zip(results["longscroll"], results["bare HTTP"], strict=True))
    speed = statistics.median(ours[1] / theirs[1] for ours, theirs in pairs)
    wait = statistics.median(ours[0] / theirs[0] for ours, theirs in pairs)
    print(f"| ratio, median of pairs | {len(pairs)} | {wait:.3f} | {speed:.3f} | |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--tokens", type=int, default=200)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        os.environ.setdefault("LONGSCROLL_HOME", home)
        asyncio.run(measure(args.rounds, args.tokens))


if __name__ == "__main__":
    main()
