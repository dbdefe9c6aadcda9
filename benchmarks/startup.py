"""Processor time until the screen is painted for the first time, and what was imported until then.

    python -m benchmarks.startup [--runs 5] [--imports]

Each run starts `longscroll --model demo` as a user does, in a pseudo-terminal of 120×40, with an empty home of its own,
and ends it when the first picture has been written to the terminal: before any model or server is touched. Printed is
processor time (user and system) of the whole process since its start, the interpreter included. Beside it the floor:
an empty app of the same toolkit with a header, an editor and a footer.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import pty
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SIZE = (120, 40)
HEAVY = ("httpx", "tiktoken", "pypdf", "pypdfium2", "jinja2", "pygments", "markdown_it", "numpy", "psutil", "msgspec")


def child(which: str, report: str) -> None:
    """Run the screen; when its first picture is out, write what it cost and end the process."""
    from textual.app import App

    display = App._display

    def first(self: App[object], screen: object, renderable: object) -> None:
        display(self, screen, renderable)  # type: ignore[arg-type]  # handed on as it came
        if renderable is None or (which == "longscroll" and not self.screen.query("Composer")):
            return
        cost = time.process_time()
        loaded = [name for name in HEAVY if name in sys.modules]
        Path(report).write_text(json.dumps({"cpu": cost, "modules": len(sys.modules), "heavy": loaded}))
        assert self._driver is not None
        self._driver.stop_application_mode()
        os._exit(0)

    App._display = first  # type: ignore[method-assign]  # the measurement's hook
    if which == "longscroll":
        sys.path.insert(0, str(ROOT))
        from tui.cli.main import main

        main(["--model", "demo"])
    else:
        from textual.widgets import Footer, Header, TextArea

        class Empty(App[None]):
            def compose(self):  # type: ignore[no-untyped-def]
                yield Header()
                yield TextArea()
                yield Footer()

        Empty().run()


def measure(which: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as home:
        report = Path(home) / "report.json"
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", SIZE[1], SIZE[0], 0, 0))
        env = {**os.environ, "LONGSCROLL_HOME": home, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
        command = [sys.executable, __file__, "--child", which, str(report)]
        process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=env, start_new_session=True)
        os.close(theirs)
        written: list[bytes] = []

        def drain() -> None:
            try:
                while data := os.read(ours, 65536):
                    written.append(data)
            except OSError:
                return  # the other end was closed: the process is over

        reader = threading.Thread(target=drain, daemon=True)
        reader.start()
        process.wait(timeout=120)
        reader.join(timeout=5)
        os.close(ours)
        if not report.exists():
            raise SystemExit(b"".join(written).decode(errors="replace"))
        found: dict[str, Any] = json.loads(report.read_text())
        return found


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--runs", type=int, default=5)
    options.add_argument("--imports", action="store_true", help="also list what the imports cost, dearest first")
    options.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.child:
        child(*chosen.child)
        return
    print("| screen | median | least | most | modules | heavy libraries among them |")
    print("| --- | ---: | ---: | ---: | ---: | --- |")
    for which, name in (("floor", "an empty app"), ("longscroll", "longscroll")):
        measure(which)  # fills the caches of the file system and of compiled modules
        runs = [measure(which) for _ in range(chosen.runs)]
        costs = sorted(run["cpu"] for run in runs)
        heavy = ", ".join(runs[0]["heavy"]) or "none"
        figures = f"{statistics.median(costs):.2f} s | {costs[0]:.2f} s | {costs[-1]:.2f} s | {runs[0]['modules']}"
        print(f"| {name} | {figures} | {heavy} |", flush=True)
    if chosen.imports:
        command = [sys.executable, "-X", "importtime", "-c", "import tui.cli.main, tui.cli.screen, tui.app.app"]
        done = subprocess.run(command, cwd=ROOT, stderr=subprocess.PIPE, text=True, check=True)
        lines = [line.removeprefix("import time:").split("|") for line in done.stderr.splitlines() if "|" in line]
        dear = sorted(((int(own), name.strip()) for own, _all, name in lines if own.strip().isdigit()), reverse=True)
        print("\n| module | its own import, ms of wall time |\n| --- | ---: |")
        for own, module in dear[:25]:
            print(f"| {module} | {own / 1000:.1f} |")


if __name__ == "__main__":
    main()
