"""Plain text, Markdown and single files of source code."""

from __future__ import annotations

import re
from pathlib import PurePath

from tui.documents.code.outline import code_headings
from tui.documents.encodings import decode
from tui.documents.headings import markdown_headings
from tui.documents.kinds import DOCUMENT_SUFFIXES, PICTURE, READABLE_SUFFIXES, is_html, known_format, text_kind
from tui.documents.model import Document, Heading, Span
from tui.documents.refusal import Refusal
from tui.documents.tables import markdown_tables
from tui.documents.titles import plain_headings

_HEAD = 8192
_ARCHIVE = re.compile(rb"^Content-Type: multipart/related", re.I | re.M)


def read_plain(data: bytes, path: str, name: str, encoding: str | None = None) -> Document:
    """The file's text, character for character, with the headings and tables of Markdown, the outline of code.

    Raises Refusal for a known format that is no text, a binary file, an undecidable encoding, or nothing but space.
    """
    head = data[:_HEAD]
    refuse_known(head, name)
    decoded = decode(data, encoding)
    if not decoded.text.strip():
        raise Refusal("holds nothing but white space.", "Give a file with text in it.")
    kind = text_kind(name, head)
    warnings = list(decoded.warnings)
    if kind == "text" and is_html(head):
        kind = "code"
        warnings.append("It is a web page and was read as its source, tags included.")
    headings: tuple[Heading, ...] = ()
    if kind == "text" and (saved := _saved_as(name, head)):
        warnings.append(f"It is {saved} and was read as its source.")
    if kind == "markdown":
        headings = markdown_headings(decoded.text)
    elif kind == "code":
        headings = code_headings(decoded.text, name)
    else:
        headings = plain_headings(decoded.text)
    return Document(
        path=path,
        name=name,
        kind=kind,
        text=decoded.text,
        spans=(Span("file", name, 1, 0, len(decoded.text)),),
        headings=headings,
        tables=markdown_tables(decoded.text) if kind == "markdown" else (),
        warnings=tuple(warnings),
        encoding=decoded.encoding,
    )


def _saved_as(name: str, head: bytes) -> str:
    """What a text file is that no reader here takes apart, in words; empty for any other."""
    suffix = PurePath(name).suffix.lower()
    if suffix in (".mht", ".mhtml"):
        return "a saved web page archive"
    if suffix in (".eml", ".mbox"):
        return "a saved mail" if suffix == ".eml" else "a box of mails"
    return "a saved web page archive" if _ARCHIVE.search(head) and head.startswith(b"From:") else ""


def refuse_known(head: bytes, name: str) -> None:
    """Raises Refusal for a known format that is no text, by the file's first bytes."""
    form = known_format(head, name)
    if form is None:
        return
    if PurePath(name).suffix.lower() in READABLE_SUFFIXES:
        # Its own reader would have taken it, so it is not what its name says.
        raise Refusal(f"is named as {form} but is none.", "Fetch the file again, or rename it to what it is.")
    remedy = "Read the letters on it by OCR: --ocr." if form == PICTURE else _remedy(name)
    raise Refusal(f"is {form}, not text.", remedy)


def _remedy(name: str) -> str:
    if any(name.lower().endswith(suffix) for suffix in DOCUMENT_SUFFIXES):
        return "Save it as PDF, Markdown or plain text and read that."
    return "Give a PDF, a text file, Markdown, source code or a folder of such files."
