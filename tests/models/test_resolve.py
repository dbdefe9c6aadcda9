"""From `--model` to a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.models.broken import gguf_bytes
from tui.errors import NoModel
from tui.models.demo import DEMO
from tui.models.resolve import resolve_model


def test_a_path_and_a_name_in_the_models_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    models = tmp_path / "models"
    models.mkdir()
    (models / "good.gguf").write_bytes(gguf_bytes())
    assert resolve_model(str(models / "good.gguf"), models) == models / "good.gguf"
    assert resolve_model("good.gguf", models) == resolve_model("good", models) == models / "good.gguf"
    monkeypatch.setenv("HOME", str(models))
    monkeypatch.setenv("USERPROFILE", str(models))
    assert resolve_model("~/good.gguf", tmp_path) == models / "good.gguf"


def test_the_demo_model_when_it_is_there(tmp_path: Path) -> None:
    with pytest.raises(NoModel, match="not on this machine yet"):
        resolve_model("demo", tmp_path)
    (tmp_path / DEMO.name).write_bytes(gguf_bytes())
    assert resolve_model("demo", tmp_path) == tmp_path / DEMO.name


def test_what_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "near.gguf").write_bytes(gguf_bytes())
    (tmp_path / "big.gguf.part").write_bytes(b"GGUF")
    with pytest.raises(NoModel, match="no model file") as caught:
        resolve_model(str(tmp_path / "far.gguf"), tmp_path)
    assert "near.gguf" in caught.value.remedy
    for name in ("big.gguf", "big.gguf.part"):
        with pytest.raises(NoModel, match="unfinished download"):
            resolve_model(str(tmp_path / name), tmp_path)
    with pytest.raises(NoModel, match="is a folder"):
        resolve_model(str(tmp_path), tmp_path / "models")
    with pytest.raises(NoModel, match="no model file"):
        resolve_model("~nobody-of-this-name/x.gguf", tmp_path)
