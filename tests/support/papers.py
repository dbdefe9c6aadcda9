"""Documents the tests write themselves, so that what is in them is known."""

from __future__ import annotations

import random
from pathlib import Path

_SUBJECTS = ("The pump", "The northern line", "Valve {n}", "The night shift", "Tank {n}", "The inspector", "Unit {n}")
_VERBS = ("was checked by", "was repaired by", "failed in front of", "was measured by", "was replaced by", "passed")
_OBJECTS = ("the crew from Ansel", "two engineers", "the third contractor", "a visiting auditor", "the harbour office")
_ENDS = ("before noon", "in heavy rain", "at a cost of {n} pounds", "after {n} hours", "for the {n}th time this year")


def sentences(count: int, seed: int = 1) -> list[str]:
    """English sentences of a dull report; the same seed gives the same ones."""
    chance = random.Random(seed)
    made = []
    for _ in range(count):
        parts = [chance.choice(group) for group in (_SUBJECTS, _VERBS, _OBJECTS, _ENDS)]
        made.append(" ".join(part.format(n=chance.randrange(2, 900)) for part in parts) + ".")
    return made


def report(pages: int, sentences_per_page: int, seed: int = 1) -> list[str]:
    """Page texts, each with a heading and a code word of its own."""
    all_of_it = sentences(pages * sentences_per_page, seed)
    return [
        f"Section {page + 1}: the code word is KESTREL-{page + 1:03d}.\n"
        + "\n".join(all_of_it[page * sentences_per_page : (page + 1) * sentences_per_page])
        for page in range(pages)
    ]


def write_pdf(path: Path, pages: list[str], *, password: str = "") -> Path:
    """A PDF with one page for each text."""
    from reportlab.lib.pagesizes import A4
    from reportlab.pdfgen.canvas import Canvas

    canvas = Canvas(str(path), pagesize=A4, encrypt=password or None)
    for text in pages:
        body = canvas.beginText(60, A4[1] - 60)
        body.setFont("Helvetica", 10)
        for line in text.splitlines():
            body.textLine(line)
        canvas.drawText(body)
        canvas.showPage()
    canvas.save()
    return path


def write_scan(path: Path, pages: int = 2) -> Path:
    """A PDF whose pages hold one image each and no text."""
    from PIL import Image, ImageDraw
    from reportlab.lib.pagesizes import A4
    from reportlab.lib.utils import ImageReader
    from reportlab.pdfgen.canvas import Canvas

    canvas = Canvas(str(path), pagesize=A4)
    for number in range(pages):
        image = Image.new("L", (620, 877), 255)
        ImageDraw.Draw(image).text((60, 60), f"a scanned page {number}", fill=0)
        canvas.drawImage(ImageReader(image), 0, 0, width=A4[0], height=A4[1])
        canvas.showPage()
    canvas.save()
    return path
