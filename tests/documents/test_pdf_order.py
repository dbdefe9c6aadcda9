"""The PDF reader's word order: columns, pages and parts that are turned, tables that must stay rows."""

from __future__ import annotations

import math
import random
import re
import textwrap

import pytest
from pypdf import PdfWriter
from pypdf.generic import NameObject, NumberObject
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen.canvas import Canvas

from tests.documents.pdfs import canvas_bytes, edited, read

WIDTH, HEIGHT = A4
_SYLLABLES = ["ba", "ke", "lo", "mi", "nu", "pa", "re", "so", "ti", "vu", "da", "fe", "go", "hi", "ju"]


def prose(seed: int, words: int) -> str:
    """Words that occur once, in sentences, so that their order can be told."""
    chance = random.Random(seed)
    made: dict[str, None] = {}
    while len(made) < words:
        made["".join(chance.choices(_SYLLABLES, k=chance.randrange(2, 5)))] = None
    found = [f"{word}." if index % 11 == 10 else word for index, word in enumerate(made)]
    return " ".join(found)


def words_of(text: str) -> list[str]:
    return re.findall(r"[a-z]+", text.lower())


def turn(canvas: Canvas, angle: int) -> tuple[float, float]:
    """Turn the page's space by `angle` degrees, counted against the clock; returns its width and height then."""
    if angle == 90:
        canvas.translate(WIDTH, 0)
    elif angle == 180:
        canvas.translate(WIDTH, HEIGHT)
    elif angle == 270:
        canvas.translate(0, HEIGHT)
    canvas.rotate(angle)
    return (WIDTH, HEIGHT) if angle % 180 == 0 else (HEIGHT, WIDTH)


def in_columns(canvas: Canvas, count: int, size: tuple[float, float], *, by_rows: bool = False) -> str:
    """A title over the full width and `count` columns of prose; returns the text as it is to be read."""
    width, height = size
    canvas.setFont("Helvetica", 10)
    title = "the title stands over all columns and is as wide as the page"
    canvas.drawString(50, height - 50, title)
    column = (width - 100 - 20 * (count - 1)) / count
    lines = [textwrap.wrap(prose(seed, 150), int(column / 5.2))[:24] for seed in range(count)]
    places = [(row, index) for index in range(count) for row in range(len(lines[index]))]
    for row, index in sorted(places) if by_rows else places:
        if row < len(lines[index]):
            canvas.drawString(50 + index * (column + 20), height - 80 - 13 * row, lines[index][row])
    return " ".join([title, *(line for one in lines for line in one)])


def turned_pages(angle: int) -> object:
    def edit(writer: PdfWriter) -> None:
        for page in writer.pages:
            page[NameObject("/Rotate")] = NumberObject(angle)

    return edit


@pytest.mark.parametrize("by_rows", [False, True])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_columns_are_read_one_after_the_other(count: int, by_rows: bool) -> None:
    truth = []
    data = canvas_bytes(lambda canvas: truth.append(in_columns(canvas, count, A4, by_rows=by_rows)))
    assert words_of(read(data).text) == words_of(truth[0])


@pytest.mark.parametrize("drawn", [0, 90, 180, 270])
@pytest.mark.parametrize("shown", [0, 90, 180, 270])
@pytest.mark.parametrize("count", [1, 2])
def test_pages_that_are_turned(count: int, shown: int, drawn: int) -> None:
    truth = []
    data = canvas_bytes(lambda canvas: truth.append(in_columns(canvas, count, turn(canvas, drawn))))
    assert words_of(read(edited(data, turned_pages(shown))).text) == words_of(truth[0])


@pytest.mark.parametrize("angle", [90, -90, 180])
def test_a_table_that_lies_sideways_keeps_its_rows(angle: int) -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 10)
        for row, line in enumerate(textwrap.wrap(prose(1, 90), 80)):
            canvas.drawString(50, 790 - 13 * row, line)
        canvas.saveState()
        canvas.translate(300, 350)
        canvas.rotate(angle)
        for row in range(12):
            for cell in range(4):
                canvas.drawString(-150 + cell * 70, 120 - row * 15, f"cell{row}x{cell}")
        canvas.restoreState()

    text = read(canvas_bytes(draw)).text
    assert [word for word in words_of(text) if word not in ("cell", "x")] == words_of(prose(1, 90))
    for row in range(12):
        assert f"cell{row}x0 cell{row}x1 cell{row}x2 cell{row}x3" in text


def test_a_page_is_as_it_was_after_it_was_turned() -> None:
    import pypdfium2 as pdfium

    from tui.documents.pdf.turned import page_text

    document = pdfium.PdfDocument(canvas_bytes(lambda canvas: in_columns(canvas, 1, turn(canvas, 270)) and None))
    page = document[0]
    assert words_of(page_text(page)) == words_of(page_text(page))
    assert page.get_rotation() == 0
    document.close()


def test_slanted_words_lose_nothing() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 10)
        for index in range(12):
            canvas.saveState()
            canvas.translate(300 + 200 * math.cos(index), 420 + 200 * math.sin(index))
            canvas.rotate(index * 30)
            canvas.drawString(0, 0, f"label{index}")
            canvas.restoreState()

    letters = sorted("".join(read(canvas_bytes(draw)).text.split()))
    assert letters == sorted("".join(f"label{index}" for index in range(12)))


ROWS = {
    "figures": [("Revenue of the northern branch", "1,204,400 of 3,100,200"), ("Costs of all", "904,100 of 2,200,100")],
    "labels": [("Name of the insured", "Featherstone"), ("Colour", "white"), ("Make and model of it", "an old one")],
    "glossary": [
        ("pump", "a machine that lifts water out of a mine or a ship by pistons"),
        ("harbour", "a place in which ships lie sheltered from the waves and the wind"),
    ],
}


@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
def test_a_table_stays_in_rows(rows: list[tuple[str, str]]) -> None:
    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 10)
        for row in range(20):
            left, right = rows[row % len(rows)]
            canvas.drawString(60, 780 - 14 * row, left)
            canvas.drawString(320, 780 - 14 * row, right)

    lines = read(canvas_bytes(draw)).text.splitlines()
    assert lines[:20] == [" ".join(rows[row % len(rows)]) for row in range(20)]


def test_cells_of_several_lines_stay_in_their_rows() -> None:
    cells = [[textwrap.wrap(prose(10 * row + cell, 24), 34)[:3] for cell in range(2)] for row in range(5)]

    def draw(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 10)
        for row in range(5):
            for line in range(3):
                for cell in range(2):
                    canvas.drawString(60 + 250 * cell, 780 - 60 * row - 13 * line, cells[row][cell][line])

    words = words_of(read(canvas_bytes(draw)).text)
    first, second = (words_of(" ".join(cells[row][1])) for row in (0, 1))
    assert max(map(words.index, first)) < min(map(words.index, second))


def test_hyphens_at_the_ends_of_rows_in_columns() -> None:
    left = ["this is a line that is long enough", "and in its pur-", "suit of them it ends here at last"] * 4
    right = ["another one stands beside the left", "one and breaks a quick-", "ening of the same kind as before"] * 4

    def draw(canvas: Canvas) -> None:
        canvas.setFont("Courier", 10)
        for row in range(12):
            canvas.drawString(50, 780 - 13 * row, left[row])
            canvas.drawString(300, 780 - 13 * row, right[row])

    text = read(canvas_bytes(draw)).text
    assert text.index("this is a line") < text.rindex("ends here at last") < text.index("another one stands")
    assert "in its pursuit of them" in text
    assert "quickening of the same kind" in text
