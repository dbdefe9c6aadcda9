"""`summarize` and `ask` as a user runs them, on a tiny model: what is printed where, what an interruption leaves."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import msgspec
import psutil
import pytest

from tests.support.papers import report
from tests.support.processes import COMMAND, environment, lines, longscroll, servers_of
from tests.support.running import running as running_server
from tests.support.tiny_models import build
from tui.reading.results import AskResult, SummaryResult
from tui.server.binary import ServerBinary

pytestmark = pytest.mark.real

SUMMARY_KEYS = [field.name for field in msgspec.structs.fields(SummaryResult)]
ASK_KEYS = [field.name for field in msgspec.structs.fields(AskResult)]


@pytest.fixture
def model(tiny_models: Path) -> str:
    return str(build("llama", tiny_models))


def write(folder: Path, name: str, pages: int) -> Path:
    paper = folder / name
    paper.write_text("\n\n".join(report(pages, 15, seed=len(name))), encoding="utf-8")
    return paper


def begin(home: Path, *args: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*COMMAND, *args],
        env=environment(home),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def until_it_reads(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """Wait until the first document is being read; the servers that run then."""
    assert process.stderr is not None
    seen = []
    while line := process.stderr.readline():
        seen.append(line)
        if line.startswith("Reading"):
            return servers_of(process.pid)
    raise AssertionError(f"it ended before it read anything: {seen}")


def test_summarize_prints_json_or_text(own_home: Path, tmp_path: Path, model: str) -> None:
    """What a model with random weights writes is never good, so each summary is `partial`; the frame is the same."""
    long, short, missing = write(tmp_path, "long.txt", 2), write(tmp_path, "short.txt", 1), tmp_path / "missing.txt"
    options = ("--model", model, "--ctx-size", "1024", "--max-tokens", "30")
    done = longscroll(own_home, "summarize", str(long), *options, "--json")
    (result,) = lines(done)
    assert list(result) == SUMMARY_KEYS
    assert result["path"] == str(long)
    assert result["strategy"] == "map-reduce"
    assert result["chunks"] > 1
    assert result["error"] is None
    assert result["status"] in ("done", "partial")
    assert result["characters"] == result["coverage"]["characters_total"] == len(long.read_text(encoding="utf-8"))
    for warning in result["warnings"]:
        assert f"longscroll: warning: {long}: {warning}" in done.stderr.splitlines()
    assert done.returncode == int(result["status"] != "done")

    text = longscroll(own_home, "summarize", str(missing), str(short), *options, "--ctx-size", "4096")
    assert text.returncode == 1
    assert text.stdout.startswith(f"# {short}\n\n")
    assert len(text.stdout.splitlines()) > 2
    assert f"{short}: in one pass" in text.stderr
    assert "missing.txt" in text.stderr


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interruption_leaves_no_server(
    own_home: Path, tmp_path: Path, model: str, number: signal.Signals, code: int
) -> None:
    args = ("summarize", str(write(tmp_path, "long.txt", 20)), "--model", model, "--ctx-size", "1024", "--json")
    process = begin(own_home, *args)
    servers = until_it_reads(process)
    assert servers
    process.send_signal(number)
    out, err = process.communicate(timeout=120)
    assert process.returncode == code
    assert out == ""
    assert err.splitlines()[-1] == "longscroll: Interrupted. What was finished is kept. Run the same command to go on."
    assert "Traceback" not in err
    assert not [server for server in servers if is_running(server)]


def test_a_server_that_dies_is_started_again(own_home: Path, tmp_path: Path, model: str) -> None:
    first, second = write(tmp_path, "first.txt", 2), write(tmp_path, "second.txt", 1)
    args = (
        "summarize",
        str(first),
        str(second),
        "--model",
        model,
        "--ctx-size",
        "2048",
        "--json",
        "--max-tokens",
        "40",
    )
    process = begin(own_home, *args)
    (server,) = until_it_reads(process)
    server.kill()
    out, err = process.communicate(timeout=280)
    assert "Traceback" not in err
    results = [msgspec.json.decode(line) for line in out.splitlines()]
    assert [(result["path"], result["error"]) for result in results] == [(str(first), None), (str(second), None)]
    told = [line for line in err.splitlines() if "started again" in line]
    assert len(told) == 1
    assert told[0].startswith("longscroll: warning: llama-server ended: it was killed")


def test_ask_prints_json_or_text(own_home: Path, tmp_path: Path, model: str) -> None:
    paper = write(tmp_path, "report.txt", 2)
    options = ("-q", "Which pump?", str(paper), "--model", model, "--ctx-size", "4096", "--max-tokens", "12")
    done = longscroll(own_home, "ask", *options, "--json")
    assert done.returncode == 0, done.stderr
    (result,) = lines(done)
    assert list(result) == ASK_KEYS
    assert result["strategy"] == "whole"
    assert result["completion_tokens"] == 12

    text = longscroll(own_home, "ask", *options)
    assert text.returncode == 0
    assert text.stdout.endswith("\n")
    assert text.stdout.strip()
    assert "Restored" in text.stderr
    assert "prompt tokens" in text.stderr


def test_a_warning_about_a_document_is_said_once(own_home: Path, tmp_path: Path, model: str) -> None:
    paper = tmp_path / "latin.txt"
    paper.write_bytes("Die Öfen und die Türen der Häuser sind für jedermann offen.".encode("cp1252"))
    for command in (["ask", "-q", "Why?"], ["summarize"]):
        done = longscroll(own_home, *command, str(paper), "--model", model, "--max-tokens", "8", "--json")
        (result,) = lines(done)
        warning = next(text for text in result["warnings"] if "1252" in text)
        assert [line for line in done.stderr.splitlines() if warning in line] == [
            f"longscroll: warning: {warning if str(paper) in warning else f'{paper}: {warning}'}"
        ]


def test_an_interrupted_question_does_not_say_that_it_is_kept(own_home: Path, tmp_path: Path, model: str) -> None:
    process = begin(own_home, "ask", "-q", "Why?", str(write(tmp_path, "long.txt", 20)), "--model", model)
    assert process.stderr is not None
    assert process.stderr.readline().startswith("Loading")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert err.splitlines()[-1] == "longscroll: Interrupted."


def test_ask_refuses_what_does_not_fit(own_home: Path, tmp_path: Path, model: str) -> None:
    paper = write(tmp_path, "report.txt", 4)
    options = ("-q", "Why?", str(paper), "--model", model, "--ctx-size", "512", "--json", "--on-overflow", "refuse")
    done = longscroll(own_home, "ask", *options)
    assert done.returncode == 4
    assert done.stdout == ""
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("longscroll: ")]
    assert "512" in line
    counted = lines(longscroll(own_home, "count", str(paper), "--model", model, "--json"))[0]["tokens"]
    needed = max(int(word.replace(",", "")) for word in line.split() if word.replace(",", "").isdigit())
    assert needed > counted


async def test_a_server_of_ones_own(own_home: Path, tmp_path: Path, model: str, server_binary: ServerBinary) -> None:
    """`--server-url` with its key from the environment; a wrong key is named."""
    paper = write(tmp_path, "report.txt", 1)
    async with running_server(server_binary, Path(model), tmp_path / "other", ctx_size=4096) as client:
        key = client._http.headers["Authorization"].removeprefix("Bearer ")
        options = (str(paper), "--server-url", client.base_url, "--json")
        counted = longscroll(own_home, "count", *options, LONGSCROLL_API_KEY=key)
        assert counted.returncode == 0, counted.stderr
        assert lines(counted)[0]["exact"] is True
        assert lines(counted)[0]["context"] == 4096
        asked = longscroll(own_home, "ask", "-q", "Why?", "--max-tokens", "5", *options, LONGSCROLL_API_KEY=key)
        assert asked.returncode == 0, asked.stderr
        wrong = longscroll(own_home, "count", *options, LONGSCROLL_API_KEY="wrong")
        assert wrong.returncode == 3
        assert "LONGSCROLL_API_KEY" in wrong.stderr
        assert key not in counted.stderr + asked.stderr + wrong.stderr
        doctor = longscroll(own_home, "doctor", *options[1:], LONGSCROLL_API_KEY=key)
        assert doctor.returncode == 0, doctor.stdout


def is_running(process: psutil.Process) -> bool:
    return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
