"""Patterns such as `reports/**/*.pdf` that no shell expanded: on Windows, or because they were quoted."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterator
from threading import Event

_MAGIC = re.compile(r"[*?\[]")
_SEPARATORS = re.compile(r"[/\\]+" if os.name == "nt" else "/+")
_DIGITS = re.compile(r"(\d+)")


def has_magic(text: str) -> bool:
    """Whether `text` could be a pattern: it holds `*`, `?` or `[`."""
    return _MAGIC.search(text) is not None


def natural(path: str) -> tuple[object, ...]:
    """Sort key for paths: folder by folder, without regard to case, `part 2` before `part 10`."""
    parts = (
        tuple((0, int(piece), "") if piece.isdecimal() else (1, 0, piece) for piece in _DIGITS.split(part) if piece)
        for part in _SEPARATORS.split(path.lower())
    )
    return tuple(parts), path


def matches(pattern: str, stop: Event | None = None) -> list[str]:
    """Paths that `pattern` stands for, in natural order.

    `*`, `?` and `[…]` match within a name, `**` any number of folders; names that begin with a dot are matched only
    by a dot. Links to folders are not followed by `**`. A pattern with `**` gives files alone: the folders on the way
    would be read twice. Folders that may not be listed match nothing. `stop` ends the search early.
    """
    drive, rest = os.path.splitdrive(pattern)
    top = drive + (os.sep if _SEPARATORS.match(rest) else "")
    parts = [part for part in _SEPARATORS.split(rest) if part]
    found = set(_below(top, parts, stop or Event()))
    if "**" in parts:
        found = {path for path in found if os.path.isfile(path)}
    return sorted(found, key=natural)


def _below(folder: str, parts: list[str], stop: Event) -> Iterator[str]:
    if stop.is_set():
        return
    if not parts:
        if folder and os.path.lexists(folder):
            yield folder
        return
    first, rest = parts[0], parts[1:]
    if first == "**":
        yield from _below(folder, rest or ["*"], stop)
        for child in _listed(folder):
            if not child.name.startswith(".") and child.is_dir(follow_symlinks=False):
                yield from _below(os.path.join(folder, child.name), parts, stop)
    elif not has_magic(first):
        yield from _below(os.path.join(folder, first), rest, stop)
    else:
        for child in _listed(folder):
            hidden = child.name.startswith(".") and not first.startswith(".")
            if not hidden and fnmatch.fnmatch(child.name, first) and (not rest or child.is_dir()):
                yield from _below(os.path.join(folder, child.name), rest, stop)


def _listed(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder or ".") as listing:
            return list(listing)
    except OSError:
        # As in a shell: what cannot be listed holds nothing that matches.
        return []
