"""The shapes of llama-server's JSON, and the request bodies. Unknown fields are ignored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from tui.server.errors import ContextOverflow, ServerAnswer, StillLoading, WrongKey
from tui.server.types import Message, Sampling, Timings
from tui.text import well_formed

PING_S = 1
"""Seconds between the pings that are asked for while an answer is silent."""

_FINAL_FIELDS = [
    "content",
    "stop",
    "stop_type",
    "truncated",
    "tokens_predicted",
    "tokens_evaluated",
    "tokens_cached",
    "timings",
    "id_slot",
]
"""What is wanted of `/completion`'s last event, which else repeats the whole prompt."""


class WireProgress(msgspec.Struct):
    total: int = 0
    cache: int = 0
    processed: int = 0
    time_ms: float = 0.0


class WireError(msgspec.Struct):
    message: str = ""
    type: str = ""
    code: int | str | None = None
    n_prompt_tokens: int | None = None
    n_ctx: int | None = None


class Delta(msgspec.Struct):
    content: str | None = None
    reasoning_content: str | None = None


class Choice(msgspec.Struct):
    index: int = 0
    delta: Delta = msgspec.field(default_factory=Delta)
    finish_reason: str | None = None


class PromptDetails(msgspec.Struct):
    cached_tokens: int | None = None


class Usage(msgspec.Struct):
    prompt_tokens: int = 0
    completion_tokens: int = 0
    prompt_tokens_details: PromptDetails | None = None


class ChatChunk(msgspec.Struct):
    """One event of a streamed `/v1/chat/completions`."""

    choices: list[Choice] = []
    usage: Usage | None = None
    timings: Timings | None = None
    prompt_progress: WireProgress | None = None
    error: WireError | str | None = None


class TokenProbability(msgspec.Struct):
    id: int
    logprob: float | None = None


class CompletionChunk(msgspec.Struct):
    """One event of a streamed `/completion`; the last one has `stop`."""

    content: str = ""
    stop: bool = False
    stop_type: str = ""
    truncated: bool = False
    tokens_predicted: int = 0
    tokens_evaluated: int = 0
    timings: Timings | None = None
    prompt_progress: WireProgress | None = None
    completion_probabilities: list[TokenProbability] = []
    error: WireError | str | None = None


class _ErrorBody(msgspec.Struct):
    error: WireError | str | None = None


chat_chunk = msgspec.json.Decoder(ChatChunk)
completion_chunk = msgspec.json.Decoder(CompletionChunk)
_error_body = msgspec.json.Decoder(_ErrorBody)


def error_of(status: int, error: WireError | str | None, text: str, request: str) -> Exception:
    """The exception for an error the server sent, as a reply or in the middle of a stream."""
    if not isinstance(error, WireError):
        error = WireError(message=error or text or "(no text)", type="unknown", code=status)
    code = error.code if isinstance(error.code, int) else status
    if error.type == "exceed_context_size_error" and error.n_prompt_tokens is not None and error.n_ctx is not None:
        return ContextOverflow(error.n_prompt_tokens, error.n_ctx)
    if status == 401 or error.type == "authentication_error":
        return WrongKey(
            "llama-server refused the API key.",
            "Set LONGSCROLL_API_KEY to the key the server was started with.",
        )
    if code == 503 and error.type == "unavailable_error":
        return StillLoading("llama-server is still loading its model.", "Wait until it is ready.")
    return ServerAnswer(error.message, code=code, type=error.type, request=request)


def raise_for(status: int, body: bytes, request: str) -> None:
    """Raise the exception for a reply that is not a success."""
    try:
        error = _error_body.decode(body).error
    except msgspec.MsgspecError:
        error = None
    raise error_of(status, error, body[:2000].decode("utf-8", "replace"), request)


def _sampling(sampling: Sampling) -> dict[str, Any]:
    body = {key: value for key, value in msgspec.to_builtins(sampling).items() if value is not None}
    if not sampling.stop:
        body.pop("stop", None)
    schema = body.pop("json_schema")
    if schema:
        body["json_schema"] = msgspec.Raw(schema.encode())
    return body


def chat_messages(messages: Sequence[Message]) -> list[dict[str, str]]:
    """Messages as the server wants them; lone surrogates, which cannot be sent, become U+FFFD."""
    return [{"role": message.role, "content": well_formed(message.content)} for message in messages]


def chat_body(
    messages: Sequence[Message], max_tokens: int, sampling: Sampling, id_slot: int, cache_prompt: bool
) -> dict[str, Any]:
    """A streamed chat request with progress and usage."""
    body: dict[str, Any] = {
        "messages": chat_messages(messages),
        "max_tokens": max_tokens,
        "stream": True,
        "stream_options": {"include_usage": True},
        "return_progress": True,
        "sse_ping_interval": PING_S,
        "cache_prompt": cache_prompt,
        **_sampling(sampling),
    }
    if id_slot >= 0:
        body["id_slot"] = id_slot
    return body


def completion_body(
    ids: Sequence[int], n_predict: int, sampling: Sampling, id_slot: int, cache_prompt: bool, n_probs: int = 0
) -> dict[str, Any]:
    """A streamed completion of token ids with progress."""
    body: dict[str, Any] = {
        "prompt": list(ids),
        "n_predict": n_predict,
        "stream": True,
        "return_progress": True,
        "sse_ping_interval": PING_S,
        "cache_prompt": cache_prompt,
        "response_fields": _FINAL_FIELDS,
        **_sampling(sampling),
    }
    if id_slot >= 0:
        body["id_slot"] = id_slot
    if n_probs:
        body["n_probs"] = n_probs
    return body
