"""RTF: code pages, structure, what is no text, and broken files."""

from __future__ import annotations

import random

import pytest

from tui.documents.kinds import file_format
from tui.documents.model import Document
from tui.documents.refusal import Refusal
from tui.documents.rtf import read_rtf

FONTS = (
    rb"{\fonttbl{\f0\froman\fcharset0 Times;}{\f1\fcharset134 SimSun;}{\f2\fcharset128 MS Mincho;}"
    rb"{\f3\fcharset2 Symbol;}{\f4\fcharset136 PMingLiU;}{\f5\fcharset204 Times Cyr;}{\f6\fcharset2 Wingdings;}}"
)


def read(inner: bytes, head: bytes = rb"\ansi\ansicpg1252\deff0" + FONTS) -> Document:
    document = read_rtf(rb"{\rtf1" + head + inner + b"}", "a.rtf", "a.rtf")
    assert [(span.start, span.end) for span in document.spans] == [(0, len(document.text))]
    for found in document.headings:
        assert document.text[found.start :].lstrip("#").lstrip().startswith(found.title)
    for table in document.tables:
        assert document.text[table.start] == "|"
        assert document.text[table.end - 2 : table.end] == "|\n"
    return document


@pytest.mark.parametrize(
    ("inner", "text"),
    [
        (rb"caf\'e9", "café"),
        (b"caf\xe9", "café"),
        (rb"\f1\'c4\'e3\'ba\'c3", "你好"),
        (rb"\f2\'93\'fa\'96{\'7b}", "日本"),
        (rb"\f2\'83A", "ア"),
        (rb"\f4\'a4\'a4\'a4\'e5", "中文"),
        (rb"\f5\'cf\'f0\'e8", "При"),
        (rb"{\f5\'cf}\'e9", "Пé"),
        (rb"\f5\'cf\plain\'e9", "Пé"),
        (rb"\f3\'61\u61538 ?", "αβ"),
        (rb"\f6\'fc", "✓"),
        (rb"\u8364?5", "€5"),
        (rb"\uc2\u20013\'a4\'a4x", "中x"),
        (rb"{\uc0\u20013}x", "中x"),
        (rb"\u-10179?\u-8704?", "😀"),
        (rb"\u-10179?x", "\ufffdx"),
        (rb"\u128512?\u-99999?x", "😀\ufffdx"),
        (rb"a\~b\_c\-d\{e\}\\f", "a\u00a0b\u2011cd{e}\\f"),
        (rb"\ldblquote q\rdblquote\emdash x", "“q”—x"),
    ],
)
def test_code_pages(inner: bytes, text: str) -> None:
    assert read(inner.replace(rb"{\'7b}", rb"\'7b")).text == text + "\n"


@pytest.mark.parametrize(
    ("head", "byte", "text"),
    [
        (rb"\ansi\ansicpg936", rb"\'c4\'e3", "你"),
        (rb"\ansi\ansicpg1251", rb"\'cf", "П"),
        (rb"\mac", rb"\'8e", "é"),
        (rb"\pc", rb"\'82", "é"),
        (rb"\pca", rb"\'82", "é"),
        (rb"\ansi\ansicpg65001", b"\xe4\xbd\xa0", "你"),
    ],
)
def test_the_code_page_of_the_document(head: bytes, byte: bytes, text: str) -> None:
    assert read(byte, head).text == text + "\n"


@pytest.mark.parametrize("before", [b"\xef\xbb\xbf", b"\r\n ", b"\xef\xbb\xbf\n"])
def test_a_mark_and_space_before_it_are_no_text(before: bytes) -> None:
    data = before + rb"{\rtf1\ansi Some \b bold\b0  words.\par}"
    assert file_format(data, "a.rtf") == file_format(data, "a.txt") == "rtf"
    assert read_rtf(data, "a.rtf", "a.rtf").text == read_rtf(data[len(before) :], "a.rtf", "a.rtf").text


def test_what_cannot_be_decoded_is_told() -> None:
    document = read(rb"\f1 a\'ff b", rb"\ansi\ansicpg4711" + FONTS)
    assert "\ufffd" in document.text
    assert "could not be decoded" in document.warnings[0]
    assert "code page 4711 is not known" in document.warnings[1]


def test_headings_by_style_name_style_level_and_own_level() -> None:
    document = read(
        rb"{\stylesheet{Normal;}{\s1\b heading 1;}{\s2\outlinelevel1 Eigene;}{\*\cs3 heading 4;}}"
        rb"\pard\s1 Title\par\pard Body\par\pard\s2 Two\par\pard\outlinelevel2 Three\par\pard\cs3 None\par"
    )
    assert [(found.level, found.title) for found in document.headings] == [(1, "Title"), (2, "Two"), (3, "Three")]
    assert document.text == "# Title\n\nBody\n\n## Two\n\n### Three\n\nNone\n"


def test_lists() -> None:
    text = read(
        rb"\pard\ls1{\listtext\f3\'b7\tab}dot\par\pard\ilvl1{\listtext\f0 2.1\tab}number\par"
        rb"\pard{\*\pn\pnlvlblt{\pntxtb\'b7}}{\pntext\f3\'b7\tab}old\par\pard"
        rb"{\field{\*\fldinst HYPERLINK x}{\fldrslt link}}"
    ).text
    assert text == "- dot\n  2.1 number\n- old\n\nlink\n"


