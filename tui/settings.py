"""The user's settings: one TOML file, every field optional, environment variables and options win over it."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated

import msgspec

from tui.errors import UsageProblem

Positive = Annotated[int, msgspec.Meta(ge=1)]


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """All settings. Options of the command line win over these; see docs/settings.md."""

    model: str = ""
    """Model to use when `--model` is not given: a path to a GGUF file, or `demo`."""
    llama_server: str = ""
    """Path of the llama-server binary, or `xllamacpp`; found by itself when empty."""
    server_url: str = ""
    """Address of a llama-server that already runs; none is started then."""
    ctx_size: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Context size of one conversation in tokens; 0 takes the model's own, at most 8,192."""
    parallel: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Slots; 0 lets each command choose."""
    reserve: Annotated[int, msgspec.Meta(ge=0)] = 0
    """Tokens kept free for an answer; 0 takes 1,024 or a quarter of a small context."""
    temperature: Annotated[float, msgspec.Meta(ge=0, le=5)] | None = None
    """Sampling temperature; the command's own choice when not set."""
    system_prompt: str = ""
    """System prompt of new conversations; the template `system` when empty."""
    server_args: list[str] = []
    """Further flags for llama-server, such as `["-ngl", "99"]`."""
    theme: str = "textual-dark"
    """Colour theme of the screen."""
    read_timeout_s: Positive = 20
    """Seconds one file may take to be read."""
    read_memory_mib: Positive = 1536
    """Memory one file may take to be read, in MiB."""


def load_settings(path: Path) -> Settings:
    """The settings in `path`, or the defaults when there is no such file.

    Raises UsageProblem that names the file and the field when it cannot be understood.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return Settings()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageProblem(f"The settings file {path} cannot be read ({error}).", "Mend or move the file.") from error
    try:
        return msgspec.convert(tomllib.loads(text), Settings)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise UsageProblem(f"The settings file {path} is not right: {error}.", "Mend the line or remove it.") from error


def default_reserve(context: int, setting: int = 0) -> int:
    """Tokens kept for an answer in a context of `context` tokens: the setting, else 1,024 or a quarter when small."""
    if setting:
        return min(setting, max(1, context - 1))
    return max(1, min(1024, context // 4))
