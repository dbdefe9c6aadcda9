"""Wrong usage in plain words on one line: what is wrong, what to do."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import rich_click as click

from tui.errors import UsageProblem
from tui.settings import MOST_CONTEXT

if TYPE_CHECKING:
    _Type = click.ParamType[Any]
else:  # a generic class in newer versions of click only
    _Type = click.ParamType


_FEWEST_WORDS, _MOST_WORDS = 10, 100_000


class Whole(_Type):
    """A whole number from `least` to `most`."""

    name = "integer"

    def __init__(self, least: int, most: int = MOST_CONTEXT) -> None:
        self.least = least
        self.most = most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            number = int(value)
        except ValueError:
            number = None
        if number is None or not self.least <= number <= self.most:
            raise UsageProblem(
                f"{_named(param)} cannot be {value}.", f"Give a whole number from {self.least:,} to {self.most:,}."
            )
        return number


class Temperature(_Type):
    """A sampling temperature: a number from 0 to 5."""

    name = "float"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not 0 <= number <= 5:  # also refuses nan
            raise UsageProblem(f"{_named(param)} cannot be {value}.", "Give a number from 0 to 5.")
        return number


class Length(_Type):
    """`short`, `medium`, `long`, or a number of words."""

    name = "length"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str | int:
        if value in ("short", "medium", "long"):
            return str(value)
        try:
            number = int(value)
        except ValueError:
            number = 0
        if not _FEWEST_WORDS <= number <= _MOST_WORDS:
            raise UsageProblem(
                f"{_named(param)} cannot be {value}.",
                f"Say short, medium or long, or a number of words from {_FEWEST_WORDS} to {_MOST_WORDS:,}.",
            )
        return number


class Words(_Type):
    """Text that is not blank: an empty word is what an unset variable in a script leaves behind."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        text = str(value)
        if not text.strip():
            raise UsageProblem(f"{_named(param)} is empty.", "Say what it should be.")
        return text


class Readable(_Type):
    """A path to read. Whether it exists is found out when it is read. `-` is standard input, where that is read."""

    name = "path"

    def __init__(self, *, standard_input: bool = False) -> None:
        self.standard_input = standard_input

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        text = str(value)
        if not text.strip():
            raise UsageProblem("A PATH is empty.", "Name a file or a folder (`.` is the current folder).")
        if text == "-" and not self.standard_input:
            raise UsageProblem(
                "`-` would be standard input, which is for the keyboard here.",
                "Give the path of a file (`./-` for one that is named `-`).",
            )
        return text


class Pages(_Type):
    """Pages such as `5-10,14`, as they were written."""

    name = "pages"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from tui.documents.selection import parse_pages

        parse_pages(str(value))
        return str(value)


class Encoding(_Type):
    """A text encoding by name."""

    name = "encoding"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from tui.documents.encodings import check_encoding

        check_encoding(str(value))
        return str(value)


class Languages(_Type):
    """Languages as tesseract names them, such as `eng+chi_sim`, or `auto`."""

    name = "languages"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not _LANGUAGES.fullmatch(str(value)):
            raise UsageProblem(
                f"{_named(param)} cannot be {value}.", "Name languages as tesseract does, such as eng+chi_sim, or none."
            )
        return str(value)


_LANGUAGES = re.compile(r"auto|[a-z]{3}(?:_[a-z]+)*(?:\+[a-z]{3}(?:_[a-z]+)*)*")


def with_ocr_value(args: Sequence[str]) -> list[str]:
    """The words of a command with `--ocr=auto` for an `--ocr` that no language follows.

    The parser itself would take the path after it for the language.
    """
    words = list(args)
    for index, word in enumerate(words):
        if word == "--":
            break
        if word == "--ocr" and not (index + 1 < len(words) and _LANGUAGES.fullmatch(words[index + 1])):
            words[index] = "--ocr=auto"
    return words


def in_one_line(error: click.ClickException) -> str:
    """What the option parser found wrong, as `what. what to do.`"""
    ctx = getattr(error, "ctx", None)
    command = ctx.command_path if ctx is not None else "longscroll"
    see = f"See `{command} --help`."
    param = getattr(error, "param", None)
    if isinstance(error, click.MissingParameter):
        if param is not None and param.param_type_name == "option":
            return f"{command} needs {_named(param)}. {see}"
        return f"{command} needs {'a' if param is None or param.nargs == 1 else 'at least one'} PATH. {see}"
    if isinstance(error, click.NoSuchOption):
        alike = error.possibilities or []
        hint = f"Did you mean {' or '.join(f'`{name}`' for name in alike[:3])}? " if alike else ""
        return f"{command} has no option `{error.option_name}`. {hint}{see}"
    if isinstance(error, click.BadParameter):
        return f"{_named(param)}: {_sentence(error.message)} {see}"
    return f"{_sentence(error.format_message())} {see}"


def _named(param: click.Parameter | None) -> str:
    """`--question` for an option, `PATH` for an argument."""
    if param is not None and param.param_type_name == "option":
        return max(param.opts, key=len)
    return "PATH"


def _sentence(text: str) -> str:
    text = text.strip()
    return text if text.endswith((".", "!", "?")) else f"{text}."
