"""Scanned pages read by OCR: each is drawn by pdfium and read by tesseract, several at once."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import msgspec
from pypdfium2 import PdfiumError

from tui.documents.model import PageNote
from tui.documents.ocr import UNSURE, notes, recognizer_for
from tui.documents.tesseract import OcrFailed, Reading, Recognizer, end_all, read_picture

_DPI = 300
_LEAST_DPI = 36
# A page larger than A3 at 300 dpi is drawn more coarsely: 40 million grey dots are 40 MB.
_MOST_DOTS = 40_000_000
_MOST_AT_ONCE = 4


class Scans(msgspec.Struct, frozen=True):
    """What OCR gave: the texts by page number, and notes for the user."""

    texts: dict[int, str]
    notes: tuple[PageNote, ...] = ()
    tried: frozenset[int] = frozenset()
    """Numbers of the pages that were to be read, whatever came of it."""


class _Picture(msgspec.Struct, frozen=True):
    head: bytes
    dots: bytes
    dpi: int

    def upright(self) -> bytes:
        return self.head + self.dots

    def upside_down(self) -> bytes:
        return self.head + self.dots[::-1]


def read_scans(document: Any, numbers: Sequence[int], languages: str, sample: str) -> Scans:
    """Read the pages `numbers` (1-based) of an open pdfium document.

    `languages` are tesseract's (`eng+chi_sim`), or `auto`: then the language of `sample`, which is text of the same
    document, or without one the script that the first page shows, or English. Raises Refusal when there is no
    tesseract, or none with the language.
    """
    engine, languages, note = recognizer_for(languages, sample, lambda: _picture(document, numbers[0]))
    read: dict[int, Reading] = {}
    failed: dict[int, str] = {}
    for number, outcome in _outcomes(document, numbers, engine, languages):
        if isinstance(outcome, Reading):
            read[number] = outcome
        else:
            failed[number] = outcome
    return Scans(
        {number: reading.text for number, reading in read.items() if reading.text},
        tuple(notes(read, failed, f"tesseract {engine.version}, {languages}{note}")),
        frozenset(numbers),
    )


def _outcomes(
    document: Any, numbers: Sequence[int], engine: Recognizer, languages: str
) -> Iterator[tuple[int, Reading | str]]:
    """Each page's reading, or why there is none; pdfium draws in this thread only, for it is not thread-safe."""
    workers = min(_MOST_AT_ONCE, _cores(), len(numbers))
    with ThreadPoolExecutor(workers) as pool:
        try:
            running: list[tuple[int, Future[Reading]]] = []
            for number in numbers:
                try:
                    picture = _drawn(document, number)
                except OcrFailed as failure:
                    yield number, str(failure)
                    continue
                running.append((number, pool.submit(_read, engine, languages, picture)))
                # No more pictures in memory than are being read, and one that waits.
                while len(running) > workers:
                    yield _finished(*running.pop(0))
            for number, future in running:
                yield _finished(number, future)
        except BaseException:
            # A limit ran out: leaving the pool must not wait for what it reads.
            pool.shutdown(wait=False, cancel_futures=True)
            end_all()
            raise


def _finished(number: int, future: Future[Reading]) -> tuple[int, Reading | str]:
    try:
        return number, future.result()
    except OcrFailed as failure:
        return number, str(failure)


def _read(engine: Recognizer, languages: str, picture: _Picture) -> Reading:
    reading = read_picture(engine, languages, picture.upright(), dpi=picture.dpi)[0]
    if reading.text and reading.confidence >= UNSURE:
        return reading
    # A sideways page it turns by itself, one that stands on its head it does not.
    turned = read_picture(engine, languages, picture.upside_down(), dpi=picture.dpi)[0]
    return max(reading, turned, key=lambda found: found.confidence)


def _picture(document: Any, number: int) -> tuple[bytes, int]:
    drawn = _drawn(document, number)
    return drawn.upright(), drawn.dpi


def _drawn(document: Any, number: int) -> _Picture:
    """Page `number` in grey at 300 dots an inch, or at fewer when it is larger than A3. Raises OcrFailed."""
    try:
        page = document[number - 1]
        try:
            width, height = page.get_size()
            scale = min(_DPI / 72, math.sqrt(_MOST_DOTS / max(1.0, width * height)))
            if scale < _LEAST_DPI / 72:
                raise OcrFailed(f"too large to be drawn: {width / 72:,.0f} by {height / 72:,.0f} inches")
            bitmap = page.render(scale=scale, grayscale=True)
        finally:
            page.close()
        try:
            stride, columns, rows = bitmap.stride, bitmap.width, bitmap.height
            whole = bytes(bitmap.buffer)
        finally:
            bitmap.close()
    except (PdfiumError, MemoryError) as error:
        raise OcrFailed(f"it could not be drawn: {error or 'no memory left'}") from error
    dots = whole if stride == columns else b"".join(whole[row * stride : row * stride + columns] for row in range(rows))
    return _Picture(b"P5 %d %d 255\n" % (columns, rows), dots[: columns * rows], round(scale * 72))


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1
