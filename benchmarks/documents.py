"""How fast documents are read, what it takes, and how much of their text comes out.

    python -m benchmarks.documents FOLDER [--mupdf PYTHON] [--worst 12] [--files]

Every file is read in a process of its own with the program's limits (20 s, 1.5 GiB), as `read_document` reads it.
Printed are processor seconds of the reading, pages/s or MB/s by them (the machine may be shared), the peak memory of
the whole process, characters, and character recall: which share of the yardstick's characters (see `yardsticks`) is in
the text, each as often, after NFKC and without white space and controls. Where two programs read a PDF, recall is
given against the one that agrees better, and against the other. Passwords are taken from FOLDER/manifest.tsv
(columns `file`, `password`, `category`). `--mupdf` names a Python that has PyMuPDF; it is no dependency of the project.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

import msgspec

from benchmarks.yardsticks import characters, mupdf_python, recall, versions, yardsticks

ROOT = Path(__file__).resolve().parent.parent
LIMIT_S = 20
MEMORY_MIB = 1536
FEW = 30
"""Characters below which a yardstick says nothing."""


class Reading(msgspec.Struct):
    """One file, measured. Sizes in bytes, times in processor seconds, memory in MiB."""

    file: str
    category: str
    size: int
    outcome: str = ""
    """Empty when it was read, else why not."""
    kind: str = ""
    encoding: str = ""
    pages: int = 0
    characters: int = 0
    seconds: float = 0.0
    peak_mib: float = 0.0
    warnings: int = 0
    better: float | None = None
    other: float | None = None
    by: str = ""


def child(path: str, password: str, out: str) -> None:
    """Read one file and write what came of it: the text to `out`, the figures beside it."""
    from tui.documents.limits import limit_process
    from tui.documents.options import ReadOptions
    from tui.documents.refusal import Refusal
    from tui.documents.sources import read_path

    limit_process(MEMORY_MIB, LIMIT_S + 10)
    start = time.process_time()
    try:
        document = read_path(path, ReadOptions(password=password))
    except Refusal as refusal:
        report: dict[str, object] = {"outcome": refusal.reason}
    except MemoryError:
        report = {"outcome": "FAILED: out of memory"}
    else:
        seconds = time.process_time() - start
        Path(out).write_text(document.text, encoding="utf-8")
        report = {
            "kind": document.kind,
            "encoding": document.encoding,
            "pages": document.pages,
            "characters": len(document.text),
            "warnings": len(document.warnings),
            "seconds": seconds,
        }
    Path(out + ".json").write_text(json.dumps({**report, "peak_mib": _peak_mib()}), encoding="utf-8")
    os._exit(0)


def _peak_mib() -> float:
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return int(status.split("VmHWM:")[1].split()[0]) / 1024
    except (OSError, IndexError):
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / (1024 * 1024 if sys.platform == "darwin" else 1024)


def read(file: Path, name: str, category: str, password: str, mupdf: str) -> Reading:
    """Read a file in a child process and hold its text against the yardsticks."""
    reading = Reading(name, category, file.stat().st_size)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "text"
        command = [sys.executable, "-m", "benchmarks.documents", "--child", str(file), password, str(out)]
        try:
            done = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=LIMIT_S + 5, check=False)
        except subprocess.TimeoutExpired:
            reading.outcome = f"FAILED: not within {LIMIT_S} s"
            return reading
        report = out.with_name("text.json")
        if done.returncode or not report.exists():
            reading.outcome = f"FAILED: the reader ended with {done.returncode}"
            return reading
        for key, value in json.loads(report.read_text(encoding="utf-8")).items():
            setattr(reading, key, value)
        if reading.outcome:
            return reading
        mine = characters(out.read_text(encoding="utf-8"))
    found = yardsticks(file, reading.kind, reading.encoding, password, mupdf)
    counted = {by: characters(text) for by, text in found.items()}
    held = sorted(
        ((recall(mine, count), by) for by, count in counted.items() if sum(count.values()) >= FEW), reverse=True
    )
    if held:
        reading.better, reading.by = held[0]
        reading.other = held[1][0] if len(held) > 1 else None
    return reading


def speed(readings: Iterable[Reading]) -> str:
    """Pages/s where there are pages, else MB/s, by processor time; a dash for less than can be measured."""
    readings = list(readings)
    seconds = sum(reading.seconds for reading in readings)
    pages = sum(reading.pages for reading in readings)
    if seconds < 0.002:
        return "–"
    return f"{pages / seconds:,.0f} pages/s" if pages else f"{sum(r.size for r in readings) / seconds / 1e6:.1f} MB/s"


def share(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def row(reading: Reading) -> str:
    if reading.outcome:
        return f"| {reading.file} | | | {reading.peak_mib:.0f} | | {reading.outcome.replace('|', ' ')[:100]} | |"
    return (
        f"| {reading.file} | {speed([reading])} | {reading.seconds:.2f} | {reading.peak_mib:.0f} | "
        f"{reading.characters:,} | {share(reading.better)} {reading.by} | {share(reading.other)} |"
    )


def summary(groups: dict[str, list[Reading]], title: str) -> None:
    print(f"\n| {title} | files | read | speed | processor s | peak MiB | characters | recall, mean | least | < 0.99 |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name, group in sorted(groups.items()):
        good = [reading for reading in group if not reading.outcome]
        held = [reading.better for reading in good if reading.better is not None]
        figures = (
            f"{statistics.mean(held):.4f} | {min(held):.4f} | {sum(1 for value in held if value < 0.99)} of {len(held)}"
            if held
            else "– | – | –"
        )
        print(
            f"| {name} | {len(group)} | {len(good)} | {speed(good)} | {sum(r.seconds for r in good):.2f} | "
            f"{max((r.peak_mib for r in group), default=0):.0f} | {sum(r.characters for r in good):,} | {figures} |"
        )


def manifest(folder: Path) -> dict[str, dict[str, str]]:
    place = folder / "manifest.tsv"
    if not place.exists():
        return {}
    with place.open(encoding="utf-8", newline="") as lines:
        return {line["file"]: line for line in csv.DictReader(lines, delimiter="\t")}


def grouped(readings: list[Reading], of: str) -> dict[str, list[Reading]]:
    groups: dict[str, list[Reading]] = {}
    for reading in readings:
        form = reading.file.split("/")[0] if "/" in reading.file else Path(reading.file).suffix.lstrip(".")
        key = form if of == "format" else f"{form}, {reading.category}"
        groups.setdefault(key, []).append(reading)
    return groups


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("folder", nargs="?")
    options.add_argument("--mupdf", default="", help="a Python that can import pymupdf")
    options.add_argument("--worst", type=int, default=12, help="how many of the lowest recalls are listed")
    options.add_argument("--files", action="store_true", help="also print a line for each file")
    options.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.child:
        child(*chosen.child)
    if not chosen.folder:
        options.error("name the folder with the documents")
    folder = Path(chosen.folder)
    known = manifest(folder)
    mupdf = mupdf_python(chosen.mupdf)
    print(
        f"{time.strftime('%Y-%m-%d')}, Python {platform.python_version()}, pypdfium2 {version('pypdfium2')}, "
        f"pypdf {version('pypdf')}, selectolax {version('selectolax')}; yardsticks: {versions(mupdf)}.\n"
    )
    head = "| file | speed | processor s | peak MiB | characters | recall | by the other |\n| --- |" + " ---: |" * 6
    if chosen.files:
        print(head)
    readings = []
    for file in sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "manifest.tsv"):
        name = file.relative_to(folder).as_posix()
        if name.endswith(".txt") and (folder / name.removesuffix(".txt")).exists():
            continue
        line = known.get(name, {})
        reading = read(file, name, line.get("category") or "all", line.get("password") or "", mupdf)
        readings.append(reading)
        if chosen.files:
            print(row(reading), flush=True)
    summary(grouped(readings, "format"), "format")
    summary(grouped(readings, "category"), "format and category")
    worst = sorted((r for r in readings if r.better is not None), key=lambda r: r.better or 0.0)[: chosen.worst]
    print(f"\nThe {len(worst)} lowest recalls:\n\n{head}")
    for reading in worst:
        print(row(reading))
    print("\nNot read:\n")
    for reading in readings:
        if reading.outcome:
            print(f"- {reading.file} {reading.outcome}")


if __name__ == "__main__":
    main()
