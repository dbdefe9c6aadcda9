"""pdfium's side of a PDF: each page's raw text, what is on a page without text, labels, outline, attachments."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, Literal

import msgspec
import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from tui.documents.clean import name_safe, title_safe, unreadable_share
from tui.documents.pdf.mend import without_hyphen_marks
from tui.documents.pdf.turned import page_text

# Below this many characters a page counts as without text of its own (a scan often carries a page number).
FEW = 16
_IMAGE_SHARE = 0.35
# Up to here a text may be a stamp that an archive set on a scan: the same on many pages, over a page-filling image.
_STAMP = 400
_FILLING = 0.6
_STAMPED_PAGES = 3
_MANY_PATHS = 30
_DEPTH = 4
# A plan may hold millions of lines; by then it is plain what the page is.
_MOST_OBJECTS = 20_000
# Text annotations that a link or its pop-up window do not hold.
_PLAIN_ANNOTATIONS = frozenset({pdfium_c.FPDF_ANNOT_LINK, pdfium_c.FPDF_ANNOT_POPUP})
_XFA = frozenset({pdfium_c.FORMTYPE_XFA_FULL, pdfium_c.FORMTYPE_XFA_FOREGROUND})

_NUMBER = re.compile(r"\d+")

PageState = Literal["text", "image", "drawing", "empty", "failed"]


class RawPage(msgspec.Struct, frozen=True, kw_only=True):
    """One page as pdfium sees it. `text` still holds its line ends, hyphen marks and whatever the fonts gave."""

    number: int
    label: str
    state: PageState
    text: str = ""
    characters: int = 0
    """Without white space."""
    unreadable: float = 0.0
    annotated: bool = False
    """Whether the page carries form fields or notes."""
    has_content: bool = True
    """False for a page on which nothing at all is drawn."""
    image_fills: bool = False
    """Whether a page with little text is filled by an image."""


class Bookmark(msgspec.Struct, frozen=True):
    """An entry of the outline: its level (1 is the highest), its title, the page's number."""

    level: int
    title: str
    page: int


def read_pages(document: Any) -> list[RawPage]:
    """All pages in order; one that pdfium cannot load is there with state `failed`."""
    return _stamped([_read_page(document, index) for index in range(len(document))])


def bookmarks(document: Any) -> list[Bookmark]:
    """The outline's entries that point to a page and have a title."""
    found = []
    for entry in document.get_toc():
        destination = entry.get_dest()
        index = destination.get_index() if destination else None
        title = title_safe(entry.get_title())
        if title and index is not None and 0 <= index < len(document):
            found.append(Bookmark(entry.level + 1, title, index + 1))
    return found


def attachment_names(document: Any) -> list[str]:
    """Names of the files that are attached to the document."""
    return [name_safe(document.get_attachment(index).get_name()) for index in range(document.count_attachments())]


def has_xfa(document: Any) -> bool:
    """Whether the document's form is of the XFA kind, of which the pages hold only a stand-in."""
    return pdfium_c.FPDF_GetFormType(document) in _XFA


def _read_page(document: Any, index: int) -> RawPage:
    number = index + 1
    label = _label(document, index)
    try:
        page = document[index]
    except pdfium.PdfiumError:
        return RawPage(number=number, label=label, state="failed")
    try:
        text = page_text(page)
        characters = len("".join(text.split()))
        annotated = _annotated(page)
        state: PageState = "text"
        has_content = True
        filled = 0.0
        if characters < _STAMP:
            what, has_content, filled = _without_text(page, characters)
            if characters < FEW:
                state = what
        return RawPage(
            number=number,
            label=label,
            state=state,
            text=text,
            characters=characters,
            unreadable=unreadable_share(without_hyphen_marks(text)),
            annotated=annotated,
            has_content=has_content,
            image_fills=filled >= _FILLING,
        )
    except pdfium.PdfiumError:
        return RawPage(number=number, label=label, state="failed")
    finally:
        page.close()


def _label(document: Any, index: int) -> str:
    try:
        return title_safe(document.get_page_label(index)) or str(index + 1)
    except UnicodeDecodeError:
        return str(index + 1)


def _annotated(page: Any) -> bool:
    for index in range(pdfium_c.FPDFPage_GetAnnotCount(page)):
        annotation = pdfium_c.FPDFPage_GetAnnot(page, index)
        if not annotation:
            continue
        try:
            if pdfium_c.FPDFAnnot_GetSubtype(annotation) not in _PLAIN_ANNOTATIONS:
                return True
        finally:
            pdfium_c.FPDFPage_CloseAnnot(annotation)
    return False


def _stamped(found: list[RawPage]) -> list[RawPage]:
    """The same pages; a scan whose only text is a stamp that many pages carry is called a page of images."""
    stamps: Counter[str] = Counter(_stamp(page) for page in found if page.image_fills)
    return [
        msgspec.structs.replace(page, state="image")
        if page.image_fills and page.state == "text" and stamps[_stamp(page)] >= _STAMPED_PAGES
        else page
        for page in found
    ]


def _stamp(page: RawPage) -> str:
    """A page's text without its numbers, which count from page to page."""
    return " ".join(_NUMBER.sub("", page.text).split())


def _without_text(page: Any, characters: int) -> tuple[PageState, bool, float]:
    """What a page with hardly any text is instead, whether anything at all is on it, and the share that images fill."""
    width, height = page.get_size()
    area = max(1.0, width * height)
    images = paths = objects = 0
    covered = 0.0
    for found in itertools.islice(page.get_objects(max_depth=_DEPTH), _MOST_OBJECTS):
        objects += 1
        if found.type == pdfium_c.FPDF_PAGEOBJ_IMAGE:
            images += 1
            covered += _area(found)
        elif found.type == pdfium_c.FPDF_PAGEOBJ_PATH:
            paths += 1
    share = covered / area
    if share >= _IMAGE_SHARE:
        return "image", True, share
    if paths >= _MANY_PATHS and not characters:
        return "drawing", True, share
    if characters:
        return "text", True, share
    return ("image", True, share) if images else ("empty", objects > 0, share)


def _area(image: Any) -> float:
    """An image's area on the page, in square points; inside a form its bounds are in the form's own space."""
    left, bottom, right, top = image.get_bounds()
    area: float = abs((right - left) * (top - bottom))
    for form in _containers(image):
        matrix = form.get_matrix()
        area *= abs(matrix.a * matrix.d - matrix.b * matrix.c)
    return area


def _containers(found: Any) -> Iterator[Any]:
    while found.container is not None:
        found = found.container
        yield found
