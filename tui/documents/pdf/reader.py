"""The PDF reader: pages, their warnings, headings, form values and notes put together into one document."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pypdfium2 import PdfiumError

from tui.documents.boundaries import ends_sentence
from tui.documents.clean import pages
from tui.documents.limits import CallTimedOut, call_limit
from tui.documents.model import Document, Span
from tui.documents.options import ReadOptions
from tui.documents.pdf import engine
from tui.documents.pdf.mend import mend_pages
from tui.documents.pdf.opening import open_pdf
from tui.documents.pdf.opinion import Opinions, second_opinions
from tui.documents.pdf.outline import headings
from tui.documents.pdf.second import SecondReader, reason
from tui.documents.refusal import Refusal

if TYPE_CHECKING:
    from tui.documents.pdf.extras import Extras

# From this share of unreadable characters on, a page's text layer is called unusable.
UNUSABLE = 0.10
_HOPELESS = 0.50
_EXTRA_SECONDS = 6.0
_OCR = "Give it a text layer first (for example `ocrmypdf in.pdf out.pdf`) and read the result."


def read_pdf(data: bytes, path: str, name: str, options: ReadOptions) -> Document:
    """The text of all pages, each page's span ending in a line end (a blank line where a sentence ends too), with
    form values and notes after its text.

    Raises Refusal when the file cannot be opened (see `open_pdf`) or holds no usable text on any page.
    """
    opened = open_pdf(data, name, options.password or None)
    try:
        raw = engine.read_pages(opened.document)
        entries, outline_note = _outline(opened.document)
        attached = engine.attachment_names(opened.document)
        xfa = engine.has_xfa(opened.document)
    finally:
        opened.document.close()
    second = SecondReader(opened.data, opened.password)
    opinions = second_opinions(raw, second, UNUSABLE)
    extras, extra_warnings = _extras(raw, second)
    texts = mend_pages([opinions.texts.get(page.number, page.text) for page in raw])
    _refuse_without_text(raw, opinions, extras)
    spans, text = _joined(raw, texts, extras)
    attached += [name for found in extras.values() for name in found.attached]
    warnings = [*opened.warnings, *_page_warnings(raw, opinions, extras), *opinions.warnings, *extra_warnings]
    if outline_note:
        warnings.append(outline_note)
    if xfa:
        warnings.append("It holds an XFA form, whose own fields were not read; the pages hold a stand-in.")
    if attached:
        one = len(attached) == 1
        warnings.append(f"The attached {'file' if one else 'files'} {', '.join(attached)} {_was(one)} not read.")
    return Document(
        path=path,
        name=name,
        kind="pdf",
        text=text,
        spans=spans,
        headings=headings(entries, spans, text),
        warnings=tuple(warnings),
    )


def _outline(document: Any) -> tuple[list[engine.Bookmark], str]:
    try:
        return engine.bookmarks(document), ""
    except (PdfiumError, UnicodeDecodeError) as error:
        return [], f"Its outline could not be read ({reason(error)})."


def _extras(raw: Sequence[engine.RawPage], second: SecondReader) -> tuple[dict[int, Extras], list[str]]:
    """Form values and notes of the pages that carry any, by page number, and what could not be read of them."""
    found: dict[int, Extras] = {}
    failed: list[int] = []
    if not any(page.annotated for page in raw):
        return found, []
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
            extras = None
        if extras is None:
            failed.append(page.number)
        else:
            found[page.number] = extras
    if not failed:
        return found, []
    return found, [f"The form fields and notes of {pages(failed)[0]} could not be read."]


def _refuse_without_text(raw: Sequence[engine.RawPage], opinions: Opinions, extras: Mapping[int, Extras]) -> None:
    """Raise Refusal when no page holds text that can be used."""
    if opinions.texts or any(found.text() for found in extras.values()):
        return
    readable = [page for page in raw if page.state == "text"]
    if readable:
        characters = sum(page.characters for page in readable)
        unreadable = sum(page.characters * page.unreadable for page in readable)
        if unreadable >= _HOPELESS * characters:
            raise Refusal("has a text layer that cannot be decoded: its fonts carry no Unicode map.", _OCR)
        return
    images = [page.number for page in raw if page.state == "image"]
    if images:
        all_of_them = "its page holds an image" if len(raw) == 1 else f"its {len(raw)} pages hold images"
        raise Refusal(f"is a scan without text: {all_of_them} only.", _OCR)
    raise Refusal("holds no text on any page.", "Give a file with text in it, or give it a text layer first.")


def _joined(
    raw: Sequence[engine.RawPage], texts: Sequence[str], extras: Mapping[int, Extras]
) -> tuple[tuple[Span, ...], str]:
    """The document's text and the pages that tile it."""
    spans: list[Span] = []
    parts: list[str] = []
    offset = 0
    for page, text in zip(raw, texts, strict=True):
        more = extras[page.number].text() if page.number in extras else ""
        # A sentence that goes on over the page is not torn by a blank line.
        ended = more or ends_sentence(text[-40:])
        whole = "\n\n".join(filter(None, (text, more))) + ("\n\n" if ended else "\n")
        spans.append(Span("page", page.label, page.number, offset, offset + len(whole)))
        parts.append(whole)
        offset += len(whole)
    return tuple(spans), "".join(parts)


def _page_warnings(raw: Sequence[engine.RawPage], opinions: Opinions, extras: Mapping[int, Extras]) -> list[str]:
    """One sentence for each way in which pages were not read, naming the pages."""
    left = [page for page in raw if page.number not in opinions.texts]
    filled = {number for number, found in extras.items() if found.text()}
    found = []

    def say(numbers: list[int], singular: str, plural: str) -> None:
        if numbers:
            where, one = pages(numbers)
            found.append(f"{where} {singular if one else plural}")

    def of_state(state: engine.PageState) -> list[int]:
        return [page.number for page in left if page.state == state]

    say(of_state("image"), "holds an image only and was not read", "hold images only and were not read")
    say(of_state("drawing"), "holds a drawing only and was not read", "hold drawings only and were not read")
    say([n for n in of_state("empty") if n not in filled], "holds no text", "hold no text")
    say(of_state("failed"), "is damaged and could not be read", "are damaged and could not be read")
    garbled = [page.number for page in left if page.characters >= engine.FEW and page.unreadable >= UNUSABLE]
    say(
        garbled,
        "has a text layer that cannot be decoded (fonts without a Unicode map); what was read is not what is printed",
        "have a text layer that cannot be decoded (fonts without a Unicode map); what was read is not what is printed",
    )
    return found


def _was(one: bool) -> str:
    return "was" if one else "were"
