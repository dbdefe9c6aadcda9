"""PDFs that loop, nest or swell: each ends within its limits, in a document or in a reason with a remedy."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from pypdf import PdfWriter
from pypdf.generic import ArrayObject, DictionaryObject, IndirectObject, NameObject, NumberObject, StreamObject

from tests.documents.pdfs import WORDS, edited, pages
from tui.documents.loader import read_document
from tui.documents.model import Document
from tui.errors import InputProblem


def names(**entries: object) -> DictionaryObject:
    return DictionaryObject({NameObject(f"/{key}"): value for key, value in entries.items()})


def draw(writer: PdfWriter, content: bytes, form: IndirectObject | None = None) -> None:
    """Page 1 with `content`, packed, and a form X in its resources."""
    stream = StreamObject()
    stream._data = zlib.compress(content, 9)
    stream[NameObject("/Filter")] = NameObject("/FlateDecode")
    page = writer.pages[0]
    page[NameObject("/Contents")] = writer._add_object(stream)
    if form is not None:
        page["/Resources"][NameObject("/XObject")] = names(X=form)  # type: ignore[index]  # a page just written


def form(writer: PdfWriter, content: bytes, inner: IndirectObject | None) -> IndirectObject:
    made = StreamObject()
    made.set_data(content)
    made.update(names(Type=NameObject("/XObject"), Subtype=NameObject("/Form")))
    made[NameObject("/BBox")] = ArrayObject(map(NumberObject, (0, 0, 600, 800)))
    reference = writer._add_object(made)
    made[NameObject("/Resources")] = names(XObject=names(X=inner or reference))
    return reference


def form_in_itself(writer: PdfWriter) -> None:
    draw(writer, b"/X Do", form(writer, b"/X Do /X Do /X Do", None))


def doubled_forms(writer: PdfWriter) -> None:
    inner = form(writer, b"BT /F1 5 Tf (ha) Tj ET", None)
    for _ in range(26):
        inner = form(writer, b"/X Do /X Do", inner)
    draw(writer, b"/X Do", inner)


def swelling_stream(writer: PdfWriter) -> None:
    draw(writer, b" " * 250_000_000)


def many_lines(writer: PdfWriter) -> None:
    draw(writer, b"0 0 m 1 1 l S " * 100_000)


def pages_in_themselves(writer: PdfWriter) -> None:
    root = writer.root_object["/Pages"]
    root["/Kids"].append(writer.root_object.raw_get("/Pages"))
    root[NameObject("/Count")] = NumberObject(2_000_000_000)


def outline_in_a_circle(writer: PdfWriter) -> None:
    entry = writer.add_outline_item(title="a", page_number=0)
    entry.get_object()[NameObject("/Next")] = entry
    entry.get_object()[NameObject("/First")] = entry


def field_in_itself(writer: PdfWriter) -> None:
    field = names(Type=NameObject("/Annot"), Subtype=NameObject("/Widget"), FT=NameObject("/Tx"))
    reference = writer._add_object(field)
    field[NameObject("/Parent")] = reference
    writer.pages[0][NameObject("/Annots")] = ArrayObject([reference] * 2_000)


def endless_page(writer: PdfWriter) -> None:
    writer.pages[0][NameObject("/MediaBox")] = ArrayObject(map(NumberObject, (0, 0, 2**31 - 1, 2**31 - 1)))
    draw(writer, b"0 0 m 1 1 l S " * 40)


READ = (pages_in_themselves, outline_in_a_circle, field_in_itself)
OTHERS = (form_in_itself, doubled_forms, swelling_stream, many_lines, endless_page)


async def outcome(tmp_path: Path, spoil: Callable[[PdfWriter], None], ocr: str = "") -> Document | InputProblem:
    file = tmp_path / "hostile.pdf"
    file.write_bytes(edited(pages([WORDS]), spoil))
    try:
        return await read_document(file, ocr=ocr, memory_mib=192, timeout_s=60, ocr_timeout_s=60)
    except InputProblem as problem:
        return problem


@pytest.mark.parametrize("spoil", READ)
async def test_what_goes_in_circles_is_read(tmp_path: Path, spoil: Callable[[PdfWriter], None]) -> None:
    document = await outcome(tmp_path, spoil)
    assert isinstance(document, Document)
    assert WORDS in document.text


@pytest.mark.parametrize("spoil", OTHERS)
async def test_what_swells_is_refused_or_named(tmp_path: Path, spoil: Callable[[PdfWriter], None]) -> None:
    found = await outcome(tmp_path, spoil)
    assert found.remedy if isinstance(found, InputProblem) else found.text


async def test_a_page_too_large_to_be_drawn_with_ocr(tmp_path: Path) -> None:
    problem = await outcome(tmp_path, endless_page, "auto")
    assert isinstance(problem, InputProblem)
    assert "too large to be drawn" in problem.what or "not installed" in problem.what
