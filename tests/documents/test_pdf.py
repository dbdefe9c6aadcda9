"""The PDF reader: pages, warnings, headings; nothing is lost without a word."""

from __future__ import annotations

import io
import re

import pytest
from pypdf import PdfReader, PdfWriter
from pypdf.annotations import FreeText, Link, Text
from pypdf.generic import ArrayObject, DictionaryObject, NameObject, TextStringObject
from reportlab.pdfgen.canvas import Canvas

from tests.documents import pdfs
from tests.documents.pdfs import WORDS, canvas_bytes, edited, image_page, page_text, pages, read, refusal, text_page
from tui.documents.model import Document, PageNote, Span
from tui.documents.pdf.engine import Bookmark
from tui.documents.pdf.outline import headings
from tui.documents.refusal import Refusal
from tui.documents.selection import select_pages


def test_pages_tile_the_text() -> None:
    document = read(pages(["first page", WORDS], ["second page", WORDS]))
    assert document.kind == "pdf"
    assert document.pages == 2
    assert page_text(document, 1) == f"first page\n{WORDS}\n\n"
    assert [span.number for span in document.spans] == [1, 2]
    assert [span.label for span in document.spans] == ["1", "2"]
    assert document.warnings == ()


def test_chinese() -> None:
    document = read(pdfs.chinese(["道可道，非常道。", "名可名，非常名。"]))
    assert document.text == "道可道，非常道。\n名可名，非常名。\n\n"


def test_page_labels() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.addPageLabel(0, style="ROMAN_LOWER")
        canvas.addPageLabel(2, style="ARABIC", start=1)
        for _ in range(4):
            text_page(canvas, [WORDS])
            canvas.showPage()

    document = read(canvas_bytes(draw))
    assert [span.label for span in document.spans] == ["i", "ii", "1", "2"]


def test_outline_becomes_headings_where_the_titles_stand() -> None:
    def draw(canvas: Canvas) -> None:
        entries = (("1 Origins", 0), ("1.1 The pump", 1), ("2 Night", 0), ("Not on its page", 0))
        for number, (title, level) in enumerate(entries):
            text_page(canvas, ["A line about 1 Origins before it.", "" if number == 3 else title, WORDS])
            canvas.bookmarkPage(str(number))
            canvas.addOutlineEntry(title, str(number), level)
            canvas.showPage()

    document = read(canvas_bytes(draw))
    assert [(heading.level, heading.title) for heading in document.headings] == [
        (1, "1 Origins"),
        (2, "1.1 The pump"),
        (1, "2 Night"),
        (1, "Not on its page"),
    ]
    for heading in document.headings[:3]:
        assert re.match(re.escape(heading.title) + "\n", document.text[heading.start :])
    assert document.headings[3].start == document.spans[3].start


@pytest.mark.usefixtures("no_tesseract")
def test_pages_of_images_are_named() -> None:
    def draw(canvas: Canvas) -> None:
        for number in range(1, 10):
            if number in (3, 7, 8, 9):
                image_page(canvas)
            else:
                text_page(canvas, [f"page {number}", WORDS])
            canvas.showPage()

    document = read(canvas_bytes(draw))
    assert document.warnings == ("Pages 3, 7-9 hold images only and were not read.",)
    assert page_text(document, 3).strip() == ""


@pytest.mark.usefixtures("no_tesseract")
def test_a_page_number_on_a_scan_does_not_make_it_read() -> None:
    def draw(canvas: Canvas) -> None:
        text_page(canvas, [WORDS])
        canvas.showPage()
        image_page(canvas)
        text_page(canvas, ["- 17 -"])
        canvas.showPage()

    document = read(canvas_bytes(draw))
    assert document.warnings == ("Page 2 holds an image only and was not read.",)
    assert "- 17 -" in page_text(document, 2)


def test_a_small_picture_beside_text_is_no_scan() -> None:
    def draw(canvas: Canvas) -> None:
        image_page(canvas, share=0.3)
        text_page(canvas, ["Short."])

    assert read(canvas_bytes(draw)).warnings == ()


@pytest.mark.usefixtures("no_tesseract")
def test_blank_and_drawn_pages_are_named() -> None:
    def draw(canvas: Canvas) -> None:
        text_page(canvas, [WORDS])
        canvas.showPage()
        canvas.showPage()
        for place in range(60):
            canvas.line(50, 50 + place * 10, 400, 60 + place * 9)
        canvas.showPage()
        canvas.line(50, 50, 400, 50)
        canvas.showPage()

    assert read(canvas_bytes(draw)).warnings == (
        "Page 3 holds a drawing only and was not read.",
        "Page 2 is blank.",
        "Page 4 holds no text.",
    )


def test_an_undecodable_text_layer_is_named_or_refused() -> None:
    assert "cannot be decoded" in refusal(pdfs.undecodable([WORDS] * 5)).reason
    mixed = PdfWriter()
    mixed.append(io.BytesIO(pages([WORDS] * 9, [WORDS] * 9)))
    mixed.append(io.BytesIO(pdfs.undecodable([WORDS] * 5)))
    warnings = read(pdfs.written(mixed)).warnings
    assert len(warnings) == 1
    assert warnings[0].startswith("Page 3 has a text layer that cannot be decoded")


