"""Web pages: each thing that a page can hold, as text; encodings; pages made to break a reader."""

from __future__ import annotations

import codecs
import itertools
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from tui.documents.html.reader import read_html
from tui.documents.html.xhtml import as_html
from tui.documents.model import Document
from tui.documents.options import ReadOptions
from tui.documents.refusal import Refusal
from tui.documents.sources import read_path


def read(page: str | bytes, encoding: str = "") -> Document:
    data = page.encode() if isinstance(page, str) else page
    document = read_html(data, "page.html", "page.html", ReadOptions(encoding=encoding))
    assert [(span.kind, span.start, span.end) for span in document.spans] == [("file", 0, len(document.text))]
    for heading in document.headings:
        line = document.text[heading.start :].split("\n", 1)[0]
        assert f"{'#' * heading.level} " in line
    for table in document.tables:
        assert document.text[table.start : table.end].lstrip("> -:0123456789.").startswith("|")
        assert table.start <= table.header_end <= table.end
    return document


def text(body: str) -> str:
    return read(f"<!doctype html><body>{body}").text


# Blocks


def test_headings_and_paragraphs() -> None:
    document = read("<h1>One</h1><p>First\n  line.<p>Second.<h3>Three <em>deep</em></h3>after")
    assert document.text == "# One\n\nFirst line.\n\nSecond.\n\n### Three deep\n\nafter"
    assert [(h.start, h.level, h.title) for h in document.headings] == [(0, 1, "One"), (29, 3, "Three deep")]


def test_the_title_is_a_heading_where_no_h1_is() -> None:
    document = read("<title> A  title </title><h2>Part</h2><table><tr><th>a<th>b<tr><td>1<td>2</table>")
    assert document.text.startswith("# A title\n\n## Part\n\n| a | b |")
    assert [(h.start, h.level) for h in document.headings] == [(0, 1), (11, 2)]
    assert document.text[document.tables[0].start :] == "| a | b |\n| --- | --- |\n| 1 | 2 |"
    assert read("<title>No</title><h1>Yes</h1>x").text == "# Yes\n\nx"


def test_a_heading_by_its_role() -> None:
    assert text('<div role="heading" aria-level="3">Part</div>x') == "### Part\n\nx"


def test_nested_and_ordered_lists() -> None:
    page = """<ul><li>a<ul><li>b</li><li>c<ol start=9><li>d<li>e</ol></li></ul></li><li><p>f</p><p>g</p></li></ul>
        <ol reversed start=3><li>x<li value=7>y<li>z</ol><ol type=a><li>q<li>r</ol><ol type=I start=4><li>s</ol>end"""
    assert text(page) == (
        "- a\n  - b\n  - c\n    9. d\n    10. e\n- f\n\n  g\n\n3. x\n7. y\n6. z\n\na. q\nb. r\n\nIV. s\n\nend"
    )


def test_an_item_without_a_list_and_a_number_that_is_none() -> None:
    assert text("<li>a<ol start=many><li value=99999999999>b</ol>") == "- a\n\n  1. b"


def test_quotes_definitions_rules() -> None:
    page = (
        "<blockquote><p>a<p>b<blockquote>c</blockquote></blockquote><dl><dt>T<dd>d<dd><p>e<p>f<dt>U<dt>V<dd>g</dl><hr>z"
    )
    assert text(page) == "> a\n>\n> b\n>\n> > c\n\nT\n: d\n: e\n\n  f\n\nU\nV\n: g\n\n---\n\nz"


def test_code_keeps_its_lines_and_its_language() -> None:
    page = '<p>See</p><pre><code class="language-py">def f():\n\n    return "```"\n</code></pre>'
    assert text(page) == 'See\n\n````py\ndef f():\n\n    return "```"\n````'
    assert text('<div class="highlight-source-rust"><pre>a<br>b</pre></div>') == "```rust\na\nb\n```"
    assert text("<p>Use <code>x  y</code>, <code>a`b</code>.") == "Use `x y`, a`b."


