"""From what the user wrote after `--model` to a file."""

from __future__ import annotations

from pathlib import Path

from tui.errors import NoModel
from tui.models.demo import demo_path
from tui.models.gguf import open_file
from tui.text import one_line

_UNFINISHED = (".part", ".incomplete", ".crdownload", ".download", ".tmp", ".aria2")


def resolve_model(name: str, models_dir: Path) -> Path:
    """The model file that `name` means: `demo`, a path (`~` allowed), or a file's name in `models_dir`.

    Raises NoModel when there is none, or it cannot be opened. Fetching `demo` is `fetch_demo`'s part.
    """
    if name == "demo":
        path = demo_path(models_dir)
        if not path.is_file():
            raise NoModel("The demo model is not on this machine yet.", "Run `longscroll demo` once to fetch it.")
        return path
    path = _expand(name)
    if not path.exists():
        path = _by_name(name, models_dir) or path
    if path.name.lower().endswith(_UNFINISHED):
        raise NoModel(f"{one_line(str(path))} is an unfinished download.", "Finish the download first.")
    if not path.exists():
        raise _missing(path)
    open_file(path).close()
    return path


def _expand(name: str) -> Path:
    try:
        return Path(name).expanduser().absolute()
    except RuntimeError as error:  # ~someone who does not exist
        raise NoModel(
            f"There is no model file {one_line(name)} ({error}).", "Check the path given to --model."
        ) from error


def _by_name(name: str, models_dir: Path) -> Path | None:
    if Path(name).name != name:
        return None
    for candidate in (models_dir / name, models_dir / f"{name}.gguf"):
        if candidate.is_file():
            return candidate
    return None


def _missing(path: Path) -> NoModel:
    shown = one_line(str(path))
    for ending in _UNFINISHED:
        if path.with_name(path.name + ending).exists():
            return NoModel(f"{shown} is not there, only an unfinished download of it.", "Finish the download first.")
    beside: list[str] = []
    if path.parent.is_dir():
        beside = sorted(one_line(file.name) for file in path.parent.glob("*.gguf"))
    remedy = "Check the path given to --model."
    if beside:
        remedy += f" In that folder there are: {', '.join(beside[:5])}{', …' if len(beside) > 5 else ''}."
    return NoModel(f"There is no model file {shown}.", remedy)
