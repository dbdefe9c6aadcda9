"""Documents that were read before: kept in the database by their content, so that no long file is read twice."""

from __future__ import annotations

import asyncio
import hashlib
import os
import stat
from typing import TYPE_CHECKING

import msgspec

from tui.errors import StorageProblem
from tui.text import well_formed

if TYPE_CHECKING:
    from tui.cli.common import ReadWishes
    from tui.documents.model import Document
    from tui.store.database import Store

LIMIT_MIB = 512
"""Most that is kept, packed; the oldest go first."""

_WORTH_KEEPING = frozenset({"pdf", "docx", "rtf", "html", "epub"})
"""Kinds that take long to read. Text is read faster than it is found, and a table is as large as its file."""
_PIECE = 1 << 20


class Remembered:
    """The place in the database of one file as it is to be read. Passwords are no part of it."""

    def __init__(self, store: Store, sha256: str, name: str, wishes: ReadWishes) -> None:
        from tui.documents.loader import READER_VERSION

        self._store = store
        self._sha256 = sha256
        ocr = _ocr(wishes.ocr) if wishes.ocr else ""
        # A file's name may hold bytes that are no UTF-8, which the database does not take as text.
        self._key = "read:" + "\0".join((str(READER_VERSION), sha256, well_formed(name), wishes.encoding, ocr))

    async def document(self, shown: str) -> Document | None:
        """The document as it was read before, with its path as it is named now; None when it was not."""
        try:
            packed = await asyncio.to_thread(self._packed)
        except StorageProblem:
            return None  # damaged: it is read again
        return None if packed is None else msgspec.structs.replace(packed, path=well_formed(shown))

    async def keep(self, document: Document) -> None:
        """Keep it when that is worth the room and nothing was left out for want of time. Raises StorageProblem."""
        # The file may have changed since its hash was taken.
        if document.kind in _WORTH_KEEPING and not document.hurried and document.sha256 == self._sha256:
            await asyncio.to_thread(self._put, document)

    def _packed(self) -> Document | None:
        from tui.documents.model import Document

        row = self._store.documents.by_key(self._key)
        if row is None:
            return None
        try:
            return msgspec.msgpack.decode(self._store.documents.data(row.id), type=Document)
        except (msgspec.DecodeError, StorageProblem):
            self._store.documents.remove(row.id)
            return None

    def _put(self, document: Document) -> None:
        self._store.documents.put(
            msgspec.msgpack.encode(document),
            key=self._key,
            sha256=document.sha256,
            path=document.path,
            name=document.name,
            kind=document.kind,
            characters=len(document.text),
            pages=document.pages,
        )
        self._store.documents.trim(LIMIT_MIB * 2**20)


async def remembered(store: Store, path: str, name: str, wishes: ReadWishes) -> Remembered | None:
    """Where the file at `path` is or would be kept; None when it is no file that can be read (the reader says why)."""

    def place() -> Remembered | None:
        sha256 = _sha256(path)
        return None if sha256 is None else Remembered(store, sha256, name, wishes)

    return await asyncio.to_thread(place)


def _ocr(wanted: str) -> str:
    """What the reading of scanned pages depends on: a page unread for want of a language is worth another try."""
    from tui.documents.tesseract import recognizers

    found = (f"{one.program} {one.version} {'+'.join(sorted(one.languages))}" for one in recognizers())
    return " ".join((wanted, *found))


def _sha256(path: str) -> str | None:
    place = os.path.expanduser(path)
    digest = hashlib.sha256()
    try:
        if not stat.S_ISREG(os.stat(place).st_mode):
            return None  # a pipe would wait for ever
        with open(place, "rb") as file:
            while piece := file.read(_PIECE):
                digest.update(piece)
    except (OSError, ValueError):
        return None
    return digest.hexdigest()
