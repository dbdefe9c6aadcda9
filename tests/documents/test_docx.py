"""Word documents: every place where such a file hides text, and files that mean harm."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.documents.words import STRICT, docx, paragraph, part, run, zipped
from tui.documents.docx.reader import read_docx
from tui.documents.kinds import OLE
from tui.documents.loader import read_document
from tui.documents.model import Document
from tui.documents.refusal import Refusal
from tui.errors import InputProblem

HEADINGS = (
    '<w:style w:type="paragraph" w:default="1" w:styleId="Standard"><w:name w:val="Normal"/></w:style>'
    '<w:style w:type="paragraph" w:styleId="berschrift1"><w:name w:val="heading 1"/>'
    '<w:pPr><w:outlineLvl w:val="0"/></w:pPr></w:style>'
    '<w:style w:type="paragraph" w:styleId="Eigene"><w:name w:val="Meine"/><w:basedOn w:val="berschrift1"/></w:style>'
    '<w:style w:type="paragraph" w:styleId="Titre2"><w:name w:val="Titre 2"/></w:style>'
    '<w:style w:type="paragraph" w:styleId="Loop"><w:name w:val="Loop"/><w:basedOn w:val="Loop"/></w:style>'
)
NUMBERING = (
    '<w:abstractNum w:abstractNumId="1">'
    '<w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%1."/></w:lvl>'
    '<w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="lowerLetter"/><w:lvlText w:val="%1.%2)"/></w:lvl>'
    '<w:lvl w:ilvl="2"><w:start w:val="1"/><w:numFmt w:val="bullet"/><w:lvlText w:val="&#xF0B7;"/></w:lvl>'
    '<w:lvl w:ilvl="3"><w:start w:val="1"/><w:numFmt w:val="upperRoman"/><w:lvlText w:val="%1-%4"/><w:isLgl/></w:lvl>'
    "</w:abstractNum>"
    '<w:num w:numId="5"><w:abstractNumId w:val="1"/></w:num>'
    '<w:num w:numId="6"><w:abstractNumId w:val="1"/></w:num>'
    '<w:num w:numId="7"><w:abstractNumId w:val="1"/>'
    '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="4"/></w:lvlOverride></w:num>'
)


def read(data: bytes) -> Document:
    document = read_docx(data, "a.docx", "a.docx")
    assert [(span.start, span.end) for span in document.spans] == [(0, len(document.text))]
    for found in document.headings:
        assert document.text[found.start] == "#"
        line = document.text[found.start :].partition("\n")[0]
        assert line.lstrip("#").strip() == found.title
    for table in document.tables:
        assert document.text[table.start] == "|"
        assert document.text[table.end - 2 : table.end] == "|\n"
        assert table.header_end == table.start or document.text[: table.header_end].endswith("--- |\n")
    return document


def body(inner: str, **parts: str) -> str:
    return read(docx(inner, **parts)).text


def item(text: str, number: int, depth: int = 0) -> str:
    more = f'<w:numPr><w:ilvl w:val="{depth}"/><w:numId w:val="{number}"/></w:numPr>'
    return paragraph(text, more=more)


def row(*cells: str, more: str = "") -> str:
    inner = "".join(cell if cell.startswith("<w:tc>") else f"<w:tc>{paragraph(cell)}</w:tc>" for cell in cells)
    return f"<w:tr><w:trPr>{more}</w:trPr>{inner}</w:tr>"


# Text


def test_both_families_of_name_spaces() -> None:
    assert body(paragraph("Words")) == "Words\n"
    strict = docx(
        paragraph("Words") + paragraph("Head", "H"),
        main=STRICT,
        styles=('<w:style w:type="paragraph" w:styleId="H"><w:name w:val="heading 3"/></w:style>'),
    )
    assert read(strict).text == "Words\n\n### Head\n"


def test_headings_by_style_name_level_and_own_outline() -> None:
    document = read(
        docx(
            paragraph("One", "berschrift1")
            + paragraph("Own", "Eigene")
            + paragraph("Deux", "Titre2")
            + paragraph("Direct", more='<w:outlineLvl w:val="2"/>')
            + paragraph("No heading", "berschrift1", more='<w:outlineLvl w:val="9"/>')
            + paragraph("In a circle", "Loop")
            + paragraph(" ", "berschrift1"),
            styles=HEADINGS,
        )
    )
    assert [(found.level, found.title) for found in document.headings] == [
        (1, "One"),
        (1, "Own"),
        (2, "Deux"),
        (3, "Direct"),
    ]
    assert document.text.endswith("### Direct\n\nNo heading\n\nIn a circle\n")


def test_lists_have_the_labels_that_word_prints() -> None:
    text = body(
        item("a", 5)
        + item("b", 5)
        + item("c", 5, 1)
        + item("d", 5, 1)
        + item("dot", 5, 2)
        + item("legal", 5, 3)
        + item("e", 6)
        + item("f", 6, 1)
        + paragraph("between")
        + item("restarted", 7)
        + item("on", 7)
        + item("no list", 0),
        numbering=NUMBERING,
    )
    assert text == (
        "1. a\n2. b\n  2.a) c\n  2.b) d\n    - dot\n      2-1 legal\n3. e\n  3.a) f\n\nbetween\n\n"
        "4. restarted\n5. on\n\nno list\n"
    )


def test_a_heading_with_the_number_of_its_style() -> None:
    styles = (
        '<w:style w:type="paragraph" w:styleId="H1"><w:name w:val="heading 1"/>'
        '<w:pPr><w:numPr><w:numId w:val="5"/></w:numPr></w:pPr></w:style>'
    )
    document = read(docx(paragraph("First", "H1") + paragraph("Second", "H1"), styles=styles, numbering=NUMBERING))
    assert [found.title for found in document.headings] == ["1. First", "2. Second"]


def test_tracked_changes_show_the_document_as_it_would_be_accepted() -> None:
    document = read(
        docx(
            "<w:p>"
            + run("Stays, ")
            + f"<w:ins>{run('comes, ')}</w:ins><w:del><w:r><w:delText>goes, </w:delText></w:r></w:del>"
            + f"<w:moveFrom>{run('here')}</w:moveFrom><w:moveTo>{run('there')}</w:moveTo></w:p>"
            + f"<w:p><w:pPr><w:rPr><w:del/></w:rPr></w:pPr>{run('joined ')}</w:p>{paragraph('with this')}"
            + f"<w:tbl>{row('kept', 'row')}{row('gone', 'row', more='<w:del/>')}{row('last', 'row')}</w:tbl>"
        )
    )
    assert document.text == "Stays, comes, there\n\njoined with this\n\n| kept | row |\n| last | row |\n"
    assert document.warnings == ("1 piece of deleted text was left out.",)


def test_alternate_content_is_read_once() -> None:
    box = "<w:txbxContent>{}</w:txbxContent>"
    text = body(
        "<w:p>" + run("Anchor") + "<w:r><mc:AlternateContent><mc:Choice Requires='wps'><w:drawing><a:graphic><wps:txbx>"
        + box.format(paragraph("In the box")) + "</wps:txbx></a:graphic></w:drawing></mc:Choice><mc:Fallback><w:pict>"
        + "<v:shape><v:textbox>" + box.format(paragraph("In the box")) + "</v:textbox></v:shape></w:pict>"
        + "</mc:Fallback></mc:AlternateContent></w:r></w:p>" + paragraph("After")
    )  # fmt: skip
    assert text == "Anchor\n\nIn the box\n\nAfter\n"


def test_a_box_of_the_older_kind_and_word_art() -> None:
    text = body(
        "<w:p><w:r><w:pict><v:shape><v:textbox><w:txbxContent>" + paragraph("Boxed") + "</w:txbxContent></v:textbox>"
        "</v:shape><v:shape><v:textpath string='DRAFT'/></v:shape></w:pict></w:r></w:p>"
    )
    assert text == "DRAFT\n\nBoxed\n"


def test_notes_and_comments_stand_after_what_refers_to_them() -> None:
    document = read(
        docx(
            "<w:p>" + run("Claim") + "<w:r><w:footnoteReference w:id='2'/></w:r>" + run(" and")
            + "<w:r><w:endnoteReference w:id='1'/></w:r><w:r><w:commentReference w:id='0'/></w:r></w:p>"
            + paragraph("Next"),
            footnotes="<w:footnote w:type='separator' w:id='0'><w:p><w:r><w:separator/></w:r></w:p></w:footnote>"
            f"<w:footnote w:id='2'><w:p><w:r><w:footnoteRef/></w:r>{run(' Proof.')}</w:p></w:footnote>"
            f"<w:footnote w:id='3'>{paragraph('Nobody refers to it.')}</w:footnote>",
            endnotes=f"<w:endnote w:id='1'>{paragraph('Source.')}</w:endnote>",
            comments=f"<w:comment w:id='0' w:author='Ann'>{paragraph('Sure?')}{paragraph('No.')}</w:comment>",
        )
    )  # fmt: skip
    assert document.text == (
        "Claim[^1] and[^e1][^c1]\n\n[^1]: Proof.\n\n[^e1]: Source.\n\n[^c1]: Comment by Ann: Sure?\nNo.\n\nNext\n\n"
        "[^2]: Nobody refers to it.\n"
    )


def test_a_header_of_many_sections_is_unpacked_once() -> None:
    head = part("w:hdr", paragraph("Head " + " ".join(str(number) for number in range(100_000))))
    links = "<w:sectPr><w:headerReference r:id='header1'/></w:sectPr>" * 1000
    assert read(docx(paragraph("Body") + links, others={"header1.xml": head})).text.count("Head") == 1


def test_headers_and_footers_once_each() -> None:
    links = "".join(
        f"<w:sectPr><w:headerReference r:id='{name}'/><w:footerReference r:id='footer1'/></w:sectPr>"
        for name in ("header1", "header2", "header1")
    )
    same = part("w:hdr", paragraph("ACME Ltd"))
    data = docx(
        paragraph("Body") + links,
        others={"header1.xml": same, "header2.xml": same, "footer1.xml": part("w:ftr", paragraph("Secret"))},
    )
    assert read(data).text == "[page header]\nACME Ltd\n\nBody\n\n[page footer]\nSecret\n"


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("<m:f><m:num>{a+b}</m:num><m:den>{2}</m:den></m:f>", "(a+b)/2"),
        ("<m:sSup><m:e>{x}</m:e><m:sup>{n+1}</m:sup></m:sSup>", "x^(n+1)"),
        ("<m:sSubSup><m:e>{x}</m:e><m:sub>{i}</m:sub><m:sup>{2}</m:sup></m:sSubSup>", "x_i^2"),
        ("<m:rad><m:radPr><m:degHide m:val='1'/></m:radPr><m:deg/><m:e>{x}</m:e></m:rad>", "√(x)"),
        ("<m:rad><m:deg>{3}</m:deg><m:e>{x}</m:e></m:rad>", "root[3](x)"),
        (
            "<m:nary><m:naryPr><m:chr m:val='∑'/></m:naryPr><m:sub>{i=1}</m:sub><m:sup>{n}</m:sup>"
            "<m:e>{i}</m:e></m:nary>",
            "∑_(i=1)^n i",
        ),
        ("<m:d><m:dPr><m:begChr m:val='['/><m:endChr m:val=']'/></m:dPr><m:e>{a}</m:e><m:e>{b}</m:e></m:d>", "[a|b]"),
        (
            "<m:m><m:mr><m:e>{a}</m:e><m:e>{b}</m:e></m:mr><m:mr><m:e>{c}</m:e><m:e>{d}</m:e></m:mr></m:m>",
            "[a, b; c, d]",
        ),
        ("<m:func><m:fName>{sin}</m:fName><m:e>{x}</m:e></m:func>", "sin x"),
        ("<m:limLow><m:e>{lim}</m:e><m:lim>{x→0}</m:lim></m:limLow>", "lim_(x→0)"),
        ("<m:acc><m:accPr><m:chr m:val='\u20d7'/></m:accPr><m:e>{v}</m:e></m:acc>", "v\u20d7"),
        ("<m:box><m:e>{y}</m:e></m:box>", "y"),
    ],
)  # fmt: skip
def test_formulas(formula: str, words: str) -> None:
    filled = formula.replace("{", "<m:r><m:t>").replace("}", "</m:t></m:r>")
    assert body(f"<w:p>{run('So ')}<m:oMath>{filled}</m:oMath></w:p>") == f"So {words}\n"


def test_runs_with_special_characters() -> None:
    text = body(
        "<w:p><w:r><w:t>non</w:t><w:softHyphen/><w:t>sense co</w:t><w:noBreakHyphen/><w:t>op</w:t><w:tab/>"
        "<w:t>a\u00adb</w:t><w:br/><w:t>next</w:t><w:sym w:font='Wingdings' w:char='F0FC'/>"
        "<w:sym w:font='Symbol' w:char='F061'/></w:r>"
        + run("\uf062", "<w:rFonts w:ascii='Symbol'/>") + "<w:r><w:t>two\n   lines</w:t></w:r></w:p>"
    )  # fmt: skip
    assert text == "nonsense co\u2011op\tab\nnext✓αβtwo lines\n"


def test_an_unknown_symbol_is_told() -> None:
    document = read(docx("<w:p><w:r><w:sym w:font='Wingdings' w:char='F030'/><w:t>x</w:t></w:r></w:p>"))
    assert document.text == "\ufffdx\n"
    assert "1 character of a symbol font" in document.warnings[0]


def test_fields_give_their_results() -> None:
    text = body(
        "<w:p><w:r><w:fldChar w:fldCharType='begin'/></w:r><w:r><w:instrText>IF </w:instrText></w:r>"
        "<w:r><w:fldChar w:fldCharType='begin'/></w:r><w:r><w:instrText>X</w:instrText></w:r>"
        "<w:r><w:fldChar w:fldCharType='separate'/></w:r>" + run("inner instruction")
        + "<w:r><w:fldChar w:fldCharType='end'/></w:r><w:r><w:fldChar w:fldCharType='separate'/></w:r>"
        + run("result") + "<w:r><w:fldChar w:fldCharType='end'/></w:r>"
        + f"<w:fldSimple w:instr='PAGE'>{run(' 7')}</w:fldSimple><w:hyperlink>{run(' link')}</w:hyperlink>"
        + "<w:r><w:fldChar w:fldCharType='begin'><w:ffData><w:checkBox><w:checked/></w:checkBox></w:ffData>"
        + "</w:fldChar></w:r><w:r><w:fldChar w:fldCharType='end'/></w:r></w:p>"
    )  # fmt: skip
    assert text == "result 7 link☒\n"


def test_a_field_without_an_end_hides_nothing() -> None:
    assert body("<w:p><w:r><w:fldChar w:fldCharType='begin'/></w:r>" + run("Words") + "</w:p>") == "Words\n"


def test_content_controls_ruby_and_hidden_text() -> None:
    document = read(
        docx(
            f"<w:sdt><w:sdtPr/><w:sdtContent>{paragraph('Controlled')}</w:sdtContent></w:sdt>"
            f"<w:p><w:sdt><w:sdtContent>{run('Inline')}</w:sdtContent></w:sdt>{run('secret', '<w:vanish/>')}"
            f"{run(' shown', '<w:vanish w:val=' + chr(39) + '0' + chr(39) + '/>')}"
            f"<w:r><w:ruby><w:rt>{run('かんじ')}</w:rt><w:rubyBase>{run('漢字')}</w:rubyBase></w:ruby></w:r></w:p>"
        )
    )
    assert document.text == "Controlled\n\nInline shown漢字\n"
    assert document.warnings == ("1 piece of hidden text was left out.", "1 reading aid (ruby) was left out.")


# Tables


def test_tables_with_header_and_merged_cells() -> None:
    wide = f"<w:tc><w:tcPr><w:gridSpan w:val='2'/></w:tcPr>{paragraph('wide|bar')}</w:tc>"
    document = read(
        docx(
            paragraph("Before")
            + f"<w:tbl><w:tblPr/>{row('A', 'B', 'C', more='<w:tblHeader/>')}{row(wide, 'z')}"
            + f"<w:sdt><w:sdtContent>{row('late', more='<w:gridBefore w:val=' + chr(39) + '1' + chr(39) + '/>')}"
            + "</w:sdtContent></w:sdt></w:tbl>"
            + paragraph("After")
        )
    )
    assert document.text == (
        "Before\n\n| A | B | C |\n| --- | --- | --- |\n| wide\\|bar |  | z |\n|  | late |  |\n\nAfter\n"
    )
    (table,) = document.tables
    assert document.text[table.start : table.header_end] == "| A | B | C |\n| --- | --- | --- |\n"


def test_a_cell_that_reaches_over_rows_is_said_in_each() -> None:
    def cell(text: str, merge: str) -> str:
        return f"<w:tc><w:tcPr><w:vMerge {merge}/></w:tcPr>{paragraph(text)}</w:tc>"

    first, on = "w:val='restart'", ""
    rows = (
        row(cell("Asia", first), "1")
        + row(cell("", on), "2")
        + row(cell("Long " * 30, first), "3")
        + row(cell("", on), "4")
    )
    text = body(f"<w:tbl>{rows}</w:tbl>")
    assert text.startswith("| Asia | 1 |\n| Asia | 2 |\n| Long")
    assert text.endswith("\n|  | 4 |\n")


@pytest.mark.parametrize(("look", "rule"), [("w:firstRow='1'", True), ("w:val='0020'", True), ("w:val='0400'", False)])
def test_a_first_row_that_looks_different_is_the_header(look: str, rule: bool) -> None:
    text = body(f"<w:tbl><w:tblPr><w:tblLook {look}/></w:tblPr>{row('A', 'B')}{row('1', '2')}</w:tbl>")
    assert ("--- |" in text) is rule


def test_nested_tables_come_after_and_frames_are_taken_off() -> None:
    inner = f"<w:tbl>{row('x', 'y')}{row('1', '2')}</w:tbl>"
    cell = f"<w:tc>{inner}{paragraph('note')}</w:tc>"
    outer = f"<w:tbl>{row('left', cell)}{row('a', 'b')}</w:tbl>"
    assert body(outer) == (
        "| left | [table in this cell: 1] <br> note |\n| a | b |\n\n[table in this cell: 1]\n\n| x | y |\n| 1 | 2 |\n"
    )
    cell = f"<w:tc>{paragraph('Letter')}{inner}</w:tc>"
    frame = f"<w:tbl>{row(cell)}</w:tbl>"
    assert body(frame) == "Letter\n\n| x | y |\n| 1 | 2 |\n"


def test_a_span_over_a_billion_columns_is_not_believed() -> None:
    wide = f"<w:tc><w:tcPr><w:gridSpan w:val='999999999'/></w:tcPr>{paragraph('wide')}</w:tc>"
    assert len(body(f"<w:tbl>{row(wide, 'b')}{row('c', 'd')}</w:tbl>")) < 5000


# Pictures and other things


def drawing(inner: str, described: str = "") -> str:
    graphic = f"<wp:inline><wp:docPr descr='{described}'/><a:graphic>{inner}</a:graphic></wp:inline>"
    return f"<w:p><w:r><w:drawing>{graphic}</w:drawing></w:r></w:p>"


def test_pictures_have_their_descriptions_or_are_counted() -> None:
    document = read(
        docx(
            drawing("<pic:pic/>", "A red\n barn") + drawing("<pic:pic/>") + drawing("<pic:pic/>")
            + "<w:p><w:r><w:object><v:shape><v:imagedata/></v:shape><o:OLEObject ProgID='Excel.Sheet.12'/></w:object>"
            + "</w:r></w:p><w:altChunk r:id='x'/>"
        )
    )  # fmt: skip
    assert document.text == "[picture: A red barn]\n"
    assert document.warnings == (
        "2 pictures without a description were not read.",
        "1 embedded object (Excel.Sheet.12) was not read.",
        "1 embedded file in the text was not read.",
    )


def test_charts_and_diagrams_are_read_from_their_parts() -> None:
    points = "<c:pt idx='0'><c:v>{}</c:v></c:pt><c:pt idx='1'><c:v>{}</c:v></c:pt>"
    chart = part(
        "c:chartSpace",
        "<c:title><a:p><a:r><a:t>Sales</a:t></a:r></a:p></c:title><c:ser><c:tx><c:v>Units</c:v></c:tx>"
        f"<c:cat>{points.format('North', 'South')}</c:cat><c:val>{points.format(4, 5)}</c:val></c:ser>",
    )
    diagram = part("dgm:dataModel", "<dgm:pt><dgm:t><a:p><a:r><a:t>Plan</a:t></a:r></a:p></dgm:t></dgm:pt><dgm:pt/>")
    data = docx(
        drawing("<c:chart r:id='chart1'/>") + drawing("<dgm:relIds r:dm='data1'/>") + drawing("<c:chart r:id='none'/>"),
        others={"charts/chart1.xml": chart, "diagrams/data1.xml": diagram},
    )
    document = read(data)
    assert document.text == (
        "[chart]\n\nSales\n\n|  | Units |\n| --- | --- |\n| North | 4 |\n| South | 5 |\n\n[diagram]\n\n- Plan\n"
    )
    assert document.warnings == ("1 chart without text was not read.",)


# Damage and harm


def refused(data: bytes, name: str = "a.docx") -> str:
    with pytest.raises(Refusal) as caught:
        read_docx(data, name, name)
    assert caught.value.remedy.endswith(".")
    return caught.value.reason


def test_entities_are_refused() -> None:
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    bomb = f'<!DOCTYPE d [<!ENTITY l0 "lol">{laughs}]><w:document xmlns:w="x">&l9;</w:document>'
    assert "document type" in refused(zipped({"word/document.xml": bomb}))
    outside = '<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]><d>&x;</d>'
    assert "document type" in refused(zipped({"word/document.xml": outside}))
    wide = outside.encode("utf-16")
    assert "document type" in refused(zipped({"word/document.xml": wide}))


def test_a_zip_bomb_is_not_unpacked() -> None:
    assert "zip bomb" in refused(zipped({"word/document.xml": b"<d>" + b" " * (64 << 20) + b"</d>"}))


def test_deep_nesting_is_refused_and_what_is_less_deep_is_read() -> None:
    def deep(levels: int) -> bytes:
        return docx("<w:p>" + "<w:smartTag>" * levels + run("Deep") + "</w:smartTag>" * levels + "</w:p>")

    assert "inside each other" in refused(deep(5000))
    assert read(deep(450)).text == "Deep\n"
    cells = "<w:tbl><w:tr><w:tc>" * 150 + paragraph("Deep") + "</w:tc></w:tr></w:tbl>" * 150
    assert read(docx(cells)).text == "Deep\n"


def test_names_that_point_outside_are_only_looked_up(tmp_path: Path) -> None:
    data = docx(
        paragraph("Words") + "<w:sectPr><w:headerReference r:id='header1'/></w:sectPr>",
        others={"../../../etc/header1.xml": part("w:hdr", paragraph("Up"))},
    )
    document = read(data)
    assert "Words" in document.text
    assert not list(tmp_path.iterdir())


def test_a_damaged_part_costs_that_part() -> None:
    document = read(docx(paragraph("Words"), others={"footnotes.xml": "<w:footnotes"}))
    assert document.text == "Words\n"
    assert "footnotes could not be read" in document.warnings[0]
    links = "word/_rels/document.xml.rels"
    whole = {"_rels/.rels": "<Rel", "word/document.xml": part("w:document", f"<w:body>{paragraph('Words')}</w:body>")}
    assert read(zipped({**whole})).warnings == ()
    assert "notes, page headers" in read(zipped({**whole, links: "<Rel"})).warnings[0]
    assert "main part (word/document.xml) is damaged" in refused(zipped({"word/document.xml": "<w:document>"}))
    assert "no body" in refused(zipped({"word/document.xml": part("w:document", "")}))
    assert "no main part" in refused(zipped({"word/other.xml": "<a/>"}))


def test_a_document_without_text_says_what_is_in_it() -> None:
    assert "1 picture without a description was not read" in refused(docx(drawing("<pic:pic/>")))


async def test_through_the_loader(tmp_path: Path) -> None:
    good = tmp_path / "good.docm"
    good.write_bytes(docx(paragraph("Words")))
    document = await read_document(good)
    assert (document.kind, document.text) == ("docx", "Words\n")
    cut = tmp_path / "cut.docx"
    cut.write_bytes(good.read_bytes()[:-40])
    locked = tmp_path / "locked.docx"
    locked.write_bytes(OLE + b"\x00" * 600 + "EncryptedPackage".encode("utf-16-le") + b"\x00" * 600)
    old = tmp_path / "old.doc"
    old.write_bytes(OLE + b"\x00" * 1200)
    for file, words in ((cut, "cut off"), (locked, "an encrypted Office document"), (old, "an old Word document")):
        with pytest.raises(InputProblem, match=words):
            await read_document(file)
