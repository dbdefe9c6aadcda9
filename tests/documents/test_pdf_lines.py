"""The PDF reader's lines and letters: soft line ends, hyphens, ligatures, overprinting, letters that are set apart."""

from __future__ import annotations

import textwrap

import pytest
from pypdf import PdfWriter
from pypdf.generic import DictionaryObject, NameObject, TextStringObject

from tests.documents.pdfs import WORDS, chinese, edited, pages, read
from tui.documents.pdf.lines import without_soft_ends
from tui.documents.pdf.mend import mend_pages, with_hyphen_marks, without_overprint

PROSE = (
    "The pump had run since the autumn of the year in which the harbour was built, and nobody could say who had "
    "started it. In the morning, when the tide was low, one heard it from the far side of the bay, a slow knocking "
    "that went on through every conversation. The keeper of the lamp, a man of few words, held that it would stop "
    "on the day on which he did, and so it was left alone."
)
HAN = (
    "道可道，非常道。名可名，非常名。无名天地之始；有名万物之母。故常无欲，以观其妙；常有欲，以观其徼"
    "。此两者，同出而异名，同谓之玄。玄之又玄，众妙之门。天下皆知美之为美，斯恶已；皆知善之为善，斯不善已。"
)


def lines_of(text: str, width: int) -> list[str]:
    return ["A heading", *textwrap.wrap(text, width), "17"]


@pytest.mark.parametrize("width", [32, 50, 90])
def test_a_sentence_stands_on_one_line(width: int) -> None:
    text = read(pages(lines_of(PROSE, width))).text
    assert text.startswith("A heading\nThe pump had run")
    assert "In the morning, when the tide was low, one heard it from the far side of the bay" in text
    assert text.endswith("left alone.\n17\n")
    assert " ".join(text.split()) == f"A heading {PROSE} 17"


def test_lines_of_han_are_joined_without_a_space() -> None:
    lines = ["第一章", *(HAN[start : start + 24] for start in range(0, len(HAN), 24)), "17"]
    text = read(chinese(lines)).text
    assert "".join(text.split()) == "".join(lines)
    assert " " not in text
    assert text.count("\n") < len(lines) - 1


KEPT = {
    "verse": """Tyger Tyger, burning bright,
In the forests of the night;
What immortal hand or eye,
Could frame thy fearful symmetry?
In what distant deeps or skies
Burnt the fire of thine eyes?
On what wings dare he aspire?
What the hand, dare seize the fire?
When the stars threw down their spears
And water'd heaven with their tears""",
    "code": """def mended(pages: list[str]) -> list[str]:
decide = Hyphens(pages) if any(MARK in text for text in pages)
return [clean(decide.mend(text) if decide else text, pages)
for text in pages if text and not text.isspace() and pages]
for (int i = 0; i < count && values[i] != nullptr; i++) {
total += values[i]->weight * factor[i % factors.size()];
printf("%d of %d: %s\\n", i, count, names[i].c_str());
}""",
    "numbered": """1. the keeper of the lamp and of the harbour
2. the keeper of the books and of the stores
3. the keeper of the gate and of the garden
4. the keeper of the seal and of the papers
5. the keeper of the bells and of the clock
6. the keeper of the hounds and of the deer
7. the keeper of the wells and of the pumps""",
    "bullets": """- the keeper of the lamp and of the harbour
- the keeper of the books and of the stores
- the keeper of the gate and of the garden
• the keeper of the seal and of the papers
• the keeper of the bells and of the clock
(a) the keeper of the hounds and of the deer
[7] the keeper of the wells and of the pumps""",
    "figures": """North 1,204 1,377 1,410 1,502 and more, as of May
south 1,104 1,277 1,310 1,402 and more, as of May
east 1,004 1,177 1,210 1,302 and more, as of May
west 904 1,077 1,110 1,202 and more, as of May 12
centre 804 977 1,010 1,102 and more, as of May 12
abroad 704 877 910 1,002 and more, as of May 1912""",
    "labels": """Insured Name Gabriel Diaz Year Of The Car 2022
Claim Number Eight Hundred Make Of The Car Jeep
Policy Holder Gabriel Diaz Model Grand Cherokee
Repair Order Number Nine Estimator Ellis Turner
Phone Number Of The Shop Trim Of The Car Limited
Colour Of The Car White Odometer Of The Car Nine""",
    "contents": """The pump and the harbour . . . . . . . . . . . . . 3
the keeper of the lamp . . . . . . . . . . . . . . 5
the far side of the bay . . . . . . . . . . . . . 12
what the tide brought in . . . . . . . . . . . . . 19
an end of the knocking . . . . . . . . . . . . . . 27
the names of the boats . . . . . . . . . . . . . . 31""",
    "words": """the keeper of the lamp and of the harbour
the keeper of the books and of the stores
the keeper of the gate and of the garden
the keeper of the seal and of the papers
the keeper of the bells and of the clock
the keeper of the hounds and of the deer""",
    "korean": """이것은 한국어로 쓰인 문장이며 줄바꿈이 어디에서 일어나는지는
알 수 없으므로 그대로 두어야 합니다 그리고 이 문장은 계속 이어지
며 다음 줄에서도 끝나지 않고 그대로 이어지게 됩니다 그래서 우리는
이것을 건드리지 않고 그대로 두기로 하였습니다 이것이 가장 안전한
방법이라고 생각하기 때문이며 다른 방법은 아직 알지 못하는 것입니
다 그래서 이 줄도 그대로 남아 있어야 하는 것입니다 정말로 그렇습""",
    "japanese verse": """それらも畢竟こころのひとつの風物です
おそらくこれから二千年もたったころは
われわれがかんじてゐるのに過ぎません
正しくうつされた筈のこれらのことばが
巨大に明るい時間の集積のなかでは、
それが虚無ならば虚無自身がこのとほりで
記録されたそのとほりのこのけしきで、""",
}


