"""What is named and how it is read, as a user does it: standard input, folders, passwords, encodings, pages."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support.papers import report, write_pdf
from tests.support.processes import COMMAND, environment, lines, longscroll
from tui.documents.model import Document
from tui.documents.spool import spool_folder
from tui.paths import get_paths
from tui.store.database import Store

posix = pytest.mark.skipif(sys.platform == "win32", reason="made of POSIX things")


def piped(home: Path, data: bytes, *args: str, **more: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [*COMMAND, *args], env=environment(home, **more), input=data, capture_output=True, timeout=280, check=False
    )
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def kept(store: Store) -> list[dict[str, Any]]:
    return store.documents._connection.rows("SELECT * FROM documents WHERE key LIKE 'read:%'")


def spooled(home: Path) -> list[Path]:
    return [path for path in (home / "cache").rglob("*") if path.is_file()]


def test_standard_input_is_a_document_of_any_kind(own_home: Path, tmp_path: Path) -> None:
    pdf = write_pdf(tmp_path / "paper.pdf", report(2, 3)).read_bytes()
    done = piped(own_home, pdf, "count", "-", "-", "--json")
    assert done.returncode == 0, done.stderr
    (row,) = lines(done)
    assert (row["path"], row["pages"]) == ("standard input", 2)
    assert "standard input is named more than once and read once." in done.stderr
    with Store(get_paths({"LONGSCROLL_HOME": str(own_home)})) as store:
        assert kept(store) == []
    assert spooled(own_home) == []


def test_standard_input_that_is_empty_or_too_large(own_home: Path) -> None:
    done = piped(own_home, b"", "count", "-", "--json")
    assert done.returncode == 1
    assert lines(done)[0]["error"] == "standard input is empty. Give a file with text in it."
    settings = get_paths({"LONGSCROLL_HOME": str(own_home)}).settings_file
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text("read_memory_mib = 64\n", encoding="utf-8")
    done = piped(own_home, b"x" * (65 << 20), "count", "-")
    assert done.returncode == 1
    assert "Standard input holds more than 64 MiB." in done.stderr
    assert spooled(own_home) == []


@posix
def test_standard_input_is_kept_private_while_it_is_read(own_home: Path) -> None:
    process = subprocess.Popen(
        [*COMMAND, "count", "-"], env=environment(own_home), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdin is not None
    process.stdin.write("words ")
    process.stdin.flush()
    for _ in range(600):
        found = spooled(own_home)
        if found and found[0].stat().st_size:
            break
        time.sleep(0.05)
    (file,) = found
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    process.terminate()
    process.communicate(timeout=60)
    assert process.returncode == 128 + 15
    assert spooled(own_home) == []


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    parent = tmp_path / "spool"
    (parent / "4194999-x").mkdir(parents=True)
    (parent / "4194999-x" / "standard input").write_bytes(b"secret")
    with spool_folder(parent) as folder:
        assert [path.name for path in parent.iterdir()] == [folder.name]
    assert list(parent.iterdir()) == []


def test_folders_and_patterns(own_home: Path, tmp_path: Path) -> None:
    reports = tmp_path / "reports"
    reports.mkdir()
    write_pdf(reports / "one.pdf", report(1, 2))
    (reports / "two.txt").write_text("Two words.", encoding="utf-8")
    (reports / "logo.png").write_bytes(b"\x89PNG\r\n\x1a\n\x00")
    done = longscroll(own_home, "count", str(reports), str(tmp_path / "no*.md"), str(reports / "t*"), "--json")
    assert done.returncode == 1
    rows = lines(done)
    assert [row["path"] for row in rows] == [
        str(reports / "one.pdf"), str(reports / "two.txt"), str(tmp_path / "no*.md")
    ]  # fmt: skip
    assert f"{reports}/: 2 documents. Left out: logo.png (a picture)." in done.stderr
    assert "matches no file" in rows[2]["error"]
    assert "is named more than once and read once." in done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_names_that_are_no_utf8_or_steer_a_terminal(own_home: Path, tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path / "odd")
    os.mkdir(folder)
    names = [b"bad\xff.txt", b"bad\xff.bin", b"new\nline.txt", b"esc\x1b]0;x\x07.txt", b"turn\xe2\x80\xae.txt"]
    for name in names:
        with open(os.path.join(folder, name), "wb") as file:
            file.write(b"\x00\x01" if name.endswith(b"bin") else b"Some words of it.")
    pdf = write_pdf(tmp_path / "paper.pdf", report(1, 2)).read_bytes()
    with open(os.path.join(folder, b"bad\xff.pdf"), "wb") as file:
        file.write(pdf)
    for _ in range(2):  # read, then remembered
        done = longscroll(
            own_home, "count", os.fsdecode(folder), os.path.join(os.fsdecode(folder), "bad*.bin"), "--json"
        )
        assert done.returncode == 1
        rows = lines(done)
        assert ["tokens" in row for row in rows] == [True] * 5 + [False]
        assert "went wrong" not in done.stderr
        table = longscroll(own_home, "count", os.fsdecode(folder))
        assert table.returncode == 0
        assert not set("\x1b\x07\u202e") & set(done.stderr + table.stdout + table.stderr)
        assert len(table.stdout.splitlines()) == 7


def test_each_file_of_a_tree_is_counted_largest_first(own_home: Path, tmp_path: Path) -> None:
    tree = tmp_path / "project"
    (tree / "src" / "deep").mkdir(parents=True)
    (tree / "small.py").write_text("a = 1\n", encoding="utf-8")
    (tree / "src" / "large.py").write_text("value = 1\n" * 500, encoding="utf-8")
    (tree / "src" / "deep" / "middle.py").write_text("value = 1\n" * 50, encoding="utf-8")
    write_pdf(tree / "paper.pdf", report(2, 3))
    done = longscroll(own_home, "count", "--files", str(tree), "--json")
    assert done.returncode == 0, done.stderr
    (row,) = lines(done)
    shares = row["files"]
    by_path = {share["path"]: share for share in shares}
    assert set(by_path) == {
        "(file tree)", "small.py", "src/", "src/large.py", "src/deep/", "src/deep/middle.py", "paper.pdf"
    }  # fmt: skip
    assert [share["tokens"] for share in shares] == sorted((share["tokens"] for share in shares), reverse=True)
    assert by_path["src/"]["tokens"] == by_path["src/large.py"]["tokens"] + by_path["src/deep/middle.py"]["tokens"]
    assert (by_path["src/"]["files"], by_path["paper.pdf"]["pages"]) == (2, 2)
    files = [share for share in shares if not share["path"].endswith("/")]
    assert sum(share["characters"] for share in files) == row["characters"]
    table = longscroll(own_home, "count", "--files", str(tree)).stdout
    assert f"IN {tree}" in table
    assert "files" not in lines(longscroll(own_home, "count", str(tree), "--json"))[0]


def test_the_encoding_is_told_and_can_be_named(own_home: Path, tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_bytes("合同自双方签字盖章之日起生效，一式两份。".encode("gb18030"))
    odd = tmp_path / "odd.txt"
    odd.write_bytes("湖".encode("gb18030"))
    done = longscroll(own_home, "count", str(notes), str(odd), "--json")
    assert done.returncode == 1
    told, refused = lines(done)
    assert told["encoding"] == "gb18030"
    assert f"{notes}: It was read as gb18030, judged by its look." in done.stderr
    assert "Name it with --encoding" in refused["error"]
    named = longscroll(own_home, "count", str(notes), str(odd), "--json", "--encoding", "GB18030")
    assert [row["characters"] for row in lines(named)] == [20, 1]
    assert "read as" not in named.stderr


def test_only_some_pages(own_home: Path, tmp_path: Path) -> None:
    paper = write_pdf(tmp_path / "paper.pdf", report(4, 3))
    done = longscroll(own_home, "count", str(paper), "--pages", "2-3", "--json")
    (row,) = lines(done)
    assert row["pages"] == 2
    assert any("Only pages 2-3 of 4" in warning for warning in row["warnings"])
    beyond = longscroll(own_home, "count", str(paper), "--pages", "9")
    assert beyond.returncode == 2
    assert "there is no page 9" in beyond.stderr


def test_a_file_is_read_once_and_then_remembered(own_home: Path, tmp_path: Path) -> None:
    paper = write_pdf(tmp_path / "paper.pdf", report(2, 3))
    (first,) = lines(longscroll(own_home, "count", str(paper), "--json"))
    with Store(get_paths({"LONGSCROLL_HOME": str(own_home)})) as store:
        (row,) = kept(store)
        document = msgspec.msgpack.decode(store.documents.data(row["id"]), type=Document)
        assert len(document.text) == first["characters"]
        # The same place with another text: what comes out was not read from the file.
        store.documents.remove(row["id"])
        other = msgspec.msgpack.encode(msgspec.structs.replace(document, text="kept", spans=()))
        figures = {name: row[name] for name in ("key", "sha256", "name", "kind", "characters")}
        store.documents.put(other, path="elsewhere.pdf", **figures)
    folder = tmp_path / "moved"
    folder.mkdir()
    moved = paper.rename(folder / "paper.pdf")
    (again,) = lines(longscroll(own_home, "count", str(moved), "--json"))
    assert (again["characters"], again["path"]) == (4, str(moved))


def test_what_a_password_opened_is_not_kept(own_home: Path, tmp_path: Path) -> None:
    paper = write_pdf(tmp_path / "closed.pdf", report(1, 2), password="open it")
    done = longscroll(own_home, "count", str(paper), "--json", LONGSCROLL_PASSWORD="open it")
    assert done.returncode == 0, done.stderr
    plain = write_pdf(tmp_path / "plain.pdf", report(1, 3))
    assert longscroll(own_home, "count", str(plain), LONGSCROLL_PASSWORD="open it").returncode == 0
    with Store(get_paths({"LONGSCROLL_HOME": str(own_home)})) as store:
        assert [row["name"] for row in kept(store)] == ["plain.pdf"]


def test_without_a_terminal_no_password_is_asked_for(own_home: Path, tmp_path: Path) -> None:
    paper = write_pdf(tmp_path / "closed.pdf", report(1, 2), password="open it")
    done = longscroll(own_home, "count", str(paper))
    assert done.returncode == 1
    assert "LONGSCROLL_PASSWORD" in done.stderr or "--password" in done.stderr


class AtTerminal:
    """A command whose keyboard and stderr are a terminal."""

    def __init__(self, home: Path, *args: str) -> None:
        import pty

        self.keyboard, terminal = pty.openpty()
        self.process = subprocess.Popen(
            [*COMMAND, *args],
            env=environment(home, TERM="dumb"),
            stdin=terminal,
            stderr=terminal,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        os.close(terminal)
        self.said = ""

    def until(self, words: str) -> None:
        while words not in self.said:
            assert select.select([self.keyboard], [], [], 120)[0], f"silent before {words!r}: {self.said}"
            try:
                piece = os.read(self.keyboard, 4096)
            except OSError:
                piece = b""
            assert piece, f"ended before {words!r}: {self.said}"
            self.said += piece.decode()

    def type(self, text: str) -> None:
        self.said = ""
        os.write(self.keyboard, text.encode())

    def end(self) -> tuple[int, str]:
        out, _ = self.process.communicate(timeout=120)
        try:
            while piece := os.read(self.keyboard, 4096):
                self.said += piece.decode()
        except OSError:
            pass
        os.close(self.keyboard)
        return self.process.returncode, out.decode()


@posix
def test_a_password_is_asked_for_unseen_and_used_again(own_home: Path, tmp_path: Path) -> None:
    first = write_pdf(tmp_path / "first.pdf", report(1, 2), password="open it")
    second = write_pdf(tmp_path / "second.pdf", report(1, 3), password="open it")
    shell = AtTerminal(own_home, "count", str(first), str(second), "--json")
    shell.until("Password of ")
    shell.until("first.pdf: ")
    shell.type("wrong\n")
    shell.until("does not open")
    shell.until("first.pdf: ")
    shell.type("open it\n")
    code, out = shell.end()
    assert code == 0, shell.said
    assert out.count('"tokens"') == 2
    assert "Password of" not in shell.said
    assert "open it" not in shell.said


@posix
def test_a_password_is_asked_for_three_times(own_home: Path, tmp_path: Path) -> None:
    paper = write_pdf(tmp_path / "closed.pdf", report(1, 2), password="open it")
    shell = AtTerminal(own_home, "count", str(paper))
    for _ in range(3):
        shell.until("closed.pdf: ")
        shell.type("wrong\n")
    code, _ = shell.end()
    assert code == 1
    assert shell.said.count("Password of") == 0


@posix
def test_ctrl_c_at_the_prompt_gives_the_terminal_back(own_home: Path, tmp_path: Path) -> None:
    import signal
    import termios

    paper = write_pdf(tmp_path / "closed.pdf", report(1, 2), password="open it")
    shell = AtTerminal(own_home, "count", str(paper))
    shell.until("closed.pdf: ")
    shell.process.send_signal(signal.SIGINT)
    shell.process.wait(timeout=60)
    assert termios.tcgetattr(shell.keyboard)[3] & termios.ECHO
    assert shell.end()[0] == 130
