"""Prompt templates: Markdown files with a TOML head between `+++` lines and a jinja2 body.

The shipped ones are in `prompts/`; a file of the same name in the user's own prompts folder wins.
"""

from __future__ import annotations

import functools
import hashlib
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from tui.errors import LongscrollError, UsageProblem
from tui.paths import shipped
from tui.text import one_line

if TYPE_CHECKING:
    import jinja2

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")
_HEAD = re.compile(r"\+\+\+[ \t]*\n(.*?)^\+\+\+[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)


class Template(msgspec.Struct, frozen=True, kw_only=True):
    """One prompt template as it was read."""

    name: str
    body: str
    meta: dict[str, Any]
    """The TOML head: what the program needs to know beside the words, such as `system` or `temperature`."""
    digest: str
    """SHA-256 (hexadecimal) of head and body."""
    source: str
    """The file it came from, for messages."""

    def render(self, **values: Any) -> str:
        """The body with these values in it. UsageProblem when it asks for a value that there is not, or fails."""
        import jinja2

        try:
            return _compiled(self.body).render(values)
        except (jinja2.TemplateError, TypeError, ValueError, ArithmeticError, AttributeError, LookupError) as error:
            raise self._wrong(one_line(str(error), 300)) from error

    def text(self, key: str, default: str = "") -> str:
        """A text of the head; UsageProblem when it is something else."""
        value = self.meta.get(key, default)
        if not isinstance(value, str):
            raise self._wrong(f"`{key}` in its head must be a text")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts of the head, empty when it is not there."""
        value = self.meta.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
            raise self._wrong(f"`{key}` in its head must be a list of texts")
        return tuple(value)

    def number(self, key: str) -> float | None:
        """A number of the head that is not negative, None when it is not there."""
        value = self.meta.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
            raise self._wrong(f"`{key}` in its head must be a number that is not negative")
        return value

    def _wrong(self, reason: str) -> LongscrollError:
        return UsageProblem(f"The prompt template {self.source} cannot be used: {reason}.", "Mend it or remove it.")


def load_template(name: str, user_dir: Path | None) -> Template:
    """The template `name` from `user_dir` when there is such a file, else the shipped one.

    Raises UsageProblem: no such template, unreadable, a head that is not TOML, a body that is not jinja2.
    """
    if not _NAME.fullmatch(name):
        raise UsageProblem(
            f"`{one_line(name, 60)}` is not the name of a prompt template.",
            "Names are lower-case letters, digits, `-` and `_`.",
        )
    for folder in (user_dir, shipped("prompts")):
        path = folder / f"{name}.md" if folder is not None else None
        if path is not None and path.is_file():
            return _read(name, path)
    raise UsageProblem(
        f"There is no prompt template `{name}`.", f"There are: {', '.join(template_names(user_dir)) or 'none'}."
    )


def template_names(user_dir: Path | None) -> list[str]:
    """Names of all templates, shipped and the user's own, sorted."""
    folders = [folder for folder in (user_dir, shipped("prompts")) if folder is not None and folder.is_dir()]
    return sorted({path.stem for folder in folders for path in folder.glob("*.md") if _NAME.fullmatch(path.stem)})


def _read(name: str, path: Path) -> Template:
    import jinja2

    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageProblem(f"The prompt template {path} cannot be read ({error}).", "Mend or move it.") from error
    text = text.replace("\r\n", "\n")
    head, body = "", text
    if text.startswith("+++"):
        found = _HEAD.match(text)
        if found is None:
            raise UsageProblem(f"The head of the prompt template {path} has no end.", "End it with a line `+++`.")
        head, body = found[1], text[found.end() :]
    lines_before = text[: len(text) - len(body)].count("\n")
    try:
        meta = tomllib.loads(head)
    except tomllib.TOMLDecodeError as error:
        raise UsageProblem(f"The head of the prompt template {path} is not TOML: {error}.", "Mend it.") from error
    try:
        _compiled(body)
    except jinja2.TemplateSyntaxError as error:
        raise UsageProblem(
            f"The prompt template {path} is not right in line {error.lineno + lines_before}: {error.message}.",
            "Mend it or remove it.",
        ) from error
    digest = hashlib.sha256(f"{head}\x00{body}".encode()).hexdigest()
    return Template(name=name, body=body, meta=meta, digest=digest, source=str(path))


@functools.lru_cache(maxsize=64)
def _compiled(body: str) -> jinja2.Template:
    return _environment().from_string(body)


@functools.cache
def _environment() -> jinja2.Environment:
    import jinja2
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    return ImmutableSandboxedEnvironment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=False
    )
