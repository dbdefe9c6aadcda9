"""The screen opened from the command line in a real terminal, and `demo` with and without one."""

from __future__ import annotations

import os
import select
import signal
import subprocess
from pathlib import Path

import psutil
import pytest

from tests.support.processes import COMMAND, environment, lines, longscroll, servers_of
from tests.support.tiny_models import build

needs_terminal = pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")


class Terminal:
    """A command in a pseudo-terminal; what it draws is collected."""

    def __init__(self, home: Path, *args: str) -> None:
        import fcntl
        import pty
        import struct
        import termios

        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        self.process = subprocess.Popen(
            [*COMMAND, *args],
            env=environment(home, TERM="xterm-256color"),
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        self.drawn = b""

    def until(self, text: bytes, what: str, seconds: float = 120) -> None:
        """Read until `text` was drawn; the limit only ends a test that would hang."""
        for _ in range(int(seconds / 0.1)):
            if text in self.drawn:
                return
            if not self._read():
                break
        raise AssertionError(f"never drawn: {what}; the end is {self.drawn[-2000:]!r}")

    def _read(self) -> bool:
        if not select.select([self._master], [], [], 0.1)[0]:
            return self.process.poll() is None
        try:
            piece = os.read(self._master, 65536)
        except OSError:  # how Linux says that the other side is closed
            return False
        self.drawn += piece
        return bool(piece)

    def finish(self) -> int:
        while self._read():
            pass
        os.close(self._master)
        return self.process.wait(60)


ALTERNATE_ON, ALTERNATE_OFF = b"\x1b[?1049h", b"\x1b[?1049l"


@needs_terminal
@pytest.mark.real
def test_a_signal_closes_the_screen_and_the_server(own_home: Path, tiny_models: Path) -> None:
    terminal = Terminal(own_home, "--model", str(build("llama", tiny_models)), "--ctx-size", "1024")
    terminal.until(ALTERNATE_ON, "the screen")
    terminal.until(b"tiny-llama", "the model's name")
    servers = servers_of(terminal.process.pid)
    assert servers
    terminal.process.send_signal(signal.SIGTERM)
    assert terminal.finish() == 143
    assert ALTERNATE_OFF in terminal.drawn
    assert b"Traceback" not in terminal.drawn
    assert b"Interrupted" in terminal.drawn.partition(ALTERNATE_OFF)[2]
    assert not [server for server in servers if server.is_running() and server.status() != psutil.STATUS_ZOMBIE]


@needs_terminal
def test_a_session_that_is_not_there_is_said_before_the_screen_opens(own_home: Path) -> None:
    terminal = Terminal(own_home, "screen", "--session", "no-such-one")
    assert terminal.finish() == 2
    assert ALTERNATE_ON not in terminal.drawn
    assert b"longscroll: There is no session no-such-one. " in terminal.drawn


@needs_terminal
@pytest.mark.real
@pytest.mark.demo
@pytest.mark.usefixtures("demo_in_home")
def test_the_demo_opens_the_screen_with_its_document(own_home: Path) -> None:
    terminal = Terminal(own_home, "demo")
    terminal.until(ALTERNATE_ON, "the screen")
    terminal.until(b"sample.md", "the document's name")
    terminal.process.send_signal(signal.SIGTERM)
    assert terminal.finish() == 143
    assert b"Traceback" not in terminal.drawn


@pytest.mark.real
@pytest.mark.demo
@pytest.mark.usefixtures("demo_in_home")
def test_the_demo_without_a_terminal_summarizes_its_document(own_home: Path) -> None:
    done = longscroll(own_home, "demo", "--json")
    assert done.returncode == 0, done.stderr
    (result,) = lines(done)
    assert Path(result["path"]).name == "sample.md"
    assert result["status"] == "done"
    assert result["coverage"]["fraction"] == 1.0
    assert result["summary"].strip()
    # What was made once is not made again.
    text = longscroll(own_home, "demo")
    assert text.returncode == 0
    assert text.stdout.strip() == result["summary"].strip()


@pytest.mark.usefixtures("demo_in_home")
@pytest.mark.demo
def test_the_demo_model_is_used_when_none_is_named(own_home: Path, tmp_path: Path) -> None:
    paper = tmp_path / "a.txt"
    paper.write_text("Some words about the pump.", encoding="utf-8")
    done = longscroll(own_home, "count", str(paper), "--json")
    assert done.returncode == 0, done.stderr
    assert lines(done)[0]["exact"] is True
    assert "demo model" in done.stderr
