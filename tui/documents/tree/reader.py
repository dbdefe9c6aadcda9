"""The reader of a folder: a file tree at the head, then each file under a line with its path."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path, PurePosixPath

import msgspec

from tui.documents.clean import name_safe
from tui.documents.code.outline import code_headings
from tui.documents.kinds import is_program, text_kind
from tui.documents.limits import CallTimedOut, call_limit
from tui.documents.model import Document
from tui.documents.options import ReadOptions
from tui.documents.plain import read_plain
from tui.documents.refusal import NotText, Refusal
from tui.documents.tree.choose import by_content, by_name, is_document
from tui.documents.tree.generated import is_generated
from tui.documents.tree.joining import HEAD_LABEL, File, joined
from tui.documents.tree.order import order
from tui.documents.tree.telling import Missing, file_tree, nothing, warnings
from tui.documents.tree.walk import Entry, walk
from tui.units import duration

__all__ = ["HEAD_LABEL", "read_tree"]

# Of the tree's time: what all documents together, and one alone, may take. The rest is for the text files.
_DOCUMENTS_SHARE = 0.8
_ONE_SHARE = 1 / 6


def read_tree(root: Path, path: str, name: str, options: ReadOptions | None = None) -> Document:
    """The files below `root` as one document: text as it stands, documents such as PDFs by their readers.

    Spans are the files, for documents with pages the pages; the first span is the file tree. Web pages are documents
    in a tree without program code, else source. Raises Refusal when nothing could be read.
    """
    reading = _Reading(root, options or ReadOptions())
    entries = sorted(walk(root), key=lambda entry: order(entry.path))
    reading.pages = not any(is_program(entry.path, b"") for entry in entries if entry.kind == "file")
    for entry in entries:
        reading.take(entry)
    if not reading.files:
        raise nothing(reading.missing)
    marks = {file.path: "" for file in reading.files}
    text, spans, headings, tables = joined(file_tree(name, marks, reading.missing), reading.files)
    return Document(
        path=path,
        name=name,
        kind="tree",
        text=text,
        spans=spans,
        headings=headings,
        tables=tables,
        warnings=tuple(warnings(reading.missing, reading.files)),
        sha256=reading.digest.hexdigest(),
    )


class _Reading:
    """The files that were read so far, and what was not."""

    def __init__(self, root: Path, options: ReadOptions) -> None:
        self._root = root
        self._options = options
        self._end = time.monotonic() + options.seconds * _DOCUMENTS_SHARE
        self.pages = False
        self.files: list[File] = []
        self.missing: dict[str, Missing] = {}
        self.digest = hashlib.sha256()

    def take(self, entry: Entry) -> None:
        """Read one file, or note why not."""
        found = self._look(entry)
        if isinstance(found, Missing):
            self.missing[entry.path] = found
            return
        label = name_safe(entry.path)
        if is_document(found, entry.path, pages=self.pages):
            read = self._document(found, label)
        else:
            read = self._text(found, label)
        if isinstance(read, Missing):
            self.missing[entry.path] = read
            return
        self.files.append(File(path=entry.path, label=label, document=read))
        self.digest.update(os.fsencode(entry.path) + b"\0" + len(found).to_bytes(8, "little") + found)

    def _look(self, entry: Entry) -> Missing | bytes:
        if entry.kind != "file":
            return Missing(entry.kind, entry.note)
        reason = by_name(entry.path, entry.size)
        if reason is not None:
            return Missing(reason)
        try:
            data = (self._root / entry.path).read_bytes()
        except OSError as error:
            return Missing("unreadable", error.strerror or str(error))
        # Its size was 0 only now: it is being written, or is one of the kernel's.
        return data or Missing("empty")

    def _text(self, data: bytes, label: str) -> Document | Missing:
        reason = by_content(label, data)
        if reason is not None:
            return Missing(reason)
        if not data.strip():
            return Missing("empty")
        name = PurePosixPath(label).name
        try:
            document = read_plain(data, label, name, self._encoding(data))
        except NotText:
            return Missing("binary")
        except Refusal:
            return Missing("encoding")
        if text_kind(name, data[:256]) != "code":
            return document
        if is_generated(document.text):
            return Missing("generated")
        headings = document.headings or code_headings(document.text, name)
        return msgspec.structs.replace(document, headings=headings)

    def _encoding(self, data: bytes) -> str | None:
        """The encoding that the user named, for files that are not UTF-8: a tree holds files of many origins."""
        if not self._options.encoding:
            return None
        try:
            data.decode("utf-8")
        except UnicodeDecodeError:
            return self._options.encoding
        return None

    def _document(self, data: bytes, label: str) -> Document | Missing:
        # Imported here: a tree of text alone needs no other reader.
        from tui.documents.sources import read_bytes

        if not self._options.documents:
            return Missing("fatal")
        left = self._end - time.monotonic()
        if left <= 0:
            return Missing("late")
        limit = min(left, self._options.seconds * _ONE_SHARE)
        options = msgspec.structs.replace(self._options, seconds=limit)
        try:
            with call_limit(limit):
                return read_bytes(data, label, PurePosixPath(label).name, options)
        except Refusal as refusal:
            return Missing("document", refusal.reason.rstrip("."))
        except CallTimedOut:
            return Missing("document", f"took longer than {duration(limit)}")
        except MemoryError:
            return Missing("document", "needs more memory than is allowed")
        except Exception as error:  # noqa: BLE001 - a fault of one document's reader must not cost the whole tree
            return Missing("document", f"could not be read: the reader failed ({type(error).__name__})")
