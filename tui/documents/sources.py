"""One path in, one document out: the choice of the reader. Runs in the child process."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

import msgspec

from tui.documents.clean import name_safe
from tui.documents.kinds import is_pdf
from tui.documents.model import Document
from tui.documents.refusal import Refusal
from tui.text import well_formed


def read_path(path: str, password: str | None = None, encoding: str | None = None) -> Document:
    """Read a file or a folder.

    Raises Refusal: missing, no permission, no regular file, empty, and whatever the readers refuse.
    """
    place = Path(path).expanduser()
    shown = well_formed(path)
    name = name_safe(place.name or place.resolve().name or path)
    try:
        status = place.stat()
        if stat.S_ISDIR(status.st_mode):
            # Imported here: a child that reads one file needs only one reader.
            from tui.documents.tree.reader import read_tree

            os.listdir(place)
            return read_tree(place.resolve(), shown, name_safe(place.resolve().name) or name)
        if not stat.S_ISREG(status.st_mode):
            raise Refusal(f"is {_special(status.st_mode)}, not a file.", "Save what it gives to a file and read that.")
        data = place.read_bytes()
    except OSError as error:
        raise _not_readable(place, error) from error
    if not data:
        raise Refusal("is empty.", "Give a file with text in it.")
    document = _read_file(data, shown, name, password, encoding)
    return msgspec.structs.replace(document, sha256=hashlib.sha256(data).hexdigest())


def _read_file(data: bytes, path: str, name: str, password: str | None, encoding: str | None) -> Document:
    if is_pdf(data) or name.lower().endswith(".pdf"):
        from tui.documents.pdf.reader import read_pdf

        return read_pdf(data, path, name, password)
    from tui.documents.plain import read_plain

    return read_plain(data, path, name, encoding)


def _not_readable(place: Path, error: OSError) -> Refusal:
    if isinstance(error, FileNotFoundError):
        if place.is_symlink():
            return Refusal(f"is a link to {name_safe(os.readlink(place))}, which does not exist.", "Mend the link.")
        return Refusal("does not exist.", "Check the spelling and the folder.")
    if isinstance(error, PermissionError):
        return Refusal("may not be read: permission denied.", "Change its permissions, or read it as its owner.")
    return Refusal(f"cannot be read ({error.strerror or error}).", "Check the path and the disk.")


def _special(mode: int) -> str:
    kinds = (
        (stat.S_ISFIFO, "a pipe"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISCHR, "a device"),
        (stat.S_ISBLK, "a device"),
    )
    return next((words for test, words in kinds if test(mode)), "something special")
