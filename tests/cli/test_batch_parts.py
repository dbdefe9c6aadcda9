"""The parts of a batch: names of result files, files there whole or not at all, figures, the table, the pace."""

from __future__ import annotations

import asyncio
import io
import os
import sys
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.cli.test_progress import Clock
from tui.cli.batch import _size
from tui.cli.files import check_file, own_result, prepare_folder, result_names, without_target, write_whole
from tui.cli.output import Out, Progress
from tui.cli.pace import BatchPace, ReadingShown
from tui.cli.rendering import figures_of, markdown, rendered, unfinished, without_support
from tui.cli.report import Report, is_report
from tui.cli.table import print_table, row_of
from tui.documents.inputs import Input
from tui.documents.model import Document, Span
from tui.errors import InputProblem, StorageProblem, UsageProblem
from tui.reading.events import ChunkDone, ChunkStarted, PlanMade
from tui.reading.ledger import LedgerEntry
from tui.reading.results import AT_LIMIT, Content, Coverage, Statement, SummaryOptions, SummaryResult, failed


def result(path: str = "a.txt", **other: object) -> SummaryResult:
    done = failed(path, InputProblem("x"))
    values: dict[str, object] = {
        "status": "done",
        "summary": "It *is* so.",
        "strategy": "map-reduce",
        "tokens": 1234,
        "chunks": 3,
        "coverage": Coverage(characters_total=10, characters_read=10, fraction=1.0),
        "error": None,
        "seconds": 12.0,
    }
    return msgspec.structs.replace(done, **{**values, **other})


def inputs(*paths: str) -> list[Input]:
    return [Input(path=path, shown=path) for path in paths]


def test_names_are_those_of_the_inputs() -> None:
    assert result_names(inputs("/x/report.pdf", "/x/report.docx", "/x/y/ä b.txt"), "md") == [
        "report.pdf.summary.md",
        "report.docx.summary.md",
        "ä b.txt.summary.md",
    ]
    folder = Input(path="/x/src/", shown="src", folder=True)
    spooled = Input(path="/tmp/q/standard input", shown="standard input")
    bad = Input(path="", shown="no/such/*.pdf", problem=InputProblem("x"))
    assert result_names([folder, spooled, bad], "json") == [
        "src.summary.json",
        "standard-input.summary.json",
        "no_such__.pdf.summary.json",
    ]


def test_alike_names_get_folders_in_front() -> None:
    names = result_names(inputs("/d/a/x/n.txt", "/d/b/x/n.txt", "/d/c/N.txt", "/d/c/m.txt", "/e/x_n.txt"), "txt")
    assert names == [
        "a_x_n.txt.summary.txt",
        "b_x_n.txt.summary.txt",
        "c_N.txt.summary.txt",
        "m.txt.summary.txt",
        "e_x_n.txt.summary.txt",
    ]


_PART = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="/\x00"), min_size=1, max_size=90)
_PATH = st.lists(_PART, min_size=1, max_size=4).map("/".join)


@given(st.lists(_PATH, min_size=1, max_size=12, unique=True))
def test_names_never_collide_and_are_fit_for_files(paths: list[str]) -> None:
    names = result_names(inputs(*(f"/{path}" for path in paths)), "md")
    assert len({name.casefold() for name in names}) == len(names)
    for name in names:
        assert len(os.fsencode(name)) <= 230
        assert not set(name) & set('/\\\n\r\t\x00:*?"<>|')


def test_a_thousand_alike_names() -> None:
    names = result_names(inputs(*(f"/d/{n}/deep/readme.md" for n in range(1000))), "md")
    assert names[7] == "7_deep_readme.md.summary.md"
    assert len(set(names)) == 1000


def test_results_of_earlier_runs_are_known(tmp_path: Path) -> None:
    assert own_result(Input(path=str(tmp_path / "a.pdf.summary.md"), shown="x"), tmp_path)
    assert own_result(Input(path=str(tmp_path / "a.pdf.summary.partial.md"), shown="x"), tmp_path)
    assert not own_result(Input(path=str(tmp_path / "a.pdf"), shown="x"), tmp_path)
    assert not own_result(Input(path=str(tmp_path / "sub" / "a.pdf.summary.md"), shown="x"), tmp_path)


