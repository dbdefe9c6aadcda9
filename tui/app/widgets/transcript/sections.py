"""Long messages cut into sections, without parsing them: so that a very long one costs only what is looked at."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tui.app.widgets.transcript.blocks import Carry

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_GOES_ON = re.compile(r"\s|[-*+>|]|\d+[.)]\s")
"""A line that starts so may belong to the block before the blank line."""


def estimate_rows(text: str, width: int) -> int:
    """About how many rows `text` takes at `width` cells; cheap, and corrected once it is drawn."""
    if not text:
        return 0
    lines = text.count("\n") + 1
    # Prose: one row per started width. Wide characters take two cells each.
    cells = len(text) if text.isascii() else len(text) + sum(1 for _ in re.finditer("[\u2e80-\uffef]", text))
    return max(1, lines if cells < lines * width // 2 else lines // 2 + -(-cells // width))


def cut_plain(text: str, limit: int) -> Iterator[tuple[str, Carry]]:
    """Pieces of at least `limit` characters where the text has line ends, of exactly that where it has none."""
    start = 0
    while len(text) - start > 2 * limit:
        end = text.find("\n", start + limit, start + 2 * limit) + 1 or start + limit
        # A line end between two sections is a row's end already.
        yield text[start : end - 1] if text[end - 1] == "\n" else text[start:end], Carry()
        start = end
    yield text[start:], Carry()


def cut_markdown(text: str, limit: int) -> Iterator[tuple[str, Carry]]:
    """Pieces of about `limit` characters, cut where a block surely ends: after a blank line, not in a fence or list."""
    if len(text) <= 2 * limit:
        yield text, Carry()
        return
    start = at = 0
    fence = ""
    blank = False
    carry = Carry()
    for line in text.splitlines(keepends=True):
        if (
            not fence
            and blank
            and at - start >= limit
            and line.strip()
            and (not _GOES_ON.match(line) or at - start >= 8 * limit)
        ):
            yield text[start:at], carry
            start, carry = at, Carry("paragraph", "", 0, True)
        match = _FENCE.match(line)
        if match:
            mark = match.group(1)
            if not fence:
                fence = mark
            elif mark[0] == fence[0] and len(mark) >= len(fence) and not line[match.end() :].strip():
                fence = ""
        blank = not line.strip()
        at += len(line)
    yield text[start:], carry
