"""The user's settings: one TOML file, every field optional, environment variables and options win over it."""

from __future__ import annotations

import difflib
import math
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from tui.errors import UsageProblem

MOST_CONTEXT = 2**24
"""Tokens of one conversation; a larger number is a slip of the hand."""


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """All settings. Options of the command line win over these; see docs/settings.md."""

    model: str = ""
    """Model to use when `--model` is not given: a path to a GGUF file, or `demo`."""
    llama_server: str = ""
    """Path of the llama-server binary, or `xllamacpp`; found by itself when empty."""
    server_url: str = ""
    """Address of a llama-server that already runs; none is started then."""
    ctx_size: int = 0
    """Context size of one conversation in tokens; 0 takes the model's own, at most 8,192."""
    parallel: int = 0
    """Slots; 0 lets each command choose."""
    reserve: int = 0
    """Tokens kept free for an answer; 0 takes 1,024 or a quarter of a small context."""
    temperature: float | None = None
    """Sampling temperature; the command's own choice when not set."""
    system_prompt: str = ""
    """System prompt of new conversations; the template `system` when empty."""
    server_args: list[str] = []
    """Further flags for llama-server, such as `["-ngl", "99"]`."""
    theme: str = "textual-dark"
    """Colour theme of the screen."""
    read_timeout_s: int = 20
    """Seconds one file may take to be read."""
    ocr_timeout_s: int = 3600
    """Seconds one file may take to be read with OCR."""
    read_memory_mib: int = 1536
    """Memory one file may take to be read, in MiB."""


def _whole(least: int, most: int, *, or_zero: bool = False) -> tuple[str, Callable[[Any], bool]]:
    words = f"{'0 or ' if or_zero else ''}a whole number from {least:,} to {most:,}"

    def allowed(value: Any) -> bool:
        return type(value) is int and (least <= value <= most or (or_zero and value == 0))

    return words, allowed


def _is_temperature(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value) and 0 <= value <= 5


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


_TEXT = ("a text in quotes", _is_text)
_ALLOWED: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "model": _TEXT,
    "llama_server": _TEXT,
    "server_url": _TEXT,
    "ctx_size": _whole(256, MOST_CONTEXT, or_zero=True),
    "parallel": _whole(0, 256),
    "reserve": _whole(0, MOST_CONTEXT),
    "temperature": ("a number from 0 to 5", _is_temperature),
    "system_prompt": _TEXT,
    "server_args": ('a list of texts, such as ["-ngl", "99"]', _is_texts),
    "theme": _TEXT,
    "read_timeout_s": _whole(1, 86_400),
    "ocr_timeout_s": _whole(1, 604_800),
    "read_memory_mib": _whole(64, 2**20),
}
"""For each field what it may be, in words and as a test."""


def load_settings(path: Path) -> Settings:
    """The settings in `path`, or the defaults when there is no such file.

    Raises UsageProblem that names the file and the field when it cannot be understood.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return Settings()
    except UnicodeDecodeError as error:
        raise UsageProblem(f"The settings file {path} is not UTF-8 text.", "Save it as UTF-8.") from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise UsageProblem(f"The settings file {path} cannot be read ({reason}).", "Mend or move the file.") from error
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageProblem(
            f"The settings file {path} is not TOML: {error}.",
            'A line is `name = value`, with texts in quotes: `model = "demo"`.',
        ) from error
    for name, value in values.items():
        _check(path, name, value)
    return msgspec.convert(values, Settings)


def _check(path: Path, name: str, value: Any) -> None:
    if name not in _ALLOWED:
        alike = difflib.get_close_matches(name, _ALLOWED, n=1)
        raise UsageProblem(
            f"The settings file {path} has a field `{name}`, which there is not.",
            f"Did you mean `{alike[0]}`?" if alike else f"The fields are {', '.join(_ALLOWED)}.",
        )
    words, allowed = _ALLOWED[name]
    if not allowed(value):
        raise UsageProblem(f"In the settings file {path}, `{name}` is {_shown(value)}.", f"It may be {words}.")


def _shown(value: Any) -> str:
    """The value about as it stands in the file, in short."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a table"
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else f"{text[:59]}…"


def default_reserve(context: int, setting: int = 0) -> int:
    """Tokens kept for an answer in a context of `context` tokens: the setting, else 1,024 or a quarter when small."""
    if setting:
        return min(setting, max(1, context - 1))
    return max(1, min(1024, context // 4))
