"""The schema of a record: given as a JSON Schema, a map of fields with what they mean, or a list of their names.

The server's grammar holds answers to the schema; what a grammar does not enforce is checked here. Checked are the
keywords that `_CHECKED` names; others, such as `format`, only inform the model when they stand in a description.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec

from tui.errors import UsageProblem
from tui.text import one_line

_TYPES = ("string", "number", "integer", "boolean", "array", "object", "null")
_SIMPLE = ("string", "number", "integer", "boolean")
_CHECKED = frozenset(
    {"type", "enum", "const", "properties", "required", "additionalProperties", "items", "minItems", "maxItems"}
    | {"minLength", "maxLength", "pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}
    | {"anyOf", "oneOf", "allOf", "$ref"}
)
_DEEPEST = 24
_HELP = 'Give a JSON Schema of one record, or fields such as {"name": "name of the parameter", "value": "its default"}.'


class Field(msgspec.Struct, frozen=True):
    """One field of a record, in words for the model."""

    name: str
    kind: str
    """`text or null`, `one of "a", "b"`, `list of number`."""
    description: str


class RecordSchema(msgspec.Struct, frozen=True, kw_only=True):
    """What a record looks like."""

    schema: dict[str, Any]
    fields: tuple[Field, ...]
    title: str = ""
    description: str = ""

    def of_answer(self) -> str:
        """The schema of an answer, a list of records, as JSON text."""
        record = {key: value for key, value in self.schema.items() if key not in ("$schema", "$id")}
        shared = {key: record[key] for key in ("$defs", "definitions") if key in record}
        return msgspec.json.encode({"type": "array", "items": record, **shared}).decode()

    def check_key(self, key: Sequence[str]) -> None:
        """Raises UsageProblem for a name in `key` that is no field."""
        names = [field.name for field in self.fields]
        for name in key:
            if name not in names:
                raise UsageProblem(f"The key `{one_line(name, 60)}` is no field.", f"There are: {', '.join(names)}.")

    def problem(self, record: Any) -> str:
        """The first thing that is not as the schema wants it; "" when all is."""
        return next(_wrong(record, self.schema, self.schema, "", 0), "")

    def free(self, name: str) -> bool:
        """Whether a top-level field's value comes from the text, and is not one of those that the schema lists."""
        inner = _resolved(self.schema["properties"].get(name, {}), self.schema)
        return "enum" not in inner and "const" not in inner


def parse_schema(data: bytes, source: str) -> RecordSchema:
    """The schema in a file's bytes. Raises UsageProblem that names `source` and what is wrong."""
    try:
        given = msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf"))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _bad(source, f"it is not JSON ({one_line(str(error), 120)})") from error
    schema = _as_schema(given, source)
    reason = next(_defects(schema, schema, "", 0), "")
    if reason:
        raise _bad(source, reason)
    properties: dict[str, Any] = schema["properties"]
    fields = tuple(
        Field(name, _kind(_resolved(inner, schema)), _text(_resolved(inner, schema).get("description")))
        for name, inner in properties.items()
    )
    return RecordSchema(
        schema=schema,
        fields=fields,
        title=_text(schema.get("title")),
        description=_text(schema.get("description")),
    )


def _bad(source: str, reason: str) -> UsageProblem:
    return UsageProblem(f"The schema {source} cannot be used: {reason}.", _HELP)


def _text(value: Any) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""


# From what was given to a JSON Schema of an object


