"""One path in, one document out: the choice of the reader. Runs in the child process."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

import msgspec

from tui.documents.clean import name_safe
from tui.documents.kinds import PICTURE, file_format, known_format
from tui.documents.model import Document
from tui.documents.options import ReadOptions
from tui.documents.refusal import NotText, Refusal
from tui.text import well_formed

_LARGE = 64 * 2**20
_HEAD = 1 << 16


def read_path(path: str, options: ReadOptions) -> Document:
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
            return read_tree(place.resolve(), shown, name_safe(place.resolve().name) or name, options)
        if not stat.S_ISREG(status.st_mode):
            raise Refusal(f"is {_special(status.st_mode)}, not a file.", "Save what it gives to a file and read that.")
        if status.st_size > _LARGE:
            _refuse_binary(place, name)
        data = place.read_bytes()
    except OSError as error:
        raise _not_readable(place, error) from error
    if not data:
        raise Refusal("is empty.", "Give a file with text in it.")
    document = read_bytes(data, shown, name, options)
    return msgspec.structs.replace(document, sha256=hashlib.sha256(data).hexdigest())


def read_bytes(data: bytes, path: str, name: str, options: ReadOptions) -> Document:
    """A file's bytes by the reader of their format; also for files inside a source tree. Raises Refusal."""
    format_ = file_format(data, name)
    # Imported one by one: a child that reads one file needs only one reader.
    if format_ == "pdf":
        from tui.documents.pdf.reader import read_pdf

        return read_pdf(data, path, name, options)
    if format_ == "docx":
        from tui.documents.docx.reader import read_docx

        return read_docx(data, path, name)
    if format_ == "rtf":
        from tui.documents.rtf import read_rtf

        return read_rtf(data, path, name)
    if format_ == "epub":
        from tui.documents.epub.reader import read_epub

        return read_epub(data, path, name)
    if format_ == "html":
        from tui.documents.html.reader import read_html

        return read_html(data, path, name, options)
    if format_ == "notebook":
        from tui.documents.notebook import read_notebook

        return read_notebook(data, path, name)
    if format_ == "table":
        from tui.documents.delimited import read_delimited

        return read_delimited(data, path, name, options)
    if options.ocr and known_format(data[:512], name) == PICTURE:
        from tui.documents.picture import read_picture_file

        return read_picture_file(data, path, name, options)
    from tui.documents.plain import read_plain

    return read_plain(data, path, name, options.encoding or None)


def _refuse_binary(place: Path, name: str) -> None:
    """Raises Refusal for a large file whose head says that no reader takes it: a film does not fit the memory."""
    from tui.documents.encodings import decode
    from tui.documents.plain import refuse_known

    with place.open("rb") as file:
        head = file.read(_HEAD)
    if file_format(head, name) != "plain" or head.startswith(b"PK"):
        return
    refuse_known(head, name)
    try:
        decode(head)
    except NotText:
        raise
    except Refusal:
        return  # the whole may tell its encoding


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
