"""OCR for whatever document: the choice of program and language, and what a person is told of its outcome."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from tui.documents.model import PageNote
from tui.documents.scripts import language_of, language_of_script
from tui.documents.tesseract import OcrFailed, Reading, Recognizer, choose, recognizers, script_of

AUTO = "auto"
UNSURE = 60.0
"""Percent of confidence below which a page is not to be relied on: pages upside down had 42, sound ones 85 to 96."""

_LATIN = frozenset({"deu", "fra", "spa", "ita", "por", "nld"})


def recognizer_for(
    languages: str, sample: str, picture: Callable[[], tuple[bytes, int]]
) -> tuple[Recognizer, str, str]:
    """The program that reads `languages` (`eng+chi_sim`), these languages, and a remark when others would be right.

    For `auto` it is the language of `sample`, which is text of the same document; without one it follows from the
    script that `picture` shows (its bytes and dots an inch; may raise OcrFailed), and is English if that is unknown.
    Raises Refusal when there is no tesseract, or none with the language.
    """
    known = recognizers()
    if languages != AUTO or not known:
        return choose(known, languages), languages, ""
    language = language_of(sample)
    looking = next((engine for engine in known if "osd" in engine.languages), None)
    if not language and looking is not None:
        try:
            seen, dpi = picture()
            language = language_of_script(script_of(looking, seen, dpi=dpi))
        except OcrFailed:
            # The page is named when its turn comes to be read.
            language = ""
    if language in _LATIN and not any(language in engine.languages for engine in known):
        # The letters are mostly the same ones.
        return choose(known, "eng"), "eng", f" for want of {language}"
    language = language or "eng"
    return choose(known, language), language, ""


def notes(read: Mapping[int, Reading], failed: Mapping[int, str], by: str) -> Iterator[PageNote]:
    """What came of pages, by their numbers: read by OCR, hardly legible, without text, failed and why."""

    def said(numbers: list[int], one: str, many: str = "") -> PageNote:
        return PageNote(tuple(numbers), one, many or one)

    seen = [number for number, reading in read.items() if reading.text]
    if seen:
        how = f"read by OCR ({by}); letters may be wrong."
        yield said(seen, f"{{}} was {how}", f"{{}} were {how}")
    unsure = [number for number in seen if read[number].confidence < UNSURE]
    if unsure:
        yield said(unsure, "OCR was unsure of most words on {}; do not rely on that text.")
    without = [number for number in read if not read[number].text]
    if without:
        yield said(without, "OCR found no text on {}.")
    by_reason: dict[str, list[int]] = {}
    for number, why in failed.items():
        by_reason.setdefault(why, []).append(number)
    for why, numbers in by_reason.items():
        yield said(numbers, f"{{}} could not be read by OCR ({why}).")
