"""What an answer from a part is worth, and lists made one."""

from __future__ import annotations

import pytest

from tui.reading.ask_answers import Item, items, merged, says_nothing, wants_list


@pytest.mark.parametrize(
    "answer",
    [
        *(
            "NOTHING",
            "Nothing.",
            "**NOTHING**",
            "",
            "  \n",
            "None",
            "N/A",
            "[]",
            "Not mentioned.",
            "No information given",
        ),
        *(
            "The text does not mention the pump.",
            "The passage doesn't say who it was.",
            "NOTHING. The text is on tanks.",
        ),
        *("I cannot tell; there is no mention of the budget.", "Keine Angaben", "Rien", "Nada.", "нет"),
        *(
            "无",
            "没有",
            "没有提到。",
            "文中没有提到这个问题。",
            "未提及",
            "なし",
            "記載なし",
            "本文には書かれていません。",
        ),
    ],
)
def test_nothing_is_known_in_several_languages(answer: str) -> None:
    assert says_nothing(answer)


@pytest.mark.parametrize(
    "answer",
    [
        *("Pump 3 failed in May.", "Nothing failed before the inspector came, who then closed valve 4 and left again."),
        *(
            "没有水泵发生故障",
            "不用维修",
            "No pump failed.",
            "0",
            "None of the pumps of the northern line failed that year.",
        ),
        "The text does not say who built it, but pump 3 was replaced by the crew from Ansel in May at a cost of 400 "
        "pounds, after 300 hours of work, because its seal was broken and the harbour office had complained twice.",
    ],
)
def test_an_answer_is_not_nothing(answer: str) -> None:
    assert not says_nothing(answer)


@pytest.mark.parametrize(
    "question",
    [
        *("List every configuration parameter", "list the pumps", "Which pumps are mentioned?", "Name every person."),
        *(
            "What are all the valves that failed?",
            "Find all dates",
            "Nenne alle Pumpen",
            "列出所有参数",
            "有哪些水泵？",
        ),
        *("すべてのポンプを列挙してください", "Enumera todos los nombres"),
    ],
)
def test_questions_for_all_of_something(question: str) -> None:
    assert wants_list(question)


@pytest.mark.parametrize(
    "question",
    ["Why did the pump fail?", "When did all this happen?", "What is the capital?", "水泵为什么坏了？", "Who was it?"],
)
def test_other_questions(question: str) -> None:
    assert not wants_list(question)


def test_items_of_an_answer() -> None:
    answer = "Here is the list:\n\n1. Pump 3\n- **Valve 4**: closed\n* Tank 7;\n\nNOTHING\n2) Pump 3\n"
    assert items(answer) == ["Pump 3", "Valve 4: closed", "Tank 7"]


def test_the_same_thing_is_one_with_all_its_places() -> None:
    found = merged(
        [
            Item("Pump 3", ((0, (0, 5)),)),
            Item("pumps 3", ((0, (10, 15)),)),
            Item("Pump 4", ((0, (20, 25)),)),
            Item("Pump 3: it failed twice", ((1, (0, 9)),)),
        ]
    )
    assert [item.text for item in found] == ["Pump 3: it failed twice", "Pump 4"]
    assert found[0].places == ((0, (0, 5)), (0, (10, 15)), (1, (0, 9)))


def test_what_contradicts_stays_apart() -> None:
    said = ["Valve: closed by Ansel", "Valve: opened in heavy rain", "Valve: closed by the crew of Ansel"]
    assert [item.text for item in merged([Item(text, ()) for text in said])] == [
        "Valve: closed by the crew of Ansel",
        "Valve: opened in heavy rain",
    ]


def test_chinese_items() -> None:
    assert [item.text for item in merged([Item(text, ()) for text in ("水泵：北线", "水泵", "阀门（四号）")])] == [
        "水泵：北线",
        "阀门（四号）",
    ]