def test_code_inside_a_list_is_indented() -> None:
    assert text("<ol><li>run<pre>a\n b</pre><li>done</ol>") == "1. run\n\n   ```\n   a\n    b\n   ```\n2. done"


def test_line_breaks() -> None:
    assert text("a<br>b<br><br>c") == "a\nb\n\nc"
    assert text("<h2>a<br>b</h2>") == "## a b"


def test_details_and_noscript_are_read() -> None:
    assert text("<details><summary>More</summary><p>inside</details><noscript>without</noscript>") == (
        "More\n\ninside\n\nwithout"
    )


# Inside a line


def test_links_keep_their_text_only_and_links_in_a_row_stay_apart() -> None:
    assert text('Go <a href="https://x.example">there</a>.') == "Go there."
    assert text("<nav><a href=1>Home</a><a href=2>About</a></nav>") == "Home About"
    assert text('<span class="vector-toc-numb">1.2</span>1985 and after') == "1.2 1985 and after"
    assert text("<span>2.1</span><span>Sales</span>, H<sub>2</sub>O") == "2.1 Sales, H2O"


def test_pictures_say_what_they_show() -> None:
    assert text('a<img alt="two  ducks">b<img alt=""><img>c') == "a [image: two ducks] bc"
    assert text('so <img class="mwe-math-fallback-image-inline" alt="{\\displaystyle x^2}">') == "so $x^2$"


def test_powers_quotes_and_struck_out_words() -> None:
    page = "10<sup>-3</sup> m<sup>2</sup> 1<sup>st</sup> word<sup>[1]</sup> <q>so</q> <s>5</s> 4"
    assert text(page) == "10^-3 m^2 1st word[1] “so” ~~5~~ 4"


def test_the_mark_of_a_note_is_no_figure() -> None:
    page = 'money.<a epub:type="noteref" href="#n">1</a> and<sup><a role="doc-noteref">2</a></sup>'
    assert text(page) == "money.[1] and[2]"


def test_mathml() -> None:
    fraction = "<mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mn>2</mn></mfrac>"
    assert text(f"<math><msqrt><mi>x</mi></msqrt><mo>=</mo>{fraction}</math>") == "√(x)=(a+b)/2"
    tex = '<math><semantics><mi>x</mi><annotation encoding="application/x-tex">x_1</annotation></semantics></math>'
    assert text(tex) == "$x_1$"
    drawn = '<span class="katex-html" aria-hidden="true">x1</span>'
    assert text(f'<span class="katex-mathml">{tex}</span>{drawn}') == "$x_1$"
    assert text(f"<span>{drawn}</span>") == "x1"
    assert text('a<math display="block"><msup><mi>x</mi><mn>2</mn></msup></math>b') == "a\nx^2\nb"


def test_readings_beside_characters_are_left_out() -> None:
    assert text("<ruby>漢<rp>(</rp><rt>かん</rt><rp>)</rp>字<rt>じ</rt></ruby>") == "漢字"


def test_a_line_end_between_han_characters_is_no_space() -> None:
    assert text("天地\n  玄黄 a\nb") == "天地玄黄 a b"
    assert text("a&nbsp;&nbsp;b in&shy;side") == "a b inside"


def test_forms_show_their_values() -> None:
    page = """<form><label>Name <input value="Ann"></label><input type=hidden value=secret>
        <input type=password value=pw>
        <input type=checkbox checked> yes <input type=radio> no <input type=submit>
        <select><option>a<option selected>b<optgroup label=G><option>c</optgroup></select>
        <textarea>line 1\n  line 2</textarea><button>Go</button></form>"""
    shown = text(page)
    assert shown == "Name [Ann] [x] yes [ ] no [Submit] a, [x] b; G: c\n\nline 1\n  line 2\n\nGo"


# What is not shown


