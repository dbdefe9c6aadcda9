"""What a user may name: files, folders, patterns, standard input; each becomes the inputs that are read."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tui.documents.clean import name_safe
from tui.documents.folder import Folder, look_into
from tui.documents.patterns import has_magic, matches
from tui.documents.spool import STANDARD_INPUT, spool_standard_input
from tui.errors import InputProblem, LongscrollError
from tui.units import plural

_NAMES = 20


class Input(msgspec.Struct, frozen=True, kw_only=True):
    """One document to be read, or the `problem` of an argument that gives none."""

    path: str
    """What is read: a file, or a folder as a source tree."""
    shown: str
    """For people and results: as the user named it, or as it was found below what the user named."""
    folder: bool = False
    """A source tree."""
    spooled: bool = False
    """Standard input: nothing of it is to stay on disk."""
    problem: LongscrollError | None = None


class Expansion(msgspec.Struct, frozen=True):
    """`inputs` in the order of the arguments, each file once; `notes` are sentences for stderr."""

    inputs: tuple[Input, ...]
    notes: tuple[str, ...]


async def expand(paths: Sequence[str], *, spool: Path | None = None, limit_mib: int = 1536) -> Expansion:
    """The inputs that `paths` stand for.

    A path that exists is taken as it is, whatever characters it holds; else one with `*`, `?` or `[` is a pattern.
    A folder of source code is one input; of any other folder each document is one, and what is left out is noted.
    `-` is standard input, written to the folder `spool` and of at most `limit_mib` MiB; the caller removes it, and it
    is a path like any other without that folder.
    An argument that gives nothing becomes an input with a problem, in its place, so that the others are read.
    """
    work = _Expanding()
    for path in paths:
        if path == "-" and spool is not None:
            await work.take_standard_input(spool, limit_mib)
            continue
        stop = threading.Event()
        try:
            await asyncio.to_thread(work.take, path, stop)
        finally:
            stop.set()
    return Expansion(tuple(work.inputs), tuple(work.all_notes()))


class _Expanding:
    def __init__(self) -> None:
        self.inputs: list[Input] = []
        self._notes: list[str] = []
        self._seen: set[str] = set()
        self._again: list[str] = []

    def all_notes(self) -> list[str]:
        again = list(dict.fromkeys(self._again))
        if not again:
            return self._notes
        words = "is named more than once and read once" if len(again) == 1 else "are named more than once and read once"
        return [*self._notes, f"{_names(again)} {words}."]

    async def take_standard_input(self, spool: Path, limit_mib: int) -> None:
        if "-" in self._seen:
            self._again.append(STANDARD_INPUT)
            return
        self._seen.add("-")
        try:
            file = await spool_standard_input(spool, limit_mib)
        except LongscrollError as problem:
            self._fail(STANDARD_INPUT, problem)
        else:
            self.inputs.append(Input(path=str(file), shown=STANDARD_INPUT, spooled=True))

    def take(self, path: str, stop: threading.Event) -> None:
        place = os.path.expanduser(path)
        if os.path.lexists(place) or not has_magic(place):
            self._take_path(path, place)
            return
        found = matches(place, stop)
        if not found:
            self._fail(
                path, InputProblem(f"{path} matches no file.", "Check the pattern; `**` stands for any folders.")
            )
        for match in found:
            self._take_path(match, match)

    def _take_path(self, shown: str, place: str) -> None:
        if not os.path.isdir(place):
            # Whether it exists, and what it is, is for the reader to say.
            self._add(shown, place)
            return
        try:
            folder = look_into(Path(place).resolve())
        except OSError as error:
            reason = error.strerror or str(error)
            self._fail(shown, InputProblem(f"{shown} cannot be listed ({reason}).", "Change its permissions."))
            return
        if folder.tree:
            self._add(shown, place, folder=True)
        else:
            self._take_documents(shown, place, folder)

    def _take_documents(self, shown: str, place: str, folder: Folder) -> None:
        named = shown if shown.endswith(("/", os.sep)) else f"{shown}/"
        left = "; ".join(f"{_names(names)} ({reason})" for reason, names in folder.left)
        if not folder.files:
            what = f"{shown} is a folder without files (ignored ones are not counted)."
            if left:
                what = f"{shown} is a folder without documents. Left out: {left}."
            self._fail(shown, InputProblem(what, "Name a folder with documents in it, or the files themselves."))
            return
        self._notes.append(f"{named}: {plural(len(folder.files), 'document')}.{f' Left out: {left}.' if left else ''}")
        inside = "" if shown in (".", "./") else named
        for file in folder.files:
            self._add(inside + file, os.path.join(place, file))

    def _add(self, shown: str, place: str, *, folder: bool = False) -> None:
        real = os.path.realpath(place)
        if real in self._seen:
            self._again.append(shown)
            return
        self._seen.add(real)
        self.inputs.append(Input(path=place, shown=shown, folder=folder))

    def _fail(self, shown: str, problem: LongscrollError) -> None:
        self.inputs.append(Input(path="", shown=shown, problem=problem))


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(name_safe(name) for name in names[:_NAMES])
    return shown if len(names) <= _NAMES else f"{shown} and {len(names) - _NAMES:,} more"