def test_a_list_as_deep_as_no_list_is() -> None:
    assert len(read(rb"\pard\ilvl2000000000{\listtext 1.\tab}deep\par").text) < 40


def test_tables() -> None:
    document = read(
        rb"before\par\trowd\trhdr\cellx1\cellx2\pard\intbl A\cell B|C\cell\row"
        rb"\trowd\cellx1\cellx2\pard\intbl 1\par line\cell 2\cell\row\pard after\par"
    )
    assert document.text == "before\n\n| A | B\\|C |\n| --- | --- |\n| 1 <br> line | 2 |\n\nafter\n"
    (table,) = document.tables
    assert document.text[table.start : table.header_end] == "| A | B\\|C |\n| --- | --- |\n"


def test_a_table_inside_a_cell() -> None:
    text = read(
        rb"\trowd\pard\intbl a\cell\pard\intbl\itap2 x\nestcell y\nestcell{\*\nesttableprops\trowd\nestrow}"
        rb"{\nonesttables\par}\pard\intbl\itap1 rest\cell\row\pard after\par"
    ).text
    assert text == "| a | [table in this cell: 1] <br> rest |\n\n[table in this cell: 1]\n\n| x | y |\n\nafter\n"


def test_notes_comments_headers_and_boxes() -> None:
    text = read(
        rb"{\header Top\par}{\headerf Top\par}{\footer Bottom}"
        rb"Claim{\super\chftn{\footnote\pard{\super\chftn} Proof.}} more{\*\atnid A}{\*\atnauthor Ann}\chatn"
        rb"{\*\annotation{\*\atndate 1}Sure?}{\shp{\*\shpinst{\sp{\sn x}{\sv 1}}{\shptxt Boxed\par}}}\par next"
    ).text
    assert text == (
        "[page header]\nTop\n\nClaim[^1] more[^c1]\n\n[^1]: Proof.\n\n[^c1]: Comment by Ann: Sure?\n\nBoxed\n\nnext\n\n"
        "[page footer]\nBottom\n"
    )


def test_what_is_no_text_is_left_out_and_named() -> None:
    document = read(
        rb"{\info{\title secret}}{\*\generator G;}{\*\unknown{nested} x}text{\v hidden\v0  seen}{\deleted gone}"
        rb"{\pict\pngblip 89504e47}{\*\shppict{\pict{\*\picprop{\sp{\sn wzDescription}{\sv A barn}}}00}}"
        rb"{\nonshppict{\pict 00}}{\object\objemb{\*\objclass X}{\*\objdata 0105}{\result shown}}{\pict\bin5 }}}}}}"
    )
    assert document.text == "text seen[picture: A barn]shown\n"
    assert document.warnings == (
        "2 pictures without a description were not read.",
        "1 embedded object was not read.",
        "1 piece of hidden text was left out.",
        "1 piece of deleted text was left out.",
    )


def test_a_formula_in_one_line() -> None:
    assert read(rb"{\mmath{\*\moMath{\mf{\mfPr{\mtype bar}}{\mnum a}{\mden b}}}{\mmathPict{\pict 00}}}").text == "a/b\n"


def test_a_file_that_was_cut_off_is_read_as_far_as_it_goes() -> None:
    for whole in (rb"{\rtf1 One\par {\b Two", rb"{\rtf1 One\par Two{\pict\bin400 ab"):
        document = read_rtf(whole, "a", "a")
        assert document.text == "One\n\nTwo\n"
        assert "cut off" in document.warnings[0]


def test_what_comes_after_the_end_is_read_and_told() -> None:
    document = read_rtf(rb"{\rtf1 One\par} two\par}", "a", "a")
    assert document.text == "One\n\ntwo\n"
    (warning,) = document.warnings
    assert "closes before its end" in warning
    assert read_rtf(b"{\\rtf1 One}\r\n\x00", "a", "a").warnings == ()


def test_nothing_to_read_is_refused() -> None:
    with pytest.raises(Refusal, match="1 picture without a description was not read"):
        read(rb"{\pict 00}")


def test_a_hundred_thousand_braces() -> None:
    document = read(b"{" * 100_000 + b"deep" + b"}" * 100_000)
    assert (document.text, document.warnings) == ("deep\n", ())
    assert read(b"{\\b " * 100_000 + b"deep").text == "deep\n"
    assert read(b"x{\\footnote x" * 2_000 + b"deep").text.endswith("[^1]: xdeep\n")


def test_any_damage_is_read_or_refused() -> None:
    dice = random.Random(7)
    sound = bytearray(
        rb"{\rtf1\ansi" + FONTS + rb"{\stylesheet{\s1 heading 1;}}\s1 T\par\trowd\intbl a\cell{\footnote n}b\cell\row"
        rb"\pard\u8364? \'e9{\pict{\*\picprop{\sp{\sn wzDescription}{\sv alt}}}00}"
        rb"{\field{\*\fldinst x}{\fldrslt y}}\par}"
    )
    pieces = [b"{", b"}", b"\\", b"\\'", b"\\u", b"\x00", b"\\bin9 ", b""]
    for _ in range(400):
        bent = bytearray(sound)
        for _ in range(dice.randint(1, 8)):
            place = dice.randrange(len(bent))
            bent[place : place + dice.randint(0, 5)] = dice.choice(pieces)
        try:
            document = read_rtf(bytes(bent), "a", "a")
        except Refusal:
            continue
        assert document.text.encode()
        assert "\x00" not in document.text
