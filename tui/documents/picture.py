"""Scans and photos of pages as files (PNG, JPEG, TIFF, …): read by OCR when that is asked for."""

from __future__ import annotations

from tui.documents.clean import without_forbidden
from tui.documents.model import Document, Span
from tui.documents.ocr import notes, recognizer_for
from tui.documents.options import ReadOptions
from tui.documents.pdf.lines import without_soft_ends
from tui.documents.pdf.mend import mend_pages, with_hyphen_marks
from tui.documents.refusal import Refusal
from tui.documents.tesseract import OcrFailed, read_picture


def read_picture_file(data: bytes, path: str, name: str, options: ReadOptions) -> Document:
    """The letters on a picture, each of its pages a page; `options.ocr` names the languages.

    Raises Refusal: there is no tesseract or no such language, it is no picture that tesseract reads, no text is on it.
    """
    engine, languages, note = recognizer_for(options.ocr, "", lambda: (data, 0))
    try:
        readings = read_picture(engine, languages, data, seconds=options.seconds)
    except OcrFailed as failure:
        raise Refusal(
            f"is a picture that could not be read by OCR ({failure}).", "Save it as PNG or TIFF."
        ) from failure
    read = dict(enumerate(readings, 1))
    if not any(reading.text for reading in readings):
        raise Refusal(
            f"is a picture on which OCR found no text (tesseract {engine.version}, {languages}).",
            "Scan it again upright and with a higher resolution, or name its language, such as --ocr=deu.",
        )
    spans: list[Span] = []
    parts: list[str] = []
    offset = 0
    for number, mended in enumerate(mend_pages([with_hyphen_marks(reading.text) for reading in readings]), 1):
        whole = f"{without_soft_ends(without_forbidden(mended)[0])}\n\n"
        spans.append(Span("page", str(number), number, offset, offset + len(whole)))
        parts.append(whole)
        offset += len(whole)
    said = tuple(notes(read, {}, f"tesseract {engine.version}, {languages}{note}"))
    return Document(
        path=path,
        name=name,
        # Its lines end where the paper ended, as those of a PDF do.
        kind="pdf",
        text="".join(parts),
        spans=tuple(spans),
        warnings=tuple(found.sentence() for found in said),
        page_notes=said,
    )
