"""The reader of a folder: a file tree at the head, then each file under a line with its path."""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from tui.documents.clean import name_safe
from tui.documents.encodings import Decoded, decode
from tui.documents.model import Document, Span
from tui.documents.refusal import NotText, Refusal
from tui.documents.tree.choose import MAX_BYTES, Left, by_content, by_name, order
from tui.documents.tree.walk import Entry, walk
from tui.units import plural, size

HEAD_LABEL = "(file tree)"
"""Label of the first span: the list of files, which is no file itself."""

# So many names are listed in one warning; more are folded to their folders, each with its number of files.
_NAMES = 40
_MARKS: dict[str, str] = {
    "binary": "binary, not read",
    "document": "a document, not read",
    "minified": "minified, not read",
    "lock": "lock file, not read",
    "large": "too large, not read",
    "encoding": "encoding unknown, not read",
    "empty": "empty",
    "link": "link, not followed",
    "special": "no regular file, not read",
    "unreadable": "could not be read",
    "installed": "installed or cached, not read",
}
_SENTENCES: tuple[tuple[str, str, str], ...] = (
    ("binary", "binary file was left out", "binary files were left out"),
    ("document", "document in a folder was not read; give it by its own name",
     "documents in a folder were not read; give them by their own names"),
    ("minified", "minified file was left out", "minified files were left out"),
    ("lock", "lock file was left out", "lock files were left out"),
    ("large", f"file larger than {size(MAX_BYTES)} was left out", f"files larger than {size(MAX_BYTES)} were left out"),
    ("encoding", "file was left out, for its encoding could not be decided",
     "files were left out, for their encoding could not be decided"),
    ("link", "link was not followed", "links were not followed"),
    ("special", "entry that is no regular file was not read", "entries that are no regular files were not read"),
    ("installed", "folder of installed packages or caches was left out",
     "folders of installed packages or caches were left out"),
    ("unreadable", "file or folder could not be read", "files or folders could not be read"),
)  # fmt: skip


class _Read(msgspec.Struct, frozen=True):
    path: str
    decoded: Decoded


def read_tree(root: Path, path: str, name: str) -> Document:
    """The text files below `root` as one document, spans being the files; the first span is the file tree.

    Raises Refusal when no file could be read as text.
    """
    read: list[_Read] = []
    left: dict[str, str] = {}
    notes: dict[str, str] = {}
    digest = hashlib.sha256()
    for entry in sorted(walk(root), key=lambda entry: order(entry.path)):
        reason, data = _look(root, entry)
        if reason is None:
            try:
                read.append(_Read(entry.path, decode(data)))
            except NotText:
                reason = "binary"
            except Refusal:
                reason = "encoding"
        if reason is None:
            digest.update(os.fsencode(entry.path) + b"\0" + len(data).to_bytes(8, "little") + data)
        else:
            left[entry.path] = reason
            notes[entry.path] = entry.note
    if not read:
        raise _nothing(left)
    head = _file_tree(name, read, left, notes)
    spans, text = _joined(head, read)
    return Document(
        path=path,
        name=name,
        kind="tree",
        text=text,
        spans=spans,
        warnings=tuple(_warnings(left, read)),
        sha256=digest.hexdigest(),
    )


def _look(root: Path, entry: Entry) -> tuple[str | None, bytes]:
    """Why an entry is not read, or None and its bytes."""
    if entry.kind != "file":
        return entry.kind, b""
    reason: Left | None = by_name(entry.path, entry.size)
    if reason is not None:
        return reason, b""
    try:
        data = (root / entry.path).read_bytes()
    except OSError:
        return "unreadable", b""
    return ("empty", b"") if not data else (by_content(entry.path, data), data)


def _nothing(left: Mapping[str, str]) -> Refusal:
    if not left:
        return Refusal(
            "is a folder without files (ignored ones are not counted).", "Name a folder with text files in it."
        )
    documents = [path for path, reason in left.items() if reason == "document"]
    if documents:
        return Refusal(
            f"is a folder without text files; {plural(len(documents), 'document')} in it must be given by name.",
            f"Name them one by one, such as {name_safe(documents[0])}, or with a pattern such as *.pdf.",
        )
    return Refusal(
        f"is a folder without readable text: {plural(len(left), 'entry', 'entries')} in it were left out.",
        "Name a folder with text files in it, or the files themselves. " + " ".join(_warnings(left, [])),
    )


def _joined(head: str, read: Iterable[_Read]) -> tuple[tuple[Span, ...], str]:
    parts = [head]
    spans = [Span("file", HEAD_LABEL, 1, 0, len(head))]
    offset = len(head)
    for number, file in enumerate(read, 2):
        label = name_safe(file.path)
        body = file.decoded.text
        part = f"===== {label} =====\n{body}{'' if body.endswith(chr(10)) else chr(10)}\n"
        spans.append(Span("file", label, number, offset, offset + len(part)))
        parts.append(part)
        offset += len(part)
    return tuple(spans), "".join(parts)


def _file_tree(name: str, read: Iterable[_Read], left: Mapping[str, str], notes: Mapping[str, str]) -> str:
    """An indented list of everything that was met, with a mark on what was not read."""
    marks = {file.path: "" for file in read} | {path: f"  ({_MARKS[reason]})" for path, reason in left.items()}
    lines = [f"{name}/"]
    shown: list[str] = []
    for path in sorted(marks, key=lambda path: path.lower().split("/")):
        parts = path.rstrip("/").split("/")
        folders = parts[:-1]
        common = 0
        while common < min(len(shown), len(folders)) and shown[common] == folders[common]:
            common += 1
        lines.extend(f"{'  ' * (depth + 1)}{name_safe(folders[depth])}/" for depth in range(common, len(folders)))
        shown = folders
        target = f" -> {name_safe(notes[path])}" if left.get(path) == "link" else ""
        lines.append(f"{'  ' * (len(folders) + 1)}{name_safe(parts[-1])}{target}{marks[path]}")
    return "\n".join(lines) + "\n\n"


def _warnings(left: Mapping[str, str], read: Iterable[_Read]) -> list[str]:
    """One sentence for each reason, with the names."""
    by_reason: dict[str, list[str]] = defaultdict(list)
    for path, reason in left.items():
        by_reason[reason].append(path)
    found = []
    for reason, singular, several in _SENTENCES:
        names = by_reason.get(reason)
        if names:
            found.append(f"{plural(len(names), singular, several)}: {_names(names)}")
    by_note: dict[str, list[str]] = defaultdict(list)
    for file in read:
        for note in file.decoded.warnings:
            by_note[note].append(file.path)
    found.extend(f"{_names(names)}: {note}" for note, names in by_note.items())
    return found


def _names(names: list[str]) -> str:
    if len(names) <= _NAMES:
        return ", ".join(map(name_safe, sorted(names)))
    folders: dict[str, int] = defaultdict(int)
    for name in names:
        folders[name.rpartition("/")[0]] += 1
    return ", ".join(f"{name_safe(folder) or '.'}/ ({count})" for folder, count in sorted(folders.items()))
