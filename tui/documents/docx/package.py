"""The zip of a Word document: its parts and how they refer to each other, within limits. Nothing is written to disk."""

from __future__ import annotations

import io
import posixpath
import zipfile
import zlib
from xml.etree.ElementTree import Element

import msgspec

from tui.documents.docx.xml import BadXml, parse
from tui.documents.refusal import Refusal
from tui.units import size

MAX_PART = 192 * 2**20
MAX_TOTAL = 256 * 2**20
MAX_RATIO = 300
"""How much a large part may have been compressed; the most repetitive real document that was seen had 60."""
_SMALL = 8 * 2**20
_ANEW = "Open it in Word or LibreOffice, save it anew and read that."


class Relation(msgspec.Struct, frozen=True):
    """A link from a part to another one. `kind` is the last word of its type: `footnotes`, `header`, `image`."""

    kind: str
    target: str
    """The other part's name, or an address when `external`."""
    external: bool


class DamagedPart(Exception):
    """A part cannot be read; the message reads on from its name: `is damaged: …`."""


class Package:
    """An open package. Raises Refusal when it is no zip or no Word document."""

    def __init__(self, data: bytes) -> None:
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
            entries = self._zip.infolist()
        except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError, EOFError) as error:
            raise Refusal(
                "is a Word document that is damaged or was cut off: its zip archive cannot be opened.",
                "Copy or download it again.",
            ) from error
        # Names are compared as Office compares them, and only ever looked up, never used as paths.
        self._entries = {_key(entry.filename): entry for entry in entries}
        self._read = 0
        self.main = self._main()

    def part(self, name: str) -> Element:
        """The tree of a part. Raises DamagedPart, also when there is no such part; Refusal for a zip bomb."""
        try:
            return parse(self._bytes(name))
        except BadXml as error:
            raise DamagedPart(f"is damaged: it is {error}") from error

    def relations(self, name: str) -> dict[str, Relation]:
        """What a part links to, by id; empty when it links to nothing. Raises DamagedPart."""
        folder, base = posixpath.split(name)
        where = posixpath.join(folder, "_rels", base + ".rels")
        if _key(where) not in self._entries:
            return {}
        found = {}
        for link in self.part(where).iter("rel:Relationship"):
            external = link.get("TargetMode") == "External"
            target = link.get("Target", "").replace("\\", "/")
            if not external:
                target = posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")
            kind = link.get("Type", "").rsplit("/", 1)[-1]
            found[link.get("Id", "")] = Relation(kind, target, external)
        return found

    def _main(self) -> str:
        try:
            links = self.relations("")
        except DamagedPart:
            # The main part has nearly always the same name.
            links = {}
        for link in links.values():
            if link.kind == "officeDocument" and _key(link.target) in self._entries:
                return link.target
        if _key("word/document.xml") in self._entries:
            return "word/document.xml"
        raise Refusal("is a Word document that is damaged: it has no main part.", _ANEW)

    def _bytes(self, name: str) -> bytes:
        entry = self._entries.get(_key(name))
        if entry is None:
            raise DamagedPart("is missing")
        if entry.flag_bits & 1:
            raise Refusal("is a zip archive with a password.", "Save it without a password and read that.")
        ratio = entry.file_size / max(1, entry.compress_size)
        self._read += entry.file_size
        if entry.file_size > MAX_PART or self._read > MAX_TOTAL or (entry.file_size > _SMALL and ratio > MAX_RATIO):
            raise Refusal(
                f"unpacks to {size(max(self._read, entry.file_size))} from {size(entry.compress_size)}, as a zip bomb "
                "does; it was not unpacked.",
                "If you trust it, open it in Word or LibreOffice and save it as several documents.",
            )
        try:
            # zipfile gives no more than the size that the entry states.
            return self._zip.read(entry)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, RuntimeError) as error:
            raise DamagedPart(f"is damaged: {error}") from error


def _key(name: str) -> str:
    return name.replace("\\", "/").lstrip("/").lower()