def _as_schema(given: Any, source: str) -> dict[str, Any]:
    if isinstance(given, list):
        if not given or not all(isinstance(name, str) and name.strip() for name in given):
            raise _bad(source, "a list must hold the names of fields")
        return _of_fields(dict.fromkeys(given, ""), source)
    if not isinstance(given, dict):
        raise _bad(source, "it is neither an object nor a list")
    if given.get("type") == "array" and isinstance(given.get("items"), dict):
        shared = {key: given[key] for key in ("$defs", "definitions") if key in given}
        given = {**shared, **given["items"]}
    while isinstance(given.get("$ref"), str):
        rest = {key: value for key, value in given.items() if key != "$ref"}
        target = _resolved({"$ref": given["$ref"]}, given)
        if not target or "$ref" in target:
            raise _bad(source, f"`{one_line(given['$ref'], 60)}` points nowhere in it")
        given = {**rest, **target}
    if given.get("type") == "object" or isinstance(given.get("properties"), dict):
        schema = {"type": "object", "additionalProperties": False, **given}
        if schema["type"] != "object":
            raise _bad(source, "a record must be of the type object")
        if not isinstance(schema.get("properties"), dict) or not schema["properties"]:
            raise _bad(source, "it has no `properties`, so a record has no fields")
        return schema
    if given.get("type") in _TYPES or any(key in given for key in ("anyOf", "oneOf", "allOf")):
        raise _bad(source, "a record must be of the type object")
    return _of_fields(given, source)


def _of_fields(fields: dict[str, Any], source: str) -> dict[str, Any]:
    if not fields:
        raise _bad(source, "it names no fields")
    properties: dict[str, Any] = {}
    for name, said in fields.items():
        if isinstance(said, dict):
            properties[name] = said
        elif not isinstance(said, str) and said is not None:
            raise _bad(source, f"the field `{one_line(name, 60)}` must have a description in words")
        elif said in _SIMPLE:
            properties[name] = {"type": [said, "null"]}
        else:
            properties[name] = {"type": ["string", "null"], **({"description": said} if said else {})}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _resolved(schema: Any, root: dict[str, Any]) -> dict[str, Any]:
    """A schema with its local reference followed; {} where it leads nowhere."""
    for _ in range(_DEEPEST):
        if not isinstance(schema, dict) or not isinstance(schema.get("$ref"), str):
            break
        path = schema["$ref"]
        target: Any = root
        if not path.startswith("#"):
            return {}
        for step in path[1:].strip("/").split("/") if path != "#" else ():
            step = step.replace("~1", "/").replace("~0", "~")
            target = target.get(step) if isinstance(target, dict) else None
        schema = target
    return schema if isinstance(schema, dict) else {}


# Is the schema itself right?


def _defects(schema: Any, root: dict[str, Any], path: str, depth: int) -> Iterator[str]:
    where = f"the field `{path}`" if path else "the record"
    if not isinstance(schema, dict):
        if not isinstance(schema, bool):
            yield f"{where} must be described by an object"
        return
    if depth > _DEEPEST:
        return  # refers to itself
    kinds = schema.get("type", [])
    for kind in kinds if isinstance(kinds, list) else [kinds]:
        if kind not in _TYPES:
            yield f"{where} has the type {one_line(str(kind), 40)!r}, which is none of {', '.join(_TYPES)}"
    if "$ref" in schema and not _resolved(schema, root):
        yield f"{where} refers to `{one_line(str(schema['$ref']), 60)}`, which is not in the file"
    if "enum" in schema and (not isinstance(schema["enum"], list) or not schema["enum"]):
        yield f"`enum` of {where} must be a list of values"
    properties = schema.get("properties", {})
    if not isinstance(properties, dict):
        yield f"`properties` of {where} must be an object"
        return
    required = schema.get("required", [])
    if not isinstance(required, list) or not all(name in properties for name in required):
        yield f"`required` of {where} must list fields that are in its `properties`"
    if isinstance(schema.get("pattern"), str):
        try:
            re.compile(schema["pattern"])
        except re.error as error:
            yield f"the pattern of {where} is no regular expression ({error})"
    for name, inner in properties.items():
        yield from _defects(inner, root, f"{path}.{name}" if path else name, depth + 1)
    if "items" in schema:
        yield from _defects(schema["items"], root, f"{path}[]", depth + 1)
    for key in ("anyOf", "oneOf", "allOf"):
        choices = schema.get(key, [])
        if not isinstance(choices, list):
            yield f"`{key}` of {where} must be a list"
            continue
        for choice in choices:
            yield from _defects(choice, root, path, depth + 1)


