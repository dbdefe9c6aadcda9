"""pypdf's side of a PDF: a second opinion on a page's text, form values and notes, decryption.

pypdf raises whatever a damaged file makes it raise (its own errors, KeyError, TypeError, UnboundLocalError, …), so
every call goes through one place that turns the failure into a reason.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from tui.documents.clean import title_safe
from tui.documents.limits import CallTimedOut

# Imported when it is needed: most PDFs are read by pdfium alone, and pypdf costs 0.1 s to import.
if TYPE_CHECKING:
    from pypdf import PageObject, PdfReader

T = TypeVar("T")

# Its warnings about odd files go to stderr otherwise.
logging.getLogger("pypdf").setLevel(logging.CRITICAL)


class SecondReader:
    """One PDF opened with pypdf, when it is needed for the first time."""

    def __init__(self, data: bytes, password: str | None) -> None:
        self._data = data
        self._password = password
        self._reader: PdfReader | None = None
        self.broken = ""
        """Why pypdf cannot open the file; empty when it can, or was not asked yet."""
        self.locked = False
        """Whether the password is missing or wrong."""

    def attempt(self, call: Callable[[PdfReader], T]) -> tuple[T | None, str]:
        """The result of `call` on the open file and an empty reason, or None and why it failed."""
        reader = self._open()
        if reader is None:
            return None, self.broken
        try:
            return call(reader), ""
        except (MemoryError, CallTimedOut):
            raise
        except Exception as error:  # noqa: BLE001 - a damaged file makes pypdf raise anything at all
            return None, reason(error)

    def page_count(self) -> int | None:
        """Number of pages; None when the file cannot be opened."""
        count, _ = self.attempt(lambda reader: len(reader.pages))
        return count

    def page_text(self, number: int) -> tuple[str | None, str]:
        """The text of page `number` (1-based) and an empty reason, or None and why there is none."""
        return self.attempt(lambda reader: reader.pages[number - 1].extract_text())

    def on_page(self, number: int, call: Callable[[PageObject], T]) -> tuple[T | None, str]:
        """`call` on page `number` (1-based), as `attempt`."""
        return self.attempt(lambda reader: call(reader.pages[number - 1]))

    def rewritten(self) -> tuple[bytes | None, str]:
        """The document written anew, decrypted and with a sound structure, or None and why not."""
        return self.attempt(_written_anew)

    def _open(self) -> PdfReader | None:
        if self._reader is None and not self.broken:
            from pypdf import PasswordType, PdfReader

            try:
                reader = PdfReader(io.BytesIO(self._data))
                if reader.is_encrypted and reader.decrypt(self._password or "") == PasswordType.NOT_DECRYPTED:
                    self.locked = True
                    self.broken = "its password is missing or wrong"
                else:
                    self._reader = reader
            except (MemoryError, CallTimedOut):
                raise
            except Exception as error:  # noqa: BLE001 - as above
                self.broken = reason(error)
        return self._reader


def reason(error: Exception) -> str:
    """A failure in a few words."""
    return title_safe(str(error))[:120] or type(error).__name__


def _written_anew(reader: PdfReader) -> bytes:
    from pypdf import PdfWriter

    target = io.BytesIO()
    PdfWriter(clone_from=reader).write(target)
    return target.getvalue()