@pytest.mark.parametrize("text", KEPT.values(), ids=KEPT)
def test_what_keeps_its_lines(text: str) -> None:
    assert without_soft_ends(text) == text


def test_only_line_ends_are_changed() -> None:
    for text in (PROSE, HAN, *KEPT.values()):
        for width in range(10, 70, 7):
            wrapped = "\n".join(textwrap.wrap(text, width))
            joined = without_soft_ends(wrapped)
            assert "".join(joined.split()) == "".join(wrapped.split())
            assert joined.count("\n") <= wrapped.count("\n")


def test_a_header_is_not_joined_to_the_sentence_that_goes_on() -> None:
    lines = [
        "the journal of the harbour, vol. xii, of the keepers",
        *textwrap.wrap(PROSE, 52)[1:],
        "the end of the page, as of today",
    ]
    text = without_soft_ends("\n".join(lines))
    assert text.splitlines()[0] == lines[0]
    assert text.splitlines()[-1] == lines[-1]


def test_latin_ligatures_are_letters_and_other_forms_stay() -> None:
    assert mend_pages(["ﬁrst oﬀice ﬂows aﬃrm baﬄe ﬆone ① 豈 ﾊﾝ ＡＢ"]) == [
        "first office flows affirm baffle stone ① 豈 ﾊﾝ ＡＢ"
    ]


def test_letters_of_chinese_that_are_set_apart() -> None:
    apart = " ".join("道可道非常道名可名非常名无名天地之始有名万物之母")
    assert mend_pages([apart]) == [apart.replace(" ", "")]
    few = "姓名 年龄 城市 备注\n张三 三十 北京 无\n李四 四十 上海 无"
    assert mend_pages([few]) == [few]


def test_printed_hyphens_of_other_readers() -> None:
    raw = with_hyphen_marks(
        "He went on in pur-\nsuit of the well-\nknown COVID-\n19 story, 4-\npiperidyl and a well-known one -\nat last"
    )
    assert mend_pages([raw]) == [
        "He went on in pursuit of the well-known COVID-\n19 story, 4-\npiperidyl and a well-known one -\nat last"
    ]


def test_arabic_letters_before_vowel_marks() -> None:
    right = "الخليّة المعقّدة البشريّ، العمليّة القلبيّة الطبيعيّة"
    wrong = "يلخلاّة قعملاّدة يرشبلا،ّ يلمعلاّة يبلقلاّة يعيبطلاّة"
    assert mend_pages([wrong]) == [right]
    assert mend_pages([right]) == [right]
    assert mend_pages(["يلخلاّة"]) == ["يلخلاّة"]


def test_overprinted_lines() -> None:
    assert without_overprint("TTTTeeeesssstttt oooonnnneeee\nbook\nllllllllllll") == "Test one\nbook\nllllllllllll"
    assert without_overprint("BBoolldd wwoorrddss\naabb") == "Bold words\naabb"


def test_pages_keep_a_sentence_that_goes_on() -> None:
    text = read(pages([WORDS, "and the sentence goes on"], ["over the page.", WORDS])).text
    assert "goes on\nover the page." in text


def test_a_signature_is_named_and_not_dumped() -> None:
    def sign(writer: PdfWriter) -> None:
        value = DictionaryObject(
            {
                NameObject("/Type"): NameObject("/Sig"),
                NameObject("/Contents"): TextStringObject("\x00" * 200),
                NameObject("/Name"): TextStringObject("Ada Keeper"),
                NameObject("/Reason"): TextStringObject("approved"),
            }
        )
        for name, content in (("seal", value), ("second", None)):
            widget = DictionaryObject(
                {
                    NameObject("/Type"): NameObject("/Annot"),
                    NameObject("/Subtype"): NameObject("/Widget"),
                    NameObject("/FT"): NameObject("/Sig"),
                    NameObject("/T"): TextStringObject(name),
                }
            )
            if content is not None:
                widget[NameObject("/V")] = writer._add_object(content)
            writer.add_annotation(0, widget)

    text = read(edited(pages([WORDS]), sign)).text
    assert text == f"{WORDS}\n\nForm fields:\n- seal: signed by Ada Keeper (approved)\n\n"
