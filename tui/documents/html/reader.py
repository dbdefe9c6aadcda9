"""A web page as a document.

What is shown of its body is read, all of it: menus and footers too, for what is boilerplate to one is the content of
another. Links keep their text; addresses are left out, since they cost more tokens than the words they stand on.
Not read: scripts, styles, what the page hides by `hidden` or its own style, embedded frames, and readings beside
characters (`<rt>`), which would stand in the middle of words.
"""

from __future__ import annotations

import re

import msgspec

from tui.documents.clean import title_safe, without_forbidden
from tui.documents.html.encoding import decode_page
from tui.documents.html.nodes import parse
from tui.documents.html.walker import Walker
from tui.documents.html.writer import Writer
from tui.documents.html.xhtml import as_html, is_xhtml
from tui.documents.model import Document, Heading, Span, Table
from tui.documents.options import ReadOptions
from tui.documents.refusal import Refusal
from tui.units import plural

_FRAMESET = re.compile(r"<frameset\b", re.I)


def read_html(data: bytes, path: str, name: str, options: ReadOptions) -> Document:
    """The page as Markdown-like text, its headings and tables at exact offsets; its title is a heading if it has no h1.

    Raises Refusal for a page that shows no text, and what decoding raises.
    """
    decoded = decode_page(data, options.encoding)
    page = as_html(decoded.text) if is_xhtml(decoded.text) else decoded.text
    tree = parse(page)
    writer = Writer()
    walker = Walker(writer)
    if tree.body is not None:
        walker.walk(tree.body)
    text = without_forbidden(writer.text)[0]
    if not text.strip():
        raise _nothing(decoded.text, walker)
    headings, tables = tuple(writer.headings), tuple(writer.tables)
    if all(heading.level > 1 for heading in headings):
        node = tree.css_first("head > title")
        title = title_safe(without_forbidden(node.text())[0]) if node is not None else ""
        if title:
            text, headings, tables = _titled(title, text, headings, tables)
    return Document(
        path=path,
        name=name,
        kind="html",
        text=text,
        spans=(Span("file", name, 1, 0, len(text)),),
        headings=headings,
        tables=tables,
        warnings=(*decoded.warnings, *not_read(walker)),
        encoding=decoded.encoding,
    )


def not_read(walker: Walker) -> list[str]:
    """Sentences about what a page holds and was not read."""
    notes = []
    if walker.hidden:
        notes.append(f"What the page hides ({plural(walker.hidden, 'character')}) was not read.")
    if walker.frames:
        one = walker.frames == 1
        notes.append(
            f"{plural(walker.frames, 'embedded frame')} {'is a page' if one else 'are pages'} of "
            f"{'its' if one else 'their'} own and {'was' if one else 'were'} not read."
        )
    return notes


def _titled(
    title: str, text: str, headings: tuple[Heading, ...], tables: tuple[Table, ...]
) -> tuple[str, tuple[Heading, ...], tuple[Table, ...]]:
    head = f"# {title}\n\n"
    by = len(head)
    moved = (msgspec.structs.replace(heading, start=heading.start + by) for heading in headings)
    return (
        head + text,
        (Heading(0, 1, title), *moved),
        tuple(Table(table.start + by, table.header_end + by, table.end + by) for table in tables),
    )


def _nothing(page: str, walker: Walker) -> Refusal:
    if walker.frames or _FRAMESET.search(page):
        return Refusal("is a page of frames and has no text of its own.", "Read the pages that its frames show.")
    if walker.hidden:
        return Refusal(
            f"shows no text; it hides {plural(walker.hidden, 'character')}.",
            "Open it in a browser and save what it shows as text or PDF.",
        )
    if walker.images:
        return Refusal(f"holds {plural(walker.images, 'picture')} and no text.", "Save it as PDF and read that.")
    return Refusal(
        "is a web page without text; perhaps a script fills it.",
        "Open it in a browser and save what it shows as text or PDF.",
    )
