"""`summarize` on many files: results in files, the table, the report, what full disks, bad files and Ctrl-C leave."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.cli.test_summarize_and_ask import begin, is_running, write
from tests.reading.scripted import Call, Model, Say, ScriptedRuntime, sensible
from tests.support.ending import answers_that_end
from tests.support.papers import write_pdf
from tests.support.processes import lines, longscroll, servers_of
from tests.support.tiny_models import build
from tui.cli import batch as batch_module
from tui.cli import files, opening
from tui.cli.common import ReadWishes, Shared
from tui.cli.dryrun import Plan
from tui.cli.errors import run_guarded
from tui.cli.group import group
from tui.cli.output import Out
from tui.cli.summarize import KEPT, Where, summarize
from tui.documents.inputs import Input
from tui.documents.model import Document, Span
from tui.errors import InputProblem, NoModel, StorageProblem
from tui.paths import Paths, get_paths
from tui.reading.results import SummaryResult
from tui.server.errors import ServerGone


@pytest.fixture
def model(tiny_models: Path) -> str:
    return str(build("llama", tiny_models))


def table(stderr: str) -> list[list[str]]:
    """The rows of the table at the end, cell by cell, and the line of sums."""
    told = stderr.splitlines()
    start = max(index for index, line in enumerate(told) if line.split()[:2] == ["file", "pages"])
    return [line.split() for line in told[start + 1 :]]


@pytest.mark.real
def test_a_folder_into_files(own_home: Path, tmp_path: Path, model: str) -> None:
    answers_that_end(get_paths({"LONGSCROLL_HOME": str(own_home)}))
    folder = tmp_path / "papers"
    (folder / "a").mkdir(parents=True)
    (folder / "b").mkdir()
    long, short = write(folder / "a", "n.txt", 2), write(folder / "b", "n.txt", 1)
    pdf = write_pdf(folder / "p.pdf", ["The pump failed at noon.", "It was repaired."])
    (folder / "bad.pdf").write_bytes(b"%PDF-1.7\n" + bytes(range(256)) * 8)
    out, report = tmp_path / "new" / "out", tmp_path / "report.json"
    args = (
        "summarize",
        str(folder),
        "--out",
        str(out),
        "--report",
        str(report),
        "--model",
        model,
        "--ctx-size",
        "1024",
    )
    done = longscroll(own_home, *args)
    assert done.returncode == 1
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert sorted(path.name for path in out.iterdir()) == [
        "a_n.txt.summary.md",
        "b_n.txt.summary.md",
        "p.pdf.summary.md",
    ]
    page = (out / "a_n.txt.summary.md").read_text(encoding="utf-8")
    assert page.startswith("# ")
    assert "100 % read" in page
    assert f"Written to {out / 'p.pdf.summary.md'}." in done.stderr

    whole = msgspec.json.decode(report.read_bytes())
    assert (whole["state"], whole["inputs"]) == ("finished", 4)
    assert whole["model"]["context"] == 1024
    records = {record["path"]: record for record in whole["documents"]}
    assert set(records) == {str(long), str(short), str(pdf), str(folder / "bad.pdf")}
    assert records[str(folder / "bad.pdf")]["status"] == "failed"
    assert records[str(folder / "bad.pdf")]["output"] is None
    ledger = records[str(long)]["ledger"]
    assert len(ledger) == records[str(long)]["chunks"] > 1
    assert [entry["start"] for entry in ledger] == [0, *(entry["end"] for entry in ledger[:-1])]
    assert ledger[-1]["end"] == records[str(long)]["characters"]
    assert all(entry["where"] for entry in ledger)
    assert records[str(pdf)]["ledger"][0]["where"] == "pp. 1-2"

    rows = table(done.stderr)
    assert len(rows) == 5
    by_name = {Path(row[0]).name: row for row in rows[:-1]}
    assert by_name["bad.pdf"][-1] == "failed"
    assert by_name["p.pdf"][1] == "2"
    assert " ".join(rows[-1]).startswith("4 files: ")
    said = done.stderr.splitlines()
    assert any(line.startswith("File 1 of 4: ") for line in said)
    assert any(line.startswith("File 4 of 4, ") and "tokens read" in line for line in said)
    assert any("fit the context" in line for line in said), "why it is read this way"

    # The results of this run are no documents of the next; the record instead of the page; all finished earlier.
    again = longscroll(own_home, *args[:1], str(out), *args[1:], "--format", "json", "--json")
    assert "summaries of earlier runs" in again.stderr
    results = lines(again)
    assert len(results) == 4
    reused = next(result for result in results if result["path"] == str(long))
    assert reused["reused_chunks"] == reused["chunks"]
    written = msgspec.json.decode((out / "p.pdf.summary.json").read_bytes(), type=SummaryResult)
    assert written.path == str(pdf)


@pytest.mark.real
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_ctrl_c_leaves_what_is_finished(own_home: Path, tmp_path: Path, model: str) -> None:
    first, second, third = (write(tmp_path, f"{n}.txt", pages) for n, pages in ((1, 1), (2, 20), (3, 1)))
    out, report = tmp_path / "out", tmp_path / "report.json"
    where = ("--out", str(out), "--report", str(report), "--format", "txt", "--max-tokens", "20")
    process = begin(
        own_home, "summarize", str(first), str(second), str(third), *where, "--model", model, "--ctx-size", "2048"
    )
    assert process.stderr is not None
    said: list[str] = []
    while not (said and said[-1].startswith("Reading") and any(line.startswith("File 2 of 3") for line in said)):
        said.append(process.stderr.readline())
        assert said[-1], said
    servers = servers_of(process.pid)
    assert servers
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert not [server for server in servers if is_running(server)]
    assert [path.name for path in out.iterdir()] == ["1.txt.summary.txt"]
    rows = table(err)
    assert [Path(row[0]).name for row in rows[:2]] == [first.name, second.name]
    assert rows[1][-1] == "interrupted"
    assert rows[1][2] != "-", "its tokens are known"
    assert " ".join(rows[2]).startswith("3 files: ")
    assert "1 not finished; 1 not begun" in " ".join(rows[2])
    assert err.splitlines()[-1] == f"longscroll: Interrupted. {KEPT}"
    whole = msgspec.json.decode(report.read_bytes())
    assert (whole["state"], len(whole["documents"])) == ("interrupted", 1)


@pytest.mark.real
def test_a_dry_run_asks_the_model_nothing(own_home: Path, tmp_path: Path, model: str) -> None:
    answers_that_end(get_paths({"LONGSCROLL_HOME": str(own_home)}))
    long, short, bad = write(tmp_path, "long.txt", 2), write(tmp_path, "short.txt", 1), tmp_path / "missing.txt"
    out = tmp_path / "out"
    options = ("--model", model, "--ctx-size", "1024", "--out", str(out))
    names = [str(long), str(short), str(bad)]
    done = longscroll(own_home, "summarize", *names, *options, "--dry-run", "--json")
    assert done.returncode == 1
    plans = [msgspec.convert(record, Plan) for record in lines(done)]
    assert [plan.path for plan in plans] == names
    first, second, third = plans
    assert (first.strategy, second.strategy, third.strategy) == ("map-reduce", "single", None)
    assert first.exact
    assert first.chunks > 1
    assert first.tokens < first.prompt_tokens
    assert (first.reused_chunks, first.seconds) == (0, None)
    assert first.disk_bytes > 0
    assert third.error
    assert not out.exists()
    assert "Reading" not in done.stderr

    real = lines(longscroll(own_home, "summarize", str(long), *options, "--json"))[0]
    assert (real["chunks"], real["tokens"]) == (first.chunks, first.tokens)
    said = longscroll(own_home, "summarize", str(long), *options, "--dry-run").stdout
    row = next(line for line in said.splitlines() if line.startswith(str(long)) and "map-reduce" in line)
    assert row.split()[2:5] == [f"{real['tokens']:,}", str(real["chunks"]), str(real["chunks"])]
    assert "≈" in row
    assert "for the journal, none for slot files" in said


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (("--out", "{file}"), 2, "is not a folder"),
        (("--out", "{file}/below"), 1, "cannot be written"),
        (("--report", "{folder}"), 2, "is a folder"),
        (("--report", "{file}/report.json"), 2, "is not a folder"),
        (("--report", os.devnull), 2, "cannot be replaced" if os.name == "nt" else "not a file that can be replaced"),
        (("--length", "huge"), 2, "Say short, medium or long"),
        (("--prompt", "nosuch"), 2, "There is no set of prompts `nosuch`"),
        (("--prompt", "nosuch", "--dry-run"), 2, "There is no set of prompts `nosuch`"),
        (("--length", "0"), 2, "Say short, medium or long"),
        (("--json", "--format", "md"), 2, "--format has no effect"),
        (("--out", ""), 2, "--out is empty"),
    ],
)
def test_what_cannot_be_is_said_before_any_work(
    tmp_path: Path, args: tuple[str, ...], code: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.txt"
    file.write_text("The pump failed.", encoding="utf-8")
    filled = [arg.format(file=file, folder=tmp_path) for arg in args]
    assert run_guarded(group, ["summarize", str(file), *filled]) == code
    (said,) = capsys.readouterr().err.splitlines()
    assert said.startswith("longscroll: ")
    assert words in said


# In this process, on a scripted engine


@pytest.fixture
def scripted_batch(monkeypatch: pytest.MonkeyPatch, paths: Paths) -> Callable[..., None]:
    """Replaces the engine by a scripted one and reading by the function it is given."""

    def make(document_of: Callable[[str], Document], model: Model = sensible) -> None:
        @contextlib.asynccontextmanager
        async def engine(*_: object, **__: object) -> AsyncIterator[Any]:
            runtime = ScriptedRuntime(paths, model)
            runtime.client.alive = False
            runtime.model_name = "scripted"  # type: ignore[attr-defined]
            runtime.process = None  # type: ignore[attr-defined]
            yield runtime
            runtime.store.close()

        async def read(ground: object, item: Input, wishes: object) -> Document:
            return document_of(item.shown)

        @contextlib.asynccontextmanager
        async def inputs(ground: object, named: tuple[str, ...]) -> AsyncIterator[tuple[Input, ...]]:
            yield tuple(Input(path=name, shown=name) for name in named)

        monkeypatch.setattr("tui.cli.slots.open_reading_engine", engine)
        monkeypatch.setattr("tui.cli.opening.read", read)
        monkeypatch.setattr("tui.cli.opening.open_inputs", inputs)

    return make


def tiny(name: str) -> Document:
    text = f"The pump {name} failed in the harbour at noon, and the crew from Ansel repaired it before night came.\n"
    return Document(path=name, name=name, kind="text", text=text, spans=(Span("file", name, 1, 0, len(text)),))


async def test_the_next_document_is_read_while_this_one_is_summarized(
    scripted_batch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []

    def document_of(name: str) -> Document:
        order.append(f"read {name}")
        return tiny(name)

    scripted_batch(document_of)

    async def ahead(ground: object, item: Input, wishes: object) -> Document | None:
        order.append(f"ahead {item.shown}")
        if item.shown == "b.txt":
            raise ZeroDivisionError  # whatever it is, reading it meets it again
        return None

    monkeypatch.setattr("tui.cli.opening.read_ahead", ahead)
    assert await summarize(Shared(json=True), ("a.txt", "b.txt", "c.txt")) == 0
    assert order == ["read a.txt", "ahead b.txt", "read b.txt", "ahead c.txt", "read c.txt"]


async def test_what_was_read_ahead_is_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pdf = write_pdf(tmp_path / "p.pdf", ["The pump failed at noon.", "It was repaired."])
    locked = write_pdf(tmp_path / "l.pdf", ["The pump failed."], password="sesame")
    async with opening.open_ground(Shared(), Out(as_json=False)) as ground:
        for path in (pdf, locked):
            await opening.read_ahead(ground, Input(path=str(path), shown=path.name), ReadWishes())
        assert capsys.readouterr().err == "", "nothing is told"

        async def never(*_: object) -> Document:
            raise AssertionError("it was read a second time")

        monkeypatch.setattr(opening, "_read_once", never)
        document = await opening.read(ground, Input(path=str(pdf), shown="shown.pdf"), ReadWishes())
        assert (document.path, document.pages) == ("shown.pdf", 2)


async def test_a_full_disk_costs_the_file_and_is_told(
    scripted_batch: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    scripted_batch(tiny)
    real = files.os.fsync
    calls = 0

    def sometimes_full(handle: int) -> None:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(handle)

    monkeypatch.setattr(files.os, "fsync", sometimes_full)
    code = await summarize(Shared(), ("a.txt", "b.txt"), where=Where(out=str(tmp_path / "out"), form="txt"))
    assert code == 1
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["b.txt.summary.txt"]
    told = capsys.readouterr().err
    assert "a.txt.summary.txt cannot be written (No space left on device). Free some space" in told
    assert told.count("done\n") == 2, "both were summarized"


async def test_a_report_that_cannot_be_written_does_not_end_the_batch(
    scripted_batch: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    scripted_batch(tiny)

    def full(*_: object) -> None:
        raise StorageProblem("r.json cannot be written.", "Free some space.")

    monkeypatch.setattr("tui.cli.report.write_whole", full)
    where = Where(out=str(tmp_path / "out"), report=str(tmp_path / "r.json"))
    assert await summarize(Shared(), ("a.txt", "b.txt"), where=where) == 1
    assert len(list((tmp_path / "out").iterdir())) == 2
    assert capsys.readouterr().err.count("The report is not up to date.") == 1


async def test_a_defect_in_one_document_does_not_end_the_batch(
    scripted_batch: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], paths: Paths
) -> None:
    def document_of(name: str) -> Document:
        if name == "a.txt":
            raise ZeroDivisionError("a defect")
        if name == "b.txt":
            raise InputProblem("b.txt is bad.", "Take another.")
        return tiny(name)

    scripted_batch(document_of)
    assert await summarize(Shared(json=True), ("a.txt", "b.txt", "c.txt")) == 1
    told = capsys.readouterr()
    statuses = [msgspec.json.decode(line)["status"] for line in told.out.splitlines()]
    assert statuses == ["failed", "failed", "done"]
    assert "ZeroDivisionError: a defect. The details are in " in told.err
    assert len(list(paths.logs.glob("crash-*.log"))) == 1


async def test_the_record_of_a_failure_holds_what_was_known(
    scripted_batch: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """The server dies for good under the second document; the third gets a new one."""

    def model(call: Call) -> Say:
        return Say("", error=ServerGone("It is gone.", "Start it.")) if "b.txt" in call.body else sensible(call)

    scripted_batch(tiny, model)
    assert await summarize(Shared(json=True), ("a.txt", "b.txt", "c.txt")) == 1
    results = [msgspec.json.decode(line, type=SummaryResult) for line in capsys.readouterr().out.splitlines()]
    assert [result.status for result in results] == ["done", "failed", "done"]
    broken = results[1]
    assert broken.error == "It is gone. Start it."
    assert broken.tokens > 10
    assert (broken.chunks, broken.strategy) == (1, "single")
    assert broken.coverage.characters_total == broken.characters == len(tiny("b.txt").text)
    assert broken.coverage.characters_read == 0


async def test_no_engine_is_told_once(scripted_batch: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    scripted_batch(tiny)

    @contextlib.asynccontextmanager
    async def no_engine(*_: object, **__: object) -> AsyncIterator[Any]:
        raise NoModel("No model was named.", "Name one.")
        yield

    monkeypatch.setattr("tui.cli.slots.open_reading_engine", no_engine)
    with pytest.raises(NoModel):
        await summarize(Shared(), ("a.txt", "b.txt"))
    assert "interrupted" not in capsys.readouterr().err


async def test_a_partial_summary_never_replaces_a_finished_one(
    scripted_batch: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    scripted_batch(tiny)
    statuses = iter(("partial", "partial", "done", "partial", "done"))
    real = batch_module.Batch._summarized

    async def with_status(self: Any, *args: Any) -> Any:
        finished = await real(self, *args)
        return msgspec.structs.replace(finished, result=msgspec.structs.replace(finished.result, status=next(statuses)))

    monkeypatch.setattr(batch_module.Batch, "_summarized", with_status)
    out = tmp_path / "out"
    seen = []
    for _ in range(5):
        await summarize(Shared(), ("a.txt",), where=Where(out=str(out)))
        seen.append(sorted((path.name, b"**Not everything" in path.read_bytes()) for path in out.iterdir()))
    finished, partial = ("a.txt.summary.md", False), ("a.txt.summary.md", True)
    aside = ("a.txt.summary.partial.md", True)
    assert seen == [[partial], [partial], [finished], [finished, aside], [finished]]
    assert capsys.readouterr().err.count("is a finished summary of an earlier run and stays") == 1


async def test_a_thousand_files(
    scripted_batch: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    scripted_batch(tiny)
    monkeypatch.setattr(files.os, "fsync", lambda handle: None)
    names = tuple(f"{number}.txt" for number in range(1000))
    where = Where(out=str(tmp_path / "out"), report=str(tmp_path / "r.json"))
    assert await summarize(Shared(), names, where=where) == 0
    assert len(list((tmp_path / "out").iterdir())) == 1000
    told = capsys.readouterr().err
    assert table(told)[-1][:5] == ["1,000", "files:", "1000", "done;", f"{sum_of(told):,}"]
    whole = msgspec.json.decode((tmp_path / "r.json").read_bytes())
    assert whole["counts"] == {"done": 1000, "partial": 0, "failed": 0}
    assert len(whole["documents"]) == 1000


def sum_of(told: str) -> int:
    return sum(int(row[2].replace(",", "")) for row in table(told)[:-1])


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL")
def test_killed_while_a_file_is_written(tmp_path: Path) -> None:
    """Before the bytes are on disk, and between that and the new name."""
    import sys

    target = tmp_path / "a.summary.md"
    target.write_text("old")
    for place in ("os.fsync", "pathlib.Path.replace"):
        code = (
            "import os, pathlib, signal\n"
            f"{place} = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
            "from tui.cli.files import write_whole\n"
            f"write_whole(pathlib.Path({str(target)!r}), b'new' * 100000, '--out')\n"
        )
        done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)
        assert done.returncode == -signal.SIGKILL
        assert target.read_text() == "old"
    files.prepare_folder(tmp_path, "--out")
    assert list(tmp_path.iterdir()) == [target]
