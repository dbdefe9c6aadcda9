"""A folder of real files, when LONGSCROLL_CORPUS names one: each is read or refused with a reason, none crashes.

The folder may hold a `manifest.tsv` with the columns `file` and `password`.
"""

from __future__ import annotations

import csv
import os
from pathlib import Path

import pytest

from tui.documents.loader import read_document
from tui.errors import InputProblem

CORPUS = os.environ.get("LONGSCROLL_CORPUS", "")


def passwords(folder: Path) -> dict[str, str]:
    manifest = folder / "manifest.tsv"
    if not manifest.exists():
        return {}
    with manifest.open(encoding="utf-8", newline="") as lines:
        return {row["file"]: row["password"] for row in csv.DictReader(lines, delimiter="\t")}


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.skipif(not CORPUS, reason="LONGSCROLL_CORPUS names no folder")
async def test_every_file_is_read_or_refused_with_a_reason() -> None:
    folder = Path(CORPUS)
    known = passwords(folder)
    wrong = []
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = file.relative_to(folder).as_posix()
        try:
            document = await read_document(file, password=known.get(name) or None)
        except InputProblem as refused:
            # "failed" and "ended" are the words of a fault, not of a reason.
            if not refused.remedy or "the reader" in refused.what:
                wrong.append(f"{name}: {refused}")
            continue
        if not document.text.strip() or set("\x00\ufffe\uffff") & set(document.text):
            wrong.append(f"{name}: no text, or text that may not be")
        if [span.start for span in document.spans[1:]] != [span.end for span in document.spans[:-1]]:
            wrong.append(f"{name}: spans do not tile the text")
    assert not wrong
