"""PDFs that the tests write themselves, each with one property that a reader must cope with."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence

import pytest
from pypdf import PdfReader, PdfWriter
from pypdf.generic import NameObject, StreamObject
from reportlab.lib.pagesizes import A4
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas

from tui.documents.model import Document
from tui.documents.options import ReadOptions
from tui.documents.pdf.reader import read_pdf
from tui.documents.refusal import Refusal

WORDS = "The quick brown fox jumps over the lazy dog while the old pump runs on and on through the night."


def read(data: bytes, password: str | None = None, ocr: str = "") -> Document:
    """The document, its pages checked to tile the text."""
    document = read_pdf(data, "folder/a.pdf", "a.pdf", ReadOptions(password=password or "", ocr=ocr))
    place = 0
    for span in document.spans:
        assert span.start == place < span.end
        place = span.end
    assert place == len(document.text)
    return document


def page_text(document: Document, number: int) -> str:
    span = document.spans[number - 1]
    return document.text[span.start : span.end]


def refusal(data: bytes, name: str = "a.pdf", password: str | None = None, ocr: str = "") -> Refusal:
    with pytest.raises(Refusal) as caught:
        read_pdf(data, name, name, ReadOptions(password=password or "", ocr=ocr))
    assert caught.value.remedy
    return caught.value


def canvas_bytes(draw: Callable[[Canvas], None], **options: object) -> bytes:
    target = io.BytesIO()
    canvas = Canvas(target, pagesize=A4, **options)
    draw(canvas)
    canvas.save()
    return target.getvalue()


def text_page(canvas: Canvas, lines: Sequence[str], font: str = "Helvetica", size: int = 11) -> None:
    body = canvas.beginText(60, A4[1] - 60)
    body.setFont(font, size)
    for line in lines:
        body.textLine(line)
    canvas.drawText(body)


def pages(*texts: Sequence[str]) -> bytes:
    def draw(canvas: Canvas) -> None:
        for lines in texts:
            text_page(canvas, lines)
            canvas.showPage()

    return canvas_bytes(draw)


def chinese(*texts: Sequence[str]) -> bytes:
    """Text in a font that is not embedded, by a predefined character map."""
    pdfmetrics.registerFont(UnicodeCIDFont("STSong-Light"))

    def draw(canvas: Canvas) -> None:
        for lines in texts:
            text_page(canvas, lines, "STSong-Light")
            canvas.showPage()

    return canvas_bytes(draw)


def image_page(canvas: Canvas, *, share: float = 1.0) -> None:
    from PIL import Image
    from reportlab.lib.utils import ImageReader

    canvas.drawImage(ImageReader(Image.new("L", (40, 60), 200)), 0, 0, width=A4[0] * share, height=A4[1] * share)


def with_bad_stream(data: bytes, number: int, *, after: int) -> bytes:
    """Page `number` (1-based) with its content replaced by garbage from byte `after` on."""
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(data)))
    page = writer.pages[number - 1]
    contents = page.get_contents()
    assert contents is not None
    stream = StreamObject()
    stream.set_data(contents.get_data()[:after] + b"\n" + b"\x00" * 400 + b"} ) > ]] ET garbage")
    page[NameObject("/Contents")] = writer._add_object(stream)
    return written(writer)


_NOWHERE = b"""/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /Nowhere def /CMapType 2 def
1 begincodespacerange <00> <FF> endcodespacerange
1 beginbfrange <00> <FF> <E000> endbfrange
endcmap CMapName currentdict /CMap defineresource pop end end"""


def undecodable(*texts: Sequence[str]) -> bytes:
    """Pages whose font maps every letter into the private use area, as fonts without a Unicode map come out."""
    import reportlab

    pdfmetrics.registerFont(TTFont("Vera", f"{reportlab.__path__[0]}/fonts/Vera.ttf"))

    def draw(canvas: Canvas) -> None:
        for lines in texts:
            text_page(canvas, lines, "Vera")
            canvas.showPage()

    def edit(writer: PdfWriter) -> None:
        for page in writer.pages:
            for font in page["/Resources"]["/Font"].values():  # type: ignore[index]  # a page that was just written
                if "/ToUnicode" in font.get_object():
                    stream = StreamObject()
                    stream.set_data(_NOWHERE)
                    font.get_object()[NameObject("/ToUnicode")] = writer._add_object(stream)

    return edited(canvas_bytes(draw), edit)


def written(writer: PdfWriter) -> bytes:
    target = io.BytesIO()
    writer.write(target)
    return target.getvalue()


def edited(data: bytes, edit: Callable[[PdfWriter], None]) -> bytes:
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(data)))
    edit(writer)
    return written(writer)
