"""The zip of a book: files found by name as books really name them, with limits against zip bombs."""

from __future__ import annotations

import io
import lzma
import posixpath
import struct
import unicodedata
import zipfile
import zlib
from urllib.parse import unquote

from tui.documents.clean import name_safe
from tui.documents.refusal import Refusal

# What zipfile raises for damaged archives: also plain errors, where a number in a header is nonsense.
_ZIP_ERRORS = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, NotImplementedError, RuntimeError, ValueError,
    IndexError, struct.error,
)  # fmt: skip
_MEMBER_MAX = 64 * 2**20
_TOTAL_MAX = 256 * 2**20
"""Bytes of text, unpacked; the largest books hold a tenth of it."""
_MOST_MEMBERS = 50_000
_RATIO = 200
"""Text packs 3 to 20 times smaller; from `_RATIO_FROM` bytes on more than this is no text."""
_RATIO_FROM = 4 * 2**20


class Broken(Exception):
    """One file of the book cannot be unpacked; the words say why."""


class Archive:
    """Reads the files of a book. Raises Refusal when it is no zip, or one that unpacks without end."""

    def __init__(self, data: bytes) -> None:
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        except _ZIP_ERRORS as error:
            raise Refusal(
                f"is an EPUB book that was cut off or is a damaged zip archive ({error}).",
                "Get the book anew, or mend it in Calibre.",
            ) from error
        members = [info for info in self._zip.infolist() if not info.is_dir()]
        if len(members) > _MOST_MEMBERS:
            raise Refusal(f"holds {len(members):,} files, which no book does.", "Check where it comes from.")
        self._members: dict[str, zipfile.ZipInfo] = {}
        for info in members:
            self._members.setdefault(info.filename, info)
        self._loose: dict[str, str] = {}
        for name in self._members:
            self._loose.setdefault(_folded(name), name)
        self._unpacked = 0

    def names(self) -> list[str]:
        """All files of the book."""
        return list(self._members)

    def find(self, href: str, folder: str = "") -> str | None:
        """The file that `href` means, seen from `folder`; None when there is none.

        Percent signs, `\\` for `/`, another case and other forms of accents are forgiven.
        """
        bare = href.split("#", 1)[0].replace("\\", "/").strip()
        without_query = bare.split("?", 1)[0]
        for wanted in dict.fromkeys((unquote(bare), bare, unquote(without_query))):
            path = posixpath.normpath(posixpath.join(folder, wanted)).lstrip("/") if wanted else ""
            while path.startswith("../"):
                path = path[3:]
            found = path if path in self._members else self._loose.get(_folded(path))
            if found:
                return found
        return None

    def read(self, name: str) -> bytes:
        """A file, unpacked. Raises Broken when it cannot be, Refusal when it grows beyond what a book's text takes."""
        info = self._members[name]
        if info.flag_bits & 1:
            raise Refusal("is a zip archive with a password.", "Unpack it with its password and zip it without.")
        if info.file_size > _RATIO_FROM and info.file_size > _RATIO * max(1, info.compress_size):
            raise _bomb(name)
        try:
            with self._zip.open(info) as stream:
                data = stream.read(min(_MEMBER_MAX, _TOTAL_MAX - self._unpacked) + 1)
        except _ZIP_ERRORS as error:
            raise Broken(str(error) or type(error).__name__) from error
        self._unpacked += len(data)
        if len(data) > _MEMBER_MAX or self._unpacked > _TOTAL_MAX:
            raise _bomb(name)
        return data


def _bomb(name: str) -> Refusal:
    return Refusal(
        f"unpacks to far more than a book holds (at {name_safe(name)}), as zip bombs do.", "Check where it comes from."
    )


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()
