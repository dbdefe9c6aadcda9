"""Options and help: shared options before and after the command, usage errors, nothing heavy for a help text."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import rich_click as click
from click.testing import CliRunner

from tests.support.processes import ROOT, environment, longscroll
from tui import __version__
from tui.cli.common import DEMO_SIZES, Shared, with_shared
from tui.cli.group import LazyGroup, group
from tui.cli.usage import with_ocr_value
from tui.models.demo import DEMO

COMMANDS = ["demo", "summarize", "ask", "extract", "count", "chunk", "doctor", "screen"]


@pytest.mark.parametrize("args", [["--help"], ["-h"], *([name, "--help"] for name in COMMANDS)])
def test_help(own_home: Path, args: list[str]) -> None:
    done = longscroll(own_home, *args)
    assert done.returncode == 0
    assert done.stderr == ""
    assert "Usage:" in done.stdout
    for option in ("--model", "--ctx-size", "--parallel", "--server-url", "--server", "--json"):
        assert option in done.stdout
    assert not own_home.exists()


def test_version(own_home: Path) -> None:
    assert __version__ in longscroll(own_home, "--version").stdout


def test_every_command_is_listed() -> None:
    assert group.list_commands(click.Context(group)) == COMMANDS


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["nonsense"], "There is no command `nonsense`. The commands are demo, "),
        (["cuont", "x"], "There is no command `cuont`. Did you mean `count`? The commands are demo, "),
        (
            [str(ROOT)],
            f"{ROOT} is a path, and no command stands before it. Say what to do with it, such as `longscroll ",
        ),
        (["count"], "longscroll count needs at least one PATH. See `longscroll count --help`."),
        (["chunk"], "longscroll chunk needs at least one PATH. See `longscroll chunk --help`."),
        (["doctor", "x"], "Got unexpected extra argument (x). See `longscroll doctor --help`."),
        (["ask", "x.txt"], "longscroll ask needs --question. See `longscroll ask --help`."),
        (
            ["count", "--jsn", "x"],
            "longscroll count has no option `--jsn`. Did you mean `--json`? See `longscroll count ",
        ),
        (["--frobnicate"], "longscroll has no option `--frobnicate`. See `longscroll --help`."),
        (["count", "x", "--model"], "Option '--model' requires an argument. See `longscroll --help`."),
        (["chunk", "x", "--max-tokens", "0"], "--max-tokens cannot be 0. Give a whole number from 1 to 16,777,216."),
        (
            ["--ctx-size", "many", "count", "x"],
            "--ctx-size cannot be many. Give a whole number from 256 to 16,777,216.",
        ),
        (["count", "x", "--ctx-size", "255"], "--ctx-size cannot be 255. Give a whole number from 256 to 16,777,216."),
        (["count", "x", "--ctx-size", "16777217"], "--ctx-size cannot be 16777217. Give a whole number from 256 to "),
        (["count", "x", "--parallel", "0"], "--parallel cannot be 0. Give a whole number from 1 to 256."),
        (["ask", "-q", "w", "x", "--temperature", "nan"], "--temperature cannot be nan. Give a number from 0 to 5."),
        (["summarize", "x", "--temperature", "inf"], "--temperature cannot be inf. Give a number from 0 to 5."),
        (["summarize", "x", "--temperature", "-1"], "--temperature cannot be -1. Give a number from 0 to 5."),
        (["ask", "-q", "why", "--on-overflow", "cut", "x"], "--on-overflow: 'cut' is not"),
        (["ask", "-q", " ", "x"], "--question is empty. "),
        (["--model", "", "count", "x"], "--model is empty. "),
        (["count", "x", "--server", ""], "--server is empty. "),
        (["count", "x", "--server-url", ""], "--server-url is empty. "),
        (["screen", "--session", ""], "--session is empty. "),
        *(
            ([command, *more, path], said)
            for command, more in (("count", []), ("chunk", []), ("summarize", []), ("ask", ["-q", "w"]), ("screen", []))
            for path, said in (("", "A PATH is empty. "),)
        ),
        (["screen", "-"], "`-` would be standard input, which is for the keyboard here. "),
        (["count", "x", "--pages", "5-2"], "--pages '5-2': '5-2' is an empty range. "),
        (["summarize", "x", "--pages", "all"], "--pages 'all': 'all' is no page or range of pages. "),
        (["chunk", "x", "--encoding", "klingon"], "There is no text encoding 'klingon'. "),
        (["count", "x", "--ocr=x.pdf"], "--ocr cannot be x.pdf. "),
        (["count", "x", ""], "A PATH is empty. "),
    ],
)
def test_wrong_usage(own_home: Path, args: list[str], said: str) -> None:
    done = longscroll(own_home, *args)
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"longscroll: {said}")
    assert line.endswith(".")
    assert not own_home.exists()


def test_the_screen_needs_a_terminal(own_home: Path) -> None:
    for args in ([], ["screen"], ["--model", "x.gguf"]):
        done = longscroll(own_home, *args)
        assert done.returncode == 2
        assert done.stdout == ""
        (line,) = done.stderr.splitlines()
        assert "terminal" in line


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["--ocr", "scan.pdf"], ["--ocr=auto", "scan.pdf"]),
        (["a.pdf", "--ocr"], ["a.pdf", "--ocr=auto"]),
        (["--ocr", "--json", "a.pdf"], ["--ocr=auto", "--json", "a.pdf"]),
        (["--ocr", "eng+chi_sim", "a.pdf"], ["--ocr", "eng+chi_sim", "a.pdf"]),
        (["--ocr=deu", "a.pdf"], ["--ocr=deu", "a.pdf"]),
        (["--", "--ocr", "a.pdf"], ["--", "--ocr", "a.pdf"]),
    ],
)
def test_the_languages_of_ocr_may_be_left_out(words: list[str], meant: list[str]) -> None:
    assert with_ocr_value(words) == meant


def given(args: list[str]) -> Shared:
    seen: list[Shared] = []

    @click.group(cls=type(group))
    @click.pass_context
    def root(ctx: click.Context) -> None:
        pass

    @click.command("work")
    @with_shared
    def work(shared: Shared, /) -> int:
        seen.append(shared)
        return 0

    class Root(LazyGroup):
        def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
            return work if cmd_name == "work" else None

    copy = Root(name="root", params=group.params, callback=lambda **_: None, invoke_without_command=True)
    result = CliRunner().invoke(copy, args)
    assert result.exit_code == 0, result.output
    (shared,) = seen
    return shared


@pytest.mark.parametrize(
    ("args", "shared"),
    [
        (["work"], Shared()),
        (["work", "--model", "a", "--ctx-size", "512"], Shared(model="a", ctx_size=512)),
        (["--model", "a", "--ctx-size", "512", "work"], Shared(model="a", ctx_size=512)),
        (["--model", "a", "work", "--model", "b"], Shared(model="b")),
        (["--json", "work"], Shared(json=True)),
        (["work", "--json", "--parallel", "3"], Shared(json=True, parallel=3)),
        (["--json", "--server", "s", "work", "--server-url", "u"], Shared(json=True, server="s", server_url="u")),
    ],
)
def test_shared_options_on_both_sides(args: list[str], shared: Shared) -> None:
    assert given(args) == shared


def test_counting_never_loads_the_screen(own_home: Path, tmp_path: Path) -> None:
    paper = tmp_path / "a.txt"
    paper.write_text("Some words.", encoding="utf-8")
    code = (
        "import sys\n"
        "from tui.cli.main import main\n"
        "try:\n"
        f"    main(['count', {str(paper)!r}])\n"
        "except SystemExit as end:\n"
        "    assert end.code == 0, end.code\n"
        "assert not any(name.split('.')[0] == 'textual' for name in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(own_home), cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_sizes_of_the_demo_model_are_the_real_ones(own_home: Path) -> None:
    def mib(count: int) -> str:
        return f"{count / 2**20:.0f} MiB"

    sizes = f"{mib(DEMO.wheel_size)} to download, {mib(DEMO.size)} on disk"
    assert sizes == DEMO_SIZES
    assert sizes in " ".join(longscroll(own_home, "demo", "--help").stdout.split())
    assert sizes in " ".join((ROOT / "docs" / "command-line.md").read_text(encoding="utf-8").split())
