"""What a folder is: source code, to be read as one document, or a place where documents lie."""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path, PurePosixPath

import msgspec

from tui.documents.encodings import decode
from tui.documents.kinds import READABLE_SUFFIXES, is_pdf, is_program, known_format
from tui.documents.patterns import natural
from tui.documents.refusal import NotText, Refusal
from tui.documents.tree.choose import is_manifest
from tui.documents.tree.repository import repository_at
from tui.documents.tree.walk import Entry, walk

_HEAD = 8192


class Folder(msgspec.Struct, frozen=True):
    """`tree` when it is to be read as one; else `files` are the documents in it and `left` is what is none."""

    tree: bool
    files: tuple[str, ...] = ()
    """Relative to the folder, with `/`, in natural order."""
    left: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """What is left out: the reason, in words that follow a path (`a picture`), and the paths."""


def look_into(root: Path) -> Folder:
    """Decide what `root` is.

    A source tree is the top of a git repository, has a manifest such as pyproject.toml at its top, or holds program
    code. Markup and data (HTML, JSON, YAML, …) prove nothing: saved pages are documents. Nor do the scripts that a
    browser saves beside a page, in `page_files/`. Files that git would ignore are not looked at.
    Raises OSError when the folder cannot be listed.
    """
    os.listdir(root)
    if repository_at(root) is not None:
        return Folder(tree=True)
    entries = list(walk(root))
    paths = {entry.path for entry in entries}
    files: list[str] = []
    left: dict[str, list[str]] = defaultdict(list)
    for entry in entries:
        reason = _NO_FILES.get(entry.kind)
        if reason is None and _saved_with_page(entry.path, paths):
            reason = "saved with a page"
        if reason is None:
            head = _head(root, entry)
            if head is None:
                reason = "may not be read"
            elif is_manifest(entry.path) or is_program(entry.path, head):
                return Folder(tree=True)
            else:
                reason = _no_document(entry, head)
        if reason is None:
            files.append(entry.path)
        else:
            left[reason].append(entry.path)
    return Folder(
        tree=False,
        files=tuple(sorted(files, key=natural)),
        left=tuple((reason, tuple(sorted(names, key=natural))) for reason, names in sorted(left.items())),
    )


_NO_FILES = {
    "link": "a link",
    "special": "no regular file",
    "unreadable": "may not be read",
    "installed": "installed packages or a cache",
}


def _saved_with_page(path: str, paths: set[str]) -> bool:
    for folder in PurePosixPath(path).parents:
        for ending in ("_files", ".files"):
            stem = str(folder).removesuffix(ending)
            if stem != str(folder) and not paths.isdisjoint((f"{stem}.html", f"{stem}.htm", f"{stem}.xhtml")):
                return True
    return False


def _head(root: Path, entry: Entry) -> bytes | None:
    try:
        with (root / entry.path).open("rb") as file:
            return file.read(_HEAD)
    except OSError:
        return None


def _no_document(entry: Entry, head: bytes) -> str | None:
    """Why a file is left out; None when a reader is to try it."""
    name = PurePosixPath(entry.path).name
    if name.startswith(("~$", ".~lock.")):
        return "a lock of a word processor"
    if name.startswith("."):
        return "hidden"
    if not head:
        return "empty"
    if PurePosixPath(name).suffix.lower() in READABLE_SUFFIXES or is_pdf(head):
        return None
    form = known_format(head, name)
    if form is not None:
        return None if form == "an RTF document" else form
    try:
        # A character torn at the end of the head must not count against it.
        decode(head[: head.rfind(b"\n") + 1] or head)
    except NotText:
        return "binary"
    except Refusal:
        return None  # the reader says what to do about its encoding
    return None