def test_a_report_is_no_document_and_no_document_becomes_one(tmp_path: Path) -> None:
    report, thesis = tmp_path / "r.json", tmp_path / "thesis.txt"
    report.write_bytes(b'{"format":1,"longscroll":"0.1.0","state":"finished"}')
    thesis.write_text("Years of work.", encoding="utf-8")
    named = [Input(path=str(path), shown=path.name) for path in (report, thesis)]
    assert without_target(named, report, "--report", is_report) == named[1:]
    with pytest.raises(UsageProblem, match="one of the documents"):
        without_target(named, thesis, "--report", is_report)


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "r.md"
    write_whole(target, b"one", "--out")
    assert target.read_bytes() == b"one"
    for broken in ("fsync", "replace"):
        with monkeypatch.context() as patch:

            def full(*_: object) -> None:
                raise OSError(28, "No space left on device")

            patch.setattr(*((os, "fsync", full) if broken == "fsync" else (Path, "replace", full)))
            with pytest.raises(StorageProblem, match="No space left") as caught:
                write_whole(target, b"two", "--out")
        assert "--out" in caught.value.remedy
        assert target.read_bytes() == b"one"
        assert list(tmp_path.iterdir()) == [target]
    write_whole(target, b"two", "--out")
    assert target.read_bytes() == b"two"


def test_what_killed_runs_left_is_removed(tmp_path: Path) -> None:
    (tmp_path / ".longscroll-999999999-0.tmp").write_text("half")
    (tmp_path / f".longscroll-{os.getppid()}-0.tmp").write_text("at work")
    (tmp_path / ".longscroll-notes.tmp").write_text("the user's")
    prepare_folder(tmp_path, "--out")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f".longscroll-{os.getppid()}-0.tmp",
        ".longscroll-notes.tmp",
    ]


def test_places_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageProblem, match="is not a folder"):
        prepare_folder(tmp_path / "file", "--out")
    with pytest.raises(StorageProblem, match="cannot be written"):
        prepare_folder(tmp_path / "file" / "below", "--out")
    with pytest.raises(UsageProblem, match="is a folder"):
        check_file(tmp_path, "--report")
    with pytest.raises(UsageProblem, match="not a file that can be replaced"):
        check_file(Path(os.devnull), "--report")
    check_file(tmp_path / "new" / "report.json", "--report")
    assert list((tmp_path / "new").iterdir()) == []


def test_a_page_of_markdown() -> None:
    content = Content(sections=9, covered=8, unsupported=1)
    done = result("a_b[1].txt", content=content, pages=4, warnings=("Pages 3-4 hold <images>\x1b only.",))
    text = markdown(done, "tiny")
    assert text.startswith(
        "# a\\_b\\[1\\].txt\n\nIt *is* so.\n\n---\n\nRead in 3 parts, 4 pages, 1,234 tokens, 100 % read, "
    )
    assert "8 of 9 sections covered, 1 statement without support, 12 s. Model: tiny." in text
    assert text.endswith("- Pages 3-4 hold \\<images\\>\u241b only.\n")
    assert rendered(done, "txt", "tiny") == b"It *is* so.\n"
    assert msgspec.json.decode(rendered(done, "json", "tiny"), type=SummaryResult) == done
    broken = result(summary="half \udc80")
    assert rendered(broken, "txt", "tiny") == "half \ufffd\n".encode()
    assert msgspec.json.decode(rendered(broken, "json", "tiny"))["summary"] == "half \ufffd"


def test_an_unfinished_result_is_told_from_a_finished_one(tmp_path: Path) -> None:
    for form in ("md", "json", "txt"):
        for status in ("done", "partial"):
            path = tmp_path / f"{status}.{form}"
            path.write_bytes(rendered(result(status=status), form, "tiny"))  # type: ignore[arg-type]
            assert unfinished(path) == (status == "partial" and form != "txt"), path.name
    assert not unfinished(tmp_path / "missing.md")


def test_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    content = Content(sections=9, covered=8, unsupported=1)
    rows = [
        row_of(result("long/" * 20 + "name.txt", content=content, pages=12)),
        row_of(
            result(
                "短い.txt", status="partial", coverage=Coverage(characters_total=3, characters_read=2, fraction=0.6666)
            )
        ),
        row_of(failed("bad.pdf", InputProblem("x"), 0.25)),
        row_of(result("last.txt"), "interrupted"),
    ]
    print_table(Out(as_json=True), rows, 3, 70.0)
    printed = capsys.readouterr()
    assert printed.out == ""
    head, first, second, third, fourth, sums = printed.err.splitlines()
    assert head.split() == ["file", "pages", "tokens", "parts", "read", "content", "unsupported", "time", "status"]
    assert first.startswith("long/" * 20 + "name.txt "), "in a pipe names are whole"
    assert first.split()[1:] == ["12", "1,234", "3", "100", "%", "8/9", "1", "12", "s", "done"]
    assert second.split() == ["短い.txt", "-", "1,234", "3", "66.6", "%", "-", "-", "12", "s", "partial"]
    assert third.split() == ["bad.pdf", "-", "-", "-", "-", "-", "-", "0.2", "s", "failed"]
    assert fourth.endswith("interrupted")
    sums_now = "7 files: 1 done, 1 partial, 1 failed; 1 not finished; 3 not begun; 2,468 tokens in 1 min 10 s."
    assert sums == sums_now


