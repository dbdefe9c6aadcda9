"""A folder of real files, when LONGSCROLL_CORPUS names one: each is read or refused with a reason, none crashes.

The folder may hold a `manifest.tsv` with the columns `file` and `password`. Run it with `-s` to see, for each format,
what was read and what was refused.
"""

from __future__ import annotations

import csv
import os
from collections import Counter
from pathlib import Path

import pytest

from tui.documents.kinds import Format, file_format
from tui.documents.loader import read_document
from tui.documents.model import Document
from tui.documents.refusal import PasswordNeeded
from tui.errors import InputProblem

CORPUS = os.environ.get("LONGSCROLL_CORPUS", "")
SECONDS, MEMORY_MIB = 20, 1536

MAY_BE_REFUSED: dict[str, str] = {
    "is a scan without text": "needs the extra `ocr`",
    "holds no text on any page": "an empty or drawn page",
    "is a damaged PDF": "what is left of it cannot be opened",
    "is a PDF that was cut off": "its index is gone",
    "is a PDF without pages": "nothing to read",
    "is named as a PDF but is none": "another file under that name",
    "is a web page that is named as a PDF": "another file under that name",
    "is a book of images": "needs the extra `ocr`",
    "is locked (": "a book that only its shop's program opens",
}
"""Why a file may be refused, and what that means. Any other reason is a fault of a reader."""
NEVER_REFUSED: frozenset[Format] = frozenset({"docx", "html", "notebook", "table", "plain"})
"""Formats of which the corpus holds sound files only: each of them must be read."""


def passwords(folder: Path) -> dict[str, str]:
    manifest = folder / "manifest.tsv"
    if not manifest.exists():
        return {}
    with manifest.open(encoding="utf-8", newline="") as lines:
        return {row["file"]: row["password"] for row in csv.DictReader(lines, delimiter="\t")}


def faults(document: Document) -> list[str]:
    """What is wrong with a document that was read."""
    found = []
    text = document.text
    if not text.strip():
        found.append("no text")
    if set("\x00\ufffe\uffff") & set(text) or any("\ud800" <= character <= "\udfff" for character in text):
        found.append("characters that may not be")
    starts, ends = [span.start for span in document.spans], [span.end for span in document.spans]
    if starts[:1] != [0] or ends[-1:] != [len(text)] or starts[1:] != ends[:-1]:
        found.append("spans that do not tile the text")
    places = [heading.start for heading in document.headings]
    if places != sorted(places) or any(not 0 <= place <= len(text) for place in places):
        found.append("headings out of order")
    bounds = [place for table in document.tables for place in (table.start, table.header_end, table.end)]
    if bounds != sorted(bounds):
        found.append("tables out of order")
    return found


def why_wrong(refused: InputProblem, format_: Format) -> str:
    """What is wrong with a refusal; empty when it is right."""
    if not refused.remedy:
        return "refused without a remedy"
    if isinstance(refused, PasswordNeeded):
        return ""
    if format_ in NEVER_REFUSED:
        return "must be read"
    return "" if any(reason in refused.what for reason in MAY_BE_REFUSED) else "refused for a reason that is none"


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.skipif(not CORPUS, reason="LONGSCROLL_CORPUS names no folder")
async def test_every_file_is_read_or_refused_with_a_reason() -> None:
    folder = Path(CORPUS)
    known = passwords(folder)
    wrong: list[str] = []
    counts: Counter[tuple[Format, str]] = Counter()
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "manifest.tsv")
    for file in files:
        name = file.relative_to(folder).as_posix()
        format_ = file_format(file.read_bytes(), file.name)
        try:
            # The loader ends the reader at either limit, and then the refusal is none of those above.
            document = await read_document(
                file, password=known.get(name) or None, timeout_s=SECONDS, memory_mib=MEMORY_MIB
            )
        except InputProblem as refused:
            counts[format_, "refused"] += 1
            if why := why_wrong(refused, format_):
                wrong.append(f"{name}: {why}: {refused}")
            continue
        counts[format_, "read"] += 1
        wrong.extend(f"{name}: {fault}" for fault in faults(document))
    for format_ in sorted({format_ for format_, _ in counts}):
        print(f"{format_}: {counts[format_, 'read']} read, {counts[format_, 'refused']} refused")
    assert files, f"{folder} holds no files"
    assert not wrong
