"""EPUB books, made here: reading order, contents, what is missing, locked, too large or made to break a reader."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from tui.documents.epub.reader import read_epub
from tui.documents.model import Document
from tui.documents.options import ReadOptions
from tui.documents.places import Places
from tui.documents.refusal import Refusal
from tui.documents.sources import read_bytes, read_path

CONTAINER = (
    '<?xml version="1.0"?><container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
)
NCX = "application/x-dtbncx+xml"


def page(body: str, head: str = "<title/>") -> str:
    return (
        f'<?xml version="1.0" encoding="utf-8"?><html xmlns="http://www.w3.org/1999/xhtml"><head>{head}</head>'
        f"<body>{body}</body></html>"
    )


def opf(manifest: str, spine: str, before: str = "", toc: str = "") -> str:
    return (
        f'<?xml version="1.0"?>{before}<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata '
        'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>A book</dc:title></metadata>'
        f"<manifest>{manifest}</manifest><spine {toc}>{spine}</spine></package>"
    )


def item(name: str, href: str, kind: str = "application/xhtml+xml", more: str = "") -> str:
    return f'<item id="{name}" href="{href}" media-type="{kind}" {more}/>'


def book(files: dict[str, str | bytes], package: str | None = None) -> bytes:
    """A book of these pages in order, or with a package of its own."""
    if package is None:
        pages = [name for name in files if name.endswith(".xhtml")]
        package = opf(
            "".join(item(f"i{index}", name) for index, name in enumerate(pages)),
            "".join(f'<itemref idref="i{index}"/>' for index in range(len(pages))),
        )
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/epub+zip")
        archive.writestr("META-INF/container.xml", CONTAINER)
        archive.writestr("OPS/book.opf", package)
        for name, content in files.items():
            archive.writestr(name[1:] if name.startswith("/") else f"OPS/{name}", content)
    return stream.getvalue()


def read(files: dict[str, str | bytes], package: str | None = None) -> Document:
    document = read_epub(book(files, package), "book.epub", "book.epub")
    assert document.spans[0].start == 0
    assert document.spans[-1].end == len(document.text)
    assert [span.start for span in document.spans[1:]] == [span.end for span in document.spans[:-1]]
    assert [span.number for span in document.spans] == list(range(1, len(document.spans) + 1))
    assert list(document.headings) == sorted(document.headings, key=lambda heading: heading.start)
    return document


def refused(files: dict[str, str | bytes], package: str | None = None) -> Refusal:
    with pytest.raises(Refusal) as caught:
        read_epub(book(files, package), "book.epub", "book.epub")
    assert caught.value.remedy
    return caught.value


TWO = {"a.xhtml": page("<h1>One</h1><p>first</p>"), "b.xhtml": page("<p>second</p>")}


def test_each_file_of_the_reading_order_is_a_section() -> None:
    document = read(TWO)
    assert document.kind == "epub"
    assert document.text == "# One\n\nfirst\n\nsecond"
    assert [(span.kind, span.label, span.start) for span in document.spans] == [
        ("section", "One", 0), ("section", "b.xhtml", 14),
    ]  # fmt: skip
    assert document.warnings == ()


def test_titles_and_levels_come_from_the_navigation() -> None:
    nav = page(
        '<nav epub:type="landmarks"><ol><li><a href="b.xhtml">Start</a></li></ol></nav>'
        '<nav epub:type="toc"><ol><li><a href="part.xhtml">Part &eacute;</a><ol><li><a href="a.xhtml#x">One</a></li>'
        '<li><a href="b.xhtml">Two</a></li></ol></li></ol></nav>'
    )
    files = {
        "part.xhtml": page("<h1>Part</h1>"),
        "a.xhtml": page("<h1>One</h1><h2>Deep</h2>"),
        **{"b.xhtml": page("text")},
    }
    manifest = "".join(item(name[:1], name) for name in files) + item("nav", "nav.xhtml", more='properties="nav"')
    spine = '<itemref idref="p"/><itemref idref="a"/><itemref idref="b"/>'
    document = read({**files, "nav.xhtml": nav}, opf(manifest, spine))
    assert document.text == "# Part\n\n## One\n\n### Deep\n\ntext"
    assert [(heading.level, heading.title) for heading in document.headings] == [
        (1, "Part"), (2, "One"), (3, "Deep"), (2, "Two"),
    ]  # fmt: skip
    assert [span.label for span in document.spans] == ["Part é", "One", "Two"]
    assert Places(document).cite([(len(document.text) - 2, len(document.text))]) == "§ Two"


def test_titles_come_from_the_ncx_of_an_older_book() -> None:
    ncx = (
        '<?xml version="1.0"?><!DOCTYPE ncx PUBLIC "-//NISO//DTD ncx 2005-1//EN" "http://x.example/ncx.dtd">'
        '<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><navMap><navPoint id="1">'
        "<navLabel>"
        '<text>A &amp; B&nbsp;C & D</text></navLabel><content src="a.xhtml"/>'
        '<navPoint id="2"><navLabel><text>Inner</text></navLabel>'
        '<content src="b.xhtml#s"/></navPoint></navPoint></navMap></ncx>'
    )
    manifest = item("a", "a.xhtml") + item("b", "b.xhtml") + item("t", "toc.ncx", NCX)
    package = opf(manifest, '<itemref idref="a"/><itemref idref="b"/>', toc='toc="t"')
    document = read({**TWO, "toc.ncx": ncx}, package)
    assert [span.label for span in document.spans] == ["A & B C & D", "Inner"]
    assert [(heading.level, heading.title) for heading in document.headings] == [(1, "One"), (2, "Inner")]


def test_printed_pages_stand_in_the_label() -> None:
    nav = page(
        '<nav epub:type="toc"><ol><li><a href="a.xhtml">One</a></li></ol></nav><nav epub:type="page-list"><ol>'
        '<li><a href="a.xhtml#p9">9</a></li><li><a href="a.xhtml#p10">10</a></li>'
        '<li><a href="b.xhtml">11</a></li></ol></nav>'
    )
    manifest = item("a", "a.xhtml") + item("b", "b.xhtml") + item("n", "n.xhtml", more='properties="nav"')
    document = read({**TWO, "n.xhtml": nav}, opf(manifest, '<itemref idref="a"/><itemref idref="b"/>'))
    assert [span.label for span in document.spans] == ["One (pp. 9-10)", "b.xhtml (p. 11)"]


def test_what_is_set_aside_comes_last() -> None:
    manifest = item("a", "a.xhtml") + item("b", "b.xhtml")
    document = read(TWO, opf(manifest, '<itemref idref="a" linear="no"/><itemref idref="b"/>'))
    assert document.text == "second\n\n# One\n\nfirst"


def test_missing_and_damaged_sections_are_named_and_not_fatal() -> None:
    data = bytearray(book({**TWO, "c.xhtml": page("third " + "x" * 400)}))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        place = archive.getinfo("OPS/c.xhtml").header_offset
    data[place + 50 : place + 60] = b"\xff" * 10
    document = read_epub(bytes(data), "b", "b")
    assert document.text == "# One\n\nfirst\n\nsecond"
    assert "1 section could not be read: c.xhtml (" in document.warnings[0]
    manifest = item("a", "a.xhtml") + item("gone", "gone.xhtml") + item("sound", "a.mp3", "audio/mpeg")
    spine = '<itemref idref="a"/><itemref idref="gone"/><itemref idref="never"/>'
    assert read(TWO, opf(manifest, spine)).warnings == (
        "The reading order names 1 section that the book does not list: never.",
        "1 section that the book lists is not in it: gone.xhtml.",
    )


def test_pages_outside_the_reading_order_are_named() -> None:
    manifest = item("a", "a.xhtml") + item("b", "b.xhtml")
    document = read(TWO, opf(manifest, '<itemref idref="a"/>'))
    assert document.warnings == ("1 page is not in the reading order and was not read: b.xhtml.",)


def test_a_book_without_a_reading_order_is_read_as_it_is_listed() -> None:
    document = read(TWO, opf(item("a", "a.xhtml") + item("b", "b.xhtml"), ""))
    assert document.text == "# One\n\nfirst\n\nsecond"
    assert "no reading order" in document.warnings[0]


def test_pictures_are_named() -> None:
    files = {
        "cover.xhtml": page('<img src="c.png" alt="cover"/>'),
        "a.xhtml": page("text"),
        "b.xhtml": page('<svg xmlns="http://www.w3.org/2000/svg"><image href="x.png"/></svg>'),
        "c.xhtml": page('<img src="d.png" alt="page 3"/>'),
    }
    assert read(files).warnings == ("2 sections hold images only and were not read.",)
    del files["a.xhtml"]
    assert "3 sections and no text" in refused(files).reason


def test_a_picture_in_the_reading_order_has_a_text_to_fall_back_on() -> None:
    manifest = item("p", "p.png", "image/png", 'fallback="a"') + item("a", "a.xhtml") + item("q", "q.png", "image/png")
    document = read({**TWO, "p.png": b"x", "q.png": b"x"}, opf(manifest, '<itemref idref="p"/><itemref idref="q"/>'))
    assert document.text == "# One\n\nfirst"
    assert document.warnings == ("1 section holds images only and was not read.",)


def test_one_id_for_two_files_and_one_file_twice() -> None:
    manifest = item("x", "a.xhtml") + item("x", "b.xhtml")
    assert read(TWO, opf(manifest, '<itemref idref="x"/><itemref idref="x"/>')).text == "# One\n\nfirst\n\nsecond"
    assert read(TWO, opf(item("x", "b.xhtml"), '<itemref idref="x"/><itemref idref="x"/>')).text == "second"


@pytest.mark.parametrize(
    "href", ["ch%20%C3%A9.xhtml", "CH é.XHTML", "./x/../ch é.xhtml", "ch e\u0301.xhtml", "ch é.xhtml?a#b"]
)
def test_names_as_books_write_them(href: str) -> None:
    assert read({"ch é.xhtml": page("found")}, opf(item("a", href), '<itemref idref="a"/>')).text == "found"


def test_a_path_out_of_the_book_finds_nothing_outside_it() -> None:
    outside = opf(
        item("a", "../../../../etc/passwd") + item("b", "b.xhtml"), '<itemref idref="a"/><itemref idref="b"/>'
    )
    assert "etc/passwd" in read(TWO, outside).warnings[0]


def test_scripts_and_empty_elements_swallow_nothing_and_entities_are_known() -> None:
    body = '<script src="s.js"/><a id="x"/><p>caf&eacute;&mdash;<i/>open</p>'
    assert read({"a.xhtml": page(body, '<title/><script src="x"/>')}).text == "café—open"


def test_a_page_in_another_encoding() -> None:
    data = page("<p>Ελλάδα</p>").replace("utf-8", "utf-16").encode("utf-16")
    assert read({"a.xhtml": data}).text == "Ελλάδα"


def test_a_package_with_stray_signs_is_mended() -> None:
    before = "<!-- R&D -->"
    assert read(TWO, opf(item("a", "a.xhtml") + "<x>A & B &copy;</x>", '<itemref idref="a"/>', before)).text


# Locked, damaged, hostile


def locked(algorithm: str, target: str, more: dict[str, str | bytes] | None = None) -> dict[str, str | bytes]:
    encryption = (
        '<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container" xmlns:e="http://www.w3.org/2001/04/xmlenc#">'
        f'<e:EncryptedData><e:EncryptionMethod Algorithm="{algorithm}"/><e:CipherData>'
        f'<e:CipherReference URI="{target}"/></e:CipherData></e:EncryptedData></encryption>'
    )
    return {**TWO, "/META-INF/encryption.xml": encryption, **(more or {})}


def test_a_locked_book_is_refused_by_name() -> None:
    aes = "http://www.w3.org/2001/04/xmlenc#aes128-cbc"
    assert "Adobe DRM" in refused(locked(aes, "OPS/a.xhtml", {"/META-INF/rights.xml": "<r/>"})).reason
    assert "Readium LCP" in refused(locked(aes, "OPS/b.xhtml", {"/META-INF/license.lcpl": "{}"})).reason
    assert "locked (encryption)" in refused(locked(aes, "OPS/a.xhtml")).reason


def test_scrambled_fonts_and_locked_pictures_do_not_matter() -> None:
    assert read(locked("http://www.idpf.org/2008/embedding", "OPS/a.xhtml")).text
    assert read(locked("http://www.w3.org/2001/04/xmlenc#aes128-cbc", "OPS/font.otf")).text


def test_a_bomb_is_refused() -> None:
    bomb = refused({"a.xhtml": page("text"), "b.xhtml": b" " * (6 << 20)})
    assert "zip bomb" in bomb.reason
    assert "b.xhtml" in bomb.reason


def test_entities_are_not_expanded_nor_fetched() -> None:
    laughs = '<!DOCTYPE p [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY f SYSTEM "file:///etc/passwd">]>'
    package = opf(item("a", "a.xhtml") + "<x>&b;&f;</x>", '<itemref idref="a"/>', laughs)
    assert read(TWO, package).text == "# One\n\nfirst"
    hostile = laughs + page("<p>&b;&f;</p>").split("?>", 1)[1]
    assert read({"a.xhtml": hostile}).text == "&b;&f;"


def test_damage_is_refused_with_the_reason() -> None:
    data = book(TWO)
    with pytest.raises(Refusal, match="damaged zip"):
        read_epub(data[: len(data) // 2], "b", "b")
    with pytest.raises(Refusal, match="EPUB book that was cut off"):
        read_bytes(data[: len(data) // 2], "b.epub", "b.epub", ReadOptions())
    assert "damaged package file" in refused(TWO, "<package><manifest>").reason
    assert "without text" in refused({"a.xhtml": page("")}).reason
    with pytest.raises(Refusal, match="without a package"):
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w") as archive:
            archive.writestr("META-INF/container.xml", CONTAINER)
        read_epub(stream.getvalue(), "b", "b")


def test_contents_that_cannot_be_read_are_named_and_not_missed() -> None:
    manifest = item("a", "a.xhtml") + item("t", "toc.ncx", NCX)
    document = read({**TWO, "toc.ncx": "<ncx><navMap>"}, opf(manifest, '<itemref idref="a"/>'))
    assert document.text == "# One\n\nfirst"
    assert "table of contents OPS/toc.ncx was not used" in document.warnings[0]


def test_deep_contents_and_deep_pages() -> None:
    points = "<navPoint><navLabel><text>x</text></navLabel><content src='a.xhtml'/>" * 2_000 + "</navPoint>" * 2_000
    manifest = item("a", "a.xhtml") + item("t", "toc.ncx", NCX)
    files = {"a.xhtml": page("<div>" * 20_000 + "deep"), "toc.ncx": f"<ncx><navMap>{points}</navMap></ncx>"}
    document = read(files, opf(manifest, '<itemref idref="a"/>'))
    assert (document.text, len(document.headings)) == ("deep", 1)


def test_a_book_by_its_path(tmp_path: Path) -> None:
    place = tmp_path / "a book.zip"
    place.write_bytes(book(TWO))
    document = read_path(str(place), ReadOptions())
    assert (document.kind, document.name, len(document.sha256)) == ("epub", "a book.zip", 64)
