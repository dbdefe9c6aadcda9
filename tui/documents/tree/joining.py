"""Many files in one text: the spans, headings and tables of each, moved to where it stands."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from tui.documents.model import Document, Heading, Span, Table

HEAD_LABEL = "(file tree)"
"""Label of the first span: the list of files, which is no file itself."""

Joined = tuple[str, tuple[Span, ...], tuple[Heading, ...], tuple[Table, ...]]


class File(msgspec.Struct, frozen=True):
    """A file of the tree that was read."""

    path: str
    """Relative to the tree, with `/`, as the file system gave it."""
    label: str
    """The same, fit for a line of text."""
    document: Document


def joined(head: str, files: Iterable[File]) -> Joined:
    """`head`, then each file under a line with its path and above an empty line.

    A file is one span, or one for each of its pages, whose `file` is its path. It is a heading of level 1, and its
    own headings stand below that.
    """
    parts = [head]
    spans = [Span("file", HEAD_LABEL, 1, 0, len(head))]
    headings: list[Heading] = []
    tables: list[Table] = []
    at = len(head)
    for number, file in enumerate(files, 2):
        document = file.document
        line = f"===== {file.label} =====\n"
        part = f"{line}{document.text}{'' if document.text.endswith(chr(10)) else chr(10)}\n"
        start, body, end = at, at + len(line), at + len(part)
        pages = [span for span in document.spans if span.kind == "page"]
        if pages:
            cuts = [start, *(body + span.start for span in pages[1:]), end]
            spans += [
                Span("page", span.label, span.number, cuts[index], cuts[index + 1], file.label)
                for index, span in enumerate(pages)
            ]
        else:
            spans.append(Span("file", file.label, number, start, end))
        headings.append(Heading(start, 1, file.label))
        headings += [Heading(body + inner.start, inner.level + 1, inner.title) for inner in document.headings]
        tables += [Table(body + table.start, body + table.header_end, body + table.end) for table in document.tables]
        parts.append(part)
        at = end
    return "".join(parts), tuple(spans), tuple(headings), tuple(tables)
