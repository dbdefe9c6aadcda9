"""The program is killed at random moments and run again: nothing is done twice, nothing is half written.

Three kills in the ordinary run, thirty with `--long`. The seed is in the failure's message.
"""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import time
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest

from tests.support.ending import answers_that_end
from tests.support.papers import report
from tests.support.processes import COMMAND, environment
from tests.support.tiny_models import build
from tui.context.runtime import RuntimeOptions, open_runtime
from tui.documents.loader import read_document
from tui.paths import Paths, get_paths
from tui.reading.events import Finished
from tui.reading.journal import Entry
from tui.reading.ledger import LedgerEntry
from tui.reading.results import SummaryResult
from tui.reading.summarize import summarize
from tui.settings import Settings
from tui.store.database import Store

pytestmark = [pytest.mark.real, pytest.mark.skipif(os.name != "posix", reason="SIGKILL")]

SEED = 20240607
PARALLEL = 2
Journal = dict[str, tuple[bytes, float]]


class Campaign:
    """One home with two documents, summarized into files by one command after the other until one comes to its end."""

    def __init__(self, folder: Path, model: Path, chance: random.Random) -> None:
        self.home = folder / "home"
        self.paths = get_paths({"LONGSCROLL_HOME": str(self.home)})
        self.out = folder / "out"
        self.report = folder / "report.json"
        self.model = model
        self.chance = chance
        self.documents = [folder / "one.txt", folder / "two.txt"]
        answers_that_end(self.paths)
        for document, pages in zip(self.documents, (3, 2), strict=True):
            document.write_text("\n\n".join(report(pages, 16, seed=pages)), encoding="utf-8")
        self.journal: Journal = {}

    def start(self) -> subprocess.Popen[bytes]:
        names = [str(document) for document in self.documents]
        options = ["--out", str(self.out), "--format", "json", "--report", str(self.report), "--model", str(self.model)]
        return subprocess.Popen(
            [*COMMAND, "summarize", *names, *options, "--ctx-size", "512", "--parallel", str(PARALLEL)],
            env=environment(self.home),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def killed(self) -> bool:
        """Run until a random moment, counted in finished calls and then in time; False when it ended before that."""
        process = self.start()
        wanted = len(self.journal) + self.chance.choice((0, 0, 1, 2, 3, 5, 8))
        delay = self.chance.uniform(0, 0.6)
        while process.poll() is None and len(read_journal(self.paths)) < wanted:
            time.sleep(0.01)
        end = time.monotonic() + delay
        while process.poll() is None and time.monotonic() < end:
            time.sleep(0.005)
        process.kill()
        return process.wait() < 0

    def killed_after(self, parts: int) -> None:
        """Run until so many parts are finished."""
        process = self.start()
        while process.poll() is None and len(parts_in(read_journal(self.paths))) < parts:
            time.sleep(0.01)
        process.kill()
        process.wait()
        self.check()

    def check(self) -> None:
        """What has to hold after each run, however it ended."""
        self._no_orphan()
        now = read_journal(self.paths)
        assert {key: now.get(key) for key in self.journal} == self.journal, "an entry was changed or lost"
        self.journal = now
        for file in self.out.iterdir() if self.out.exists() else ():
            if not file.name.startswith("."):
                written = msgspec.json.decode(file.read_bytes(), type=SummaryResult)
                assert written.summary
        if self.report.exists():
            for record in msgspec.json.decode(self.report.read_bytes())["documents"]:
                tiles(record)

    def _no_orphan(self) -> None:
        """No server of this home is left."""
        for _ in range(400):
            left = [process.pid for process in psutil.process_iter(["cmdline"]) if self._ours(process)]
            if not left:
                return
            time.sleep(0.05)
        raise AssertionError(f"llama-server left running: {left}")

    def _ours(self, process: psutil.Process) -> bool:
        words = process.info["cmdline"] or []
        return any(word.startswith(str(self.paths.slots)) for word in words) and (
            process.status() != psutil.STATUS_ZOMBIE
        )


def read_journal(paths: Paths) -> Journal:
    """All entries, read beside the process that writes them."""
    if not paths.database.exists():
        return {}
    connection = sqlite3.connect(f"file:{paths.database}?mode=ro", uri=True, timeout=30)
    try:
        rows = connection.execute("SELECT key, value, created FROM journal").fetchall()
    except sqlite3.OperationalError as error:
        if "no such table" in str(error) or "unable to open" in str(error):
            return {}  # it is being made
        raise
    finally:
        connection.close()
    return {key: (bytes(value), created) for key, value, created in rows}


def parts_in(journal: Journal) -> list[Entry]:
    """The finished parts."""
    entries = [msgspec.msgpack.decode(value, type=Entry) for value, _ in journal.values()]
    return [entry for entry in entries if entry.pieces]


def tiles(record: dict[str, Any]) -> None:
    """The ledger of a finished document accounts for every character."""
    if record["status"] == "failed":
        return
    edge = 0
    for entry in record["ledger"]:
        assert entry["start"] == edge
        edge = entry["end"]
    assert edge == record["characters"] == record["coverage"]["characters_total"]


@pytest.mark.timeout(1800)
def test_killed_at_random_moments(tmp_path: Path, tiny_models: Path, long_run: bool) -> None:
    chance = random.Random(SEED)
    model = build("llama", tiny_models)
    kills, number = 0, 0
    while kills < (30 if long_run else 3):
        number += 1
        folder = tmp_path / str(number)
        folder.mkdir()
        campaign = Campaign(folder, model, chance)
        while kills < (30 if long_run else 3) and campaign.killed():
            kills += 1
            campaign.check()
        campaign.check()
        resumed_to_its_end(campaign)


def resumed_to_its_end(campaign: Campaign) -> None:
    before = parts_in(campaign.journal)
    process = campaign.start()
    assert process.wait(timeout=600) in (0, 1)  # 1: what a model with random weights writes is seldom good
    campaign.check()
    assert sorted(file.name for file in campaign.out.iterdir()) == ["one.txt.summary.json", "two.txt.summary.json"]
    whole = msgspec.json.decode(campaign.report.read_bytes())
    assert whole["state"] == "finished"
    records = whole["documents"]
    assert [record["path"] for record in records] == [str(document) for document in campaign.documents]
    for record in records:
        tiles(record)
        assert record["error"] is None
        states = [entry["state"] for entry in record["ledger"]]
        assert set(states) <= {"read", "reused"}
        assert record["coverage"]["fraction"] == 1.0
    # Every part once: those in the journal were taken from there, the others are there now, and no other.
    after = parts_in(campaign.journal)
    assert sum(record["reused_chunks"] for record in records) == len(before)
    assert sum(record["chunks"] for record in records) == len(after)


async def test_what_the_journal_holds_is_used_byte_for_byte(
    tmp_path: Path, tiny_models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed once; then every note of the journal stands as it is in the prompts that go on from it."""
    campaign = Campaign(tmp_path, build("llama", tiny_models), random.Random(SEED))
    campaign.killed_after(3)
    notes = [note for entry in parts_in(campaign.journal) for piece in entry.pieces for note in piece.notes]
    assert notes
    monkeypatch.setenv("LONGSCROLL_HOME", str(campaign.home))
    prompts: list[str] = []
    ledgers: list[tuple[LedgerEntry, ...]] = []
    with Store(campaign.paths) as store:
        options = RuntimeOptions(model=str(campaign.model), ctx_size=512, parallel=PARALLEL)
        async with open_runtime(options, settings=Settings(), paths=campaign.paths, store=store) as runtime:
            assemble = runtime.assembler.assemble

            async def watched(messages: Any) -> Any:
                prompts.extend(message.content for message in messages)
                return await assemble(messages)

            monkeypatch.setattr(runtime.assembler, "assemble", watched)
            for path in campaign.documents:
                document = await read_document(path)
                events = [event async for event in summarize(runtime, document)]
                ledgers += [event.ledger for event in events if isinstance(event, Finished)]
    states = [entry.state for ledger in ledgers for entry in ledger]
    assert states.count("reused") == sum(len(entry.pieces) for entry in parts_in(campaign.journal))
    text = "\n".join(prompts)
    missing = [note for note in notes if note not in text]
    assert not missing