def test_the_table_fits_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    content = Content(sections=9, covered=8, unsupported=1, strange=6)
    statements = (Statement(text="Es ist so.", cite=""),) * 10
    rows = [
        row_of(
            result("papers/a-folder/" + "long-" * 20 + "name.pdf", content=content, statements=statements, pages=12)
        ),
        row_of(result("短い" * 30 + ".txt", content=content)),
        row_of(result("cut.txt", status="partial", strategy="single", warnings=(f"{AT_LIMIT} Use more.",))),
    ]
    for width in (40, 80, 120):
        terminal = io.StringIO()
        monkeypatch.setattr(terminal, "isatty", lambda: True)
        monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.setattr(sys, "stderr", terminal)
        print_table(Out(as_json=True), rows, 0, 70.0)
        lines = [line.replace("\x1b[1m", "").replace("\x1b[0m", "") for line in terminal.getvalue().splitlines()]
        head, first, second, third = lines[:4]
        assert terminal.getvalue().startswith("\x1b[1mfile ")
        if width >= 80:
            assert max(cell_len(line) for line in (head, first, second, third)) <= width
            assert first.startswith("p")
            assert "name.pdf  " in first
            assert second.split()[0].endswith(".txt")
            assert head.split()[-5:] == ["unsupported", "unchecked", "strange", "time", "status"]
            assert first.split()[-6:-1] == ["1", "10", "6", "12", "s"]
            assert "cut off" in third


def test_what_cannot_be_checked_or_has_no_support_is_said() -> None:
    content = Content(sections=9, covered=8, unsupported=7, statements=18, strange=6)
    texts = [f"Number {n} is a sentence of more than eight words in all." for n in range(7)]
    statements = (
        *(Statement(text=text, cite="", supported=False) for text in texts),
        Statement(text="The *tower* fell.", cite="p. 3", supported=True),
        *(Statement(text="Es ist so.", cite="") for _ in range(10)),
    )
    summary = "\n".join(f"- {text}" for text in (*texts, "The *tower* fell [p. 3].", *["Es ist so."] * 10))
    done = result(content=content, statements=statements, summary=summary)
    told = figures_of(done)
    assert "7 statements without support, 10 statements could not be checked, 6 numbers or names not in" in told
    page = markdown(done, "tiny")
    assert page.count("\\[?\\]") == 1
    assert page.count("all. [?]\n") == 7
    assert "fell [p. 3].\n" in page
    assert "Without support: “Number 0 is a sentence of more than …”; “Number 1" in page
    assert "; and 2 more." in page
    assert "Number 5 is a sentence of more than …" not in page
    assert rendered(done, "txt", "tiny") == f"{summary}\n".encode()
    assert without_support(result()) == ""


def test_an_answer_cut_off_is_no_zero_per_cent() -> None:
    none = Coverage(characters_total=10, characters_read=0, fraction=0.0)
    warnings = (f"{AT_LIMIT} Use a larger --ctx-size.",)
    single = result(status="partial", strategy="single", coverage=none, warnings=warnings)
    assert "text processed, summary cut off at its limit" in figures_of(single)
    assert "%" not in figures_of(single)
    parts = figures_of(result(status="partial", warnings=warnings))
    assert "100 % read" in parts
    assert "summary cut off at its limit" in parts


