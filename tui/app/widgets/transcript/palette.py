"""The colours of the transcript: one rich style per name, taken from the theme, and their combinations."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Final

from rich.style import Style

BOLD: Final = 1
ITALIC: Final = 2
STRIKE: Final = 4
CODE: Final = 8
LINK: Final = 16
MATH: Final = 32

NAMES: Final = (
    "text",
    "muted",
    "reasoning",
    "user",
    "user-bar",
    "assistant-bar",
    "note",
    "error",
    "error-bar",
    "h1",
    "h2",
    "h3",
    "quote",
    "bullet",
    "rule",
    "table-head",
    "inline-code",
    "math",
    "link",
    "code",
    "code-label",
    "code-keyword",
    "code-string",
    "code-number",
    "code-comment",
    "code-function",
    "code-class",
    "code-builtin",
    "code-operator",
    "code-tag",
    "code-error",
    "code-inserted",
    "code-deleted",
    "mark",
)
"""Every name a style is asked for by; as component classes they are `transcript--NAME`."""


class Palette:
    """Styles by name, and by name with inline flags. Complete styles: each has its background."""

    def __init__(self, styles: Mapping[str, Style]) -> None:
        missing = [name for name in NAMES if name not in styles]
        if missing:
            raise ValueError(f"no style for {', '.join(missing)}")
        self._styles = dict(styles)
        self._combined: dict[tuple[str, int], Style] = {}

    def __getitem__(self, name: str) -> Style:
        return self._styles[name]

    @cached_property
    def text(self) -> Style:
        return self._styles["text"]

    def inline(self, base: str, flags: int) -> Style:
        """The style of a stretch of text: `base` (`text`, `h1`, `quote`, …) with the flags BOLD to MATH."""
        if not flags:
            return self._styles[base]
        key = (base, flags)
        style = self._combined.get(key)
        if style is None:
            style = self._combined[key] = self._combine(base, flags)
        return style

    def _combine(self, base: str, flags: int) -> Style:
        style = self._styles[base]
        for flag, name in ((MATH, "math"), (CODE, "inline-code"), (LINK, "link")):
            if flags & flag:
                other = self._styles[name]
                # Only inline code brings its own background; a link inside a quote stays on the quote's.
                background = other.bgcolor if flag == CODE else None
                style = style + Style(
                    color=other.color,
                    bgcolor=background,
                    bold=other.bold,
                    italic=other.italic,
                    underline=other.underline,
                )
        return style + Style(
            bold=True if flags & BOLD else None,
            italic=True if flags & ITALIC else None,
            strike=True if flags & STRIKE else None,
        )


def plain_palette() -> Palette:
    """A palette without a theme: every style distinct and without colours of its own; for tests and benchmarks."""
    return Palette({name: Style.parse("bold" if name in ("h1", "h2", "h3") else "none") for name in NAMES})
