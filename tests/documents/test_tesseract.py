"""OCR: which tesseract is taken, languages, scanned pages read; what is said when it is not there."""

from __future__ import annotations

import asyncio
import io
import os
import signal
import sys
import time
from pathlib import Path

import psutil
import pypdfium2 as pdfium
import pytest
from PIL import Image
from reportlab.lib.pagesizes import A4
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from tests.documents.pdfs import (
    WORDS,
    canvas_bytes,
    image_page,
    page_text,
    pages,
    read,
    refusal,
    text_page,
    undecodable,
)
from tui.documents import tesseract
from tui.documents.loader import read_document
from tui.documents.refusal import Refusal
from tui.documents.scripts import language_of, language_of_script
from tui.documents.tesseract import Recognizer, choose
from tui.errors import InputProblem

ENGLISH = next((known for known in tesseract.recognizers() if "eng" in known.languages), None)
needs_tesseract = pytest.mark.skipif(ENGLISH is None, reason="no tesseract with English is installed")
HEIGHT = 160
"""Points."""
LINES = ["The pump in the harbour ran through the night", "and in the morning nobody would own to the pur-", "suit."]


def scanned(canvas: Canvas, lines: list[str], *, turned: int = 0) -> None:
    """A page as wide as A4 but low, that holds a picture of `lines`; a small picture is read sooner."""
    document = pdfium.PdfDocument(pages(lines))
    picture = document[0].render(scale=150 / 72, grayscale=True).to_pil()
    document.close()
    picture = picture.crop((0, 0, picture.width, round(HEIGHT * 150 / 72))).rotate(turned)
    canvas.setPageSize((A4[0], HEIGHT))
    canvas.drawImage(ImageReader(picture), 0, 0, width=A4[0], height=HEIGHT)


def mixed() -> bytes:
    def draw(canvas: Canvas) -> None:
        text_page(canvas, [WORDS])
        canvas.showPage()
        scanned(canvas, LINES)
        canvas.showPage()
        scanned(canvas, ["UPSIDE DOWN: the quick brown fox", "jumps over the lazy dog at noon"], turned=180)
        canvas.showPage()
        image_page(canvas)
        canvas.showPage()

    return canvas_bytes(draw)


@needs_tesseract
def test_scanned_pages_are_read_and_named() -> None:
    assert ENGLISH is not None
    document = read(mixed(), ocr="eng")
    assert document.warnings == (
        f"Pages 2-3 were read by OCR (tesseract {ENGLISH.version}, eng); letters may be wrong.",
        "OCR found no text on page 4.",
    )
    assert WORDS in page_text(document, 1)
    assert page_text(document, 2).split() == " ".join(LINES).replace("pur- suit", "pursuit").split()
    assert "the quick brown fox\njumps over the lazy dog at noon" in page_text(document, 3)


@needs_tesseract
def test_without_being_asked_the_remedy_names_the_option() -> None:
    assert read(mixed()).warnings == ("Pages 2-4 hold images only and were not read; --ocr reads them.",)

    def draw(canvas: Canvas) -> None:
        scanned(canvas, LINES)

    assert "--ocr" in refusal(canvas_bytes(draw)).remedy
    assert "the night" in read(canvas_bytes(draw), ocr="auto").text


@needs_tesseract
def test_a_text_layer_that_cannot_be_decoded_is_read_from_the_picture() -> None:
    document = read(undecodable(LINES[:2]), ocr="eng")
    assert document.text.split() == " ".join(LINES[:2]).split()
    assert document.warnings[0].startswith("Page 1 was read by OCR")


