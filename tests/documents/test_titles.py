"""Headings found in plain text, and lines that look like some."""

from __future__ import annotations

import asyncio

import pytest

from tests.documents.counters import count_words, many
from tui.documents.chunker import chunk_document
from tui.documents.plain import read_plain
from tui.documents.titles import plain_headings

BODY = "The boat left in the morning. Nobody had seen it come, and nobody\nsaw it go, but the keeper wrote it down.\n"
HAN = "　　船在早晨离开了。没有人看见它来，也没有人看见它走。\n　　“走吧。”他说。\n"


def found(text: str) -> list[tuple[int, str]]:
    return [(heading.level, heading.title) for heading in plain_headings(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            f"THE SEA\n\nby A. Keeper\n\nPART ONE\n\nCHAPTER 1\n\n{BODY}\nCHAPTER 2: Home\n\n{BODY}",
            [(2, "THE SEA"), (1, "PART ONE"), (2, "CHAPTER 1"), (2, "CHAPTER 2: Home")],
        ),
        (
            f"CHAPTER I.\nDown the Well\n\n{BODY}\n\nCHAPTER II.\nThe Pool\n\n{BODY}",
            [(1, "CHAPTER I. Down the Well"), (1, "CHAPTER II. The Pool")],
        ),
        (
            f"第一卷 大海\n\n第一章 出发\n{HAN}第二章 移民\n{HAN}",
            [(1, "第一卷 大海"), (2, "第一章 出发"), (2, "第二章 移民")],
        ),
        (f"序章\n\n{HAN}\n第十二回 归来\n\n{HAN}\n尾声\n\n{HAN}", [(1, "序章"), (1, "第十二回 归来"), (1, "尾声")]),
        (
            "第一章　总则\n\n第一条　为了保护海员，制定本法。\n"
            "第二条　本法适用于船舶。\n第二章　船员\n第三条　船员应当登记。\n",
            [(1, "第一章 总则"), (2, "第一条"), (2, "第二条"), (1, "第二章 船员"), (2, "第三条")],
        ),
        (
            f"1. Introduction\n\n{BODY}\n1.1 Scope\n\n{BODY}\n1.2 Terms\n\n{BODY}\n2. Method\n\n{BODY}",
            [(1, "1. Introduction"), (2, "1.1 Scope"), (2, "1.2 Terms"), (1, "2. Method")],
        ),
        (f"I\n\n{BODY}\nII\n\n{BODY}\nIII\n\n{BODY}", [(1, "I"), (1, "II"), (1, "III")]),
        (
            f"The Report\n==========\n\n{BODY}\nFindings\n--------\n{BODY}\n大海的报告\n----------\n\n{BODY}",
            [(1, "The Report"), (2, "Findings"), (2, "大海的报告")],
        ),
        (f"{BODY}\nTHE FIRST WINTER\n\n{BODY * 6}", [(1, "THE FIRST WINTER")]),
        (f"제1장 바다\n\n{BODY}\n제2장 집\n\n{BODY}", [(1, "제1장 바다"), (1, "제2장 집")]),
    ],
)
def test_what_stands_apart_and_is_worded_as_one_is_a_heading(text: str, expected: list[tuple[int, str]]) -> None:
    assert found(text) == expected
    for unix in (text, text.replace("\n", "\r\n")):
        for heading in plain_headings(unix):
            assert unix[heading.start :].lstrip().startswith(heading.title.split()[0])
            assert heading.start == 0 or unix[heading.start - 1] == "\n"


@pytest.mark.parametrize(
    "text",
    [
        BODY,
        f"Contents\n\nCHAPTER I\n\nCHAPTER II\n\nCHAPTER III\n\n{BODY}",
        "CHAPTER I. Down the Well\nCHAPTER II. The Pool\nCHAPTER III. The Race\n\n" + BODY,
        "1 Introduction ........ 1\n\n1.1 Scope ........ 2\n\n2 Method ........ 7\n\n" + BODY,
        "第一章 出发\n第二章 移民\n第三章 归来\n\n" + HAN,
        "第一章 出发……1\n\n第二章 移民……9\n\n" + HAN,
        f"{HAN}第一章讲的是大海，第二章讲的是陆地，都不长。\n\n第一回合他输了\n\n{HAN}",
        "1. Buy milk\n\n2. Buy eggs\n\n3. Go home\n\n" + BODY,
        "“NO!”\n\n“Chapter 3 is the best,” she said.\n\nNO.\n\nI.\n\nI know.\n\n" + BODY,
        f"Chapter 3 deals with whales\n\nPart of the crew stayed\n\nBook a table\n\n{BODY}",
        "KEEPER\n\nWho is there?\n\nMATE\n\nI am.\n\nKEEPER\n\nCome.\n\nMATE\n\nYes.\n\nKEEPER\n\nSit.\n",
        "2024-01-02 10:00:01 INFO start\n\n2024-01-02 10:00:02 ERROR stop\n\n1.2 MB read\n\n",
        " count \n-------\n    42\n(1 row)\n\nNAME    SIZE\n------------\na       1\n",
        "$ make\n\nOK (3)\n\nexit 0\n\n--------\n\n========\n\n",
        "> Quoted\n--------\n\n-- \nA. Keeper\n",
        f"{BODY}\nTHE END\n\n",
    ],
)
def test_what_only_looks_like_one_is_none(text: str) -> None:
    assert found(text) == []


def test_the_first_chapter_after_the_contents_is_one() -> None:
    text = f"CONTENTS\n\nCHAPTER I\n\nCHAPTER II\n\nCHAPTER I\n\n{BODY}\nCHAPTER II\n\n{BODY}"
    assert [heading.start for heading in plain_headings(text)] == [text.index("CHAPTER I\n\nThe"), text.rindex("CHAP")]


def test_a_chapter_begins_its_chunk() -> None:
    text = "\n".join(f"CHAPTER {number}\n\n{BODY * 3}" for number in range(1, 6))
    document = read_plain(text.encode(), "book.txt", "book.txt")
    chunks = asyncio.run(chunk_document(document, 100, many(count_words)))
    assert "".join(chunk.text for chunk in chunks) == text
    assert all(chunk.heading for chunk in chunks)
    assert not [chunk for chunk in chunks if chunk.text.rstrip().splitlines()[-1].startswith("CHAPTER")]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("page.mht", "From: <Saved>\nMIME-Version: 1.0\nContent-Type: multipart/related; boundary=x\n\n--x\n"),
        ("mail.eml", "From: a@example.org\nSubject: The sea\n\nIt is wide.\n"),
    ],
)
def test_what_is_read_as_its_source_is_said(name: str, text: str) -> None:
    (warning,) = read_plain(text.encode(), name, name).warnings
    assert "read as its source" in warning