async def test_a_report_grows_and_is_always_whole(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    report = Report(path, SummaryOptions(focus="costs"), 3)
    text = "One.\n\nTwo.\n"
    spans = (Span("file", "a.txt", 1, 0, len(text)),)
    document = Document(path="a.txt", name="a.txt", kind="text", text=text, spans=spans, sha256="abc")
    ledger = (
        LedgerEntry(start=0, end=6, state="read"),
        LedgerEntry(start=6, end=11, state="failed", mark="extracted", reason="No end."),
    )
    await report.add(result("a.txt"), document, ledger, tmp_path / "a.txt.summary.md")
    seen = msgspec.json.decode(path.read_bytes())
    assert (seen["format"], seen["state"], seen["inputs"]) == (1, "running", 3)
    assert seen["counts"] == {"done": 1, "partial": 0, "failed": 0}
    assert seen["options"]["focus"] == "costs"
    (one,) = seen["documents"]
    assert (one["sha256"], one["kind"], one["output"]) == ("abc", "text", str(tmp_path / "a.txt.summary.md"))
    assert one["ledger"] == [
        {"start": 0, "end": 6, "where": "line 1", "state": "read", "mark": "", "reason": ""},
        {"start": 6, "end": 11, "where": "line 3", "state": "failed", "mark": "extracted", "reason": "No end."},
    ]
    await report.add(failed("b\udc80.txt", InputProblem("bad")), None, (), None)
    await report.close("interrupted")
    seen = msgspec.json.decode(path.read_bytes())
    assert (seen["state"], len(seen["documents"])) == ("interrupted", 2)
    assert list(tmp_path.iterdir()) == [path]


async def test_a_report_of_thousands_is_not_written_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written grows with the number of documents, not with its square."""
    from tui.cli import report as module

    written = 0
    clock = Clock()

    def slow(path: Path, data: bytes, option: str) -> None:
        nonlocal written
        written += len(data)
        clock.now += len(data) / 10_000_000

    monkeypatch.setattr(module, "write_whole", slow)
    monkeypatch.setattr(module.time, "monotonic", clock)
    monkeypatch.setattr(asyncio, "to_thread", at_once)
    report = Report(tmp_path / "r.json", SummaryOptions(), 2000)
    for number in range(2000):
        clock.now += 0.002
        await report.add(result(f"{number}.txt", summary="word " * 200), None, (), None)
    await report.close("finished")
    assert written < 4_000_000 + 2 * 2000 * 1800


async def at_once(work: object, *args: object) -> object:
    return work(*args)  # type: ignore[operator]


def test_the_pace_of_a_batch() -> None:
    clock = Clock()
    pace = BatchPace([1000, 3000, None, 2000], clock)
    assert pace.begin(0) == "File 1 of 4"
    assert pace.left(0.05) is None
    clock.now += 10
    pace.end(500)
    assert pace.begin(1) == "File 2 of 4, 500 tokens read", "nothing is guessed of what only reading can tell"
    assert pace.left(0.5) is None
    pace.found(2, 2000)
    assert pace.begin(1) == "File 2 of 4, 500 of ≈4,000 tokens read, ≈1 min 10 s left"
    clock.now += 15
    assert pace.left(0.5) == pytest.approx(25 / 2500 * 5500)
    clock.now += 15
    pace.end(1500)
    pace.begin(2)
    pace.end(0)  # could not be read: it says nothing of the speed
    assert pace.begin(3) == "File 4 of 4, 2,000 of ≈3,000 tokens read, ≈20 s left"
    assert pace.left(0.5) is None, "the document's own time left says it"


def test_only_text_files_are_weighed_by_their_bytes(tmp_path: Path) -> None:
    sizes = {"a.txt": 12, "b.pdf": None, "c.DOCX": None, "d.epub": None, "e.html": None, "f.py": 12, "g.txt": None}
    for name in sizes:
        (tmp_path / name).write_bytes(b"\0 \0" * 4 if name == "g.txt" else b"Twelve bytes")
    found = {name: _size(Input(path=str(tmp_path / name), shown=name)) for name in sizes}
    assert found == sizes
    assert _size(Input(path=str(tmp_path / "none.txt"), shown="x")) is None
    assert _size(Input(path=str(tmp_path), shown="x", folder=True)) is None


def test_progress_says_the_time_left_for_all_files() -> None:
    clock, seen = Clock(), []

    class Seen(Progress):
        def update(self, label: str, done: float | None = None, total: float | None = None, figures: str = "") -> None:
            seen.append(figures)

    pace = BatchPace([100, 100, 200], clock)
    pace.begin(0)
    shown = ReadingShown(Seen(io.StringIO()), clock, pace)
    shown.show(PlanMade(strategy="map-reduce", why="", chunks=4, tokens=9000, levels=1, reserve=500, reused=0))
    shown.show(ChunkStarted(0, 0, None))
    clock.now += 10
    shown.show(ChunkDone(index=0, state="read", reused=False, done=1, total=4))
    assert seen[-1].endswith("≈30 s left, ≈2 min 30 s for all files") or "≈2 min 30 s for all files" in seen[-1]


def test_a_warning_is_said_once_and_memory_stays(capsys: pytest.CaptureFixture[str]) -> None:
    out = Out(as_json=False)
    for _ in range(2):
        for number in range(900):
            out.warn(f"Warning {number}.")
    assert len(capsys.readouterr().err.splitlines()) == 900
    for number in range(5000):
        out.warn(f"Other {number}.")
    assert len(out._warned) == 1000