@needs_tesseract
def test_a_stamp_on_every_scan_is_no_text_of_the_page() -> None:
    def draw(canvas: Canvas) -> None:
        for number in range(3):
            scanned(canvas, LINES)
            canvas.drawString(60, 20, f"Downloaded from the archive on 2026-11-0{number}")
            canvas.showPage()
        canvas.setPageSize(A4)
        text_page(canvas, [WORDS])

    assert read(canvas_bytes(draw)).warnings[0].startswith("Pages 1-3 hold images only")
    text = page_text(read(canvas_bytes(draw), ocr="eng"), 2)
    assert "nobody would own" in text
    assert "Downloaded from the archive on 2026-11-01" in text


@needs_tesseract
def test_a_language_that_is_not_there() -> None:
    error = refusal(mixed(), ocr="eng+tlh")
    assert "OCR in tlh" in error.reason
    assert "tesseract-ocr-tlh" in error.remedy
    assert "eng" in error.remedy
    assert "names no language" in refusal(mixed(), ocr="eng; rm").reason
    # Nothing is to be read by it, so it does not matter.
    assert read(pages([WORDS]), ocr="tlh").warnings == ()


@pytest.mark.usefixtures("no_tesseract")
def test_no_tesseract() -> None:
    error = refusal(mixed(), ocr="auto")
    assert "tesseract) is not installed" in error.reason
    assert "longscroll[ocr]" in error.remedy
    assert read(pages([WORDS]), ocr="auto").warnings == ()

    def draw(canvas: Canvas) -> None:
        image_page(canvas)

    error = refusal(canvas_bytes(draw))
    assert "its page holds an image only" in error.reason
    assert "longscroll[ocr]" in error.remedy


def fake(*languages: str) -> Recognizer:
    return Recognizer(program="/nowhere", version="5", languages=frozenset(languages))


def test_the_first_that_has_all_languages_is_taken() -> None:
    one, other = fake("eng", "chi_sim"), fake("deu", "eng")
    assert choose([one, other], "eng") is one
    assert choose([one, other], "eng+deu") is other
    with pytest.raises(Refusal) as caught:
        choose([one, other], "chi_sim+fra")
    assert "in fra:" in caught.value.reason
    assert "tesseract-ocr-fra" in caught.value.remedy
    assert "chi_sim, deu, eng" in caught.value.remedy


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("The pump in the harbour ran through the night and it was not for us.", "eng"),
        ("Die Pumpe im Hafen lief durch die Nacht, und das war nicht von uns.", "deu"),
        ("La pompe du port a tourné toute la nuit et ce n'est pas une erreur dans les plans.", "fra"),
        ("道可道，非常道。名可名，非常名。这是我们的说法，他们也这样说。", "chi_sim"),
        ("道可道，非常道。名可名，非常名。這是我們的說法，他們也這樣說。", "chi_tra"),
        ("花嫁の顔だけは、どうしても思いつけなかった。しばらくあの顔か、この顔か。", "jpn"),
        ("Насос в гавани работал всю ночь, и утром никто не признался.", "rus"),
        ("안녕하세요 저는 한국어로 말하고 있습니다 그리고 계속합니다", "kor"),
        ("12 17 3", ""),
    ],
)
def test_the_language_of_the_other_pages(text: str, language: str) -> None:
    assert language_of(text) == language


