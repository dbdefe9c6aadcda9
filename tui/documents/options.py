"""What a reader can be told about a file."""

from __future__ import annotations

import msgspec


class ReadOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Empty leaves it to the reader."""

    password: str = ""
    """Of an encrypted file."""
    encoding: str = ""
    """Of a text file, instead of letting it be found."""
    ocr: str = ""
    """Languages in which scanned pages are read, as tesseract names them (`eng+chi_sim`), or `auto`: by the rest of the
    text, else by the script that tesseract sees; empty: they are not."""
    seconds: float = 20.0
    """Wall time in which the whole reading must end; a source tree shares it out among its documents."""
    documents: bool = True
    """Whether documents such as PDFs inside a source tree are read; not when one of them has ended the reader."""
