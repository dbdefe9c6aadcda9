"""The walk through a folder: every file that git would count, links not followed, ignored folders not entered."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

from tui.documents.tree.repository import repository_around, repository_at, submodules, tracked_files
from tui.documents.tree.rules import Rules, global_rules, repository_rules

EntryKind = Literal["file", "link", "special", "unreadable", "installed", "submodule"]
_NEVER = frozenset({".git", ".hg", ".svn", ".jj"})
# Outside a repository no rule leaves these out, and nobody means them.
_INSTALLED = frozenset(
    {"node_modules", "__pycache__", ".venv", ".tox", ".nox", ".mypy_cache", ".pytest_cache", ".ruff_cache"}
)


class Entry(msgspec.Struct, frozen=True):
    """Something found in the tree. `path` is relative to the root, with `/`, as the file system gave it."""

    path: str
    kind: EntryKind
    size: int = 0
    note: str = ""
    """Where a link points, or why a folder or file could not be read."""


class _Place(msgspec.Struct, frozen=True):
    """A folder on the walk's list, with what holds in it."""

    folder: Path
    inside: str
    """Relative to the root, with its `/`; empty for the root."""
    base: str
    """Relative to the repository's top, with its `/`."""
    rules: Rules
    tracked: frozenset[bytes]
    tracked_folders: frozenset[bytes]
    in_repository: bool
    top: Path | None = None
    """The repository's top, where the walk enters the repository."""
    only_tracked: bool = False
    """An ignored folder that holds tracked files: nothing in it can be taken back by a rule."""


def walk(root: Path) -> Iterator[Entry]:
    """Entries below `root`, in no promised order.

    Rules come from the `.gitignore` files of the repository around `root` and of every folder below, from
    `.git/info/exclude` and the user's own excludes. A repository inside the tree is read by its own rules alone, and
    so is a root that the repository around it ignores: the user named it. A submodule is such a repository; one that
    is not checked out is an entry of its kind.
    """
    pending = [_start(root)]
    while pending:
        place = pending.pop()
        if place.top is not None:
            yield from _not_checked_out(place, place.top)
        for found in _entries(place):
            if isinstance(found, Entry):
                yield found
            else:
                pending.append(found)


def _start(root: Path) -> _Place:
    alone = _Place(root, "", "", global_rules(), frozenset(), frozenset(), False)
    around = repository_around(root)
    if around is None:
        return alone
    base = "" if around.top == root else root.relative_to(around.top).as_posix() + "/"
    rules = repository_rules(around, "")
    # The folders between the repository's top and the root have rules too; the root's own come with its walk.
    folder, prefix = around.top, ""
    for part in base.split("/")[:-1]:
        rules = _with_own(rules, folder, prefix)
        if rules.ignored(prefix + part, folder=True):
            return alone
        folder, prefix = folder / part, f"{prefix}{part}/"
    tracked = tracked_files(around) or frozenset()
    return _Place(root, "", base, rules, tracked, _folders(tracked), True, around.top)


def _not_checked_out(place: _Place, top: Path) -> Iterator[Entry]:
    for path in submodules(top):
        if not path.startswith(place.base):
            continue
        folder = top / path
        try:
            if folder.is_symlink() or any(folder.iterdir()):
                continue
        except FileNotFoundError:
            pass  # taken out of the working tree altogether
        except OSError:
            continue  # the walk meets and names it
        yield Entry(f"{place.inside}{path.removeprefix(place.base)}/", "submodule")


def _with_own(rules: Rules, folder: Path, prefix: str) -> Rules:
    try:
        return rules.with_file(folder / ".gitignore", prefix)
    except OSError:
        # The unreadable file itself is met and named by the walk.
        return rules


def _folders(tracked: frozenset[bytes]) -> frozenset[bytes]:
    found = set()
    for path in tracked:
        while b"/" in path:
            path = path.rpartition(b"/")[0]
            if path in found:
                break
            found.add(path)
    return frozenset(found)


def _entries(place: _Place) -> Iterator[Entry | _Place]:
    rules = _with_own(place.rules, place.folder, place.base)
    try:
        with os.scandir(place.folder) as listing:
            children = sorted(listing, key=lambda child: child.name)
    except OSError as error:
        yield Entry(place.inside or ".", "unreadable", note=error.strerror or str(error))
        return
    for child in children:
        if child.name in _NEVER:
            continue
        relative = place.base + child.name
        packed = os.fsencode(relative)
        folder = child.is_dir(follow_symlinks=False)
        ignored = place.only_tracked or rules.ignored(relative, folder=folder)
        if folder and child.name in _INSTALLED and not place.in_repository:
            yield Entry(f"{place.inside}{child.name}/", "installed")
        elif folder:
            if not ignored or packed in place.tracked_folders:
                yield _below(place, child, rules, only_tracked=ignored)
        elif not ignored or packed in place.tracked:
            yield _entry(place.inside + child.name, child)


def _below(place: _Place, child: os.DirEntry[str], rules: Rules, *, only_tracked: bool) -> _Place:
    folder = place.folder / child.name
    inside = f"{place.inside}{child.name}/"
    nested = repository_at(folder)
    if nested is not None:
        tracked = tracked_files(nested) or frozenset()
        return _Place(folder, inside, "", repository_rules(nested, ""), tracked, _folders(tracked), True, folder)
    base = f"{place.base}{child.name}/"
    known = (place.tracked, place.tracked_folders, place.in_repository)
    return _Place(folder, inside, base, rules, *known, only_tracked=only_tracked)


def _entry(path: str, child: os.DirEntry[str]) -> Entry:
    try:
        if child.is_symlink():
            return Entry(path, "link", note=os.readlink(child.path))
        status = child.stat(follow_symlinks=False)
    except OSError as error:
        return Entry(path, "unreadable", note=error.strerror or str(error))
    if stat.S_ISREG(status.st_mode):
        return Entry(path, "file", status.st_size)
    return Entry(path, "special")
