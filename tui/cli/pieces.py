"""The table of `chunk`, fitted to the width that there is."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui.cli.output import Out
    from tui.documents.model import Chunk

_PIPED = 140
"""Screen cells of a line where no terminal says how many there are."""
_LEAST = 12
_MOST_BEGINS = 60
_GAP = 2
_LEVELS = " › "


def chunk_table(chunks: Sequence[Chunk], out: Out) -> None:
    """Print the chunks, one a line: headings and places are shortened to the width, the beginning takes the rest."""
    from rich.cells import cell_len

    from tui.cli.output import columns
    from tui.text import one_line

    paged = any(chunk.pages for chunk in chunks)
    of_files = any(chunk.files for chunk in chunks)
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else _PIPED
    titles = ("#", "START", "END", "TOKENS", "PAGES" if paged else "FILES AND LINES" if of_files else "LINES")
    rows = [
        [str(chunk.index), str(chunk.start), str(chunk.end), f"{chunk.tokens:,}", one_line(place(chunk))]
        for chunk in chunks
    ]
    headings = [one_line(chunk.heading) or "–" for chunk in chunks]
    widths = [max(cell_len(row[column]) for row in (titles, *rows)) for column in range(5)]
    left = max(2 * _LEAST, width - sum(widths[:4]) - 6 * _GAP)
    # Of what is left, a third at most for the place, and then two fifths for the heading.
    widths[4] = min(widths[4], max(_LEAST, left // 3))
    left -= widths[4]
    heading = min(max(cell_len(title) for title in ("HEADING", *headings)), max(_LEAST, left * 2 // 5))
    begins = min(_MOST_BEGINS, max(_LEAST, left - heading))
    cells: list[tuple[str, ...]] = [(*titles[:4], _end(titles[4], widths[4]), "HEADING", "BEGINS")]
    for row, title, chunk in zip(rows, headings, chunks, strict=True):
        start = one_line(" ".join(chunk.text[: 4 * _MOST_BEGINS].split()))
        cells.append((*row[:4], _middle(row[4], widths[4]), shortened(title, heading), _end(start, begins)))
    columns(out, cells, right=(0, 1, 2, 3))


def place(chunk: Chunk) -> str:
    """`3-5`: pages, or lines; in a source tree `src/a.py:3-9`, over several files `src/a.py:146 - src/c.py:105, +1`."""
    ends = chunk.pages or chunk.lines
    where = "–" if ends is None else str(ends[0]) if ends[0] == ends[1] else f"{ends[0]}-{ends[1]}"
    if not chunk.files:
        return where
    first, last, between = chunk.files[0], chunk.files[-1], len(chunk.files) - 2
    if first == last:
        return first if ends is None else f"{first}:{where}" if chunk.lines else f"{first} {where}"
    if chunk.lines is not None:
        first, last = f"{first}:{chunk.lines[0]}", f"{last}:{chunk.lines[1]}"
    return f"{first} - {last}{f', +{between}' if between else ''}"


def shortened(heading: str, cells: int) -> str:
    """A heading path in so many screen cells: its last levels as far as they fit, else the last, cut in its middle."""
    from rich.cells import cell_len

    if cell_len(heading) <= cells:
        return heading
    levels = heading.split(_LEVELS)
    for first in range(1, len(levels)):
        path = _LEVELS.join(("…", *levels[first:]))
        if cell_len(path) <= cells:
            return path
    return _middle(levels[-1], cells)


def _end(text: str, cells: int) -> str:
    from rich.cells import cell_len, set_cell_size

    return text if cell_len(text) <= cells else set_cell_size(text, cells - 1).rstrip() + "…"


def _middle(text: str, cells: int) -> str:
    from rich.cells import cell_len, set_cell_size

    if cell_len(text) <= cells:
        return text
    tail = ""
    for letter in reversed(text):
        if cell_len(letter + tail) > cells // 2:
            break
        tail = letter + tail
    return set_cell_size(text, cells - 1 - cell_len(tail)).rstrip() + "…" + tail.lstrip()
