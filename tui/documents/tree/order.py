"""In which order a tree's files are read: what explains the rest first.

By names alone. The order of imports was measured on eight Python packages (17 to 247 files): it brings 3-19 % of the
imports into one part of 8,000 tokens with what they import, this order 2-24 %, chance 1-12 %. That is no help for a
reader of parts, and it tears folders apart.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from tui.documents.tree.choose import MANIFESTS

Key = tuple[tuple[int, str, str], ...]

_FIRST = re.compile(r"(?:__init__|__main__|main|index|mod|lib|package-info|doc)\.\w+", re.I)
_LAST_FOLDERS = re.compile(
    r"(?:tests?|testing|__tests__|specs?|e2e|fixtures?|testdata|mocks?|examples?|samples?|demos?|bench(?:es|marks?)?"
    r"|docs?|documentation|locales?|translations|i18n|third[_-]?party|vendor|external|node_modules|\..*)",
    re.I,
)


def order(path: str) -> Key:
    """Sort key: in each folder its README, at the top the manifests, entry points, other files, then its folders.

    Folders of tests, examples, documentation and foreign code come after the others. Case does not count.
    """
    parts = PurePosixPath(path).parts
    folders = tuple((5 if _LAST_FOLDERS.fullmatch(part) else 4, part.lower(), part) for part in parts[:-1])
    return (*folders, (_file_rank(parts[-1], top=len(parts) == 1), parts[-1].lower(), parts[-1]))


def _file_rank(name: str, *, top: bool) -> int:
    if name.lower().startswith("readme"):
        return 0
    if top and name.lower() in MANIFESTS:
        return 1
    return 2 if _FIRST.fullmatch(name) else 3
