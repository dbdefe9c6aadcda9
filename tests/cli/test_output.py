"""What is printed where: results on stdout, the rest on stderr, JSON untouched, a terminal never steered."""

from __future__ import annotations

import io
import re
import sys

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.cli.output import Out, Progress, columns
from tui.cli.wrapping import Wrapper, wrapped
from tui.errors import UsageProblem


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
    monkeypatch.setenv("NO_COLOR", "1")
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


def test_lines_break_between_words_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setenv("NO_COLOR", "1")
    text = "- The keeper of the lighthouse wrote all of it down.\n\n```\nx = a_long_line_of_code() + 12345\n```\n"
    shown = "- The keeper of the lighthouse\n  wrote all of it down.\n\n```\nx = a_long_line_of_code() + 12345\n```\n"
    for whole in (True, False):
        terminal = Terminal()
        monkeypatch.setattr(sys, "stdout", terminal)
        out = Out(as_json=False)
        for piece in [text] if whole else text:
            out.write(piece)
        out.end_line()
        assert terminal.getvalue() == shown
    file, terminal = io.StringIO(), Terminal()
    monkeypatch.setattr(sys, "stdout", file)
    monkeypatch.setattr(sys, "stderr", terminal)
    out = Out(as_json=False)
    out.write(text)
    out.warn("A sentence of more than thirty characters.")
    assert file.getvalue() == text
    assert terminal.getvalue() == "longscroll: warning: A\nsentence of more than thirty\ncharacters.\n"


def test_the_last_word_of_a_stream_is_never_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setattr(sys, "stderr", Terminal())
    out = Out(as_json=False)
    out.write("half a sen")
    out.end_line()
    out.write("and ano")
    out.note("beside it")
    assert terminal.getvalue() == "half a sen\nand ano\n"


@given(st.text(alphabet="ab \n-漢字。「a\t|`1.", max_size=200), st.integers(24, 40), st.integers(1, 9))
def test_wrapping_alters_nothing_but_line_ends_and_spaces(text: str, width: int, step: int) -> None:
    wrapper = Wrapper(width)
    pieces = [wrapper.feed(text[start : start + step]) for start in range(0, len(text), step)]
    assert "".join(pieces) + wrapper.flush() == wrapped(text, width)
    assert "".join(wrapped(text, width).split()) == "".join(text.split())


def test_wide_characters_break_by_cells_and_not_before_a_full_stop() -> None:
    assert wrapped("灯台守は毎日すべてを書いた。彼は。", 26) == "灯台守は毎日すべてを書い\nた。彼は。"


@pytest.mark.parametrize(("variable", "value"), [("NO_COLOR", "1"), ("TERM", "dumb"), ("TERM", "xterm")])
def test_emphasis_is_for_terminals_that_want_it(monkeypatch: pytest.MonkeyPatch, variable: str, value: str) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv(variable, value)
    wanted = value == "xterm"
    for stream, colours in ((Terminal(), wanted), (io.StringIO(), False)):
        monkeypatch.setattr(sys, "stderr", stream)
        Out(as_json=False).warn("look")
        Out(as_json=False).error(UsageProblem("No.", "Yes."))
        Out(as_json=False).note("12 tokens", style="dim")
        assert ("\x1b[33mwarning:\x1b[0m look" in stream.getvalue()) == colours
        assert ("\x1b[31mlongscroll: No. Yes.\x1b[0m" in stream.getvalue()) == colours
        assert ("\x1b[2m12 tokens\x1b[0m" in stream.getvalue()) == colours
