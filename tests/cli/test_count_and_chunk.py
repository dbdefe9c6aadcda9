"""`count` and `chunk` as a user runs them."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from tests.support.papers import report, write_pdf
from tests.support.processes import lines, longscroll
from tests.support.tiny_models import build
from tui.models.modelfile import open_model

COUNT_KEYS = ["path", "tokens", "exact", "characters", "pages", "context", "fits", "warnings", "encoding"]
CHUNK_KEYS = ["index", "start", "end", "pages", "heading", "tokens", "text", "lines", "files", "context", "path"]


@pytest.fixture
def paper(tmp_path: Path) -> Path:
    path = tmp_path / "report.txt"
    path.write_text("\n\n".join(report(3, 10)), encoding="utf-8")
    return path


def test_without_a_model_it_is_an_estimate_and_says_so(own_home: Path, paper: Path) -> None:
    done = longscroll(own_home, "count", str(paper), "--json")
    assert done.returncode == 0
    (row,) = lines(done)
    assert list(row) == COUNT_KEYS
    assert (row["exact"], row["context"], row["fits"]) == (False, None, None)
    assert row["characters"] == len(paper.read_text(encoding="utf-8"))
    assert "estimated" in done.stderr

    table = longscroll(own_home, "count", str(paper)).stdout
    assert f"≈{row['tokens']:,}" in table
    sized = lines(longscroll(own_home, "count", str(paper), "--json", "--ctx-size", "256"))[0]
    assert (sized["context"], sized["fits"]) == (256, False)


def test_what_was_not_read_is_said_in_the_json_too(own_home: Path, paper: Path, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "paper.pdf").write_bytes(b"%PDF-1.7 and nothing more")
    (folder / "notes.py").write_text("some = 'notes'", encoding="utf-8")
    latin = tmp_path / "latin.txt"
    latin.write_bytes("Die Öfen und die Türen der Häuser sind für jedermann offen.".encode("cp1252"))
    done = longscroll(own_home, "count", str(folder), str(latin), str(paper), "--json")
    assert done.returncode == 0, done.stderr
    of_folder, of_latin, of_paper = (row["warnings"] for row in lines(done))
    assert any("paper.pdf" in warning for warning in of_folder)
    assert of_latin
    assert of_paper == []
    for warning in (*of_folder, *of_latin):
        assert len([line for line in done.stderr.splitlines() if warning in line]) == 1


@pytest.mark.parametrize("command", [["count"], ["chunk"], ["summarize"], ["ask", "-q", "Why?"]])
def test_no_server_is_asked_for_files_that_are_not_there(own_home: Path, tmp_path: Path, command: list[str]) -> None:
    done = longscroll(own_home, *command, str(tmp_path / "missing.txt"), "--server-url", "http://127.0.0.1:9")
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert "missing.txt" in line


@pytest.mark.parametrize("command", [["count"], ["chunk"], ["summarize"], ["ask", "-q", "Why?"]])
def test_a_server_that_is_named_is_there(own_home: Path, paper: Path, command: list[str]) -> None:
    """Also where this run would need none."""
    done = longscroll(own_home, *command, str(paper), "--server", "/nowhere/llama-server")
    assert done.returncode == 3
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert "/nowhere/llama-server" in line


def test_without_a_model_nothing_is_cut(own_home: Path, paper: Path) -> None:
    done = longscroll(own_home, "chunk", str(paper), "--json")
    assert done.returncode == 3
    assert done.stdout == ""
    assert "--model" in done.stderr


@pytest.mark.real
def test_counts_are_the_servers_and_need_it_once(
    own_home: Path, paper: Path, tmp_path: Path, tiny_models: Path
) -> None:
    pdf = write_pdf(tmp_path / "report.pdf", report(3, 10))
    options = ("--model", str(build("llama", tiny_models)), "--ctx-size", "2048", "--json")
    first = longscroll(own_home, "count", str(paper), str(pdf), str(tmp_path / "missing.txt"), *options)
    assert first.returncode == 1
    text_row, pdf_row, missing = lines(first)
    assert list(text_row) == list(pdf_row) == COUNT_KEYS
    assert text_row["exact"] is True
    assert (text_row["pages"], pdf_row["pages"]) == (0, 3)
    assert text_row["context"] == 2048
    assert text_row["fits"] == (text_row["tokens"] + 512 <= 2048)
    assert set(missing) == {"path", "error"}
    assert "missing.txt" in missing["error"]
    assert [line for line in first.stderr.splitlines() if "missing.txt" in line]

    # Proved once, the vocabulary is counted with here: a server that cannot even be found is not missed.
    again = longscroll(own_home, "count", str(paper), *options, LONGSCROLL_LLAMA_SERVER="/nowhere/llama-server")
    assert again.returncode == 0, again.stderr
    assert lines(again) == [text_row]
    assert not [line for line in again.stderr.splitlines() if "Loading" in line]


@pytest.mark.real
@pytest.mark.parametrize(("asked", "given"), [("300", 512), ("512", 512), ("16777216", 0)])
def test_the_context_is_the_one_that_the_server_will_give(
    own_home: Path, paper: Path, tiny_models: Path, asked: str, given: int
) -> None:
    """Rounded up to the server's step, and at most what the model was trained for."""
    model = build("llama", tiny_models)
    trained = open_model(model).n_ctx_train
    done = longscroll(own_home, "count", str(paper), "--model", str(model), "--json", "--ctx-size", asked)
    assert done.returncode == 0, done.stderr
    assert lines(done)[0]["context"] == (given or trained)
    estimated = longscroll(own_home, "count", str(paper), "--json", "--ctx-size", asked)
    assert lines(estimated)[0]["context"] == (given or int(asked))


