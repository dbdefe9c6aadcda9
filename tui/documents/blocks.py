"""From blocks (paragraphs, headings, list items, tables) to one text in the manner of Markdown, with exact offsets."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

import msgspec

from tui.documents.clean import title_safe, without_forbidden
from tui.documents.model import Heading, Table

BlockKind = Literal["paragraph", "heading", "item", "table"]
_MARKS = 6
_DEEPEST = 8
_BREAK = " <br> "
_SPACES = re.compile(r"[ \t]+(?=\n|\Z)")
_LINES = re.compile(r"\s*\n\s*")


class Block(msgspec.Struct, frozen=True):
    """One block. A paragraph's or an item's `text` may have several lines; a heading's is one line."""

    kind: BlockKind
    text: str = ""
    level: int = 0
    """Of a heading: 1 is the highest. Of an item: 0 is not indented."""
    rows: tuple[tuple[str, ...], ...] = ()
    """Of a table: the cells' texts, which may have several lines; rows may differ in length."""
    header_rows: int = 0


class Written(msgspec.Struct, frozen=True):
    """The text, and where its headings and tables are."""

    text: str
    headings: tuple[Heading, ...]
    tables: tuple[Table, ...]
    forbidden: int
    """Characters that no text may hold and that stand as U+FFFD now."""


def paragraph(text: str) -> Block:
    """A paragraph, without the white space around it and at the ends of its lines."""
    return Block("paragraph", _SPACES.sub("", text).strip("\n "))


def item(label: str, text: str, level: int) -> Block:
    """A list item: `label` (`-`, `1.`, `a)`) before its text, lines after the first one indented like it."""
    lead = "  " * min(level, _DEEPEST) + label + " "
    return Block("item", lead + _SPACES.sub("", text).strip().replace("\n", "\n" + " " * len(lead)), level)


def heading(text: str, level: int) -> Block:
    """A heading, on one line."""
    return Block("heading", " ".join(text.split()), level)


def table(rows: Sequence[Sequence[str]], header_rows: int) -> Block:
    """A table; `header_rows` of its first rows are its header."""
    return Block("table", rows=tuple(tuple(row) for row in rows), header_rows=header_rows)


def lines(blocks: Sequence[Block]) -> str:
    """The blocks as the lines of a cell or a note: no marks for headings, no blank lines."""
    return "\n".join(text for block in blocks if (text := _plain(block).strip()))


def write(blocks: Sequence[Block]) -> Written:
    """All blocks in order with a blank line between, none between items of a list; empty ones are left out."""
    parts: list[str] = []
    headings: list[Heading] = []
    tables: list[Table] = []
    place = 0
    before: Block | None = None
    for block in blocks:
        body, header = _body(block)
        if not body.strip():
            continue
        if before is not None:
            gap = "\n" if before.kind == block.kind == "item" else "\n\n"
            parts.append(gap)
            place += len(gap)
        if block.kind == "heading":
            headings.append(Heading(place, max(1, block.level), title_safe(block.text)))
        if block.kind == "table":
            # The line end after the last row is the table's; one follows every block.
            tables.append(Table(place, place + header, place + len(body) + 1))
        parts.append(body)
        place += len(body)
        before = block
    parts.append("\n" if parts else "")
    text, forbidden = without_forbidden("".join(parts))
    return Written(text, tuple(headings), tuple(tables), forbidden)


def _body(block: Block) -> tuple[str, int]:
    """A block's text and, for a table, how much of it is the header with its rule and line end."""
    if block.kind == "heading":
        return ("#" * min(max(1, block.level), _MARKS) + " " + block.text if block.text else ""), 0
    if block.kind == "table":
        return _rows(block)
    return block.text, 0


def _rows(block: Block) -> tuple[str, int]:
    width = max((len(row) for row in block.rows), default=0)
    if not any(cell.strip() for row in block.rows for cell in row):
        return "", 0
    rendered = [_row([*row, *[""] * (width - len(row))]) for row in block.rows]
    header = 0
    if 0 < block.header_rows < len(rendered):
        rendered.insert(block.header_rows, "|" + " --- |" * width)
        header = sum(len(row) + 1 for row in rendered[: block.header_rows + 1])
    return "\n".join(rendered), header


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell_line(cell) for cell in cells) + " |"


def cell_line(text: str) -> str:
    """A cell's text on one line of a table: its lines with `<br>` between, `|` written as `\\|`."""
    return _LINES.sub(_BREAK, text.strip()).replace("\t", " ").replace("|", "\\|")


def _plain(block: Block) -> str:
    return _rows(block)[0] if block.kind == "table" else block.text
