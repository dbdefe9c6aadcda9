"""RTF documents: text in its code pages, headings, lists, tables, notes, comments, headers and footers."""

from __future__ import annotations

from tui.documents.blocks import write
from tui.documents.model import Document, Span
from tui.documents.refusal import Refusal
from tui.documents.rtf.walk import Walk
from tui.units import plural

_LEFT_OUT = (
    ("picture", "picture without a description", "pictures without a description", "not read"),
    ("object", "embedded object", "embedded objects", "not read"),
    ("hidden", "piece of hidden text", "pieces of hidden text", "left out"),
    ("deleted", "piece of deleted text", "pieces of deleted text", "left out"),
)


def read_rtf(data: bytes, path: str, name: str) -> Document:
    """The document's text, in the manner of Markdown. Raises Refusal when there is none in it.

    A file that was cut off is read as far as it goes, with a warning. There are no pages in RTF: it is one span.
    """
    walk = Walk()
    walk.read(data.removeprefix(b"\xef\xbb\xbf").lstrip())
    written = write(walk.blocks())
    warnings = _warnings(walk)
    if not written.text.strip():
        said = " ".join(warnings)
        raise Refusal(
            f"is an RTF document without text. {said}".rstrip(), "Save it as PDF; `--ocr` reads the pictures in that."
        )
    if written.forbidden:
        warnings.append(
            f"{plural(written.forbidden, 'character')} that no text may hold (such as NUL) stand as \ufffd."
        )
    return Document(
        path=path,
        name=name,
        kind="rtf",
        text=written.text,
        spans=(Span("file", name, 1, 0, len(written.text)),),
        headings=written.headings,
        tables=written.tables,
        warnings=tuple(warnings),
    )


def _warnings(walk: Walk) -> list[str]:
    found = []
    if walk.open_groups:
        found.append("It ends in the middle: it is damaged or was cut off, and was read as far as it goes.")
    if walk.rest:
        found.append("It closes before its end; what comes after was read too, but may have lost its form.")
    for key, one, many, words in _LEFT_OUT:
        if count := walk.counts[key]:
            found.append(f"{plural(count, one, many)} {'was' if count == 1 else 'were'} {words}.")
    if walk.damaged_bytes:
        found.append(f"{plural(walk.damaged_bytes, 'character')} could not be decoded and stand as \ufffd in the text.")
    if walk.unknown_symbols:
        found.append(f"{plural(walk.unknown_symbols, 'character')} of a symbol font stand as \ufffd in the text.")
    pages = sorted(walk.tables.unknown_pages)
    return [*found, *(f"Its code page {page} is not known; cp1252 was taken for it." for page in pages)]
