"""Records: where their values stand, and the same record found twice made one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tui.documents.model import Document, Span, Table
from tui.reading.extract_evidence import Evidence, leaves
from tui.reading.extract_merge import Found, is_empty, merge
from tui.reading.extract_schema import parse_schema
from tui.reading.json_lists import endless, listed_in, records_in
from tui.reading.rows import said_in

TEXT = (
    "The option max_retries sets how often a call is made again. Its default is 1,250 tries.\n\n"
    "The timeout is 30 seconds by default. Of the pumps, pump 512 was the oldest.\n\n"
    "日志级别参数 log_level 的默认值是 info。\n"
)
SCHEMA = parse_schema(
    b'{"name": "", "value": {"type": ["number", "string", "null"]}, "kind": {"enum": ["x", "y"]}}', "s"
)


def document(text: str, tables: tuple[Table, ...] = ()) -> Document:
    return Document(
        path="a", name="a", kind="text", text=text, spans=(Span("file", "a", 1, 0, len(text)),), tables=tables
    )


THREE = parse_schema(b'["name", "unit", "default"]', "s")


def evidence() -> Evidence:
    return Evidence(document(TEXT), 0, len(TEXT))


@pytest.mark.parametrize(
    ("record", "sentence"),
    [
        ({"name": "timeout", "value": 30}, "The timeout is 30 seconds by default."),
        ({"name": "max_retries", "value": None}, "The option max_retries sets how often a call is made again."),
        ({"name": "log_level", "value": "info"}, "日志级别参数 log_level 的默认值是 info。"),
        ({"name": "Timeout", "value": "30"}, "The timeout is 30 seconds by default."),
    ],
)
def test_the_place_is_the_sentence_with_the_values(record: dict[str, Any], sentence: str) -> None:
    (start, end), _ = evidence().place(record, SCHEMA)
    assert TEXT[start:end] == sentence


def test_without_a_value_in_the_text_the_place_is_the_part() -> None:
    assert evidence().place({"name": "colour", "value": 7}, SCHEMA) == ((0, len(TEXT)), False)
    later = Evidence(document(TEXT), 90, len(TEXT))
    assert later.place({"name": "max_retries", "value": None}, SCHEMA, ["name"]) == ((90, len(TEXT)), False)


@pytest.mark.parametrize(
    ("record", "fields"),
    [
        ({"name": "max_retries", "value": 1250}, ()),
        ({"name": "max_retries", "value": 1250.0}, ()),
        ({"name": "max_retries", "value": "1,250"}, ()),
        ({"name": "max_retries", "value": 12}, ("value",)),
        ({"name": "retries_max", "value": 30}, ("name",)),
        ({"name": "pump", "value": 51}, ("value",)),  # 512 is no 51
        ({"name": "pum", "value": 512}, ("name",)),
        ({"name": "默认值", "value": "INFO"}, ()),
        ({"name": "how often a call was made again by the option", "value": None}, ()),
        ({"name": "how often a train was late on the northern line", "value": None}, ("name",)),
        ({"name": "timeout", "value": None, "kind": "x"}, ()),
    ],
)
def test_what_does_not_stand_in_the_text_is_named(record: dict[str, Any], fields: tuple[str, ...]) -> None:
    assert evidence().unsupported(record, SCHEMA) == fields


ROWS = "name,unit,default\n" + "".join(
    f"p{number},seconds of the northern pump house,{10 * number}\n" for number in range(1, 13)
)


def test_a_row_is_the_place_of_what_it_says_by_its_key() -> None:
    """Other values may stand in every row, and longer ones even in a row of their own."""
    found = Evidence(document(ROWS, (Table(0, 18, len(ROWS)),)), 18, len(ROWS))
    for name, default in (("p4", 40), ("p4", "20"), ("P4", None), ("p12", 10), ("p1", 120)):
        record = {"name": name, "unit": "seconds of the northern pump house", "default": default}
        (start, end), sure = found.place(record, THREE, ["name"])
        assert ROWS[start:end].startswith(f"{name.lower()},")
        assert ROWS[start:end].count("\n") == 0
        assert sure
    (start, end), sure = found.place({"name": "p99", "unit": "", "default": 30}, THREE, ["name"])
    assert ROWS[start:end].startswith("p3,"), "a value that stands in one row tells more than one of all rows"
    assert not sure
    nowhere = {"name": "p99", "unit": "seconds of the northern pump house", "default": None}
    assert found.place(nowhere, THREE, ["name"]) == ((18, len(ROWS)), False)


def test_rows_with_line_ends_in_them_are_one() -> None:
    text = 'before, in a sentence. And more.\n\na,b\n1,"x\ny"\n2,z\n\nafter it\n'
    start = text.index("a,b")
    table = Table(start, start + 4, text.index("\nafter"), (start, start + 4, text.index("2,z")))
    said = [text[place[0] : place[1]] for place in said_in(document(text, (table,)), 0, len(text))]
    assert said == ["before, in a sentence.", "And more.", "a,b", '1,"x\ny"', "2,z", "after it"]
    cut = [text[place[0] : place[1]] for place in said_in(document(text, (table,)), text.index("y"), len(text) - 4)]
    assert cut == ['y"', "2,z", "after"]


def test_values_inside_are_named_with_dots() -> None:
    assert list(leaves({"a": {"b": ["x", 3, True, None, " "]}, "c": ""})) == [("a.b", "x"), ("a.b", 3)]


def test_what_the_model_saw_beside_the_text_counts() -> None:
    assert (
        Evidence(document("30 | 40"), 0, 7, "| timeout | retries |").unsupported(
            {"name": "timeout", "value": 30}, SCHEMA
        )
        == ()
    )


# Lists that are whole, and lists that are cut


@pytest.mark.parametrize(
    ("answer", "count", "whole"),
    [
        ("[]", 0, True),
        (' [ {"a": 1}, {"a": 2} ] ', 2, True),
        ('[{"a": 1}, {"a": 2', 1, False),
        ('[{"a": 1},', 1, False),
        ("[", 0, False),
        ("", 0, False),
        ("NOTHING", 0, False),
        ('[{"a": "]"}]', 1, True),
        ("[3]", 0, False),
        pytest.param("[" * 100_000, 0, False, id="deep"),
    ],
)
def test_records_of_an_answer(answer: str, count: int, whole: bool) -> None:
    records, ended = records_in(answer)
    assert (len(records), ended) == (count, whole)


def test_texts_of_an_answer() -> None:
    assert listed_in('["a", "b, c"]') == (["a", "b, c"], True)
    assert listed_in('["a", "b') == (["a"], False)
    assert listed_in('["a", 3]') == (["a"], False)
    assert endless(json.dumps(["a"] * 20))
    assert not endless(json.dumps([str(number) for number in range(100)]))


def test_records_of_one_shape_are_no_circle_and_the_same_ones_are() -> None:
    """Written with indentation, most lines of such a list are alike; that is its form, not a fault."""
    many = [{"kind": "pump", "broken": False, "name": f"pump {number}"} for number in range(40)]
    for text in (json.dumps(many, indent=4), json.dumps(many)):
        assert not any(endless(text[:end]) for end in range(0, len(text), 50))
    assert endless(json.dumps(many[:4] * 3, indent=4))
    assert not endless(json.dumps(many[:4]))
    assert endless('[{"name": "a", "use": "' + "and it is used for the pump " * 20)
    assert not endless('[{"name": "a", "use": "it is used for the pump of the northern line')
    assert not endless("")


# Merging


def found(*records: dict[str, Any], unsupported: tuple[str, ...] = ()) -> list[Found]:
    return [Found(record=record, ranges=((at, at + 1),), unsupported=unsupported) for at, record in enumerate(records)]


def test_doubles_are_one_with_all_places() -> None:
    records = found(
        {"name": "Timeout", "value": 30}, {"name": "retries", "value": 3}, {"name": "timeout ", "value": 30.0}
    )
    first, second = merge(records, ["name"])
    assert first.ranges == ((0, 1), (2, 3))
    assert first.record == {"name": "Timeout", "value": 30}
    assert second.record["name"] == "retries"


def test_what_is_missing_is_filled_in_and_the_longer_text_stays() -> None:
    [one] = merge(
        found({"name": "t", "value": None, "use": "waits"}, {"name": "t", "value": 3, "use": "waits for the server"}),
        ["name"],
    )
    assert one.record == {"name": "t", "value": 3, "use": "waits for the server"}


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ({"name": "t", "value": 3}, {"name": "t", "value": 5}),
        ({"name": "t", "value": "5"}, {"name": "t", "value": "5000"}),
        ({"name": "t", "value": "closed"}, {"name": "t", "value": "opened"}),
        ({"name": "t", "value": "on page 3 of it"}, {"name": "t", "value": "on page 4 of it"}),
        ({"name": "t", "value": 3}, {"name": "u", "value": 3}),
        ({"name": "t", "value": True}, {"name": "t", "value": False}),
        ({"name": None, "value": 3}, {"name": None, "value": 4}),
        ({"name": "t", "value": ["a"]}, {"name": "t", "value": ["a", "b"]}),
        ({"name": "t", "value": "p1"}, {"name": "t", "value": "p10"}),
        ({"name": "t", "value": "north pump house"}, {"name": "t", "value": "south pump house"}),
        (
            {"name": "t", "value": "the pump p1 of the north house"},
            {"name": "t", "value": "the pump p2 of the north house"},
        ),
    ],
)
def test_what_contradicts_stays_apart(a: dict[str, Any], b: dict[str, Any]) -> None:
    assert [one.record for one in merge(found(a, b), ["name"])] == [a, b]


def test_a_key_that_names_no_single_thing_fills_nothing_in() -> None:
    """A unit is no name: a record without a name is not the pump that has the same unit."""
    records = found(
        {"unit": "s", "name": None, "value": 10},
        {"unit": "s", "name": "p1", "value": None},
        {"unit": "s", "name": "p2", "value": 10},
        {"unit": "s", "name": "p1", "value": None},
        {"unit": "m", "name": "p3", "value": None},
        {"unit": "m", "name": None, "value": 7},
    )
    merged = merge(records, ["unit"])
    assert [(one.record["name"], one.record["value"]) for one in merged] == [
        (None, 10), ("p1", None), ("p2", 10), ("p3", 7),
    ]  # fmt: skip
    assert merged[1].ranges == ((1, 2), (3, 4))


def test_places_that_hold_the_key_stay() -> None:
    one = {"name": "t", "value": 3}
    for sure, places in (
        ((True, False), ((0, 1),)),
        ((False, True), ((1, 2),)),
        ((True, True), ((0, 1), (1, 2))),
        ((False, False), ((0, 1), (1, 2))),
    ):
        [merged] = merge([Found(record=one, ranges=((at, at + 1),), sure=it) for at, it in enumerate(sure)], ["name"])
        assert merged.ranges == places


def test_a_key_of_several_fields() -> None:
    records = found({"a": "x", "b": "1", "c": None}, {"a": "x", "b": "2", "c": None}, {"a": "X", "b": "1", "c": "z"})
    assert [one.record["c"] for one in merge(records, ["a", "b"])] == ["z", None]


def test_exact_doubles_without_a_key_are_one() -> None:
    records = found({"name": None, "value": 3}, {"name": "", "value": 3}, {"name": None, "value": 4})
    assert [one.record["value"] for one in merge(records, ["name"])] == [3, 4]


def test_a_value_that_the_text_holds_wins() -> None:
    doubted = found({"name": "t", "use": "waits for everything that there is"}, unsupported=("use",))
    sure = found({"name": "t", "use": "waits for everything"})
    for order in ([*doubted, *sure], [*sure, *doubted]):
        [one] = merge(order, ["name"])
        assert one.record["use"] == "waits for everything"
        assert one.unsupported == ()


def test_empty_records() -> None:
    assert is_empty({"a": None, "b": "", "c": [], "d": {"e": " - "}})
    assert not is_empty({"a": 0})
    assert not is_empty({"a": False})