def test_what_a_page_hides_is_left_out_and_counted() -> None:
    page = (
        "<p hidden>one</p><p style='color:red; display : none'>two</p><script>no()</script><style>p{}</style>"
        "<template>no</template><dialog>ask</dialog><dialog open>shown</dialog><p hidden=until-found>found</p>"
        "<!-- no --><table><tr><td>a<td>b<tr style='display:none'><td>ccc<td>d</table>"
    )
    document = read(page)
    assert document.text == "shown\n\nfound\n\n| a | b |"
    assert document.warnings == ("What the page hides (13 characters) was not read.",)


def test_frames_are_named() -> None:
    document = read("text<iframe src=other.html>old browsers</iframe>")
    assert document.text == "text"
    assert document.warnings == ("1 embedded frame is a page of its own and was not read.",)


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("<html><title>App</title><body><div id=root></div><script>render()</script>", "without text"),
        ("<frameset><frame src=a.html></frameset>", "frames"),
        ("<body><p style='display:none'>secret</p>", "it hides 6 characters"),
        ("<body><img src=a.png><img src=b.png>", "2 pictures"),
        (" \n ", "without text"),
    ],
)
def test_a_page_without_text_is_refused_with_the_reason(page: str, words: str) -> None:
    with pytest.raises(Refusal) as refused:
        read(page)
    assert words in refused.value.reason
    assert refused.value.remedy


# Tables


def test_a_table_with_its_header_and_caption() -> None:
    document = read("<table><caption>Ducks</caption><thead><tr><th>Name<th>Is</thead><tr><td>A|B<td>x<br>y</table>z")
    assert document.text == "Ducks\n\n| Name | Is |\n| --- | --- |\n| A\\|B | x y |\n\nz"
    table = document.tables[0]
    assert document.text[table.start : table.header_end] == "| Name | Is |\n| --- | --- |\n"
    assert document.text[table.header_end : table.end] == "| A\\|B | x y |"


def test_a_table_without_a_header_and_one_that_is_only_header() -> None:
    document = read("<table><tr><td>a<td>b<tr><td>c<td>d</table><table><tr><th>e<th>f</table>")
    assert document.text == "| a | b |\n| c | d |\n\n| e | f |\n| --- | --- |"
    assert document.tables[0].header_end == document.tables[0].start
    assert document.tables[1].header_end == document.tables[1].end == len(document.text)


def test_spans_over_rows_and_columns() -> None:
    page = """<table><thead><tr><th rowspan=2>Year<th colspan=2>Sales<tr><th>East<th>West</thead>
        <tr><td rowspan=2>2023<td>1<td>2<tr><td>3<td>4<tr><td colspan=2>both<td>5</table>"""
    assert text(page) == (
        "| Year | Sales East | Sales West |\n| --- | --- | --- |\n| 2023 | 1 | 2 |\n| 2023 | 3 | 4 |\n| both |  | 5 |"
    )


def test_lists_and_tables_inside_a_cell() -> None:
    page = "<table><tr><th>a<th>b<tr><td><ul><li>x<li>y</ul><td>n<table><tr><td>1<td>2<tr><td>3<td>4</table></table>"
    assert text(page) == "| a | b |\n| --- | --- |\n| x; y | n 1, 2; 3, 4 |"


def test_a_table_that_arranges_the_page_is_no_table() -> None:
    page = "<table><tr><td><h1>T</h1><td><p>menu</p></table><table role=presentation><tr><td>a<td>b</table>"
    document = read(page)
    assert document.text == "# T\n\nmenu\n\na\nb"
    assert document.tables == ()
    box = "<table><tr><th>Box<tr><td><table><tr><th>a<td>b<tr><th>c<td>d</table></table>"
    assert text(box) == "Box\n\n| a | b |\n| c | d |"


def test_a_table_in_a_quote() -> None:
    document = read("<blockquote>q<table><tr><th>a<th>b<tr><td>1<td>2</table></blockquote>")
    assert document.text == "> q\n>\n> | a | b |\n> | --- | --- |\n> | 1 | 2 |"
    assert document.tables[0].end == len(document.text)


# Encodings


