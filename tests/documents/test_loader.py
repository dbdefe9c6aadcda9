"""The loader: what goes wrong with one file stays with that file, and each cause is told with a remedy."""

from __future__ import annotations

import asyncio
import os
import random
import sys
from pathlib import Path

import psutil
import pytest

from tests.documents import readers_gone_wrong
from tests.support.papers import write_pdf, write_scan
from tui.documents.loader import read_document
from tui.documents.model import Document
from tui.documents.refusal import PasswordNeeded
from tui.errors import InputProblem, UsageProblem

WRONG = readers_gone_wrong.__name__
posix = pytest.mark.skipif(sys.platform == "win32", reason="made of POSIX things")
linux = pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_AS works on Linux")


async def problem(path: Path | str, **options: object) -> InputProblem:
    with pytest.raises(InputProblem) as caught:
        await read_document(path, **options)  # type: ignore[arg-type]  # options of many types
    assert str(path) in caught.value.what
    assert caught.value.remedy.endswith(".")
    return caught.value


async def test_a_text_file(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_bytes("First line\r\nZweite Zeile – 第三行\n".encode())
    document = await read_document(file)
    assert document.text == "First line\r\nZweite Zeile – 第三行\n"
    assert (document.kind, document.encoding, document.warnings) == ("text", "utf-8", ())
    assert (document.name, document.path) == ("notes.txt", str(file))
    assert len(document.sha256) == 64


async def test_the_password_is_not_in_the_process_list(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    task = asyncio.create_task(read_document(mark, password="hunter2-secret", reader=f"{WRONG}:hang"))
    pid = await _pid_in(mark)
    assert "hunter2" not in " ".join(psutil.Process(pid).cmdline())
    assert "hunter2" not in str(psutil.Process(pid).environ())
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def _pid_in(mark: Path) -> int:
    for _ in range(2000):
        if mark.exists() and (text := mark.read_text(encoding="utf-8")):
            return int(text)
        await asyncio.sleep(0.02)
    raise AssertionError("the child did not begin")


async def _gone(pid: int) -> bool:
    for _ in range(2000):
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return True
        await asyncio.sleep(0.02)
    return False


@pytest.mark.parametrize("reader", ["hang", "spin"])
async def test_a_reader_that_hangs_is_killed_in_time(tmp_path: Path, reader: str) -> None:
    mark = tmp_path / "mark"
    error = await problem(mark, reader=f"{WRONG}:{reader}", timeout_s=1.5)
    assert "within 1.5 s" in error.what
    assert "read_timeout_s" in error.remedy
    if mark.exists():
        assert await _gone(int(mark.read_text(encoding="utf-8")))


async def test_cancelling_kills_the_child(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    task = asyncio.create_task(read_document(mark, reader=f"{WRONG}:hang", timeout_s=60))
    pid = await _pid_in(mark)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not psutil.pid_exists(pid)


async def test_cancelling_while_the_child_starts_leaves_nothing(tmp_path: Path) -> None:
    before = {child.pid for child in psutil.Process().children()}
    for wait in (0.0, 0.001, 0.005, 0.02):
        task = asyncio.create_task(read_document(tmp_path / "mark", reader=f"{WRONG}:hang", timeout_s=60))
        await asyncio.sleep(wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    left = [child for child in psutil.Process().children() if child.pid not in before]
    assert all([await _gone(child.pid) for child in left])


@posix
async def test_a_child_does_not_outlive_a_killed_parent(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    code = (
        "import asyncio; from tui.documents.loader import read_document;"
        f"asyncio.run(read_document({str(mark)!r}, reader={f'{WRONG}:hang'!r}, timeout_s=600))"
    )
    root = Path(__file__).resolve().parents[2]
    env = {**os.environ, "PYTHONPATH": str(root)}
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", code, cwd=root, env=env)
    try:
        pid = await _pid_in(mark)
    finally:
        parent.kill()
        await parent.wait()
    assert await _gone(pid)


@linux
async def test_a_memory_bomb_costs_its_file_alone(tmp_path: Path) -> None:
    error = await problem(tmp_path / "bomb", reader=f"{WRONG}:explode", memory_mib=128, timeout_s=60)
    assert "128 MiB" in error.what
    assert "read_memory_mib" in error.remedy


@linux
async def test_memory_is_watched_where_the_system_has_no_limit(tmp_path: Path) -> None:
    error = await problem(tmp_path / "bomb", reader=f"{WRONG}:explode_beside_the_limit", memory_mib=128, timeout_s=60)
    assert "128 MiB" in error.what


async def test_an_answer_too_large_is_refused(tmp_path: Path) -> None:
    error = await problem(tmp_path / "bomb", reader=f"{WRONG}:swell", memory_mib=64, timeout_s=60)
    assert "64 MiB" in error.what


@posix
async def test_a_document_that_ends_the_reader_does_not_cost_the_folder(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("a = 1\n", encoding="utf-8")
    (tmp_path / "fatal.pdf").write_bytes(b"%PDF-1.7")
    document = await read_document(tmp_path, reader=f"{WRONG}:crash_at_documents")
    assert "a = 1" in document.text
    assert document.warnings == (
        "1 document in the folder was not read, for the reader ended at it; give it by its own name: fatal.pdf",
    )
    assert "SIGSEGV" in (await problem(tmp_path, reader=f"{WRONG}:crash")).what


async def test_a_crash_is_told_by_its_signal(tmp_path: Path) -> None:
    assert "SIGSEGV" in (await problem(tmp_path / "x", reader=f"{WRONG}:crash")).what


@pytest.mark.parametrize(
    ("reader", "words"), [("leave", "status 7"), ("fail", "ZeroDivisionError"), ("missing", "AttributeError")]
)
async def test_a_failing_reader_is_told(tmp_path: Path, reader: str, words: str) -> None:
    assert words in (await problem(tmp_path / "x", reader=f"{WRONG}:{reader}")).what


async def test_what_libraries_print_goes_nowhere(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    document = await read_document(tmp_path / "x", reader=f"{WRONG}:chatter")
    assert document.text == "an answer"
    assert capfd.readouterr() == ("", "")


async def test_several_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    files = []
    for number in range(4):
        file = tmp_path / f"{number}.txt"
        file.write_text(f"text number {number}", encoding="utf-8")
        files.append(file)
    bad = tmp_path / "bad.txt"
    bad.write_bytes(b"")
    results = await asyncio.gather(*map(read_document, [*files, bad]), return_exceptions=True)
    texts = [result.text for result in results if isinstance(result, Document)]
    assert texts == [f"text number {number}" for number in range(4)]
    assert isinstance(results[-1], InputProblem)


async def test_missing_file(tmp_path: Path) -> None:
    assert "does not exist" in (await problem(tmp_path / "no.txt")).what


@posix
async def test_broken_link(tmp_path: Path) -> None:
    link = tmp_path / "link.txt"
    link.symlink_to(tmp_path / "gone.txt")
    assert "gone.txt" in (await problem(link)).what


async def test_empty_file(tmp_path: Path) -> None:
    file = tmp_path / "empty.txt"
    file.touch()
    assert "is empty" in (await problem(file)).what


async def test_nothing_but_white_space(tmp_path: Path) -> None:
    file = tmp_path / "blank.txt"
    file.write_text(" \n\t\n", encoding="utf-8")
    assert "white space" in (await problem(file)).what


@posix
async def test_no_permission(tmp_path: Path) -> None:
    file = tmp_path / "mine.txt"
    file.write_text("secret", encoding="utf-8")
    file.chmod(0)
    if os.access(file, os.R_OK):
        pytest.skip("this user may read everything")
    assert "permission" in (await problem(file)).what


@posix
async def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert "is a pipe" in (await problem(pipe)).what


@posix
async def test_a_device_is_not_read() -> None:
    assert "is a device" in (await problem("/dev/zero")).what


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("a.docx", b"PK\x03\x04" + b"\x00" * 60, "a Word document"),
        ("a.epub", b"PK\x03\x04" + b"\x00" * 60, "an EPUB book"),
        ("a.zip", b"PK\x03\x04" + b"\x00" * 60, "a zip archive"),
        ("a.rtf", b"{\\rtf1 }", "an RTF document without text"),
        ("a.png", b"\x89PNG\r\n\x1a\n" + b"\x00" * 60, "a picture"),
        ("a.gguf", b"GGUF\x03\x00\x00\x00" + b"\x00" * 60, "a model"),
        ("a.bin", bytes(range(256)) * 20, "binary"),
        ("a.txt", bytes(range(128, 256)) * 20, "encoding"),
    ],
)
async def test_what_is_no_text(tmp_path: Path, name: str, data: bytes, words: str) -> None:
    file = tmp_path / name
    file.write_bytes(data)
    assert words in (await problem(file)).what


@pytest.mark.parametrize(
    ("name", "head"), [("film.mp4", b"\x00\x00\x00 ftypisom"), ("disk.iso", b""), ("m.gguf", b"GGUF\x03")]
)
async def test_a_large_binary_file_is_told_from_its_head(tmp_path: Path, name: str, head: bytes) -> None:
    file = tmp_path / name
    with file.open("wb") as writing:
        writing.write(head)
        writing.truncate(4 << 30)  # holes: it takes no room
    assert "not text" in (await problem(file)).what


async def test_controls_without_end_take_little_memory(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_bytes(b"\x00" * 40_000_000)
    assert "binary" in (await problem(file, memory_mib=400)).what
    file.write_bytes(random.Random(3).randbytes(40_000_000))
    assert "binary" in (await problem(file, memory_mib=400)).what


async def test_password_missing_and_wrong(tmp_path: Path) -> None:
    file = write_pdf(tmp_path / "locked.pdf", ["A secret page with some words on it."], password="öpen sésame")
    with pytest.raises(PasswordNeeded) as caught:
        await read_document(file)
    assert not caught.value.wrong
    assert "--password" in caught.value.remedy
    with pytest.raises(PasswordNeeded) as caught:
        await read_document(file, password="other")
    assert caught.value.wrong
    assert "secret page" in (await read_document(file, password="öpen sésame")).text


async def test_scan(tmp_path: Path) -> None:
    error = await problem(write_scan(tmp_path / "scan.pdf", pages=3))
    assert "its 3 pages hold images only" in error.what
    assert "--ocr" in error.remedy


async def test_an_encoding_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem):
        await read_document(tmp_path / "x", encoding="klingon")


async def test_an_encoding_that_is_ordered(tmp_path: Path) -> None:
    file = tmp_path / "old.txt"
    file.write_bytes("Größe".encode("cp437"))
    document = await read_document(file, encoding="cp437")
    assert document.text == "Größe"
    assert document.encoding == "cp437"


async def test_a_path_with_a_home_and_odd_characters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    (tmp_path / "ein Wort 文.txt").write_text("found", encoding="utf-8")
    assert (await read_document("~/ein Wort 文.txt")).text == "found"


@linux
async def test_a_file_name_that_is_not_unicode(tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/caf\xe9.txt"
    Path(os.fsdecode(name)).write_text("found", encoding="utf-8")
    document = await read_document(os.fsdecode(name))
    assert document.text == "found"
    assert document.name == "caf\ufffd.txt"


async def test_modules_beside_the_user_are_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit(9)", encoding="utf-8")
    (tmp_path / "a.txt").write_text("text", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    assert (await read_document("a.txt")).text == "text"
