"""Streams as they come over the wire: split anywhere, broken off, with errors in the middle, silent for long."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.server.scripted import SSE, Serve, chunked, whole
from tui.server import stream as stream_module
from tui.server.client import LlamaClient
from tui.server.errors import ContextOverflow, ServerAnswer, ServerGone, StillLoading, StreamBroken, WrongKey
from tui.server.types import (
    Message,
    PromptProgress,
    ReasoningDelta,
    StreamEvent,
    StreamFinished,
    TextDelta,
)

HELLO = [Message("user", "hello")]


def delta(finish: str | None = None, **fields: object) -> bytes:
    choice = {"index": 0, "delta": fields, "finish_reason": finish}
    return b"data: " + json.dumps({"choices": [choice]}, ensure_ascii=False).encode() + b"\n\n"


def usage(prompt: int, completion: int, cached: int) -> bytes:
    body = {
        "choices": [],
        "usage": {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "prompt_tokens_details": {"cached_tokens": cached},
        },
        "timings": {"cache_n": cached, "prompt_n": prompt - cached, "prompt_ms": 10.5, "predicted_n": completion},
    }
    return b"data: " + json.dumps(body).encode() + b"\n\n"


DONE = b"data: [DONE]\n\n"
PROGRESS = (
    b'data: {"choices":[{"finish_reason":null,"index":0,"delta":{"role":"assistant","content":null}}],'
    b'"prompt_progress":{"total":40,"cache":8,"processed":24,"time_ms":12}}\n\n'
)


async def events(
    serve: Serve, script: list[bytes], *, end: bool = True, n_ctx: int | None = None, max_tokens: int = 10
) -> list[StreamEvent]:
    async def answer(path: str, body: bytes, writer: asyncio.StreamWriter) -> None:
        assert json.loads(body)["stream"] is True
        writer.write(SSE)
        for piece in script:
            writer.write(chunked(piece))
            await writer.drain()
        if end:
            writer.write(b"0\r\n\r\n")

    got: list[StreamEvent] = []
    async with LlamaClient(await serve(answer)) as client:
        client.n_ctx = n_ctx
        try:
            async for event in client.chat(HELLO, max_tokens=max_tokens):
                got.append(event)  # noqa: PERF401  (what came before the error is wanted)
        except Exception as error:
            error.add_note(repr(got))
            raise
    return got


FULL = [
    PROGRESS,
    delta(role="assistant", content=None),
    delta(reasoning_content="Let me "),
    delta(reasoning_content="think"),
    delta(content="Grüße\u2028"),
    delta(content=" 世界 🦙"),
    delta("stop"),
    usage(40, 6, 8),
    DONE,
]


async def test_a_whole_answer(serve: Serve) -> None:
    got = await events(serve, FULL)
    assert got[:-1] == [
        PromptProgress(40, 8, 24, 12),
        ReasoningDelta("Let me "),
        ReasoningDelta("think"),
        TextDelta("Grüße\u2028"),
        TextDelta(" 世界 🦙"),
    ]
    finished = got[-1]
    assert isinstance(finished, StreamFinished)
    assert (finished.finish_reason, finished.prompt_tokens, finished.completion_tokens) == ("stop", 40, 6)
    assert (finished.cached_tokens, finished.timings.prompt_ms) == (8, 10.5)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 1000])
async def test_split_anywhere(serve: Serve, size: int) -> None:
    data = b"".join(FULL)
    assert await events(serve, [data[i : i + size] for i in range(0, len(data), size)]) == await events(serve, FULL)


async def test_pings_and_carriage_returns_are_nothing(serve: Serve) -> None:
    script = [b":\n\n", *(piece.replace(b"\n", b"\r\n") for piece in FULL[:4]), b": ping\n\n", *FULL[4:]]
    assert await events(serve, script) == await events(serve, FULL)


@pytest.mark.parametrize("end", [True, False])
@pytest.mark.parametrize("kept", range(1, len(FULL)))
async def test_without_done_it_is_broken(serve: Serve, kept: int, end: bool) -> None:
    with pytest.raises(StreamBroken) as caught:
        await events(serve, FULL[:kept], end=end)
    if kept >= 5:
        assert "Grüße" in caught.value.__notes__[0]


async def test_an_error_in_the_middle(serve: Serve) -> None:
    error = b'data: {"error":{"code":500,"message":"Context size has been exceeded.","type":"server_error"}}\n\n'
    with pytest.raises(ServerAnswer, match="Context size has been exceeded") as caught:
        await events(serve, [*FULL[:5], error])
    assert caught.value.code == 500
    assert "Grüße" in caught.value.__notes__[0]


async def test_the_ends_of_an_answer(serve: Serve) -> None:
    def reason(got: list[StreamEvent]) -> str:
        assert isinstance(got[-1], StreamFinished)
        return got[-1].finish_reason

    script = [delta(content="x"), delta("length"), usage(90, 10, 0), DONE]
    assert reason(await events(serve, script, max_tokens=10)) == "length"
    assert reason(await events(serve, script, max_tokens=50, n_ctx=100)) == "context"
    assert reason(await events(serve, script, max_tokens=-1, n_ctx=100)) == "context"
    assert reason(await events(serve, script, max_tokens=50, n_ctx=4096)) == "length"  # the server's own limit
    assert reason(await events(serve, script, max_tokens=50)) == "context"
    assert reason(await events(serve, [delta("stop"), usage(90, 10, 0), DONE])) == "stop"


async def test_a_build_without_usage(serve: Serve) -> None:
    last = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"timings":{"cache_n":3,"prompt_n":4,'
    got = await events(serve, [delta(content="x"), last + b'"predicted_n":5}}\n\n', DONE])
    assert isinstance(got[-1], StreamFinished)
    assert (got[-1].prompt_tokens, got[-1].completion_tokens, got[-1].cached_tokens) == (7, 5, 3)


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (
            400,
            b'{"error":{"code":400,"message":"request (779 tokens) exceeds the available context size (512 tokens)",'
            b'"type":"exceed_context_size_error","n_prompt_tokens":779,"n_ctx":512}}',
            ContextOverflow,
        ),
        (
            401,
            b'{"error":{"message":"Invalid API Key","type":"authentication_error","code":401}}',
            WrongKey,
        ),
        (503, b'{"error":{"message":"Loading model","type":"unavailable_error","code":503}}', StillLoading),
        (500, b'{"error":{"code":500,"message":"oh\\u001b[31m no","type":"server_error"}}', ServerAnswer),
        (502, b"<html>bad gateway</html>", ServerAnswer),
        (500, b"", ServerAnswer),
        (400, b'{"error":"just a string"}', ServerAnswer),
    ],
)
async def test_errors_before_the_stream(serve: Serve, status: int, body: bytes, kind: type[Exception]) -> None:
    async def answer(path: str, request: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(whole(status, body))

    async with LlamaClient(await serve(answer)) as client:
        with pytest.raises(kind) as caught:
            async for _ in client.chat(HELLO, max_tokens=1):
                pass
        assert "\x1b" not in str(caught.value)
        with pytest.raises(kind):
            await client.tokenize("x")
    if isinstance(caught.value, ContextOverflow):
        assert (caught.value.needed, caught.value.available) == (779, 512)


async def test_garbage_is_an_answer_that_cannot_be_read(serve: Serve) -> None:
    with pytest.raises(ServerAnswer, match="cannot be read"):
        await events(serve, [b"data: {not json\n\n"])


async def test_closed_without_a_word(serve: Serve) -> None:
    async def answer(path: str, request: bytes, writer: asyncio.StreamWriter) -> None:
        return

    async with LlamaClient(await serve(answer)) as client:
        with pytest.raises(ServerGone) as caught:
            async for _ in client.chat(HELLO, max_tokens=1):
                pass
        assert not isinstance(caught.value, StreamBroken)
        with pytest.raises(ServerGone):
            await client.tokenize("x")


async def test_a_silent_server_that_lives_is_waited_for(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_module, "SILENCE_S", 0.05)
    asked = asyncio.Event()

    async def answer(path: str, request: bytes, writer: asyncio.StreamWriter) -> None:
        if path == "/health":
            asked.set()
            writer.write(whole(200, b'{"status":"ok"}'))
            return
        if path == "/tokenize":
            await asked.wait()
            writer.write(whole(200, b'{"tokens":[1,2]}'))
            return
        writer.write(SSE + chunked(PROGRESS))
        await writer.drain()
        await asked.wait()
        for piece in FULL[1:]:
            writer.write(chunked(piece))
        writer.write(b"0\r\n\r\n")

    async with LlamaClient(await serve(answer)) as client:
        got = [event async for event in client.chat(HELLO, max_tokens=10)]
        assert isinstance(got[-1], StreamFinished)
        assert asked.is_set()
        asked.clear()
        assert await client.tokenize("x") == [1, 2]
        assert asked.is_set()


async def test_a_silent_server_that_is_gone_is_not(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_module, "SILENCE_S", 0.05)
    forever = asyncio.Event()

    async def answer(path: str, request: bytes, writer: asyncio.StreamWriter) -> None:
        if path == "/health":
            writer.write(whole(500, b""))
            return
        if path != "/tokenize":
            writer.write(SSE + chunked(PROGRESS) + chunked(delta(content="half")))
            await writer.drain()
        await forever.wait()

    async with LlamaClient(await serve(answer)) as client:
        got: list[StreamEvent] = []
        with pytest.raises(StreamBroken):
            async for event in client.chat(HELLO, max_tokens=10):
                got.append(event)  # noqa: PERF401  (what came before the error is wanted)
        assert TextDelta("half") in got
        with pytest.raises(ServerGone):
            await client.tokenize("x")
    forever.set()


async def test_the_native_endpoint_ends_with_stop(serve: Serve) -> None:
    progress = (
        b'data: {"content":"","tokens":[0],"stop":false,"prompt_progress":{"total":4,"cache":0,"processed":4}}\n\n'
    )
    text = b'data: {"content":" word","stop":false}\n\n'
    stop = (
        b'data: {"content":"","stop":true,"stop_type":"limit","truncated":true,"tokens_predicted":6,'
        b'"tokens_evaluated":4,"timings":{"cache_n":1,"prompt_n":3}}\n\n'
    )
    script = [progress, text, stop]

    async def answer(path: str, request: bytes, writer: asyncio.StreamWriter) -> None:
        assert json.loads(request)["prompt"] == [1, 2, 3, 4]
        writer.write(SSE + b"".join(chunked(piece) for piece in script) + b"0\r\n\r\n")

    async with LlamaClient(await serve(answer)) as client:
        got = [event async for event in client.complete([1, 2, 3, 4], max_tokens=20)]
        assert got[:2] == [PromptProgress(4, 0, 4, 0), TextDelta(" word")]
        finished = got[2]
        assert isinstance(finished, StreamFinished)
        assert (finished.finish_reason, finished.prompt_tokens, finished.cached_tokens) == ("context", 4, 1)
        script.pop()
        with pytest.raises(StreamBroken):
            await client.prefill([1, 2, 3, 4], id_slot=0)