def test_scripts_that_tesseract_names() -> None:
    assert [language_of_script(name) for name in ("Latin", "Han", "Japanese", "Cyrillic", "Fraktur", "")] == [
        "eng",
        "chi_sim",
        "jpn",
        "rus",
        "",
        "",
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="a shell script stands for tesseract")
class TestNothingIsLeftBehind:
    """A tesseract that never ends is a script; what started it is stopped or killed."""

    @pytest.fixture
    def slow(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """A program that tells its process id and sleeps for good."""
        program = tmp_path / "tesseract"
        program.write_text(
            "#!/bin/sh\ncase $1 in --version) echo tesseract 5.0;; --list-langs) printf 'List\\neng\\n';;"
            f" *) echo $$ > {tmp_path}/pid.new; mv {tmp_path}/pid.new {tmp_path}/pid; exec sleep 600;; esac\n"
        )
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
        file = tmp_path / "scan.pdf"
        file.write_bytes(mixed())
        return file

    async def started(self, folder: Path) -> psutil.Process:
        while not (folder / "pid").exists():  # noqa: ASYNC110 - a file in another process is waited for
            await asyncio.sleep(0.02)
        return psutil.Process(int((folder / "pid").read_text()))

    async def gone(self, process: psutil.Process) -> bool:
        for _ in range(500):
            if not process.is_running() or process.status() == psutil.STATUS_ZOMBIE:
                return True
            await asyncio.sleep(0.02)
        return False

    async def test_when_the_reading_is_stopped(self, slow: Path) -> None:
        reading = asyncio.create_task(read_document(slow, ocr="eng"))
        process = await self.started(slow.parent)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        assert await self.gone(process)

    async def test_when_the_time_for_ocr_is_over(self, slow: Path) -> None:
        with pytest.raises(InputProblem) as caught:
            await read_document(slow, ocr="eng", timeout_s=0.1, ocr_timeout_s=2)
        assert "ocr_timeout_s" in caught.value.remedy
        if (slow.parent / "pid").exists():
            # A busy machine may not have come so far.
            number = int((slow.parent / "pid").read_text())
            assert not psutil.pid_exists(number) or await self.gone(psutil.Process(number))

    async def test_when_the_program_is_killed(self, slow: Path) -> None:
        code = (
            "import asyncio, sys; from tui.documents.loader import read_document; "
            "asyncio.run(read_document(sys.argv[1], ocr='eng'))"
        )
        parent = await asyncio.create_subprocess_exec(sys.executable, "-c", code, str(slow))
        process = await self.started(slow.parent)
        parent.send_signal(signal.SIGKILL)
        await parent.wait()
        assert await self.gone(process)

    def test_when_a_page_takes_too_long(self, slow: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        known = tesseract.recognizers()[0]
        began = time.monotonic()
        with pytest.raises(tesseract.OcrFailed, match="not finished within"):
            tesseract.read_picture(known, "eng", b"P5 1 1 255\n\x00", seconds=0.2)
        assert time.monotonic() - began < 300
        assert not tesseract._running


def test_a_picture_that_is_none() -> None:
    if ENGLISH is None:
        pytest.skip("no tesseract")
    with pytest.raises(tesseract.OcrFailed):
        tesseract.read_picture(ENGLISH, "eng", io.BytesIO(b"no picture").getvalue())


@needs_tesseract
async def test_a_picture_is_read_when_asked(tmp_path: Path) -> None:
    document = pdfium.PdfDocument(pages(LINES))
    picture = document[0].render(scale=200 / 72, grayscale=True).to_pil().crop((0, 0, 1500, 400))
    document.close()
    for name, more in (("scan.png", []), ("scan.jpg", []), ("scan.tiff", [picture])):
        options = {"save_all": True, "append_images": more} if more else {}
        picture.save(tmp_path / name, dpi=(200, 200), **options)
        found = await read_document(tmp_path / name, ocr="eng")
        assert found.pages == 1 + len(more)
        assert found.text.startswith("The pump in the harbour ran through the night")
        assert "own to the pursuit." in found.text
        assert "read by OCR (tesseract" in found.warnings[0]
        assert [span.end for span in found.spans][-1] == len(found.text)
    with pytest.raises(InputProblem, match=r"is a picture, not text.*--ocr"):
        await read_document(tmp_path / "scan.png")
    blank = tmp_path / "blank.png"
    Image.new("L", (400, 300), 255).save(blank)
    with pytest.raises(InputProblem, match="found no text"):
        await read_document(blank, ocr="eng")
    (tmp_path / "broken.png").write_bytes((tmp_path / "scan.png").read_bytes()[:200])
    with pytest.raises(InputProblem, match="could not be read by OCR"):
        await read_document(tmp_path / "broken.png", ocr="eng")
