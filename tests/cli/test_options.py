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
from tui.cli.common import Shared, with_shared
from tui.cli.main import LazyGroup, group

COMMANDS = ["demo", "summarize", "ask", "count", "chunk", "doctor", "screen"]


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
    ("args", "named"),
    [
        (["nonsense"], "nonsense"),
        (["count"], "PATH"),
        (["ask", "x.txt"], "question"),
        (["chunk", "x.txt", "--max-tokens", "0"], "--max-tokens"),
        (["count", "--frobnicate", "x"], "--frobnicate"),
        (["--ctx-size", "many", "count", "x"], "--ctx-size"),
        (["count", "x", "--parallel", "0"], "--parallel"),
        (["ask", "-q", "why", "--on-overflow", "cut", "x.txt"], "--on-overflow"),
    ],
)
def test_wrong_usage(own_home: Path, args: list[str], named: str) -> None:
    done = longscroll(own_home, *args)
    assert done.returncode == 2
    assert done.stdout == ""
    assert named in done.stderr
    assert "Traceback" not in done.stderr
    assert not own_home.exists()


def test_the_screen_needs_a_terminal(own_home: Path) -> None:
    for args in ([], ["screen"], ["--model", "x.gguf"]):
        done = longscroll(own_home, *args)
        assert done.returncode == 2
        assert done.stdout == ""
        (line,) = done.stderr.splitlines()
        assert "terminal" in line


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