def test_a_declared_encoding_is_taken() -> None:
    document = read("<meta charset=windows-1251><p>Привет, мир".encode("cp1251"))
    assert (document.text, document.encoding, document.warnings) == ("Привет, мир", "cp1251", ())
    old = "<meta http-equiv=Content-Type content='text/html; charset=Shift_JIS'><p>吾輩は猫である".encode("cp932")
    assert (read(old).text, read(old).encoding) == ("吾輩は猫である", "cp932")
    assert read('<?xml version="1.0" encoding="iso-8859-7"?><p>Αθήνα</p>'.encode("iso-8859-7")).text == "Αθήνα"


def test_a_declaration_in_a_comment_or_of_no_encoding_does_not_count() -> None:
    page = "<!-- <meta charset=big5> --><meta name=a content=b><meta charset=nonsense><meta charset=rot13>"
    assert read(f"{page}<meta charset=koi8-r><p>мир".encode("koi8-r")).text == "мир"


def test_utf8_that_says_it_is_something_else() -> None:
    document = read("<meta charset=iso-8859-1><p>Grüße, 世界".encode())
    assert document.text == "Grüße, 世界"
    assert document.warnings == ("It says that it is cp1252, but it is UTF-8 and was read so.",)


def test_marks_and_the_users_word_win() -> None:
    page = "<meta charset=koi8-r><p>мир"
    assert read(codecs.BOM_UTF16_LE + page.encode("utf-16-le")).text == "мир"
    assert read(page.encode("utf-16-be")).text == "мир"
    assert read(page.encode("cp1251"), encoding="cp1251").text == "мир"
    assert read("<meta charset=iso-2022-jp><p>日本".encode("iso2022_jp")).text == "日本"


def test_a_damaged_byte_does_not_throw_the_declaration_away() -> None:
    document = read(("<meta charset=gbk><p>" + "天地玄黄宇宙洪荒" * 20).encode("gbk") + b"\xff\xff<p>end")
    assert document.text.startswith("天地玄黄")
    assert document.text.endswith("end")
    assert any("damaged place" in warning for warning in document.warnings)


def test_utf8_with_a_damaged_byte_and_hardly_a_letter_beyond_ascii() -> None:
    data = b"<meta charset=utf-8><p>" + b"plain words " * 40 + b"\x81\xff\x90<p>end"
    document = read(data)
    assert document.encoding == "utf-8"
    assert document.text.endswith("end")
    assert "damaged place" in document.warnings[0]


def test_forbidden_characters_do_not_leave_the_reader() -> None:
    document = read("<p>a&#0;b&#xFFFE;c&#xD800;d<h2>t&#xFFFF;</h2>")
    assert not set(document.text) & {"\x00", "\ufffe", "\uffff", "\ud800"}
    assert not set(document.headings[0].title) & {"\ufffe", "\uffff"}


# XHTML


def test_xhtml_closes_its_elements() -> None:
    page = """<?xml version="1.0"?><!DOCTYPE html [<!ENTITY own "x>y">]>
        <html xmlns="http://www.w3.org/1999/xhtml">
        <head><title/><script src="a>b"/><style><![CDATA[ p {} ]]></style></head>
        <body><p id="1"/><textarea/><p>a<b/>b<br/>c <![CDATA[1 < 2 & 3]]></p>
        <svg:text xmlns:svg="s">d</svg:text></body></html>"""
    assert read(page).text == "ab\nc 1 < 2 & 3\n\nd"
    assert as_html("a < b <>") == "a < b <>"


# Pages made to break a reader


@pytest.mark.parametrize(
    "tag", ["div", "span", "b", "blockquote", "ul><li", "dl><dd", "table><tr><td", "sup", "section", "q", "math", "pre"]
)
def test_fifty_thousand_elements_inside_each_other(tag: str) -> None:
    assert "hello" in text(f"<{tag}>" * 50_000 + "hello")


def test_ten_thousand_texts_inside_each_other() -> None:
    assert text("<div>word " * 10_000).count("word") == 10_000
    assert text("<blockquote>word " * 10_000).count("word") == 10_000


