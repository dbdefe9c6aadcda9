"""What is read of a git repository without running git: where it is, and which files it tracks.

Git itself is not called: in a folder from elsewhere its settings may name programs that git then runs.
"""

from __future__ import annotations

import re
import struct
from pathlib import Path

import msgspec

_SUBMODULE = re.compile(r"^[ \t]*path[ \t]*=[ \t]*(.+?)[ \t]*\r?$", re.M | re.I)


class Repository(msgspec.Struct, frozen=True):
    """A working tree: its top folder, its own git folder, and the folder that linked working trees share."""

    top: Path
    git: Path
    common: Path

    @property
    def exclude_file(self) -> Path:
        return self.common / "info" / "exclude"


def repository_at(folder: Path) -> Repository | None:
    """The repository whose top is `folder`, or None; also when the folder may not be looked into."""
    try:
        git = _git_folder(folder)
        if git is None or not (git / "HEAD").exists():
            return None
    except OSError:
        return None
    try:
        common = git / (git / "commondir").read_text(encoding="utf-8").strip()
    except OSError:
        common = git
    return Repository(folder, git, common)


def _git_folder(folder: Path) -> Path | None:
    mark = folder / ".git"
    if mark.is_dir():
        return mark
    if not mark.is_file():
        return None
    # A linked working tree or a submodule: a file that names the git folder.
    line = mark.read_text(encoding="utf-8", errors="surrogateescape")
    return folder / line.removeprefix("gitdir:").strip() if line.startswith("gitdir:") else None


def repository_around(folder: Path) -> Repository | None:
    """The repository that `folder` lies in or is the top of, or None."""
    for place in (folder, *folder.parents):
        found = repository_at(place)
        if found is not None:
            return found
    return None


def submodules(top: Path) -> list[str]:
    """Paths of the submodules that `.gitmodules` names, relative to `top`, with `/`; none when it cannot be read."""
    file = top / ".gitmodules"
    try:
        text = "" if file.is_symlink() else file.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return []
    paths = [match[1].strip('"').rstrip("/") for match in _SUBMODULE.finditer(text)]
    return [path for path in paths if path and ".." not in path.split("/") and not path.startswith("/")]


def tracked_files(repository: Repository) -> frozenset[bytes] | None:
    """Paths in the repository's index, relative to its top; None when there is no index that can be read.

    Tracked files are never ignored, whatever the rules say.
    """
    try:
        data = (repository.git / "index").read_bytes()
    except OSError:
        return None
    for hash_size in (20, 32):
        try:
            return frozenset(_entries(data, hash_size))
        except (struct.error, ValueError):
            continue
    return None


def _entries(data: bytes, hash_size: int) -> list[bytes]:
    """The paths of an index file of version 2 to 4. Raises ValueError or struct.error for anything else."""
    signature, version, count = struct.unpack_from(">4sII", data)
    if signature != b"DIRC" or version not in (2, 3, 4):
        raise ValueError("not an index")
    paths: list[bytes] = []
    offset = 12
    previous = b""
    for _ in range(count):
        start = offset
        offset += 40 + hash_size
        (flags,) = struct.unpack_from(">H", data, offset)
        offset += 4 if flags & 0x4000 else 2
        kept = 0
        if version == 4:
            drop, offset = _varint(data, offset)
            kept = len(previous) - drop
            if kept < 0:
                raise ValueError("a path shorter than nothing")
        end = data.index(b"\0", offset)
        path = previous[:kept] + data[offset:end]
        if (flags & 0xFFF) != min(len(path), 0xFFF):
            raise ValueError("a path of another length than it says")
        # Entries are padded with 1 to 8 NULs to a multiple of eight, but not in version 4.
        offset = end + 1 if version == 4 else start + (end - start) // 8 * 8 + 8
        paths.append(path)
        previous = path
    return paths


def _varint(data: bytes, offset: int) -> tuple[int, int]:
    """Git's offset encoding: seven bits a byte, each further byte adds one."""
    byte = data[offset]
    offset += 1
    value = byte & 0x7F
    while byte & 0x80:
        byte = data[offset]
        offset += 1
        value = ((value + 1) << 7) | (byte & 0x7F)
    return value, offset
