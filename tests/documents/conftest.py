"""Fixtures for the tests of the readers."""

from __future__ import annotations

import pytest

from tui.documents import tesseract


@pytest.fixture
def no_tesseract(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine without the program."""
    monkeypatch.setattr(tesseract.shutil, "which", lambda name: None)
    monkeypatch.setattr(tesseract, "_bundled", lambda: ("", ""))
