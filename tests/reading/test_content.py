"""Content coverage: it falls with what a summary leaves out, and tells statements that nothing bears out."""

from __future__ import annotations

import itertools
import random
import re

import pytest

from tui.documents.model import Document, Heading, Span
from tui.reading.content import Claim, Measured, measure
from tui.reading.extractive import sentences
from tui.reading.foreign import SENTENCES
from tui.reading.sections import MOST, sections

_SUBJECTS = {
    "en": (
        ("pump", "valve", "litres", "boiler"), ("budget", "invoice", "treasurer", "loan"),
        ("orchard", "frost", "pears", "bees"), ("server", "backup", "password", "router"),
        ("verdict", "appeal", "judge", "clerk"), ("violin", "rehearsal", "tempo", "choir"),
        ("glacier", "moraine", "crevasse", "rope"), ("vaccine", "dose", "fever", "clinic"),
        ("bridge", "rivet", "girder", "toll"),
        ("ballot", "turnout", "candidate", "district"),
    ),
    "zh": (
        ("水泵", "阀门", "锅炉", "管道"), ("预算", "发票", "会计", "贷款"), ("果园", "霜冻", "梨树", "蜜蜂"),
        ("服务器", "备份", "密码", "路由器"), ("判决", "上诉", "法官", "书记员"), ("小提琴", "排练", "节拍", "合唱"),
        ("冰川", "冰碛", "裂缝", "绳索"), ("疫苗", "剂量", "发烧", "诊所"), ("桥梁", "铆钉", "钢梁", "过桥费"),
        ("选票", "投票率", "候选人", "选区"),
    ),
}  # fmt: skip
_FORMS = {
    "en": (
        "The {0} was checked in the week of the {1}, and the report on the {2} names every {3} that failed. ",
        "Nobody had expected that the {1} would need a new {3} so soon after the first {0} was paid for. ",
        "According to the minutes, the {2} and the {0} belong together, which is why the {3} was moved. ",
        "In the end {n} of the people who looked after the {3} agreed that the {1} had cost too much. ",
    ),
    "zh": (
        "这一周检查了{0}，关于{2}的报告列出了所有出了问题的{3}。",
        "谁也没有想到，第一次{0}付款以后，{1}这么快就需要新的{3}。",
        "根据会议记录，{2}和{0}应该放在一起，所以{3}被移走了。",
        "最后，负责{3}的{n}个人都同意，{1}花的钱实在太多。",
    ),
}


def _document(language: str) -> Document:
    """Ten pages, each on a subject of its own."""
    pages = []
    for number, subject in enumerate(_SUBJECTS[language]):
        form = _FORMS[language]
        pages.append("".join(form[(i + number) % 4].format(*subject, n=11 + number) for i in range(12)) + "\n\n")
    spans, at = [], 0
    for number, page in enumerate(pages, 1):
        spans.append(Span("page", str(number), number, at, at + len(page)))
        at += len(page)
    return Document(path="a.pdf", name="a.pdf", kind="pdf", text="".join(pages), spans=tuple(spans))


def _noisy(sentence: str, language: str, chance: random.Random) -> str:
    """A third of the words or clauses left out."""
    parts = re.split(r"(?<=，)", sentence) if language == "zh" else [f"{word} " for word in sentence.split()]
    return "".join([part for part in parts if chance.random() > 0.35] or parts)


def _statements(document: Document, language: str, pages: range) -> list[Claim]:
    chance = random.Random(7)
    return [
        Claim(text=_noisy(sentence, language, chance), ranges=((span.start, span.start + 40),))
        for span in (document.spans[number] for number in pages)
        for sentence in sentences(document.text[span.start : span.end])[:3]
    ]


def _share(measured: Measured) -> float:
    return measured.content.covered / measured.content.sections


@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_is_left_out_shows(language: str) -> None:
    document = _document(language)
    whole = measure(document, _statements(document, language, range(10)))
    half = measure(document, _statements(document, language, range(5)))
    ends = measure(document, _statements(document, language, range(2)) + _statements(document, language, range(8, 10)))
    assert _share(whole) >= 0.9
    assert 0.35 <= _share(half) <= 0.6
    assert 0.25 <= _share(ends) <= 0.5
    assert whole.content.unsupported <= 0.1 * whole.content.statements
    assert whole.content.statements == len(whole.verdicts)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_statements_about_something_else_are_unsupported(language: str) -> None:
    document = _document(language)
    foreign = measure(document, [Claim(text=sentence, ranges=((0, 60),)) for sentence in SENTENCES[language]])
    assert foreign.content.unsupported >= 0.9 * foreign.content.statements
    assert foreign.content.covered <= 1


