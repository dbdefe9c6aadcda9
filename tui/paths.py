"""Where longscroll keeps its state, its cache and its settings, and where its own data files are."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from tui.errors import StorageProblem

_APP = "longscroll"
_PACKAGE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Paths:
    """The folders of one installation. Nothing is created until `ensure` is called."""

    config: Path
    state: Path
    cache: Path

    @property
    def settings_file(self) -> Path:
        return self.config / "settings.toml"

    @property
    def prompts(self) -> Path:
        """The user's own prompt templates; a file here wins over the shipped one of the same name."""
        return self.config / "prompts"

    @property
    def database(self) -> Path:
        return self.state / "longscroll.db"

    @property
    def slots(self) -> Path:
        """Slot files and their manifests; given to llama-server as `--slot-save-path`."""
        return self.state / "slots"

    @property
    def logs(self) -> Path:
        return self.state / "logs"

    @property
    def models(self) -> Path:
        return self.cache / "models"


def get_paths(env: Mapping[str, str] = os.environ) -> Paths:
    """The folders for this environment: under `LONGSCROLL_HOME` when set, else where the platform keeps such things."""
    home = env.get("LONGSCROLL_HOME", "").strip()
    if home:
        root = Path(home).expanduser().absolute()
        return Paths(root / "config", root / "state", root / "cache")
    dirs = platformdirs.PlatformDirs(_APP, appauthor=False)
    return Paths(dirs.user_config_path, dirs.user_state_path, dirs.user_cache_path)


def ensure(folder: Path) -> Path:
    """Create `folder` (0700 when new) and return it.

    Raises StorageProblem when it cannot be created: a read-only home, a file in its place, a full disk.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise cannot_write(folder, error) from error
    return folder


def cannot_write(path: Path, error: OSError) -> StorageProblem:
    """The sentence for a path that could not be written."""
    reason = error.strerror or str(error)
    return StorageProblem(
        f"{path} cannot be written ({reason}).",
        "Free some space or set LONGSCROLL_HOME to a folder you can write to.",
    )


def shipped(kind: str) -> Path:
    """The folder of data files of one kind (`prompts`, `sessions`), from a wheel or from a checkout."""
    installed = _PACKAGE / "_data" / kind
    if installed.is_dir():
        return installed
    return _PACKAGE.parent / kind