@pytest.mark.real
def test_a_text_that_only_the_server_can_count(own_home: Path, paper: Path, tmp_path: Path, tiny_models: Path) -> None:
    spaces = tmp_path / "spaces.txt"
    spaces.write_text("a" + " " * 600_000 + "b", encoding="utf-8")
    after = tmp_path / "after.txt"
    after.write_bytes(paper.read_bytes())
    options = ("--model", str(build("llama", tiny_models)), "--json")
    assert longscroll(own_home, "count", str(paper), *options).returncode == 0
    rows = lines(longscroll(own_home, "count", str(paper), str(spaces), str(after), *options))
    assert [row["exact"] for row in rows] == [True, True, True]
    assert {**rows[0], "path": ""} == {**rows[2], "path": ""}
    alone = longscroll(own_home, "count", str(spaces), *options, LONGSCROLL_LLAMA_SERVER="/nowhere/llama-server")
    assert lines(alone)[0]["exact"] is False
    assert "estimated" in alone.stderr


@pytest.mark.real
def test_a_model_without_a_server_gives_an_estimate(own_home: Path, paper: Path, tiny_models: Path) -> None:
    model = str(build("llama", tiny_models))
    done = longscroll(
        own_home, "count", str(paper), "--model", model, "--json", LONGSCROLL_LLAMA_SERVER="/nowhere/llama-server"
    )
    assert done.returncode == 0, done.stderr
    assert lines(done)[0]["exact"] is False
    assert "estimated" in done.stderr
    named = longscroll(own_home, "count", str(paper), "--model", model, "--server", "/nowhere/llama-server")
    assert named.returncode == 3
    assert "/nowhere/llama-server" in named.stderr


@pytest.mark.real
def test_chunks_tile_the_text(own_home: Path, tmp_path: Path, tiny_models: Path) -> None:
    text = "\r\n".join(report(4, 12)) + "\n\n漢字かな交じり文。" * 30 + "no line end"
    paper = tmp_path / "mixed.md"
    paper.write_bytes(text.encode())
    options = ("--model", str(build("llama", tiny_models)), "--json")
    characters = lines(longscroll(own_home, "count", str(paper), *options))[0]["characters"]
    for limit in (50, 400):
        done = longscroll(own_home, "chunk", str(paper), "--max-tokens", str(limit), *options)
        assert done.returncode == 0, done.stderr
        chunks = lines(done)
        assert all(list(chunk) == CHUNK_KEYS for chunk in chunks)
        assert [chunk["index"] for chunk in chunks] == list(range(len(chunks)))
        assert chunks[0]["start"] == 0
        assert chunks[-1]["end"] == characters
        assert all(one["end"] == two["start"] for one, two in itertools.pairwise(chunks))
        assert all(len(chunk["text"]) == chunk["end"] - chunk["start"] for chunk in chunks)
        assert all(0 < chunk["tokens"] <= limit for chunk in chunks)
    table = longscroll(own_home, "chunk", str(paper), *options[:2])
    assert "BEGINS" in table.stdout.splitlines()[0]


@pytest.mark.real
def test_chunks_know_their_files_lines_and_the_header_of_their_table(
    own_home: Path, tmp_path: Path, tiny_models: Path
) -> None:
    tree = tmp_path / "project"
    tree.mkdir()
    (tree / "a.py").write_text("def first():\n    return 1\n\n\ndef second():\n    return 2\n", encoding="utf-8")
    table = tmp_path / "table.csv"
    table.write_text("name,age\n" + "".join(f"person {n},{n}\n" for n in range(200)), encoding="utf-8")
    options = ("--max-tokens", "120", "--model", str(build("llama", tiny_models)), "--json")
    done = longscroll(own_home, "chunk", str(tree), str(table), str(tmp_path / "missing.txt"), *options)
    assert done.returncode == 1
    chunks = lines(done)
    code = [chunk for chunk in chunks if chunk["path"] == str(tree)]
    rows = [chunk for chunk in chunks if chunk["path"] == str(table)]
    assert code[-1]["files"][-1] == "a.py"
    assert code[-1]["lines"][1] == 6
    assert "name" in rows[1]["context"]
    assert rows[1]["lines"][0] == rows[0]["lines"][1] + 1
    assert "missing.txt does not exist" in done.stderr