def test_a_statement_on_the_wrong_page_is_unsupported() -> None:
    document = _document("en")
    sentence = sentences(document.text)[0]
    last = document.spans[-1]
    right = measure(document, [Claim(text=sentence, ranges=((0, 90),))])
    wrong = measure(document, [Claim(text=sentence, ranges=((last.start, last.start + 90),))])
    assert right.verdicts[0].supported is True
    assert wrong.verdicts[0].supported is False


def test_in_another_language_the_trace_counts_and_support_is_left_open() -> None:
    document = _document("en")
    claims = [
        Claim(text="Die Pumpe wurde in der Woche geprüft, und der Bericht nennt alle Ventile, die nicht gut waren.",
              ranges=((document.spans[0].start, document.spans[0].start + 90),)),
        Claim(text="Der Richter hat gesagt, dass die Berufung nicht mehr in diesem Jahr verhandelt werden kann.",
              ranges=((document.spans[4].start, document.spans[4].start + 90),)),
    ]  # fmt: skip
    measured = measure(document, claims)
    assert [verdict.supported for verdict in measured.verdicts] == [None, None]
    assert measured.content.covered >= 2
    assert measured.content.unsupported == 0


def test_numbers_and_names_that_the_page_does_not_hold() -> None:
    document = _document("en")
    page = document.spans[0]
    text = document.text[: page.end - 2] + "Dr. Alvarez paid 1,250 for 3.5 litres on 12 May.\n"
    document = Document(path="a.pdf", name="a.pdf", kind="pdf", text=text, spans=(Span("page", "1", 1, 0, len(text)),))

    def odd(statement: str) -> tuple[str, ...]:
        return measure(document, [Claim(text=statement, ranges=((0, 50),))]).verdicts[0].strange

    assert odd("In May, Alvarez paid 1250 for 3,5 litres.") == ()
    assert odd("In May, Alvarez paid 1,350 for 3.5 litres.") == ("1,350",)
    assert odd("The sum was paid by Alvarez and Lindqvist's clerk.") == ("Lindqvist",)
    assert odd("The UNHCR paid for the pump.") == ("UNHCR",)
    assert odd("Someone paid eleven, that is 11, for the valve.") == ()
    assert odd("Pumps and valves.") == ()


def test_a_title_that_the_page_does_not_hold() -> None:
    text = "他在《红楼梦》里读到了这一段，一共有三个人。" * 30
    document = Document(path="a.txt", name="a.txt", kind="text", text=text, spans=(Span("file", "a", 1, 0, len(text)),))
    judged = measure(document, [Claim(text="他读了《水浒传》和《红楼梦》，一共3个人。", ranges=((0, 20),))])
    assert judged.verdicts[0].strange == ("水浒传",)


def test_no_statements_cover_nothing() -> None:
    measured = measure(_document("en"), [])
    assert (measured.content.covered, measured.content.statements, measured.content.unsupported) == (0, 0, 0)
    assert measured.content.sections > 3


def test_sections_tile_the_text_and_are_about_even() -> None:
    text = "\n\n".join(f"Paragraph {number} of the text. " * 9 for number in range(2000))
    headings = tuple(Heading(match.start(), 1, "P") for match in re.finditer(r"Paragraph \d*0 of", text))
    document = Document(
        path="a", name="a", kind="text", text=text, spans=(Span("file", "a", 1, 0, len(text)),), headings=headings
    )
    found = sections(document)
    assert found[0][0] == 0
    assert found[-1][1] == len(text)
    assert all(left[1] == right[0] for left, right in itertools.pairwise(found))
    assert len(found) <= MOST + 1
    assert max(end - start for start, end in found) < 3 * len(text) / len(found)


@pytest.mark.parametrize("text", ["x", "word " * 10, "字" * 5000, "\n" * 5000])
def test_the_smallest_and_the_oddest_documents(text: str) -> None:
    document = Document(path="a", name="a", kind="text", text=text, spans=(Span("file", "a", 1, 0, len(text)),))
    measured = measure(document, [Claim(text="Something else.", ranges=((0, 1),)), Claim(text="")])
    assert measured.content.statements == 2
