"""The files of a document that holds several, and the folders they lie in."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import msgspec

from tui.documents.model import Document


class FilePart(msgspec.Struct, frozen=True):
    """One file: `text[start:end]` of the document, its head line included."""

    path: str
    start: int
    end: int
    pages: int


def file_parts(document: Document) -> list[FilePart]:
    """The files of a source tree in order, the list of files at its head among them; none for other documents."""
    if document.kind != "tree":
        return []
    parts = []
    for path, group in itertools.groupby(document.spans, key=lambda span: span.file or span.label):
        spans = list(group)
        pages = sum(1 for span in spans if span.kind == "page")
        parts.append(FilePart(path, spans[0].start, spans[-1].end, pages))
    return parts


def folders_around(path: str) -> Iterator[str]:
    """The folders that `path` lies in, from the nearest: `a/b/`, `a/`."""
    while "/" in path:
        path = path.rpartition("/")[0]
        yield f"{path}/"
