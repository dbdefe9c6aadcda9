"""A PDF four times longer than the context is read whole; a run that was killed goes on where it was."""

from __future__ import annotations

import itertools
from pathlib import Path

import psutil
import pytest

from tests.support.papers import report, write_pdf
from tests.support.processes import lines, longscroll, servers_of, start, until
from tui.paths import get_paths

pytestmark = [pytest.mark.real, pytest.mark.demo, pytest.mark.usefixtures("demo_in_home")]

PAGES = 22
OPTIONS = ("--model", "demo", "--ctx-size", "2048", "--parallel", "2", "--json")


def finished_calls(home: Path) -> int:
    """Entries in the journal of a home that another process may be writing."""
    from tui.store.database import Store

    paths = get_paths({"LONGSCROLL_HOME": str(home)})
    if not paths.database.exists():
        return 0
    store = Store(paths)
    try:
        return store.journal.count()
    finally:
        store.close()


@pytest.mark.timeout(900)
async def test_a_long_pdf_is_read_whole_and_survives_sigkill(own_home: Path, tmp_path: Path) -> None:
    paper = write_pdf(tmp_path / "report.pdf", report(PAGES, 22))

    first = start(own_home, "summarize", str(paper), *OPTIONS)
    try:
        await until(lambda: finished_calls(own_home) >= 2 or first.poll() is not None, "two chunks in the journal", 400)
        assert first.poll() is None, "it ended before it could be killed"
        orphans = servers_of(first.pid)
        assert orphans
    finally:
        first.kill()
        first.wait()
    await until(lambda: not any(map(alive, orphans)), "the killed run's llama-server is gone")
    finished = finished_calls(own_home)

    counted = lines(longscroll(own_home, "count", str(paper), *OPTIONS))[0]
    assert counted["tokens"] >= 4 * 2048
    assert counted["exact"] is True
    assert counted["fits"] is False

    done = longscroll(own_home, "summarize", str(paper), *OPTIONS, timeout=600)
    assert done.returncode == 0, done.stderr
    [result] = lines(done)
    assert result["status"] == "done"
    assert result["strategy"] == "map-reduce"
    assert result["pages"] == PAGES
    assert result["coverage"]["fraction"] == 1.0
    assert result["coverage"]["characters_read"] == result["coverage"]["characters_total"] == result["characters"]
    assert result["reused_chunks"] == finished
    assert result["chunks"] > finished
    assert result["levels"] >= 1
    assert result["summary"].strip()
    assert result["error"] in (None, "")


async def test_every_page_is_in_some_chunk(own_home: Path, tmp_path: Path) -> None:
    paper = write_pdf(tmp_path / "report.pdf", report(PAGES, 22))
    chunks = lines(longscroll(own_home, "chunk", str(paper), "--max-tokens", "700", *OPTIONS))
    assert chunks[0]["start"] == 0
    assert all(a["end"] == b["start"] for a, b in itertools.pairwise(chunks))
    assert all(chunk["tokens"] <= 700 for chunk in chunks)
    seen = {page for chunk in chunks for page in range(chunk["pages"][0], chunk["pages"][1] + 1)}
    assert seen == set(range(1, PAGES + 1))


def alive(process: psutil.Process) -> bool:
    return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
