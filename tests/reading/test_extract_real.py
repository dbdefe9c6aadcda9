"""Records by the real server: the grammar holds, a schema that it cannot hold is said, what finds no end is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.reading.conftest import paged
from tests.reading.test_ask_real import opened
from tests.support.tiny_models import build
from tui.errors import UsageProblem
from tui.paths import Paths
from tui.reading.events import Extracted
from tui.reading.extract import extract_records
from tui.reading.extract_schema import parse_schema
from tui.reading.results import ExtractOptions, ExtractResult
from tui.server.types import Message, Sampling, StreamFinished, TextDelta

pytestmark = pytest.mark.real

FIXED = json.dumps(
    {
        "type": "object",
        "properties": {
            "name": {"enum": ["pump", "valve"]},
            "n": {"type": "integer", "minimum": 0, "maximum": 9},
        },
        "required": ["name", "n"],
    }
).encode()


async def test_answers_are_held_to_the_schema(paths: Paths, tiny_models: Path) -> None:
    """Random weights write JSON of the wanted shape, through both endpoints."""
    schema = {
        "type": "object",
        "properties": {"a": {"enum": ["x", "y"]}, "b": {"type": "boolean"}},
        "required": ["a", "b"],
    }
    sampling = Sampling(temperature=0.0, json_schema=json.dumps(schema))
    async with opened(paths, build("qwen35moe", tiny_models), ctx_size=1024) as runtime:
        ids = await runtime.client.tokenize("The pump failed.")
        for stream in (
            runtime.client.complete(ids, max_tokens=100, sampling=sampling),
            runtime.client.chat([Message("user", "Which?")], max_tokens=100, sampling=sampling),
        ):
            events = [event async for event in stream]
            value = json.loads("".join(event.text for event in events if isinstance(event, TextDelta)))
            assert value["a"] in ("x", "y")
            assert isinstance(value["b"], bool)
            assert isinstance(events[-1], StreamFinished)
            assert events[-1].finish_reason == "stop"


async def extracted(paths: Paths, model: Path, schema: bytes, *, ctx_size: int = 1024) -> ExtractResult:
    async with opened(paths, model, ctx_size=ctx_size, parallel=2) as runtime:
        parsed = parse_schema(schema, "fields.json")
        options = ExtractOptions(chunk_tokens=200)
        events = [event async for event in extract_records(runtime, paged(2, 8), parsed, options)]
        assert isinstance(events[-1], Extracted)
        assert not runtime.warnings
        return events[-1].result


async def test_records_of_a_real_server(paths: Paths, tiny_models: Path) -> None:
    model = build("qwen35moe", tiny_models)
    result = await extracted(paths, model, FIXED)
    for one in result.records:
        assert one.record["name"] in ("pump", "valve")
        assert one.pages
    # Whatever random weights write, every part is either read or named.
    named = any(text.startswith(("Not read: ", "Read, but ")) for text in result.warnings)
    assert (result.coverage.fraction == 1.0) == (not named)
    again = await extracted(paths, model, FIXED)
    assert again.reused_chunks >= (result.chunks if result.coverage.fraction == 1.0 else 0)
    if result.coverage.fraction == 1.0:
        assert again.records == result.records
        assert again.prompt_tokens == 0


async def test_a_schema_that_the_grammar_cannot_express(paths: Paths, tiny_models: Path) -> None:
    schema = b'{"type": "object", "properties": {"a": {"type": "string", "pattern": "[0-9]+"}}, "required": ["a"]}'
    with pytest.raises(UsageProblem) as caught:
        await extracted(paths, build("llama", tiny_models), schema)
    assert "attern" in caught.value.what
