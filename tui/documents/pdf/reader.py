"""The PDF reader: pages, their warnings, headings, form values and notes put together into one document."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pypdfium2 import PdfiumError

from tui.documents.boundaries import ends_sentence
from tui.documents.limits import CallTimedOut, call_limit
from tui.documents.model import Document, PageNote, Span
from tui.documents.options import ReadOptions
from tui.documents.pdf import engine
from tui.documents.pdf.lines import without_soft_ends
from tui.documents.pdf.mend import mend_pages, with_hyphen_marks, without_overprint
from tui.documents.pdf.opening import open_pdf
from tui.documents.pdf.opinion import Opinions, second_opinions
from tui.documents.pdf.outline import headings
from tui.documents.pdf.report import UNUSABLE, is_garbled, page_warnings, refuse_without_text
from tui.documents.pdf.scans import Scans, read_scans
from tui.documents.pdf.second import SecondReader, reason

if TYPE_CHECKING:
    from tui.documents.pdf.extras import Extras

_EXTRA_SECONDS = 6.0


def read_pdf(data: bytes, path: str, name: str, options: ReadOptions) -> Document:
    """The text of all pages, each page's span ending in a line end (a blank line where a sentence ends too), with
    form values and notes after its text. With `options.ocr` pages without usable text are read by OCR.

    Raises Refusal when the file cannot be opened (see `open_pdf`), holds no usable text on any page, or is to be read
    by an OCR that is not there.
    """
    opened = open_pdf(data, name, options.password or None)
    try:
        raw = engine.read_pages(opened.document)
        entries, outline_note = _outline(opened.document)
        attached = engine.attachment_names(opened.document)
        xfa = engine.has_xfa(opened.document)
        second = SecondReader(opened.data, opened.password)
        opinions = second_opinions(raw, second, UNUSABLE)
        scans = _scans(opened.document, raw, opinions, options.ocr)
    finally:
        opened.document.close()
    extras, extra_notes, late = _extras(raw, second)
    filled = {number: text for number, found in extras.items() if (text := found.text())}
    left = [page for page in raw if page.number not in opinions.texts and page.number not in scans.texts]
    refuse_without_text(
        [page for page in left if page.number not in filled], len(raw), [note.sentence() for note in scans.notes]
    )
    mended = mend_pages([_chosen(page, opinions, scans) for page in raw])
    texts = [without_soft_ends(text) for text in mended]
    spans, text = _joined(raw, texts, filled)
    attached += [name for found in extras.values() for name in found.attached]
    notes = [*page_warnings(left, filled, scans.tried), *opinions.notes, *scans.notes, *extra_notes]
    warnings = [
        *opened.warnings,
        *(note.sentence() for note in notes),
    ]
    if outline_note:
        warnings.append(outline_note)
    if xfa:
        warnings.append("It holds an XFA form, whose own fields were not read; the pages hold a stand-in.")
    if attached:
        one = len(attached) == 1
        verb = "was" if one else "were"
        warnings.append(f"The attached {'file' if one else 'files'} {', '.join(attached)} {verb} not read.")
    return Document(
        path=path,
        name=name,
        kind="pdf",
        text=text,
        spans=spans,
        headings=headings(entries, spans, text),
        warnings=tuple(warnings),
        page_notes=tuple(notes),
        hurried=opinions.hurried or late,
    )


def _scans(document: Any, raw: Sequence[engine.RawPage], opinions: Opinions, languages: str) -> Scans:
    """The pages that OCR is to read, read; nothing when it is not asked for or there are none."""
    wanted = [
        page.number
        for page in raw
        if page.number not in opinions.texts and (page.state in ("image", "drawing") or is_garbled(page))
    ]
    if not languages or not wanted:
        return Scans({})
    sound = (opinions.texts.get(page.number, page.text) for page in raw if page.number not in wanted)
    return read_scans(document, wanted, languages, "\n".join(sound))


def _chosen(page: engine.RawPage, opinions: Opinions, scans: Scans) -> str:
    """The text of a page that stands, with the marks that `mend_pages` understands."""
    if page.number in scans.texts:
        read = scans.texts[page.number]
        # A page number or a stamp is drawn as well, so OCR has mostly read it too.
        if is_garbled(page) or set(page.text.split()) <= set(read.split()):
            return with_hyphen_marks(read)
        return with_hyphen_marks(f"{page.text.rstrip()}\n\n{read}")
    if page.number in opinions.texts:
        return with_hyphen_marks(without_overprint(opinions.texts[page.number]))
    return page.text


def _outline(document: Any) -> tuple[list[engine.Bookmark], str]:
    try:
        return engine.bookmarks(document), ""
    except (PdfiumError, UnicodeDecodeError) as error:
        return [], f"Its outline could not be read ({reason(error)})."


def _extras(raw: Sequence[engine.RawPage], second: SecondReader) -> tuple[dict[int, Extras], list[PageNote], bool]:
    """Form values and notes of the pages that carry any, by page number, what could not be read of them, and whether
    that was for want of time."""
    found: dict[int, Extras] = {}
    failed: list[int] = []
    late = False
    if not any(page.annotated for page in raw):
        return found, [], False
    # Imported here, for it needs pypdf.
    from tui.documents.pdf.extras import extras_of

    end = time.monotonic() + _EXTRA_SECONDS
    for page in raw:
        if not page.annotated:
            continue
        try:
            with call_limit(max(0.001, end - time.monotonic())):
                extras, _ = second.on_page(page.number, extras_of)
        except CallTimedOut:
            extras, late = None, True
        if extras is None:
            failed.append(page.number)
        else:
            found[page.number] = extras
    if not failed:
        return found, [], False
    words = "The form fields and notes of {} could not be read."
    return found, [PageNote(tuple(failed), words, words)], late


def _joined(
    raw: Sequence[engine.RawPage], texts: Sequence[str], filled: Mapping[int, str]
) -> tuple[tuple[Span, ...], str]:
    """The document's text and the pages that tile it."""
    spans: list[Span] = []
    parts: list[str] = []
    offset = 0
    for page, text in zip(raw, texts, strict=True):
        more = filled.get(page.number, "")
        # A sentence that goes on over the page is not torn by a blank line.
        ended = more or ends_sentence(text[-40:])
        whole = "\n\n".join(filter(None, (text, more))) + ("\n\n" if ended else "\n")
        spans.append(Span("page", page.label, page.number, offset, offset + len(whole)))
        parts.append(whole)
        offset += len(whole)
    return tuple(spans), "".join(parts)
