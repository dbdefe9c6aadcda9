"""Selected text of the transcript: shown, and put together for the clipboard."""

from __future__ import annotations

import re

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.selection import Selection
from textual.strip import Strip

from tui.app.widgets.transcript.model import Section, Transcript
from tui.app.widgets.transcript.rows import Line


def highlighted(line: Line, span: tuple[int, int], style: Style) -> Strip:
    """The line with characters `span` (end -1: to the end) of its text in `style`."""
    start, end = span
    segments = list(line.strip)
    body = segments[line.lead : len(segments) - line.trail]
    shown = segments[: line.lead]
    at = 0
    for text, own, _control in body:
        low = min(max(start - at, 0), len(text))
        high = len(text) if end < 0 else min(max(end - at, low), len(text))
        base = own or Style()
        for part, part_style in ((text[:low], base), (text[low:high], base + style), (text[high:], base)):
            if part:
                shown.append(Segment(part, part_style))
        at += len(text)
    shown.extend(segments[len(segments) - line.trail :])
    return Strip(shown, line.strip.cell_length)


def word_at(line: Line, x: int) -> tuple[int, int]:
    """Start and end, in characters of the line's text, of the word at cell `x`; equal when there is none."""
    segments = list(line.strip)
    x -= sum(cell_len(segment.text) for segment in segments[: line.lead])
    text = line.text
    at = cells = 0
    while at < len(text) and cells + cell_len(text[at]) <= x:
        cells += cell_len(text[at])
        at += 1
    for match in re.finditer(r"[\w./:@%+~-]+|\S", text):
        if match.start() <= at < match.end():
            return match.start(), match.end()
    return 0, 0


def selected_text(page: Transcript, selection: Selection, line_bits: int) -> str:
    """What `selection` covers. Messages that lie wholly inside and are not drawn are given as their Markdown."""
    mask = (1 << line_bits) - 1
    start, end = selection
    first, first_line = (0, 0) if start is None else (start.y >> line_bits, start.y & mask)
    last, last_line = (len(page.sections) - 1, mask) if end is None else (end.y >> line_bits, end.y & mask)
    parts: list[str] = []
    for index in range(max(0, first), min(last, len(page.sections) - 1) + 1):
        section = page.sections[index]
        inside = first < index < last or (start is None and end is None)
        if inside and section.lines is None:
            parts.append(_as_source(section, index > 0))
            continue
        for number, line in enumerate(page.lines_of(section)):
            if index == first and number < first_line:
                continue
            if index == last and number > last_line:
                break
            if line.silent:
                continue
            text = line.text
            low = max(0, start.x) if start is not None and index == first and number == first_line else 0
            high = max(0, end.x) if end is not None and index == last and number == last_line else len(text)
            ends_here = end is not None and index == last and number == last_line
            parts.append(text[low:high] + ("" if ends_here else line.glue))
    return "".join(parts)


def _as_source(section: Section, apart: bool) -> str:
    return ("\n" if apart else "") + section.source.rstrip("\n") + "\n"
