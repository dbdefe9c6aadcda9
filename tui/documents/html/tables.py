"""Tables as `|` rows. A table that only arranges a page is told apart and read as the page's text."""

from __future__ import annotations

import msgspec
from selectolax.lexbor import LexborNode

from tui.documents.html.inline import Inline
from tui.documents.html.nodes import SKIP, UNSEEN, Attributes, Leave, Skip, hides, walk

_ARRANGED = frozenset(
    [
        "table",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "pre",
        "hr",
        "form",
        "blockquote",
        "iframe",
        "article",
        "section",
        "header",
        "footer",
        "nav",
        "main",
        "aside",
        "dl",
    ]
)
_BLOCKS = frozenset(
    [
        "p",
        "div",
        "ul",
        "ol",
        "dl",
        "dt",
        "dd",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "pre",
        "blockquote",
        "section",
        "article",
        "figure",
        "figcaption",
        "address",
        "hr",
        "form",
        "center",
        "fieldset",
        "legend",
        "details",
        "summary",
        "header",
        "footer",
        "main",
        "nav",
        "aside",
        "caption",
    ]
)
_MANY_PARAGRAPHS = 3
_MANY_SPANS = 100
"""Cells that reach over several rows at once; more are a trap, not a table."""
_REPEATED = 80
"""Characters of a cell that is said again in each row it reaches over."""
_HEADER_ROWS = 3
_MOST_COLUMNS = 1000


class Cell(msgspec.Struct, frozen=True):
    """One cell. `columns` and `rows`: how far it reaches, at least 1."""

    text: str
    header: bool
    columns: int
    rows: int


class Row(msgspec.Struct):
    """One row as it stands in the source."""

    cells: list[Cell]
    head: bool
    """Inside `<thead>`."""


class TableText(msgspec.Struct, frozen=True):
    """A table ready to be written. `header` is empty where the table has none."""

    captions: list[str]
    header: str
    rows: list[str]
    columns: int


class _Looking:
    """What is in a table, not in the tables inside it."""

    def __init__(self) -> None:
        self.data = False
        self.arranged = False
        self.cells = 0
        self.whole_row = False
        """Whether a table inside takes a row of this one for itself, as boxes at the end of a page are made."""
        self._paragraphs = 0
        self._row_cells = 0
        self._row_holds_table = False

    def text(self, text: str) -> None:
        return

    def enter(self, node: LexborNode, tag: str) -> Leave | Skip | None:
        if tag == "tr":
            self._row_cells, self._row_holds_table = 0, False
            return self._row_end
        if tag in ("td", "th"):
            self.cells += 1
            self._row_cells += 1
            self._paragraphs = 0
        if tag in ("th", "thead", "caption", "colgroup"):
            self.data = True
        elif tag in _ARRANGED:
            self.arranged = True
        elif tag == "p":
            self._paragraphs += 1
            self.arranged |= self._paragraphs >= _MANY_PARAGRAPHS
        self._row_holds_table |= tag == "table"
        return SKIP if tag == "table" or tag in UNSEEN else None

    def _row_end(self) -> None:
        self.whole_row |= self._row_holds_table and self._row_cells == 1


def arranges_only(node: LexborNode, attributes: Attributes) -> bool:
    """Whether a table has no data of its own: it says so, has one cell, or holds what no cell of a table holds."""
    if (attributes.get("role") or "").lower() in ("presentation", "none"):
        return True
    looking = _Looking()
    walk(node, looking)
    if looking.cells <= 1 or looking.whole_row:
        return True
    return not looking.data and looking.arranged


