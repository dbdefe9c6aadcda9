"""What of a tree was read and what was not, in words: the file tree at its head, warnings, the refusal."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

import msgspec

from tui.documents.clean import name_safe
from tui.documents.refusal import Refusal
from tui.documents.tree.choose import MAX_BYTES
from tui.documents.tree.joining import File
from tui.units import plural, size

# So many names are listed in one warning; more are folded to their folders, each with its number of files.
_NAMES = 40
_MARKS: dict[str, str] = {
    "binary": "binary, not read",
    "document": "a document, not read",
    "fatal": "a document, not read",
    "late": "a document, not read",
    "drawing": "drawing, not read",
    "generated": "generated, not read",
    "minified": "minified, not read",
    "lock": "lock file, not read",
    "large": "too large, not read",
    "encoding": "encoding unknown, not read",
    "empty": "empty",
    "link": "link, not followed",
    "special": "no regular file, not read",
    "unreadable": "could not be read",
    "installed": "installed or cached, not read",
    "submodule": "submodule that is not checked out",
}
_SENTENCES: tuple[tuple[str, str, str], ...] = (
    ("binary", "binary file was left out", "binary files were left out"),
    ("late", "document in the folder was not read, for the time was up; give it by its own name",
     "documents in the folder were not read, for the time was up; give them by their own names"),
    ("fatal", "document in the folder was not read, for the reader ended at it; give it by its own name",
     "documents in the folder were not read, for the reader ended at one of them; give them by their own names"),
    ("drawing", "drawing (SVG) was left out", "drawings (SVG) were left out"),
    ("generated", "generated file was left out", "generated files were left out"),
    ("minified", "minified file was left out", "minified files were left out"),
    ("lock", "lock file was left out", "lock files were left out"),
    ("large", f"file larger than {size(MAX_BYTES)} was left out", f"files larger than {size(MAX_BYTES)} were left out"),
    ("encoding", "file was left out, for its encoding could not be decided (name it with --encoding)",
     "files were left out, for their encoding could not be decided (name it with --encoding)"),
    ("link", "link was not followed", "links were not followed"),
    ("special", "entry that is no regular file was not read", "entries that are no regular files were not read"),
    ("installed", "folder of installed packages or caches was left out",
     "folders of installed packages or caches were left out"),
    ("submodule", "submodule is not checked out", "submodules are not checked out"),
    ("unreadable", "file or folder could not be read", "files or folders could not be read"),
)  # fmt: skip


class Missing(msgspec.Struct, frozen=True):
    """Why something in the tree was not read: a key of the lists above, and what more is known."""

    reason: str
    note: str = ""
    """Where a link points; of a document, what reads on from its name (`is encrypted`)."""


def nothing(missing: Mapping[str, Missing]) -> Refusal:
    """Why there is no text in a tree."""
    if not missing:
        return Refusal(
            "is a folder without files (ignored ones are not counted).", "Name a folder with text files in it."
        )
    return Refusal(
        f"is a folder without readable text: {plural(len(missing), 'entry', 'entries')} in it were left out.",
        "Name a folder with text files in it, or the files themselves. " + " ".join(warnings(missing, [])),
    )


def file_tree(name: str, read: Mapping[str, str], missing: Mapping[str, Missing]) -> str:
    """An indented list of everything that was met, with a mark on what was not read."""
    marks = {**read, **{path: f"  ({_MARKS[why.reason]})" for path, why in missing.items()}}
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
        why = missing.get(path)
        target = f" -> {name_safe(why.note)}" if why is not None and why.reason == "link" else ""
        lines.append(f"{'  ' * (len(folders) + 1)}{name_safe(parts[-1])}{target}{marks[path]}")
    return "\n".join(lines) + "\n\n"


def warnings(missing: Mapping[str, Missing], files: Iterable[File]) -> list[str]:
    """One sentence for each reason, with the names."""
    by_reason: dict[str, list[str]] = defaultdict(list)
    by_note: dict[str, list[str]] = defaultdict(list)
    for path, why in missing.items():
        if why.reason == "document":
            by_note[f"It {why.note}, and was not read."].append(path)
        else:
            by_reason[why.reason].append(path)
    found = []
    for reason, singular, several in _SENTENCES:
        names = by_reason.get(reason)
        if names:
            found.append(f"{plural(len(names), singular, several)}: {_names(names)}")
    for file in files:
        for note in file.document.warnings:
            by_note[note].append(file.path)
    found.extend(f"{_names(names)}: {note}" for note, names in by_note.items())
    return found


def _names(names: list[str]) -> str:
    if len(names) <= _NAMES:
        return ", ".join(map(name_safe, sorted(names)))
    folders = Counter(name.rpartition("/")[0] for name in names)
    while len(folders) > _NAMES and (depth := max(folder.count("/") for folder in folders)):
        above: Counter[str] = Counter()
        for folder, count in folders.items():
            above[folder.rpartition("/")[0] if folder.count("/") == depth else folder] += count
        folders = above
    return ", ".join(f"{name_safe(folder) or '.'}/ ({count})" for folder, count in sorted(folders.items()))