def test_hyphens_at_line_ends() -> None:
    lines = [
        "He went on in pur-",
        "suit of the well-known COVID-",
        "19 story, a well-",
        "known one, state-of-the-",
        "art-",
    ]
    text = read(pages(lines)).text
    assert text == "He went on in pursuit of the well-known COVID-19 story, a well-known one, state-of-the-art-\n"
    assert "\ufffe" not in text


def test_a_damaged_page_is_named_by_the_second_opinion() -> None:
    sound = pages(*[[f"Page {number}", *[WORDS] * 20] for number in range(1, 7)])
    document = read(pdfs.with_bad_stream(sound, 3, after=500))
    assert document.warnings == ("The content of page 3 is damaged; part of its text may be missing.",)
    assert WORDS in page_text(document, 2)


def test_short_pages_that_are_sound_are_not_called_damaged() -> None:
    document = read(pages(*[[f"Page {number}", *[WORDS] * (20 if number != 3 else 2)] for number in range(1, 7)]))
    assert document.warnings == ()


def test_form_values_notes_and_attachments() -> None:
    def draw(canvas: Canvas) -> None:
        text_page(canvas, ["An application", WORDS])
        form = canvas.acroForm
        form.textfield(name="surname", tooltip="Your surname", value="Featherstone", x=60, y=300, width=200, height=20)
        form.checkbox(name="agreed", tooltip="Agreed", checked=True, x=60, y=260)
        form.checkbox(name="refused", tooltip="Refused", checked=False, x=60, y=230)
        form.choice(name="town", tooltip="Town", value="Ansel", options=["Ansel", "Bower"], x=60, y=200, width=90)
        form.listbox(name="tool", tooltip="Tool", value="saw", options=["axe", "saw"], x=60, y=120, width=90, height=50)

    def annotate(writer: PdfWriter) -> None:
        writer.add_annotation(0, FreeText(text="A free remark", rect=(60, 60, 200, 90)))
        writer.add_annotation(0, Text(text="A pinned note", rect=(60, 30, 80, 50)))
        writer.add_annotation(0, Link(rect=(0, 0, 9, 9), url="https://example.org/"))
        hidden = FreeText(text="nobody sees this", rect=(60, 60, 200, 90))
        hidden.flags = 2
        writer.add_annotation(0, hidden)
        writer.add_attachment("table.csv", b"a,b")

    document = read(edited(canvas_bytes(draw), annotate))
    for line in (
        "- Your surname: Featherstone",
        "- Agreed: Yes",
        "- Town: Ansel",
        "- Tool: saw (of: axe; saw)",
        "- FreeText: A free remark",
        "- Text: A pinned note",
    ):
        assert f"{line}\n" in document.text
    assert "Refused" not in document.text
    assert "nobody sees this" not in document.text
    assert "The attached file table.csv was not read." in document.warnings


def test_a_form_on_an_empty_page_is_text_enough() -> None:
    def draw(canvas: Canvas) -> None:
        canvas.acroForm.textfield(name="answer", tooltip="Answer", value="forty-two", x=60, y=300, width=200, height=20)
        canvas.showPage()

    document = read(canvas_bytes(draw))
    assert "- Answer: forty-two" in document.text


def test_odd_annotations_do_not_stop_the_reading() -> None:
    def annotate(writer: PdfWriter) -> None:
        odd = DictionaryObject({NameObject("/Subtype"): NameObject("/Text"), NameObject("/Contents"): ArrayObject()})
        looped = DictionaryObject(
            {NameObject("/Subtype"): NameObject("/Widget"), NameObject("/T"): TextStringObject("x")}
        )
        reference = writer._add_object(looped)
        looped[NameObject("/Parent")] = reference
        writer.pages[0][NameObject("/Annots")] = ArrayObject([writer._add_object(odd), reference])

    assert WORDS in read(edited(pages([WORDS]), annotate)).text


@pytest.mark.parametrize("algorithm", ["RC4-40", "RC4-128", "AES-128", "AES-256-R5", "AES-256"])
def test_passwords(algorithm: str) -> None:
    def locked(user: str, owner: str) -> bytes:
        return edited(pages([WORDS]), lambda writer: writer.encrypt(user, owner, algorithm=algorithm))

    assert WORDS in read(locked("", "owner")).text
    both = locked("user", "owner")
    assert refusal(both).kind == "password"
    assert refusal(both, password="wrong").kind == "wrong-password"
    assert WORDS in read(both, "user").text
    assert WORDS in read(both, "owner").text


