"""What is printed where: results on stdout, the rest on stderr, JSON untouched, a terminal never steered."""

from __future__ import annotations

import io
import re
import sys

import msgspec
import pytest

from tui.cli.output import Out, Progress, columns


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_json_is_one_object_a_line_and_not_altered(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    out = Out(as_json=True)
    out.emit({"text": "a\x1b[2Jb\nc  \U0001f600 漢"})
    out.warn("beside it")
    out.emit({"n": 1})
    said = capfdbinary.readouterr()
    first, second = said.out.splitlines()
    assert msgspec.json.decode(first) == {"text": "a\x1b[2Jb\nc  \U0001f600 漢"}
    assert msgspec.json.decode(second) == {"n": 1}
    assert said.err == b"longscroll: warning: beside it\n"


def test_json_of_a_name_that_is_no_unicode(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    class Row(msgspec.Struct):
        path: str

    Out(as_json=True).emit({"rows": [Row(path="caf\udce9.txt")]})
    assert msgspec.json.decode(capfdbinary.readouterr().out) == {"rows": [{"path": "caf\ufffd.txt"}]}


def test_a_terminal_is_not_steered_by_a_result(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    Out(as_json=False).line("evil\x1b]0;title\x07 text")
    assert "\x1b" not in terminal.getvalue()
    assert "\x07" not in terminal.getvalue()


def test_a_file_gets_the_result_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    file = io.StringIO()
    monkeypatch.setattr(sys, "stdout", file)
    Out(as_json=False).line("tab\tand \x1b mark")
    assert file.getvalue() == "tab\tand \x1b mark\n"


def test_an_open_line_is_ended_once(monkeypatch: pytest.MonkeyPatch) -> None:
    file = io.StringIO()
    monkeypatch.setattr(sys, "stdout", file)
    out = Out(as_json=False)
    out.end_line()
    out.write("half")
    out.end_line()
    out.end_line()
    assert file.getvalue() == "half\n"


def test_plain_progress_says_each_step_once() -> None:
    stream = io.StringIO()
    progress = Progress(stream)
    for done in range(3):
        progress.update("Reading", done, 4)
    progress.update("Part \x1b[31m2", 1, 4)
    progress.close()
    assert stream.getvalue().splitlines() == ["Reading 0%", "Part ␛[31m2 25%"]


def test_a_bar_goes_away_before_a_line_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    out = Out(as_json=False)
    with out.working() as progress:
        progress.update("Reading [bold]x[/bold]", 1, 2)
        out.warn("look")
        progress.update("Reading on", 2, 2)
    assert "longscroll: warning: look\n" in terminal.getvalue()
    assert "\x1b[2K\x1b[?25hlongscroll: warning" in re.sub(r"[\r\n]", "", terminal.getvalue())
    assert "[bold]x[/bold]" in terminal.getvalue()


def test_columns_line_up_in_screen_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    file = io.StringIO()
    monkeypatch.setattr(sys, "stdout", file)
    columns(Out(as_json=False), [("N", "NAME", "X"), ("12", "漢字", "a"), ("3", "abcd", "b\nc")], right=(0,))
    assert file.getvalue().splitlines() == [" N  NAME  X", "12  漢字  a", " 3  abcd  b␊c"]
