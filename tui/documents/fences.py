"""Fenced code blocks of Markdown-like text."""

from __future__ import annotations

import re

_FENCE = re.compile(r"(?:\A|(?<=\n))[ \t]*+(?:[>][ \t]?)*+(`{3,}+|~{3,}+)([^\n]*+)(?:\n|\Z)")


def fences(text: str) -> list[tuple[int, int]]:
    """Ranges of the fenced code blocks with their fences, in order; one that is never closed runs to the end."""
    if "```" not in text and "~~~" not in text:
        return []
    found: list[tuple[int, int]] = []
    opened = -1
    mark = ""
    for match in _FENCE.finditer(text):
        if opened < 0:
            if match[1][0] == "~" or "`" not in match[2]:
                opened, mark = match.start(), match[1]
        elif match[1][0] == mark[0] and len(match[1]) >= len(mark) and not match[2].strip():
            found.append((opened, match.end()))
            opened = -1
    if opened >= 0:
        found.append((opened, len(text)))
    return found