def _kind(schema: dict[str, Any]) -> str:
    words: dict[str, str] = {"string": "text", "object": "object", "array": "list", "boolean": "true or false"}
    if isinstance(schema.get("enum"), list):
        return f"one of {', '.join(msgspec.json.encode(value).decode() for value in schema['enum'])}"
    kinds = schema.get("type", [])
    named: list[str] = [words.get(str(kind), str(kind)) for kind in (kinds if isinstance(kinds, list) else [kinds])]
    if named == ["list"] and isinstance(schema.get("items"), dict):
        return f"list of {_kind(schema['items'])}"
    return " or ".join(named) or "any"


# Is a record as the schema wants it?


def _is(value: Any, kind: str) -> bool:
    if kind == "null":
        return value is None
    if kind == "boolean":
        return isinstance(value, bool)
    if kind == "integer":
        return not isinstance(value, bool) and (
            isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        )
    if kind == "number":
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, {"string": str, "array": list, "object": dict}[kind])


def _wrong(value: Any, schema: Any, root: dict[str, Any], path: str, depth: int) -> Iterator[str]:
    if isinstance(schema, bool) or depth > _DEEPEST:
        if schema is False:
            yield f"`{path}` is not wanted"
        return
    schema = _resolved(schema, root)
    where = f"`{path}`" if path else "the record"
    kinds = schema.get("type", [])
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if kinds and not any(_is(value, kind) for kind in kinds):
        yield f"{where} is no {' or '.join(kinds)}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{where} is none of the values allowed"
    if "const" in schema and value != schema["const"]:
        yield f"{where} is not {schema['const']!r}"
    yield from _out_of_bounds(value, schema, where)
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        yield from (f"{where} lacks `{name}`" for name in schema.get("required", []) if name not in value)
        for name, inner in value.items():
            rest = schema.get("additionalProperties", True)
            yield from _wrong(inner, properties.get(name, rest), root, f"{path}.{name}" if path else name, depth + 1)
    if isinstance(value, list) and "items" in schema:
        for inner in value:
            yield from _wrong(inner, schema["items"], root, f"{path}[]", depth + 1)
    yield from _choices(value, schema, root, path, depth)


def _choices(value: Any, schema: dict[str, Any], root: dict[str, Any], path: str, depth: int) -> Iterator[str]:
    for inner in schema.get("allOf", []):
        yield from _wrong(value, inner, root, path, depth + 1)
    ways: tuple[Literal["anyOf", "oneOf"], ...] = ("anyOf", "oneOf")
    for key in ways:
        choices = schema.get(key, [])
        fitting = sum(next(_wrong(value, inner, root, path, depth + 1), None) is None for inner in choices)
        if choices and (fitting == 0 or (key == "oneOf" and fitting > 1)):
            yield f"`{path}` fits {'none' if not fitting else 'more than one'} of the ways allowed"


def _out_of_bounds(value: Any, schema: dict[str, Any], where: str) -> Iterator[str]:
    if isinstance(value, int | float) and not isinstance(value, bool):
        low, high = schema.get("minimum"), schema.get("maximum")
        above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
        if (low is not None and value < low) or (above is not None and value <= above):
            yield f"{where} is too small"
        if (high is not None and value > high) or (below is not None and value >= below):
            yield f"{where} is too large"
    if isinstance(value, str | list):
        name = "Length" if isinstance(value, str) else "Items"
        if not schema.get(f"min{name}", 0) <= len(value) <= schema.get(f"max{name}", len(value)):
            yield f"{where} is too short or too long"
    if isinstance(value, str) and isinstance(schema.get("pattern"), str) and not re.search(schema["pattern"], value):
        yield f"{where} does not have the form wanted"
