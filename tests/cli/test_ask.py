"""`ask` as a user runs it: passages when it does not fit, several questions, every part, a server that dies."""

from __future__ import annotations

import subprocess
from pathlib import Path

import msgspec
import psutil
import pytest

from tests.support.papers import report
from tests.support.processes import COMMAND, environment, lines, longscroll, servers_of
from tests.support.tiny_models import build

pytestmark = pytest.mark.real


@pytest.fixture
def model(tiny_models: Path) -> str:
    return str(build("llama", tiny_models))


def write(folder: Path, name: str, pages: int) -> Path:
    paper = folder / name
    paper.write_text("\n\n".join(report(pages, 15)), encoding="utf-8")
    return paper


def test_passages_are_the_default_for_what_does_not_fit(own_home: Path, tmp_path: Path, model: str) -> None:
    paper = write(tmp_path, "report.txt", 8)
    options = (
        "ask",
        "-q",
        "Which pump failed?",
        str(paper),
        "--model",
        model,
        "--ctx-size",
        "1024",
        "--max-tokens",
        "9",
    )
    done = longscroll(own_home, *options, "--json")
    assert done.returncode == 0, done.stderr
    (result,) = lines(done)
    assert result["strategy"] == "passages"
    assert result["question"] == "Which pump failed?"
    assert result["error"] is None
    first = next(text for text in result["warnings"] if "1,024" in text)
    assert f"longscroll: warning: {first}" in done.stderr.splitlines()
    needed = max(int(word.replace(",", "")) for word in first.split() if word.replace(",", "").isdigit())
    counted = lines(longscroll(own_home, "count", str(paper), "--model", model, "--json"))[0]["tokens"]
    assert needed > counted
    for citation in result["citations"]:
        assert citation["path"] == str(paper)
        assert citation["pages"] == []
        assert 1 <= citation["lines"][0] <= citation["lines"][1] <= len(paper.read_text(encoding="utf-8").splitlines())
    assert "line" in result["answer"].rpartition("\n\n[")[2]
    text = longscroll(own_home, *options)
    assert text.stdout.rstrip().endswith("]")


def test_several_questions_under_each_other(own_home: Path, tmp_path: Path, model: str) -> None:
    paper = write(tmp_path, "report.txt", 3)
    options = ("ask", "-q", "Which pump?", "-q", "Which\nvalve?", str(paper), "--model", model, "--ctx-size", "8192")
    done = longscroll(own_home, *options, "--max-tokens", "12", "--json")
    assert done.returncode == 0, done.stderr
    first, second = lines(done)
    assert [first["question"], second["question"]] == ["Which pump?", "Which\nvalve?"]
    counted = lines(longscroll(own_home, "count", str(paper), "--model", model, "--json"))[0]["tokens"]
    assert first["cached_tokens"] < counted * 0.05
    assert second["cached_tokens"] >= counted * 0.95
    text = longscroll(own_home, *options, "--max-tokens", "12")
    assert text.stdout.startswith("## Which pump?\n\n")
    assert "\n\n## Which valve?\n\n" in text.stdout
    assert not text.stdout.endswith("\n\n")
    assert not text.stdout.rpartition("##")[0].endswith("\n\n\n")


def test_every_part_is_asked_and_what_failed_is_named(own_home: Path, tmp_path: Path, model: str) -> None:
    paper = write(tmp_path, "report.txt", 2)
    done = longscroll(
        own_home, "ask", "-q", "List every pump.", "--strategy", "map-reduce", str(paper), "--model", model,
        "--ctx-size", "1024", "--max-tokens", "24", "--json",
    )  # fmt: skip
    (result,) = lines(done)
    assert result["strategy"] == "map-reduce"
    unread = any(text.startswith(("Not read: ", "Read, but ")) for text in result["warnings"])
    assert done.returncode == (1 if unread else 0), done.stderr
    assert "Reading" in done.stderr
    for warning in result["warnings"]:
        assert f"longscroll: warning: {warning}" in done.stderr.splitlines()


def test_standard_input_a_pattern_and_an_unreadable_file_in_it(own_home: Path, tmp_path: Path, model: str) -> None:
    write(tmp_path, "a.txt", 1)
    (tmp_path / "b.pdf").write_bytes(b"%PDF-1.4 not really")
    options = ("--model", model, "--ctx-size", "4096", "--max-tokens", "5", "--json")
    done = longscroll(own_home, "ask", "-q", "Why?", str(tmp_path / "*.*"), *options)
    assert done.returncode == 1, "it answers from what can be read, and says what could not"
    (result,) = lines(done)
    assert any("b.pdf" in warning for warning in result["warnings"])
    assert "b.pdf" in done.stderr
    named = longscroll(own_home, "ask", "-q", "Why?", str(tmp_path / "a.txt"), str(tmp_path / "b.pdf"), *options)
    assert named.returncode == 1
    assert named.stdout == "", "what the user named must be there"
    piped = subprocess.run(
        [*COMMAND, "ask", "-q", "Why?", "-", *options],
        env=environment(own_home),
        input="The pump failed in heavy rain.",
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert piped.returncode == 0, piped.stderr
    assert msgspec.json.decode(piped.stdout)["strategy"] == "whole"


def test_a_server_that_dies_leaves_what_had_come(own_home: Path, tmp_path: Path, model: str) -> None:
    paper = write(tmp_path, "report.txt", 2)
    args = ("ask", "-q", "Which pump?", "-q", "Which valve?", str(paper), "--model", model, "--ctx-size", "32768")
    process = subprocess.Popen(
        [*COMMAND, *args, "--max-tokens", "20000", "--json"],
        env=environment(own_home),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    while not process.stderr.readline().startswith("Writing"):
        assert process.poll() is None
    servers: list[psutil.Process] = servers_of(process.pid)
    for server in servers:
        server.kill()
    out, err = process.communicate(timeout=280)
    first, second = [msgspec.json.decode(line) for line in out.splitlines()]
    assert process.returncode == 3
    assert first["answer"], "the beginning of the answer is there"
    assert "killed" in first["error"]
    assert (second["question"], second["answer"], second["error"]) == ("Which valve?", "", first["error"])
    assert err.splitlines()[-1] == f"longscroll: {first['error']}"
    assert "Traceback" not in err
