"""Every bad input gets one clear line with a remedy and its exit code; the rest of a batch goes on."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.papers import report, write_pdf, write_scan
from tests.support.processes import lines, longscroll
from tests.support.tiny_models import build

pytestmark = pytest.mark.real


@pytest.fixture
def model(tiny_models: Path) -> str:
    return str(build("llama", tiny_models))


def bad_inputs(folder: Path) -> dict[str, Path]:
    """One of each input that cannot be read."""
    binary = folder / "picture.bin"
    binary.write_bytes(bytes(range(256)) * 64)
    damaged = folder / "damaged.pdf"
    damaged.write_bytes(b"%PDF-1.7\n" + bytes(range(256)) * 8)
    empty = folder / "empty.txt"
    empty.write_bytes(b"")
    (folder / "nothing").mkdir()
    (folder / "pictures").mkdir()
    shutil.copy(binary, folder / "pictures" / "a.bin")
    return {
        "missing file": folder / "missing.txt",
        "empty file": empty,
        "binary file": binary,
        "damaged pdf": damaged,
        "encrypted pdf": write_pdf(folder / "locked.pdf", report(2, 5), password="sesame"),
        "scanned pdf": write_scan(folder / "scan.pdf"),
        "empty folder": folder / "nothing",
        "folder without readable files": folder / "pictures",
    }


def said(stderr: str, path: Path) -> str:
    """The one line about `path`; it says what and what to do, and nothing looks like a traceback."""
    assert "Traceback" not in stderr
    (line,) = [line for line in stderr.splitlines() if line.startswith("longscroll: ") and path.name in line]
    assert line.count(". ") >= 1, f"no remedy: {line}"
    return line


def test_a_batch_goes_on_past_every_bad_input(own_home: Path, tmp_path: Path, model: str) -> None:
    bad = bad_inputs(tmp_path)
    good = tmp_path / "good.txt"
    good.write_text("One good line about the pump.", encoding="utf-8")
    paths = [*map(str, bad.values()), str(good)]
    options = ("--model", model, "--ctx-size", "1024", "--json")

    counted = longscroll(own_home, "count", *paths, *options)
    assert counted.returncode == 1
    rows = lines(counted)
    assert [row["path"] for row in rows] == paths
    for path, row in zip(bad.values(), rows, strict=False):
        assert set(row) == {"path", "error"}
        assert said(counted.stderr, path) == f"longscroll: {row['error']}"
    assert rows[-1]["tokens"] > 0
    assert "password" in rows[list(bad).index("encrypted pdf")]["error"].lower()

    summarized = longscroll(own_home, "summarize", *paths, *options, "--max-tokens", "40")
    results = lines(summarized)
    assert [row["path"] for row in results] == paths
    assert {row["status"] for row in results[:-1]} == {"failed"}
    assert [row["error"] for row in results[:-1]] == [row["error"] for row in rows[:-1]]
    assert results[-1]["status"] in ("done", "partial")
    assert results[-1]["error"] is None
    assert summarized.returncode == 1
    for path in bad.values():
        said(summarized.stderr, path)


def test_one_bad_input_alone(own_home: Path, tmp_path: Path, model: str) -> None:
    for path in bad_inputs(tmp_path).values():
        for command in (["count"], ["chunk"], ["summarize"], ["ask", "-q", "Why?"]):
            done = longscroll(own_home, *command, str(path), "--model", model)
            assert done.returncode == 1, (command, path, done.stderr)
            assert done.stdout == ""
            said(done.stderr, path)


def test_an_encrypted_pdf_opens_with_its_password(own_home: Path, tmp_path: Path, model: str) -> None:
    pdf = write_pdf(tmp_path / "locked.pdf", report(2, 5), password="sesame")
    for extra, more in ((["--password", "sesame"], {}), ([], {"LONGSCROLL_PASSWORD": "sesame"})):
        done = longscroll(own_home, "count", str(pdf), "--model", model, "--json", *extra, **more)
        assert done.returncode == 0, done.stderr
        assert lines(done)[0]["pages"] == 2
    wrong = longscroll(own_home, "count", str(pdf), "--model", model, "--password", "open")
    assert wrong.returncode == 1
    said(wrong.stderr, pdf)


def models(folder: Path) -> dict[str, Path]:
    text = folder / "notes.gguf"
    text.write_text("no model at all\n" * 50, encoding="utf-8")
    pdf = write_pdf(folder / "paper.pdf", report(1, 2))
    empty = folder / "empty.gguf"
    empty.write_bytes(b"")
    (folder / "folder.gguf").mkdir()
    return {
        "no such path": folder / "missing.gguf",
        "text": text,
        "pdf": pdf,
        "empty": empty,
        "folder": folder / "folder.gguf",
    }


def test_what_is_no_model_is_named(own_home: Path, tmp_path: Path) -> None:
    good = tmp_path / "good.txt"
    good.write_text("One good line.", encoding="utf-8")
    for model in models(tmp_path).values():
        for command in (["count"], ["chunk"], ["summarize"], ["ask", "-q", "Why?"]):
            done = longscroll(own_home, *command, str(good), "--model", str(model), "--json")
            assert done.returncode == 3, (command, model, done.stderr)
            assert done.stdout == ""
            said(done.stderr, model)
        doctor = longscroll(own_home, "doctor", "--model", str(model), "--json")
        assert doctor.returncode == 3
        checks = {check["name"]: check for check in lines(doctor)[0]["checks"]}
        assert checks["model"]["status"] == "fail"
        assert model.name in checks["model"]["detail"]
        assert checks["model"]["remedy"]


def test_a_truncated_model(own_home: Path, tmp_path: Path, model: str) -> None:
    good = tmp_path / "good.txt"
    good.write_text("One good line.", encoding="utf-8")
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(Path(model).read_bytes()[:-5000])
    done = longscroll(own_home, "ask", "-q", "Why?", str(good), "--model", str(cut))
    assert done.returncode == 3
    said(done.stderr, cut)


def test_no_model_and_no_server(own_home: Path, tmp_path: Path, model: str) -> None:
    good = tmp_path / "good.txt"
    good.write_text("One good line.", encoding="utf-8")
    for command in (["summarize"], ["ask", "-q", "Why?"]):
        unnamed = longscroll(own_home, *command, str(good))
        assert unnamed.returncode == 3
        assert "--model" in unnamed.stderr
        no_server = longscroll(own_home, *command, str(good), "--model", model, LONGSCROLL_LLAMA_SERVER="/nowhere")
        assert no_server.returncode == 3
        assert "/nowhere" in no_server.stderr
        unreachable = longscroll(own_home, *command, str(good), "--server-url", "http://127.0.0.1:9")
        assert unreachable.returncode == 3
        assert "127.0.0.1:9" in unreachable.stderr


def test_a_home_that_cannot_be_written(tmp_path: Path, model: str) -> None:
    good = tmp_path / "good.txt"
    good.write_text("One good line.", encoding="utf-8")
    blocker = tmp_path / "file"
    blocker.write_text("a file where a folder should be", encoding="utf-8")
    home = blocker / "home"
    for command in (["count"], ["chunk"], ["summarize"], ["ask", "-q", "Why?"]):
        done = longscroll(home, *command, str(good), "--model", model)
        assert done.returncode == 1, done.stderr
        assert done.stdout == ""
        line = said(done.stderr, blocker)
        assert "LONGSCROLL_HOME" in line
    doctor = longscroll(home, "doctor", "--model", model, "--json")
    assert doctor.returncode in (1, 3)
    checks = {check["name"]: check for check in lines(doctor)[0]["checks"]}
    assert checks["folders"]["status"] == "fail"
    assert checks["database"]["status"] == "fail"
    assert checks["model"]["status"] == "ok"


def test_settings_that_make_no_sense(own_home: Path, tmp_path: Path) -> None:
    (own_home / "config").mkdir(parents=True)
    (own_home / "config" / "settings.toml").write_text('modle = "x"\n', encoding="utf-8")
    done = longscroll(own_home, "count", str(tmp_path))
    assert done.returncode == 2
    assert "modle" in done.stderr


@pytest.mark.parametrize("broken", [False, True])
def test_a_model_that_only_the_settings_name(own_home: Path, tmp_path: Path, broken: bool) -> None:
    good = tmp_path / "good.txt"
    good.write_text("One good line.", encoding="utf-8")
    named = tmp_path / "mine.gguf"
    if broken:
        named.write_text("no model at all", encoding="utf-8")
    (own_home / "config").mkdir(parents=True)
    settings = own_home / "config" / "settings.toml"
    settings.write_text(f"model = '{named}'\n", encoding="utf-8")
    for command in (["count"], ["chunk"], ["summarize"], ["ask", "-q", "Why?"]):
        done = longscroll(own_home, *command, str(good))
        assert done.returncode == 3
        line = said(done.stderr, named)
        assert line.endswith(f"It is named by `model` in {settings}. Correct it there, or give --model PATH.")
    doctor = lines(longscroll(own_home, "doctor", "--json"))[0]["checks"]
    (model,) = [check for check in doctor if check["name"] == "model"]
    assert str(settings) in model["detail"]
    # What an option names is used, whatever the settings say.
    other = longscroll(own_home, "count", str(good), "--model", str(tmp_path / "other.gguf"))
    assert "other.gguf" in other.stderr
    assert "settings.toml" not in other.stderr


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of two megabytes."""
    place = tmp_path / "small"
    place.mkdir()
    mount = shutil.which("mount")
    if os.name != "posix" or os.geteuid() != 0 or mount is None:
        pytest.skip("mounting a small disk needs root")
    done = subprocess.run(
        [mount, "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        pytest.skip(f"no small disk can be mounted here: {done.stderr.strip()}")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_full_disk(small_disk: Path, tmp_path: Path, model: str) -> None:
    good = tmp_path / "good.txt"
    good.write_text("\n\n".join(report(4, 10)), encoding="utf-8")
    filler = os.open(small_disk / "filler", os.O_WRONLY | os.O_CREAT)
    with pytest.raises(OSError):
        while True:
            os.write(filler, b"x" * 4096)
    os.close(filler)
    for command in (["count"], ["chunk"], ["summarize"], ["ask", "-q", "Why?"]):
        done = longscroll(small_disk / "home", *command, str(good), "--model", model)
        assert done.returncode == 1, done.stderr
        assert done.stdout == ""
        (line,) = [line for line in done.stderr.splitlines() if line.startswith("longscroll: ")]
        assert "space" in line


def test_a_read_only_disk(small_disk: Path, tmp_path: Path, model: str) -> None:
    good = tmp_path / "good.txt"
    good.write_text("One good line.", encoding="utf-8")
    used = small_disk / "used"
    assert longscroll(used, "count", str(good)).returncode == 0
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    for home in (used, small_disk / "new"):
        for command in (["count"], ["ask", "-q", "Why?"]):
            done = longscroll(home, *command, str(good), "--model", model)
            assert done.returncode == 1, done.stderr
            assert done.stdout == ""
            assert "LONGSCROLL_HOME" in said(done.stderr, home)


def test_a_disk_that_fills_up(small_disk: Path, tmp_path: Path, model: str) -> None:
    """The answer comes all the same; that the slot could not be kept is said."""
    good = tmp_path / "good.txt"
    good.write_text("\n\n".join(report(8, 20)), encoding="utf-8")
    done = longscroll(
        small_disk / "home", "ask", "-q", "Why?", str(good), "--model", model, "--ctx-size", "16384", "--json",
        "--max-tokens", "8",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (result,) = lines(done)
    assert result["answer"]
    assert result["warnings"]
