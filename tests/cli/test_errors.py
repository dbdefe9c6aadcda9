"""Every way a command can end: its exit code, one line on stderr, no traceback."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import rich_click as click

from tests.support.processes import COMMAND, environment
from tui.cli.errors import run_async, run_guarded
from tui.errors import DoesNotFit, ExitCode, InputProblem, Interrupted, LongscrollError, NoModel, UsageProblem
from tui.paths import Paths


def group_that(fails: BaseException) -> click.Group:
    @click.group()
    def group() -> None:
        pass

    @group.command("work")
    def work() -> None:
        raise fails

    return group


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InputProblem("a.pdf is encrypted.", "Give its password."), 1),
        (UsageProblem("No.", "Do this."), 2),
        (NoModel("No model.", "Name one."), 3),
        (DoesNotFit(3000, 2048, "Use less."), 4),
        (Interrupted("Stopped."), 130),
        (KeyboardInterrupt(), 130),
        (click.UsageError("no such option"), 2),
        (ExceptionGroup("tasks", [NoModel("No model.", "Name one.")]), 3),
        (ExceptionGroup("tasks", [ExceptionGroup("more", [InputProblem("One."), InputProblem("Two.")])]), 1),
    ],
)
def test_exit_codes(error: BaseException, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_guarded(group_that(error), ["work"]) == code
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err
    assert "Traceback" not in said.err
    if isinstance(error, LongscrollError):
        assert said.err.splitlines() == [f"longscroll: {error}"]


def test_what_and_remedy_stand_on_one_safe_line(capsys: pytest.CaptureFixture[str]) -> None:
    run_guarded(group_that(InputProblem("bad\x1b[2J\nname", "Do.")), ["work"])
    (line,) = capsys.readouterr().err.splitlines()
    assert "\x1b" not in line
    assert line.startswith("longscroll: bad")


def test_a_defect_becomes_a_sentence_and_a_private_log(paths: Paths, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_guarded(group_that(ZeroDivisionError("by nought")), ["work"]) == ExitCode.SOME_FAILED
    (line,) = capsys.readouterr().err.splitlines()
    (log,) = paths.logs.glob("crash-*.log")
    assert str(log) in line
    assert "ZeroDivisionError: by nought" in line
    assert "Traceback" in log.read_text(encoding="utf-8")
    if os.name == "posix":
        assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_a_defect_with_known_failures_beside_it_is_a_defect(paths: Paths, capsys: pytest.CaptureFixture[str]) -> None:
    group = group_that(ExceptionGroup("tasks", [NoModel("No model."), ValueError("odd")]))
    assert run_guarded(group, ["work"]) == ExitCode.SOME_FAILED
    assert list(paths.logs.glob("crash-*.log"))
    assert "Traceback" not in capsys.readouterr().err


def test_a_defect_with_no_place_for_a_log(
    own_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    own_home.write_text("a file where the home should be", encoding="utf-8")
    elsewhere = tmp_path / "temporary"
    elsewhere.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(elsewhere))
    assert run_guarded(group_that(ZeroDivisionError("by nought")), ["work"]) == ExitCode.SOME_FAILED
    (log,) = elsewhere.glob("longscroll-crash-*.log")
    assert str(log) in capsys.readouterr().err


SIGNALLED = """
import asyncio, sys
import rich_click as click
from tui.cli.errors import run_async, run_guarded

@click.group()
def group(): pass

@group.command()
def work():
    async def main():
        try:
            print("ready", flush=True)
            await asyncio.sleep(60)
            return 0
        finally:
            await asyncio.sleep(0.01)
            print("put away", flush=True)
    raise click.exceptions.Exit(run_async(main, kept="The half is kept."))

