"""Result files: named after their inputs without two being alike, and there whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import itertools
import os
import re
import sys
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tui.errors import InputProblem, StorageProblem, UsageProblem

if TYPE_CHECKING:
    from tui.documents.inputs import Input

_FULL = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))
_MIDDLE = ".summary"
_RESULT = re.compile(r"\.summary(?:\.partial)?\.(?:md|txt|json)$")
_BEGINNING = 65536
_UNSAFE = re.compile(r"[\x00-\x1f\x7f/\\:*?\"<>|]")
_LONGEST = 200
"""Bytes of a name, so that what is put before and behind it fits the 255 that file systems take."""
_TEMPORARY = re.compile(r"\.longscroll-(\d+)-\d+\.tmp")

_number = itertools.count()


def prepare_folder(folder: Path, option: str) -> None:
    """Make `folder` with those above it and prove that it can be written to; what killed runs left is removed.

    Raises StorageProblem, or UsageProblem where something else stands in its place.
    """
    if folder.exists() and not folder.is_dir():
        raise UsageProblem(f"{folder} is not a folder.", f"Name a folder with {option}.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = _temporary(folder)
        os.close(os.open(probe, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        probe.unlink()
    except OSError as error:
        raise _cannot_write(folder, error, option) from error
    for entry in folder.glob(".longscroll-*.tmp"):
        left = _TEMPORARY.fullmatch(entry.name)
        if left and not _is_running(int(left[1])):
            with contextlib.suppress(OSError):  # somebody else's, or gone already: it harms nobody
                entry.unlink()


def check_file(path: Path, option: str) -> None:
    """Prove that `path` can be made or replaced. Raises as `prepare_folder` does."""
    if path.is_dir() or str(path).endswith(("/", os.sep)):
        raise UsageProblem(f"{path} is a folder.", f"Name a file with {option}.")
    if path.exists() and not path.is_file():
        raise UsageProblem(f"{path} is not a file that can be replaced.", f"Name a file with {option}.")
    prepare_folder(path.parent, option)


def write_whole(path: Path, data: bytes, option: str) -> None:
    """Write a file so that under its name there is ever only a whole one, the old or the new, whatever happens.

    Raises StorageProblem; what stood there before is left as it was then.
    """
    temporary = _temporary(path.parent)
    try:
        try:
            with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        _sync_folder(path.parent)
    except OSError as error:
        raise _cannot_write(path, error, option) from error


def _temporary(folder: Path) -> Path:
    return folder / f".longscroll-{os.getpid()}-{next(_number)}.tmp"


def _is_running(pid: int) -> bool:
    import psutil

    return pid != os.getpid() and psutil.pid_exists(pid)


def _sync_folder(folder: Path) -> None:
    if sys.platform == "win32":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network file systems cannot
            raise
    finally:
        os.close(handle)


def _cannot_write(path: Path, error: OSError, option: str) -> StorageProblem:
    reason = error.strerror or str(error)
    what = "Free some space" if error.errno in _FULL else "Make it writable"
    return StorageProblem(f"{path} cannot be written ({reason}).", f"{what}, or name another place with {option}.")


# Names


def own_result(item: Input, folder: Path) -> bool:
    """Whether an input is a result that an earlier run has put into `folder`."""
    path = Path(item.path)
    return path.parent.resolve() == folder.resolve() and _RESULT.search(path.name) is not None


def without_target(inputs: Sequence[Input], target: Path, option: str, ours: Callable[[bytes], bool]) -> list[Input]:
    """The inputs without what an earlier run has written to `target`, as `ours` tells by the beginning of the file.

    Raises UsageProblem where a document stands there: it would be read and then replaced.
    """
    place = os.path.realpath(target)
    kept = [item for item in inputs if not item.path or os.path.realpath(item.path) != place]
    if len(kept) < len(inputs) and not ours(_beginning(target)):
        raise UsageProblem(
            f"{target} is one of the documents, and {option} would replace it.", f"Name another file with {option}."
        )
    return kept


def _beginning(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_BEGINNING)
    except OSError as error:
        raise InputProblem(f"{path} cannot be read ({error.strerror or error}).", "Change its permissions.") from error


def result_names(inputs: Sequence[Input], extension: str) -> list[str]:
    """A file name for each input: `report.pdf.summary.md`.

    Inputs of the same name get folders in front (`2024_report.pdf`), as many as tell them apart. Two names are the same
    where a file system that does not tell upper from lower case takes them for one.
    """
    parts = [_parts(item) for item in inputs]
    depth = [1] * len(inputs)
    names = [_joined(part, 1) for part in parts]
    while True:
        alike = [group for group in _groups(names) if len(group) > 1]
        grown = [index for group in alike for index in group if depth[index] < len(parts[index])]
        if not grown:
            break
        for index in grown:
            depth[index] += 1
            names[index] = _joined(parts[index], depth[index])
    for group in alike:
        for index in group[1:]:
            # One file cannot come twice, so this is one that cannot be read, or names cut to the same beginning.
            names[index] += (
                f"~{hashlib.sha256(f'{index}{inputs[index].shown}'.encode(errors='replace')).hexdigest()[:8]}"
            )
    return [f"{name}{_MIDDLE}.{extension}" for name in names]


def _parts(item: Input) -> list[str]:
    from tui.documents.spool import STANDARD_INPUT

    if not item.path:
        return [item.shown]
    if item.shown == STANDARD_INPUT:
        return ["standard-input"]
    return [part for part in Path(os.path.abspath(item.path)).parts if part not in (os.sep, "/")] or ["root"]


def _joined(parts: Sequence[str], depth: int) -> str:
    name = _UNSAFE.sub("_", "_".join(parts[-depth:]))
    if len(os.fsencode(name)) <= _LONGEST:
        return name
    digest = hashlib.sha256(os.fsencode(name)).hexdigest()[:8]
    while len(os.fsencode(name)) > _LONGEST - 9:
        name = name[:-1]
    return f"{name}~{digest}"


def _groups(names: Sequence[str]) -> list[list[int]]:
    groups: dict[str, list[int]] = {}
    for index, name in enumerate(names):
        groups.setdefault(unicodedata.normalize("NFC", name).casefold(), []).append(index)
    return list(groups.values())
