"""What a summary keeps: planted facts in a generated report, counted in the map notes and in the final summary.

No judge: a fact is kept where its words stand together in one note or statement. Each row is one run with an empty
journal. `notes` is empty where a strategy makes none. A summary of a dozen statements cannot hold sixty facts; what it
could hold at most is printed beside it.

    python -m benchmarks.recall --model FILE [--facts 60] [--tokens 60000] [--strategy NAME]… [--prompt NAME]…
        [--chunk-tokens N]… [--ctx-size 8192] [--parallel 2] [--length long]
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import os
import sqlite3
import tempfile
from pathlib import Path

import msgspec

from benchmarks.planted import Fact, Report, holds, planted_report, recall
from tui.context.runtime import RuntimeOptions, open_runtime
from tui.documents.loader import read_document
from tui.paths import get_paths
from tui.reading.events import ChunkDone, Finished, PlanMade
from tui.reading.journal import Entry
from tui.reading.results import SummaryOptions, SummaryResult
from tui.reading.summarize import summarize
from tui.settings import Settings
from tui.store.database import Store

HEAD = (
    "| strategy | prompts | chunks | facts in the notes | in the summary | at most | statements with a wrong page "
    "| prompt tokens / tokens | read | content | unsupported | s |\n|---|---|---|---|---|---|---|---|---|---|---|---|"
)


async def one(
    model: str, report: Report, path: Path, options: SummaryOptions, ctx_size: int, parallel: int
) -> tuple[SummaryResult, list[str]]:
    """One run in a home of its own: the result, and every note of the map step."""
    with tempfile.TemporaryDirectory() as home:
        os.environ["LONGSCROLL_HOME"] = home
        paths = get_paths()
        store = Store(paths)
        runtime_options = RuntimeOptions(model=model, ctx_size=ctx_size, parallel=parallel)
        try:
            async with open_runtime(runtime_options, settings=Settings(), paths=paths, store=store) as runtime:
                document = await read_document(path)
                result = await _finished(summarize(runtime, document, options))
        finally:
            store.close()
        return result, _notes(paths.database)


async def _finished(events) -> SummaryResult:  # type: ignore[no-untyped-def]
    async with contextlib.aclosing(events):
        async for event in events:
            if isinstance(event, PlanMade):
                print(f"  {event.why} {event.chunks} parts", flush=True)
            if isinstance(event, ChunkDone):
                print(f"  part {event.done} of {event.total} {event.reason}", flush=True)
            if isinstance(event, Finished):
                return event.result
    raise RuntimeError("the run ended without a result")


def _notes(database: Path) -> list[str]:
    with contextlib.closing(sqlite3.connect(database)) as db:
        rows = db.execute("SELECT value FROM journal WHERE key LIKE 'reading/%'").fetchall()
    decoder = msgspec.msgpack.Decoder(Entry)
    return [note for (value,) in rows for piece in decoder.decode(value).pieces for note in piece.notes]


def wrong_pages(result: SummaryResult, report: Report, text: str) -> tuple[int, int]:
    """Statements that hold a planted fact, and how many of them do not cite the lines of its chapter."""
    starts = [text.index(f"## Chapter {fact.page}:") for fact in report.facts]
    ends = [*starts[1:], len(text)]
    held = wrong = 0
    for statement in result.statements:
        for fact, start, end in zip(report.facts, starts, ends, strict=True):
            if holds(statement.text, fact):
                held += 1
                first, last = text.count("\n", 0, start) + 1, text.count("\n", 0, end) + 1
                cited = [citation.lines for citation in statement.citations if citation.lines]
                wrong += not any(lines[0] <= last and first <= lines[1] for lines in cited)
    return held, wrong


def row(options: SummaryOptions, result: SummaryResult, notes: list[str], report: Report, text: str) -> str:
    said = [statement.text for statement in result.statements] or result.summary.splitlines()
    held, wrong = wrong_pages(result, report, text)
    most = min(1.0, len(said) / len(report.facts))
    content = f"{result.content.covered}/{result.content.sections}" if result.content else "–"
    unsupported = f"{result.content.unsupported}/{result.content.statements}" if result.content else "–"
    return (
        f"| {result.strategy} | {options.prompt or 'summarize'} | {result.chunks} "
        f"| {_share(notes, report.facts) if notes else '–'} | {_share(said, report.facts)} | {most:.2f} "
        f"| {wrong} of {held} "
        f"| {result.prompt_tokens / result.tokens:.3f} | {result.coverage.fraction} | {content} | {unsupported} "
        f"| {result.seconds:.0f} |"
    )


def _share(statements: list[str], facts: tuple[Fact, ...]) -> str:
    return f"{recall(statements, facts):.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True)
    parser.add_argument("--facts", type=int, default=60)
    parser.add_argument("--tokens", type=int, default=60_000)
    parser.add_argument("--strategy", action="append", default=[])
    parser.add_argument("--prompt", action="append", default=[])
    parser.add_argument("--chunk-tokens", type=int, action="append", default=[])
    parser.add_argument("--length", default="long")
    parser.add_argument("--ctx-size", type=int, default=8192)
    parser.add_argument("--parallel", type=int, default=2)
    given = parser.parse_args()
    report = planted_report(facts=given.facts, tokens=given.tokens)
    rows = [HEAD]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.txt"
        path.write_text(report.text, encoding="utf-8")
        for strategy in given.strategy or ["map-reduce", "refine"]:
            for prompt, chunk in itertools.product(given.prompt or [""], given.chunk_tokens or [0]):
                options = SummaryOptions(strategy=strategy, prompt=prompt, length=given.length, chunk_tokens=chunk)
                print(f"{strategy} {prompt} {chunk or ''}", flush=True)
                result, notes = asyncio.run(one(given.model, report, path, options, given.ctx_size, given.parallel))
                for warning in result.warnings:
                    print(f"  ! {warning}", flush=True)
                rows.append(row(options, result, notes, report, report.text))
    print("\n".join(rows))


if __name__ == "__main__":
    main()
