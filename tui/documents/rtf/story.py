"""A story of an RTF file (the body, a header, a note): paragraphs and tables become blocks."""

from __future__ import annotations

from tui.documents.blocks import Block, heading, item, lines, paragraph, table

_HEADING_LEVELS = 9


class Story:
    """Collects text; `kind` is `body`, `note`, `comment`, `box`, `header` or `footer`."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.author = ""
        self.label = ""
        """Of the list item that has begun."""
        self.after: list[Block] = []
        """Notes and boxes that come after the present paragraph or table."""
        self._blocks: list[Block] = []
        self._text: list[str] = []
        self._cell: list[Block] = []
        self._cells: list[str] = []
        self._rows: list[tuple[list[str], bool]] = []
        self._inner_cell: list[Block] = []
        self._inner_cells: list[str] = []
        self._inner_rows: list[list[str]] = []
        self._inner_tables: list[Block] = []

    def add(self, text: str) -> None:
        """Text of the present paragraph."""
        self._text.append(text)

    def end_paragraph(self, outline: int | None, depth: int, table_depth: int) -> None:
        """A paragraph ends; `table_depth` is 0 outside of tables, 2 and more in a table inside a cell."""
        block = self._formed(outline if table_depth == 0 else None, depth)
        if table_depth >= 2:
            self._inner_cell.append(block)
        elif table_depth == 1:
            self._end_inner_table()
            self._cell.append(block)
        else:
            self._end_table()
            self._blocks.append(block)
            self._flush_after()

    def end_cell(self, depth: int) -> None:
        """A cell of the outer table ends."""
        self._end_inner_table()
        self._cell.append(self._formed(None, depth))
        self._cells.append(lines(self._cell))
        self._cell = []

    def end_row(self, *, header: bool) -> None:
        """A row of the outer table ends."""
        if self._cells:
            self._rows.append((self._cells, header))
        self._cells = []

    def end_inner_cell(self, depth: int) -> None:
        """A cell of a table inside a cell ends."""
        self._inner_cell.append(self._formed(None, depth))
        self._inner_cells.append(lines(self._inner_cell))
        self._inner_cell = []

    def end_inner_row(self) -> None:
        """A row of a table inside a cell ends."""
        if self._inner_cells:
            self._inner_rows.append(self._inner_cells)
        self._inner_cells = []

    def finish(self) -> list[Block]:
        """All blocks; what was begun is ended."""
        if any(part.strip() for part in self._text) or self._cell:
            block = self._formed(None, 0)
            if self._cell or self._cells:
                self._cells.append(lines([*self._cell, block]))
                self._cell = []
            else:
                self._end_table()
                self._blocks.append(block)
        self.end_row(header=False)
        self._end_table()
        self._flush_after()
        return self._blocks

    def _formed(self, outline: int | None, depth: int) -> Block:
        text = "".join(self._text)
        label, self.label, self._text = self.label, "", []
        if not text.strip():
            return paragraph("")
        if outline is not None and 0 <= outline < _HEADING_LEVELS and self.kind == "body":
            return heading(f"{label} {text}" if label and label != "-" else text, outline + 1)
        return item(label, text, depth) if label else paragraph(text)

    def _end_inner_table(self) -> None:
        self.end_inner_row()
        if self._inner_rows:
            name = f"[table in this cell: {len(self._inner_tables) // 2 + 1}]"
            self._cell.append(paragraph(name))
            self._inner_tables += [paragraph(name), table(self._inner_rows, 0)]
        self._inner_rows = []

    def _end_table(self) -> None:
        if self._rows:
            headers = 0
            while headers < len(self._rows) and self._rows[headers][1]:
                headers += 1
            self._blocks.append(table([cells for cells, _ in self._rows], headers))
            self._blocks += self._inner_tables
            self._flush_after()
        self._rows, self._inner_tables = [], []

    def _flush_after(self) -> None:
        # A note's own notes come after it, not inside it.
        if self.kind == "body":
            self._blocks += self.after
            self.after = []