class _Cells:
    """Gathers the rows of a table. A table inside a cell becomes part of the cell's text."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.captions: list[str] = []
        self.hidden: list[LexborNode] = []
        self._inline = Inline()
        self._heads = 0
        self._inside = 0

    def text(self, text: str) -> None:
        self._inline.text(text)

    def enter(self, node: LexborNode, tag: str) -> Leave | Skip | None:
        attributes = node.attributes
        if tag in UNSEEN:
            return SKIP
        if hides(tag, attributes):
            self.hidden.append(node)
            return SKIP
        if tag in ("td", "th"):
            return self._cell(tag, attributes)
        if tag == "tr":
            if self._inside:
                return lambda: self._inline.separate(";")
            self.rows.append(Row([], self._heads > 0))
        elif tag == "thead":
            self._heads += not self._inside
            return self._head_end
        elif tag == "caption" and not self._inside:
            self._inline.take()
            return self._caption_end
        elif tag == "li":
            self._inline.separate(";")
        elif tag in ("br", "table") or tag in _BLOCKS:
            self._inline.space()
            return self._inline.space
        else:
            return self._inline.enter(node, tag, attributes)
        return None

    def _cell(self, tag: str, attributes: Attributes) -> Leave:
        if self._inside:
            self._inside += 1
            return self._inner_end
        self._inside += 1
        self._inline.take()

        def end() -> None:
            self._inside -= 1
            if not self.rows:
                self.rows.append(Row([], False))
            text = " ".join(line for line in self._inline.take() if line)
            columns, rows = _span(attributes, "colspan", _MOST_COLUMNS), _span(attributes, "rowspan", 65534)
            self.rows[-1].cells.append(Cell(text.replace("|", r"\|").rstrip(";,"), tag == "th", columns, rows))

        return end

    def _inner_end(self) -> None:
        self._inside -= 1
        self._inline.separate(",")

    def _head_end(self) -> None:
        self._heads -= not self._inside

    def _caption_end(self) -> None:
        self.captions.extend(line for line in self._inline.take() if line)


def table_text(node: LexborNode) -> tuple[TableText, list[LexborNode]]:
    """The table below `node`, and the parts of it that hide themselves.

    A cell over several columns stands in the first of them; one over several rows is said again in each when it is
    short. Several header rows become one: `2023 Sales`. Without `<thead>` the first rows are the header when they
    hold two or more `<th>` and nothing else.
    """
    cells = _Cells()
    walk(node, cells)
    rows = [row for row in cells.rows if row.cells]
    heads = _header_rows(rows)
    grid = _grid(rows, heads)
    body = [row for row in grid[heads:] if any(row)]
    header = _joined(grid[:heads])
    width = max((len(row) for row in body), default=0) if header else 0
    if header and len(header) < width <= _MANY_SPANS:
        header += [""] * (width - len(header))
    shown = _row(header) if any(header) else ""
    return TableText(cells.captions, shown, [_row(row) for row in body], len(header)), cells.hidden


def _span(attributes: Attributes, name: str, most: int) -> int:
    value = (attributes.get(name) or "1").strip()
    if not value.isascii() or not value.isdigit():
        return 1
    # Nought means "to the end of the group"; more digits than this are beyond any limit.
    return max(1, min(most, int(value[:9])))


def _header_rows(rows: list[Row]) -> int:
    count = 0
    while count < len(rows) and rows[count].head:
        count += 1
    if count:
        return count if count <= _HEADER_ROWS else 1
    while count < min(_HEADER_ROWS, len(rows)):
        cells = rows[count].cells
        if not all(cell.header for cell in cells) or (len(cells) < 2 and not count):
            break
        count += 1
    # A table of nothing but `<th>` has rows, not headers.
    return count if count < len(rows) else min(1, count)


def _grid(rows: list[Row], heads: int) -> list[list[str]]:
    """Rows of cells at their columns; columns in which no cell begins do not count."""
    placed: list[list[tuple[int, str, int]]] = []
    # (first column, columns, rows left, text) of cells that reach down from above
    above: list[tuple[int, int, int, str]] = []
    for index, row in enumerate(rows):
        taken = sorted(above)
        line = [(column, text, columns) for column, columns, _, text in taken]
        at, next_taken = 0, 0
        new: list[tuple[int, int, int, str]] = []
        for cell in row.cells:
            while next_taken < len(taken) and taken[next_taken][0] <= at:
                at = max(at, taken[next_taken][0] + taken[next_taken][1])
                next_taken += 1
            line.append((at, cell.text, cell.columns))
            if cell.rows > 1 and len(above) + len(new) < _MANY_SPANS:
                # Header rows are joined column by column, where once is enough.
                said = cell.text if len(cell.text) <= _REPEATED and index >= heads else ""
                new.append((at, cell.columns, cell.rows, said))
            at += cell.columns
        placed.append(sorted(line))
        above = [(column, columns, left - 1, text) for column, columns, left, text in above + new if left > 1]
        if index + 1 == heads:
            above = []
    columns = {column: index for index, column in enumerate(sorted({place for row in placed for place, _, _ in row}))}
    return [_filled(row, columns, spread=index < heads) for index, row in enumerate(placed)]


def _filled(row: list[tuple[int, str, int]], columns: dict[int, int], *, spread: bool) -> list[str]:
    """The cells of a row in order, empty ones between; in a header a cell counts for all columns it reaches over."""
    cells: list[str] = []
    for place, text, width in row:
        index = columns[place]
        cells.extend([""] * (index - len(cells)))
        if index < len(cells):
            # Two cells at one place, which only a broken table has: both are kept.
            cells[index] = f"{cells[index]} {text}".strip()
        else:
            cells.append(text)
        if spread and width > 1 and text:
            covered = sum(1 for column in range(place + 1, place + width) if column in columns)
            cells.extend([text] * covered)
    while cells and not cells[-1]:
        cells.pop()
    return cells


def _joined(rows: list[list[str]]) -> list[str]:
    """Several header rows as one: what stands above each other."""
    width = max((len(row) for row in rows), default=0)
    columns = ([row[index] for row in rows if index < len(row) and row[index]] for index in range(width))
    return [" ".join(column) for column in columns]


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
