"""What a person is told of a PDF: which pages were not read and why, and when there is nothing to read at all."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from tui.documents.model import PageNote
from tui.documents.pdf.engine import FEW, PageState, RawPage
from tui.documents.refusal import Refusal
from tui.documents.tesseract import INSTALL, is_there

# From this share of unreadable characters on, a page's text layer is called unusable.
UNUSABLE = 0.10
_HOPELESS = 0.50
_NO_MAP = "that cannot be decoded (fonts without a Unicode map); what was read is not what is printed"


def is_garbled(page: RawPage) -> bool:
    """Whether a page's text layer is unusable."""
    return page.characters >= FEW and page.unreadable >= UNUSABLE


def page_warnings(left: Sequence[RawPage], filled: Mapping[int, str], tried: Container[int]) -> list[PageNote]:
    """One note for each way in which pages were not read, naming the pages.

    `left` are the pages whose text is pdfium's; `filled` are form values and notes by page number; `tried` are the
    pages that OCR was to read, which says itself what came of it.
    """
    found = []

    def say(numbers: list[int], singular: str, plural: str, remedy: tuple[str, str] = ("", "")) -> None:
        if numbers:
            found.append(PageNote(tuple(numbers), f"{{}} {singular}{remedy[0]}.", f"{{}} {plural}{remedy[1]}."))

    def of_state(state: PageState) -> list[int]:
        return [page.number for page in left if page.state == state and page.number not in tried]

    def ocr(numbers: list[int]) -> tuple[str, str]:
        if not numbers or not is_there() or numbers[0] in tried:
            return "", ""
        return "; --ocr reads it", "; --ocr reads them"

    images, drawings = of_state("image"), of_state("drawing")
    say(images, "holds an image only and was not read", "hold images only and were not read", ocr(images))
    say(drawings, "holds a drawing only and was not read", "hold drawings only and were not read", ocr(drawings))
    empty = [page for page in left if page.state == "empty" and not filled.get(page.number)]
    say([page.number for page in empty if not page.has_content], "is blank", "are blank")
    say([page.number for page in empty if page.has_content], "holds no text", "hold no text")
    say(of_state("failed"), "is damaged and could not be read", "are damaged and could not be read")
    garbled = [page.number for page in left if is_garbled(page)]
    say(garbled, f"has a text layer {_NO_MAP}", f"have a text layer {_NO_MAP}", ocr(garbled))
    return found


def refuse_without_text(left: Sequence[RawPage], count: int, ocr_said: Sequence[str]) -> None:
    """Raise Refusal when no page of a document with `count` pages holds text that can be used.

    `left` are the pages that have no text but pdfium's; `ocr_said` is what OCR found to say, empty when it did not run.
    """
    if len(left) < count:
        return
    readable = [page for page in left if page.state == "text"]
    if readable:
        characters = sum(page.characters for page in readable)
        unreadable = sum(page.characters * page.unreadable for page in readable)
        if unreadable < _HOPELESS * characters:
            return
        reason = "has a text layer that cannot be decoded: its fonts carry no Unicode map."
        raise Refusal(_with(reason, ocr_said), _remedy(ocr_said))
    if any(page.state == "image" for page in left):
        all_of_them = "its page holds an image" if count == 1 else f"its {count} pages hold images"
        raise Refusal(_with(f"is a scan without text: {all_of_them} only.", ocr_said), _remedy(ocr_said))
    if any(page.state == "drawing" for page in left):
        raise Refusal(_with("holds drawings only, no text.", ocr_said), _remedy(ocr_said))
    raise Refusal("holds no text on any page.", "Give a file with text in it.")


def _with(reason: str, ocr_said: Sequence[str]) -> str:
    return " ".join((reason, *ocr_said))


def _remedy(ocr_said: Sequence[str]) -> str:
    if ocr_said:
        return "Scan it again with a higher resolution, or name its language, such as --ocr=deu."
    if is_there():
        return "Read it by OCR: --ocr, or --ocr=eng+deu to name its languages."
    return f"Read it by OCR (--ocr), which needs the program tesseract. {INSTALL}"
