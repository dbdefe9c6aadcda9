"""Opening a PDF: passwords, files that only one of the two engines opens, and why a file is refused."""

from __future__ import annotations

from typing import Any

import msgspec
import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from tui.documents.kinds import is_html, is_pdf, known_format
from tui.documents.pdf.second import SecondReader
from tui.documents.refusal import Refusal

_AGAIN = "Fetch the file again, or open it in a PDF viewer and save it anew."


class Opened(msgspec.Struct, frozen=True):
    """An open document; pdfium reads from `data`, which is the file itself or its decrypted copy."""

    document: Any
    data: bytes
    password: str | None
    warnings: tuple[str, ...] = ()


def open_pdf(data: bytes, name: str, password: str | None) -> Opened:
    """Open `data` with pdfium, if need be through pypdf's decryption.

    Raises Refusal: not a PDF (a web page is named as such), cut off, damaged, without pages, password missing or wrong.
    """
    try:
        opened = Opened(pdfium.PdfDocument(data, password=password), data, password)
    except pdfium.PdfiumError as error:
        return _by_other_ways(data, name, password, asks_password=error.err_code == pdfium_c.FPDF_ERR_PASSWORD)
    if _cut_off(data):
        note = "The end of the file is missing, so it may have been cut off and pages may be missing."
        return msgspec.structs.replace(opened, warnings=(note,))
    return opened


def _by_other_ways(data: bytes, name: str, password: str | None, *, asks_password: bool) -> Opened:
    if not is_pdf(data):
        raise _not_a_pdf(data, name)
    second = SecondReader(data, password)
    pages = second.page_count()
    if second.locked:
        raise _locked(password)
    if pages == 0:
        raise Refusal("is a PDF without pages.", _AGAIN)
    if pages is not None and not (_cut_off(data) and not asks_password):
        # A blank owner password, or a structure that pdfium refuses: pypdf writes it anew and pdfium reads that.
        copy, reason = second.rewritten()
        if copy is None:
            raise Refusal(f"is a damaged PDF ({reason}).", _AGAIN)
        try:
            document = pdfium.PdfDocument(copy)
        except pdfium.PdfiumError as error:
            raise Refusal(f"is a damaged PDF ({error}).", _AGAIN) from error
        note = () if asks_password else ("Its structure is damaged; it was mended before it was read.",)
        return Opened(document, copy, None, note)
    if asks_password:
        raise _locked(password)
    if _cut_off(data):
        raise Refusal("is a PDF that was cut off: its end is missing.", "Fetch the whole file again.")
    raise Refusal("is a damaged PDF that cannot be opened.", _AGAIN)


def _cut_off(data: bytes) -> bool:
    # Some downloads and old disks fill the last block with NULs.
    end = data.rstrip(b"\x00\r\n ")[-4096:]
    return b"%%EOF" not in end and b"startxref" not in end


def _locked(password: str | None) -> Refusal:
    if password is None:
        return Refusal(
            "is protected by a password.",
            "Give its password (--password), or save a copy without one.",
            "password",
        )
    return Refusal(
        "is protected by a password, and the one that was given does not open it.",
        "Check the password; upper and lower case matter.",
        "wrong-password",
    )


def _not_a_pdf(data: bytes, name: str) -> Refusal:
    if is_html(data):
        return Refusal(
            "is a web page that is named as a PDF; perhaps the download gave an error page.",
            "Open it in a browser to see what it says, and fetch the PDF again.",
        )
    form = known_format(data[:512], name)
    return Refusal(
        f"is named as a PDF but is {form or 'none'}.",
        "Fetch the file again, or rename it to what it is.",
    )