def test_what_pdfium_does_not_open_is_written_anew_by_pypdf(monkeypatch: pytest.MonkeyPatch) -> None:
    from tui.documents.pdf import opening

    data = edited(pages([WORDS]), lambda writer: writer.encrypt("user", "owner", algorithm="AES-256"))
    real = opening.pdfium.PdfDocument

    def picky(source: bytes, password: str | None = None) -> object:
        if source == data:
            raise opening.pdfium.PdfiumError("refused", err_code=opening.pdfium_c.FPDF_ERR_PASSWORD)
        return real(source, password=password)

    monkeypatch.setattr(opening.pdfium, "PdfDocument", picky)
    assert WORDS in read(data, "user").text
    assert refusal(data).kind == "password"


def test_zero_pages() -> None:
    assert "without pages" in refusal(pdfs.written(PdfWriter())).reason


@pytest.mark.parametrize("share", [0.3, 0.6, 0.99])
def test_cut_off(share: float) -> None:
    data = pages(*[[WORDS] * 30] * 8)
    assert "cut off" in refusal(data[: int(len(data) * share)]).reason


@pytest.mark.parametrize("after", [b"\x00" * 5000, b"\r\n" * 3000])
def test_padding_after_the_end_is_no_cut(after: bytes) -> None:
    assert read(pages(*[[WORDS] * 30] * 2) + after).warnings == ()


def test_a_web_page_named_as_pdf() -> None:
    assert "web page" in refusal(b"<!DOCTYPE html><html><body>404</body></html>").reason


@pytest.mark.parametrize("data", [b"just words", b"\x89PNG\r\n\x1a\n" + b"\x00" * 99, b"%PDF-1.7\n%%EOF\n"])
def test_what_is_no_pdf(data: bytes) -> None:
    refusal(data)


def test_junk_before_the_header_and_a_damaged_table_are_no_matter() -> None:
    data = pages([WORDS], [WORDS])
    assert WORDS in read(b"junk " * 40 + data).text
    broken = re.sub(rb"\d{10} 00000 n", b"0000000007 00000 n", data)
    assert WORDS in read(broken).text


def test_any_cut_or_damage_gives_text_or_a_refusal() -> None:
    import random

    data = pages(*[[f"Page {number}", *[WORDS] * 10] for number in range(3)])
    chance = random.Random(7)
    for _ in range(40):
        damaged = bytearray(data)
        for _ in range(chance.randrange(1, 40)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        try:
            document = read(bytes(damaged))
        except Refusal as refused:
            assert refused.remedy  # noqa: PT017 - either outcome is right; both are checked
            continue
        document.text.encode("utf-8")
        assert not set("\x00\ufffe\uffff") & set(document.text)


def test_the_pages_stand_as_pypdf_counts_them() -> None:
    data = pages(*[[f"word{number} and some more of them"] for number in range(30)])
    document = read(data)
    assert document.pages == len(PdfReader(io.BytesIO(data)).pages) == 30
    for number in range(30):
        assert f"word{number} " in page_text(document, number + 1)


@pytest.mark.parametrize("algorithm", ["RC4-40", "RC4-128", "AES-128", "AES-256"])
def test_an_owner_password_that_is_empty_opens_the_file(algorithm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from pypdf._encryption import Encryption

    real = Encryption._encode_password

    def encode(encryption: Encryption, password: str, **options: bool) -> bytes:
        # pypdf itself takes an empty owner password for none.
        return b"" if password == "blank" else real(encryption, password, **options)

    monkeypatch.setattr(Encryption, "_encode_password", encode)
    data = edited(pages([WORDS]), lambda writer: writer.encrypt("user", "blank", algorithm=algorithm))
    assert WORDS in read(data).text
    assert WORDS in read(data, "user").text
    assert refusal(data, password="wrong").kind == "wrong-password"


def test_titles_are_found_with_and_without_the_spaces_of_eastern_print() -> None:
    text = "第 1 章\n花の頃を越えて。\n第 2 章\n「おい」と声を掛けた。\n제 3장 처음\n"
    spans = [Span("page", "1", 1, 0, len(text))]
    entries = [Bookmark(page=1, level=1, title=title) for title in ("第1章", "第2章", "제3장 처음")]
    found = headings(entries, spans, text)
    assert [text[heading.start :].split("\n")[0] for heading in found] == ["第 1 章", "第 2 章", "제 3장 처음"]


def test_warnings_about_pages_follow_the_selection() -> None:
    """Those about other pages go; one about some of the chosen names these only."""
    notes = (
        PageNote((2, 5, 6, 7), "{} holds an image only", "{} hold images only"),
        PageNote((6,), "{} is blank.", "{} are blank."),
        PageNote((1, 2), "Of {} something was left {out}.", "Of {} something was left {out}."),
    )
    document = Document(
        path="a.pdf",
        name="a.pdf",
        kind="pdf",
        text="x" * 8,
        spans=tuple(Span("page", str(page), page, page - 1, page) for page in range(1, 9)),
        warnings=("It is old.", *(note.sentence() for note in notes)),
        page_notes=notes,
    )
    chosen = select_pages(document, "1-3")
    assert chosen.warnings == (
        "It is old.",
        "Page 2 holds an image only",
        "Of pages 1-2 something was left {out}.",
        "Only pages 1-3 of 8 were taken, as asked.",
    )
    assert select_pages(chosen, "1-2").page_notes == chosen.page_notes