sys.exit(run_guarded(group, ["work"]))
"""


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize(("number", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_a_signal_lets_everything_be_put_away(own_home: Path, number: str, code: int) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", SIGNALLED],
        env=environment(own_home),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    # Twice at once, as a closing terminal does: that is one wish, and the work may still put itself away.
    process.send_signal(getattr(signal, number))
    process.send_signal(getattr(signal, number))
    out, err = process.communicate(timeout=60)
    assert out == "put away\n"
    assert err == "longscroll: Interrupted. The half is kept.\n"
    assert process.returncode == code


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_signal_that_is_ignored_stays_ignored() -> None:
    async def work() -> int:
        os.kill(os.getpid(), signal.SIGHUP)
        await asyncio.sleep(0)
        return 7

    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert run_async(work) == 7
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")
def test_a_reader_that_went_away_is_no_failure_worth_words(own_home: Path) -> None:
    code = (
        "import sys\n"
        "import rich_click as click\n"
        "from tui.cli.errors import run_guarded\n"
        "from tui.cli.output import Out\n"
        "@click.group()\n"
        "def group(): pass\n"
        "@group.command()\n"
        "def work():\n"
        "    out = Out(as_json=False)\n"
        "    for number in range(100000): out.line(str(number))\n"
        "sys.exit(run_guarded(group, ['work']))\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        env=environment(own_home),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline() == "0\n"
    process.stdout.close()
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait(60) == 141


posix = pytest.mark.skipif(os.name != "posix", reason="streams and signals of POSIX")


@posix
@pytest.mark.parametrize(
    ("closed", "rows"), [("2>&-", 1), (">&-", 0), ("<&-", 1), ("<&- 2>&-", 1), ("<&- >&- 2>&-", 0), ("2>/dev/full", 1)]
)
def test_a_stream_that_is_closed_takes_nothing_with_it(own_home: Path, tmp_path: Path, closed: str, rows: int) -> None:
    paper = tmp_path / "a.txt"
    paper.write_text("Some words.", encoding="utf-8")
    line = f'"$0" -m tui.cli count "$1" --json {closed}'
    done = subprocess.run(
        ["sh", "-c", line, sys.executable, str(paper)],
        env=environment(own_home),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert [json.loads(row)["path"] for row in done.stdout.splitlines()] == [str(paper)] * rows
    assert "went wrong" not in done.stderr
    assert not list(own_home.glob("state/logs/crash-*.log"))


@posix
@pytest.mark.parametrize("args", [["count", "a.txt"], ["count", "a.txt", "--json"], ["--help"], ["ask", "-h"], ["-V"]])
def test_results_that_cannot_be_written_are_one_sentence(own_home: Path, tmp_path: Path, args: list[str]) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    (tmp_path / "a.txt").write_text("Some words.", encoding="utf-8")
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*COMMAND, *args],
            env=environment(own_home),
            cwd=tmp_path,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    (line,) = [line for line in done.stderr.splitlines() if not line.startswith("longscroll: warning: ")]
    assert line.startswith("longscroll: The results cannot be written to standard output (No space left on device). ")


@posix
@pytest.mark.parametrize("args", [["--help"], ["-V"], ["count", "a.txt"], ["count", "a.txt", "--json"]])
def test_a_reader_that_left_ends_every_output_alike(own_home: Path, tmp_path: Path, args: list[str]) -> None:
    (tmp_path / "a.txt").write_text("Some words.", encoding="utf-8")
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*COMMAND, *args],
        env=environment(own_home),
        cwd=tmp_path,
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writing)
    assert done.returncode == 141
    assert "Traceback" not in done.stderr


EARLY = """
import os, signal, sys
from importlib.abc import MetaPathFinder

class Impatient(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == {name!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Impatient())
from tui.cli.main import main
main(["--help"])
"""


@posix
@pytest.mark.parametrize("name", ["tui.cli.errors", "asyncio", "rich_click", "tui.cli.group", "tui.cli.doctor"])
def test_an_interruption_while_it_loads_leaves_no_traceback(own_home: Path, name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", EARLY.format(name=name)],
        env=environment(own_home),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 130
    assert done.stderr == "longscroll: Interrupted.\n"


def test_the_door_loads_nothing_before_it_can_be_interrupted() -> None:
    code = "import sys; before = set(sys.modules); import tui.cli.main; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment(Path()), capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert {name for name in loaded if name.startswith("tui")} == {"tui", "tui.cli", "tui.cli.main"}
    assert not loaded & {"typing", "asyncio", "rich_click", "click", "msgspec"}