@pytest.mark.parametrize(
    "piece", ["<!--", "<![CDATA[", "<script>", '<a b="', "<!DOCTYPE [ <", "<meta ", "</", "<?", "<table>", "<select>"]
)
def test_unfinished_mark_up_takes_no_time(piece: str) -> None:
    document = read("<?xml version='1.0'?><p>kept</p>" + piece * 50_000)
    assert document.text.startswith("kept")


def test_spans_beyond_any_table() -> None:
    wide = read("<table><tr><th>a<th>b" + "<tr><td colspan=1000 rowspan=65534>x" * 2_000 + "</table>")
    assert wide.text.count("x") >= 2_000
    assert len(wide.text) < 2_000_000
    digits = "9" * 5_000
    assert text(f"<table><tr><td colspan={digits}>a<td rowspan={digits}>b<tr><td>c</table>") == "| a | b |\n| c | b |"


def test_a_page_by_its_path(tmp_path: Path) -> None:
    place = tmp_path / "a.html"
    place.write_text("<h1>T</h1><p>x", encoding="utf-8")
    document = read_path(str(place), ReadOptions())
    assert (document.kind, document.text, len(document.sha256)) == ("html", "# T\n\nx", 64)


# Nothing shown is lost

TAGS = [
    "p",
    "div",
    "span",
    "b",
    "h1",
    "h3",
    "ul",
    "ol",
    "li",
    "dl",
    "dt",
    "dd",
    "table",
    "tr",
    "td",
    "th",
    "thead",
    "tbody",
    "caption",
    "blockquote",
    "pre",
    "code",
    "a",
    "sup",
    "q",
    "s",
    "details",
    "summary",
    "section",
    "form",
    "label",
    "button",
    "textarea",
    "center",
    "font",
    "svg",
    "text",
    "math",
    "mrow",
    "mi",
    "msup",
    "mfrac",
    "msqrt",
    "mtable",
    "noscript",
    "figure",
    "figcaption",
    "x-card",
    "ruby",
    "object",
    "video",
    "address",
    "hr",
    "br",
    "i",
    "kbd",
    "fieldset",
    "legend",
    "menu",
    "dir",
    "article",
    "template-like",
]
words = st.integers(0, 999).map(lambda number: f"w{number:03}x")
cells = st.builds(
    lambda tag, columns, rows, word: f"<{tag} colspan={columns} rowspan={rows}>{word}",
    st.sampled_from(["td", "th"]), st.integers(0, 4), st.integers(0, 4), words,
)  # fmt: skip
tables = st.builds(
    lambda word, head, rows: f"<table>{word}{head}{'<tr>'.join(['', *map(''.join, rows)])}</table>",
    st.just("") | words.map("<caption>{}</caption>".format), st.sampled_from(["", "<thead>"]),
    st.lists(st.lists(cells, min_size=1, max_size=5), min_size=1, max_size=4),
)  # fmt: skip
trees = st.recursive(
    words | tables,
    lambda inner: st.tuples(st.sampled_from(TAGS), st.lists(inner, max_size=5), st.booleans()),
    max_leaves=30,
)


def written(tree: object) -> str:
    if isinstance(tree, str):
        return f"{tree} "
    tag, children, closed = tree  # type: ignore[misc]
    return f"<{tag}>{''.join(written(child) for child in children)}{f'</{tag}>' if closed else ''}"


@given(st.lists(trees, min_size=1, max_size=6))
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
def test_every_word_that_the_parser_shows_is_in_the_text(page: list[object]) -> None:
    source = "<!doctype html><body>" + "".join(written(tree) for tree in page)
    body = LexborHTMLParser(source).body
    shown = Counter(re.findall(r"w\d{3}x", body.text(separator=" ") if body else ""))
    if not shown:
        return
    document = read(source)
    assert Counter(re.findall(r"w\d{3}x", document.text)) >= shown
    assert list(document.tables) == sorted(document.tables, key=lambda table: table.start)
    assert all(one.end <= two.start for one, two in itertools.pairwise(document.tables))
