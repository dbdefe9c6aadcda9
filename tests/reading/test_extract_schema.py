"""Schemas of records: a JSON Schema, a map of fields, a list of names; what is wrong with one in a sentence."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tui.errors import ExitCode, UsageProblem
from tui.reading.extract_schema import RecordSchema, parse_schema


def parsed(given: Any) -> RecordSchema:
    return parse_schema(json.dumps(given).encode(), "fields.json")


def test_a_map_of_fields() -> None:
    schema = parsed({"name": "name of the parameter", "default": "", "port": "integer", "unit": {"enum": ["s", "ms"]}})
    assert schema.schema["properties"] == {
        "name": {"type": ["string", "null"], "description": "name of the parameter"},
        "default": {"type": ["string", "null"]},
        "port": {"type": ["integer", "null"]},
        "unit": {"enum": ["s", "ms"]},
    }
    assert schema.schema["required"] == ["name", "default", "port", "unit"]
    assert [(field.name, field.kind, field.description) for field in schema.fields] == [
        ("name", "text or null", "name of the parameter"),
        ("default", "text or null", ""),
        ("port", "integer or null", ""),
        ("unit", 'one of "s", "ms"', ""),
    ]
    assert schema.free("name")
    assert not schema.free("unit")


def test_a_list_of_names_is_a_map_without_descriptions() -> None:
    assert parsed(["name", "value"]).schema == parsed({"name": "", "value": ""}).schema


def test_fields_that_are_called_like_keywords_of_a_schema() -> None:
    """`type` and `title` are good names for fields; only the types of JSON make a schema."""
    assert [field.name for field in parsed({"type": "kind of pump", "title": "name"}).fields] == ["type", "title"]


def test_a_json_schema_is_taken_as_it_is() -> None:
    given = {
        "title": "Parameter",
        "description": "Every parameter.",
        "type": "object",
        "properties": {"name": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}}},
        "required": ["name"],
    }
    schema = parsed(given)
    assert schema.schema == {"additionalProperties": False, **given}
    assert (schema.title, schema.description) == ("Parameter", "Every parameter.")
    assert schema.fields[1].kind == "list of text"
    assert parsed({"type": "array", "items": given}).schema == schema.schema
    assert json.loads(schema.of_answer())["type"] == "array"


def test_references_stay_inside_the_file() -> None:
    given = {
        "$defs": {"cost": {"type": "object", "properties": {"value": {"type": "number"}}, "required": ["value"]}},
        "type": "object",
        "properties": {"cost": {"$ref": "#/$defs/cost"}},
    }
    schema = parsed(given)
    assert json.loads(schema.of_answer())["$defs"] == given["$defs"]
    assert schema.problem({"cost": {"value": 3}}) == ""
    assert schema.problem({"cost": {}}) == "`cost` lacks `value`"
    assert (
        parsed({"$ref": "#/$defs/r", "$defs": {"r": {"type": "object", "properties": {"a": {}}}}}).fields[0].name == "a"
    )


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (b"{", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"3", "neither an object nor a list"),
        (b"[]", "names of fields"),
        (b"[1]", "names of fields"),
        (b"{}", "names no fields"),
        (b'{"name": 3}', "`name`"),
        (b'{"type": "object"}', "no `properties`"),
        (b'{"type": "object", "properties": {}}', "no `properties`"),
        (b'{"type": "string"}', "type object"),
        (b'{"type": "object", "properties": {"a": {"type": "numbr"}}}', "'numbr'"),
        (b'{"type": "object", "properties": {"a": {"items": {"type": "x"}}}}', "`a[]`"),
        (b'{"type": "object", "properties": {"a": 3}}', "`a`"),
        (b'{"type": "object", "properties": {"a": {}}, "required": ["b"]}', "`required`"),
        (b'{"type": "object", "properties": {"a": {"$ref": "#/$defs/b"}}}', "#/$defs/b"),
        (b'{"type": "object", "properties": {"a": {"$ref": "http://x/y"}}}', "http://x/y"),
        (b'{"type": "object", "properties": {"a": {"pattern": "["}}}', "regular expression"),
        (b'{"type": "object", "properties": {"a": {"enum": []}}}', "`enum`"),
        (b'{"type": "object", "properties": {"a": {"anyOf": 3}}}', "`anyOf`"),
        (b'{"$ref": "#/nowhere"}', "#/nowhere"),
    ],
)
def test_a_bad_schema_is_one_sentence(given: bytes, words: str) -> None:
    with pytest.raises(UsageProblem) as caught:
        parse_schema(given, "fields.json")
    assert "fields.json" in str(caught.value)
    assert words in caught.value.what
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == ExitCode.USAGE


@pytest.mark.parametrize(
    ("inner", "good", "bad"),
    [
        ({"type": "integer"}, [3, 3.0], [3.5, "3", True, None]),
        ({"type": "number", "minimum": 1, "exclusiveMaximum": 3}, [1, 2.5], [0.5, 3, True]),
        ({"type": ["string", "null"], "maxLength": 3}, ["abc", None], ["abcd", 3]),
        ({"enum": ["a", 1]}, ["a", 1], ["b"]),
        ({"const": "a"}, ["a"], ["b"]),
        ({"type": "string", "pattern": "^v[0-9]+$"}, ["v12"], ["12"]),
        ({"type": "array", "items": {"type": "string"}, "minItems": 1}, [["a"]], [[], [1], "a"]),
        ({"anyOf": [{"type": "string"}, {"type": "number"}]}, ["a", 1], [None, []]),
        ({"oneOf": [{"type": "number"}, {"type": "integer"}]}, [1.5], [1, "a"]),
        ({"allOf": [{"type": "number"}, {"minimum": 3}]}, [3], [2, "a"]),
        ({"type": "object", "properties": {"x": {}}, "additionalProperties": False}, [{"x": 1}, {}], [{"y": 1}]),
        ({"type": "boolean"}, [True], [1, "true"]),
    ],
)
def test_records_are_checked(inner: dict[str, Any], good: list[Any], bad: list[Any]) -> None:
    schema = parsed({"type": "object", "properties": {"a": inner}, "required": ["a"]})
    for value in good:
        assert schema.problem({"a": value}) == ""
    for value in bad:
        assert "`a" in schema.problem({"a": value})
    assert schema.problem({}) == "the record lacks `a`"
    assert "`b`" in schema.problem({"a": good[0], "b": 1})


def test_a_schema_that_refers_to_itself_ends() -> None:
    given = {"type": "object", "properties": {"inner": {"$ref": "#"}, "name": {"type": "string"}}}
    schema = parsed(given)
    assert schema.problem({"inner": {"inner": {"name": "a"}}}) == ""
    assert schema.problem({"inner": {"inner": {"name": 3}}}) == "`inner.inner.name` is no string"


def test_a_schema_nested_without_end_is_refused() -> None:
    with pytest.raises(UsageProblem, match="not JSON"):
        parse_schema(b"[" * 100_000, "deep.json")
