"""The house keeps its own rules: format, lint, types, import contracts, small files, nothing heavy imported early."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCES = sorted((ROOT / "tui").rglob("*.py"))


def run(*command: str) -> None:
    done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_format() -> None:
    run("ruff", "format", "--check", "--no-cache", ".")


def test_lint() -> None:
    run("ruff", "check", "--no-cache", ".")


def test_types() -> None:
    run("mypy", "--no-incremental", "--cache-dir", "/dev/null" if sys.platform != "win32" else "nul")


def test_floors() -> None:
    code = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_small_rooms(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 500


def loaded_by(statement: str) -> set[str]:
    code = f"import sys; {statement}; print('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    ("statement", "never"),
    [
        ("import tui.cli.main", {"textual", "httpx", "tiktoken", "pypdf", "pypdfium2", "sqlite3", "jinja2"}),
        ("import tui.context.runtime", {"textual", "pypdf", "pypdfium2"}),
        ("import tui.reading.summarize", {"textual", "pypdf", "pypdfium2"}),
        ("import tui.app.app", {"httpx", "tiktoken", "pypdf", "pypdfium2", "click", "jinja2"}),
    ],
)
def test_what_is_not_needed_is_not_imported(statement: str, never: set[str]) -> None:
    assert not loaded_by(statement) & never


def test_no_swallowed_exceptions_and_no_ignored_bytes() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in SOURCES
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if re.search(r"except\s*:|errors=[\"']ignore[\"']", line)
    ]
    assert not wrong
