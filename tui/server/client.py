"""The one typed client of llama-server's HTTP interface. Asynchronous; figures in tokens and milliseconds."""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from types import TracebackType
from typing import Any, Literal, Self, TypeVar
from urllib.parse import urlsplit

import httpx
import msgspec

from tui.server import wire
from tui.server.errors import ServerAnswer, ServerGone, StreamCancelled
from tui.server.stream import EventStream, broken, closed_here, gone, while_alive
from tui.server.types import (
    FinishReason,
    Message,
    PromptProgress,
    Props,
    ReasoningDelta,
    Sampling,
    SlotRestored,
    SlotSaved,
    SlotState,
    StreamEvent,
    StreamFinished,
    TextDelta,
    Timings,
)
from tui.text import well_formed

Health = Literal["ok", "loading", "unreachable"]

_HEALTH_TIMEOUT_S = 10.0
_COMPLETION = "/completion"
AGAIN = 3
"""How often one request is made again at most, because the server ended while it was at it."""

Revive = Callable[[ServerGone, int], Awaitable[None]]
"""Asked with the error and the client's `generation` of the failed request; returns when it may be made again."""

T = TypeVar("T")


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class LlamaClient:
    """A client of one llama-server.

    Errors: ServerGone (not reachable), StillLoading, WrongKey, ContextOverflow (prompt larger than the context),
    ServerAnswer (any other error the server sends), StreamBroken (a stream without its proper end).
    """

    def __init__(self, base_url: str, api_key: str = "") -> None:
        self.n_ctx: int | None = None
        """Context of one slot in tokens, known after `props`."""
        self.revive: Revive | None = None
        """When set, requests that change nothing (tokens, templates) wait for the server's restart and go on."""
        self.generation = 0
        """Raised each time the client is pointed to another server."""
        self.answered = 0
        """Streams that came to their proper end."""
        self._streams: set[EventStream] = set()
        self._retired: httpx.AsyncClient | None = None
        self._open(base_url, api_key)

    def _open(self, base_url: str, api_key: str) -> None:
        self.base_url = base_url.rstrip("/")
        loopback = _is_loopback(self.base_url)
        self._closed = False
        self._http = httpx.AsyncClient(
            base_url=self.base_url,
            headers={"Authorization": f"Bearer {api_key}"} if api_key else {},
            # Reading has no limit: liveness is asked of /health instead, see stream.py.
            timeout=httpx.Timeout(connect=10.0, read=None, write=60.0, pool=None),
            # The server drops idle connections after 5 s; leave them earlier than that.
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=8, keepalive_expiry=2.0),
            # A proxy for the outside world must not see what stays on this machine.
            trust_env=not loopback,
            verify=self.base_url.startswith("https:"),
        )

    async def retire(self) -> None:
        """The server is dead: its streams end as broken, and nothing is sent before `repoint`."""
        self._closed = True
        await self._end_streams(dead=True)

    async def repoint(self, base_url: str, api_key: str) -> None:
        """Go on with another server; whoever holds this client keeps it."""
        await self._end_streams(dead=True)
        # Requests to the dead server may still be on their way to their error; those of the server before are not.
        retired, self._retired = self._retired, self._http
        self._open(base_url, api_key)
        self.generation += 1
        if retired is not None:
            await retired.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """End own streams and close all connections. Safe to call twice."""
        self._closed = True
        await self.cancel_streams()
        await self._http.aclose()
        if self._retired is not None:
            await self._retired.aclose()

    async def cancel_streams(self) -> None:
        """End every stream of this client; their readers get StreamCancelled. Returns when all are closed."""
        await self._end_streams(dead=False)

    async def _end_streams(self, *, dead: bool) -> None:
        streams = list(self._streams)
        for stream in streams:
            stream.cancel(dead=dead)
        for stream in streams:
            await stream.close()

    # One request, one reply

    async def _alive(self) -> bool:
        return await self.health() != "unreachable"

    async def _send(self, method: str, path: str, content: bytes | None) -> httpx.Response:
        if self._closed:
            raise closed_here()
        headers = {"Content-Type": "application/json"} if content is not None else {}
        work = asyncio.create_task(self._http.request(method, path, content=content, headers=headers))
        return await while_alive(work, self._alive)

    async def _call(self, method: str, path: str, body: Any = None) -> Any:
        content = msgspec.json.encode(body) if body is not None else None
        try:
            try:
                response = await self._send(method, path, content)
            except httpx.RemoteProtocolError:
                # The server closed an idle connection just as it was used again; nothing was processed.
                response = await self._send(method, path, content)
        except httpx.TransportError as error:
            raise gone(error) from error
        except RuntimeError as error:
            if self._closed:  # closed between the check above and the first step of the request
                raise closed_here() from error
            raise
        if response.status_code != 200:
            wire.raise_for(response.status_code, response.content, path)
        try:
            return msgspec.json.decode(response.content)
        except msgspec.MsgspecError as error:
            raise ServerAnswer(
                "the reply is not JSON", code=response.status_code, type="unreadable", request=path
            ) from error

    async def _ask(self, path: str, body: Any) -> Any:
        """A request that changes nothing, so that it can be made again after the server was started again."""
        for attempt in range(AGAIN + 1):
            generation = self.generation
            try:
                return await self._call("POST", path, body)
            except ServerGone as error:
                if self.revive is None or attempt == AGAIN or isinstance(error, StreamCancelled):
                    raise
                await self.revive(error, generation)
        raise AssertionError("the last attempt returns or raises")

    async def _convert(self, reply: Any, kind: type[T], path: str) -> T:
        try:
            return msgspec.convert(reply, kind)
        except msgspec.ValidationError as error:
            raise ServerAnswer(
                f"the reply has another shape than expected: {error}", code=200, type="unreadable", request=path
            ) from error

    async def health(self) -> Health:
        """`loading` while the model loads. Never raises."""
        try:
            response = await self._http.get("/health", timeout=_HEALTH_TIMEOUT_S)
        except (httpx.HTTPError, RuntimeError):  # RuntimeError: the client was closed meanwhile
            return "unreachable"
        if response.status_code == 200:
            return "ok"
        return "loading" if response.status_code == 503 else "unreachable"

    async def props(self) -> Props:
        """What the server runs."""
        reply = await self._call("GET", "/props")
        if not isinstance(reply, dict):
            raise ServerAnswer("the reply is not an object", code=200, type="unreadable", request="/props")
        defaults = reply.get("default_generation_settings")
        n_ctx = defaults.get("n_ctx") if isinstance(defaults, dict) else None
        props = await self._convert({"total_slots": 0, **reply, "n_ctx": n_ctx, "raw": reply}, Props, "/props")
        self.n_ctx = props.n_ctx
        return props

    async def slots(self) -> list[SlotState]:
        """The state of every slot. ServerAnswer (501) when the server was started with `--no-slots`."""
        return await self._convert(await self._call("GET", "/slots"), list[SlotState], "/slots")

    async def tokenize(self, content: str, *, add_special: bool = False, parse_special: bool = False) -> list[int]:
        """Token ids of a text. By default special tokens in it stay text and no BOS is added."""
        reply = await self._ask(
            "/tokenize",
            {"content": well_formed(content), "add_special": add_special, "parse_special": parse_special},
        )
        return (await self._convert(reply, _Tokens, "/tokenize")).tokens

    async def detokenize(self, ids: Sequence[int]) -> str:
        """The text of token ids."""
        reply = await self._ask("/detokenize", {"tokens": list(ids)})
        return (await self._convert(reply, _Content, "/detokenize")).content

    async def apply_template(self, messages: Sequence[Message]) -> str:
        """The text the model's chat template makes of messages, ready for the answer."""
        reply = await self._ask("/apply-template", {"messages": wire.chat_messages(messages)})
        return (await self._convert(reply, _Prompt, "/apply-template")).prompt

    async def count_chat(self, messages: Sequence[Message]) -> int | None:
        """Prompt tokens of messages as the chat endpoint counts them; None when this build cannot say."""
        path = "/v1/chat/completions/input_tokens"
        try:
            reply = await self._ask(path, {"messages": wire.chat_messages(messages)})
        except ServerAnswer as error:
            if error.code == 404:
                return None
            raise
        return (await self._convert(reply, _InputTokens, path)).input_tokens

    async def save_slot(self, id_slot: int, filename: str) -> SlotSaved:
        """Write a slot's tokens and state to `filename` in the server's slot folder; waits while the slot is busy."""
        return await self._slot(id_slot, "save", filename, SlotSaved, "save_ms")

    async def restore_slot(self, id_slot: int, filename: str) -> SlotRestored:
        """Read a slot file. One that does not fit empties the slot, a damaged one may abort the server: check first."""
        return await self._slot(id_slot, "restore", filename, SlotRestored, "restore_ms")

    async def erase_slot(self, id_slot: int) -> int:
        """Empty a slot; returns the tokens it held."""
        reply = await self._call("POST", f"/slots/{id_slot}?action=erase")
        return (await self._convert(reply, _Erased, "/slots")).n_erased

    async def _slot(self, id_slot: int, action: str, filename: str, kind: type[T], time_name: str) -> T:
        path = f"/slots/{id_slot}?action={action}"
        reply = await self._call("POST", path, {"filename": filename})
        if isinstance(reply, dict) and isinstance(reply.get("timings"), dict):
            reply["ms"] = reply["timings"].get(time_name, 0.0)
        return await self._convert(reply, kind, path)

    # Streams

    def chat(
        self,
        messages: Sequence[Message],
        *,
        max_tokens: int,
        sampling: Sampling = Sampling(),  # noqa: B008  (frozen)
        id_slot: int = -1,
        cache_prompt: bool = True,
    ) -> AsyncGenerator[StreamEvent, None]:
        """An answer to messages through the chat endpoint, reasoning apart. Closing the generator frees the slot."""
        return self._chat(wire.chat_body(messages, max_tokens, sampling, id_slot, cache_prompt), max_tokens)

    async def _chat(self, body: dict[str, Any], max_tokens: int) -> AsyncGenerator[StreamEvent, None]:
        path = "/v1/chat/completions"
        reason = ""
        usage: wire.Usage | None = None
        timings: Timings | None = None
        async with self._events(path, body) as events:
            async for data in events:
                if data == "[DONE]":
                    self._complete_stream(events)
                    yield self._chat_finished(reason, usage, timings, max_tokens)
                    return
                chunk = _decode(wire.chat_chunk, data, path)
                if chunk.error is not None:
                    raise wire.error_of(500, chunk.error, data, path)
                usage = chunk.usage or usage
                timings = chunk.timings or timings
                if chunk.prompt_progress is not None:
                    yield _progress(chunk.prompt_progress)
                for choice in chunk.choices:
                    if choice.index != 0:
                        continue
                    reason = choice.finish_reason or reason
                    if choice.delta.reasoning_content:
                        yield ReasoningDelta(choice.delta.reasoning_content)
                    if choice.delta.content:
                        yield TextDelta(choice.delta.content)
        raise broken()

    def _chat_finished(
        self, reason: str, usage: wire.Usage | None, timings: Timings | None, max_tokens: int
    ) -> StreamFinished:
        timings = timings or Timings()
        if usage is None:
            usage = wire.Usage(timings.cache_n + timings.prompt_n, timings.predicted_n)
        details = usage.prompt_tokens_details
        cached = details.cached_tokens if details is not None else None
        return StreamFinished(
            finish_reason=self._finish_reason(
                reason == "length", usage.prompt_tokens, usage.completion_tokens, max_tokens
            ),
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
            cached_tokens=cached if cached is not None else timings.cache_n,
            timings=timings,
        )

    def _finish_reason(self, cut: bool, prompt: int, completion: int, max_tokens: int) -> FinishReason:
        """The server says `length` for both ends; a full context is known from the figures."""
        if not cut:
            return "stop"
        if 0 <= max_tokens <= completion:
            return "length"
        if self.n_ctx is None or prompt + completion >= self.n_ctx:
            return "context"
        return "length"

    def complete(
        self,
        ids: Sequence[int],
        *,
        max_tokens: int,
        sampling: Sampling = Sampling(),  # noqa: B008  (frozen)
        id_slot: int = -1,
        cache_prompt: bool = True,
    ) -> AsyncGenerator[StreamEvent, None]:
        """A continuation of token ids, exactly these; reasoning is not told apart. Closing it frees the slot."""
        return self._complete(wire.completion_body(ids, max_tokens, sampling, id_slot, cache_prompt), max_tokens)

    async def _complete(self, body: dict[str, Any], max_tokens: int) -> AsyncGenerator[StreamEvent, None]:
        async with self._events(_COMPLETION, body) as events:
            async for data in events:
                chunk = _completion_chunk(data)
                if chunk.prompt_progress is not None:
                    yield _progress(chunk.prompt_progress)
                if chunk.content:
                    yield TextDelta(chunk.content)
                if chunk.stop:
                    self._complete_stream(events)
                    timings = chunk.timings or Timings()
                    prompt = chunk.tokens_evaluated or timings.cache_n + timings.prompt_n
                    cut = chunk.stop_type == "limit"
                    yield StreamFinished(
                        finish_reason=self._finish_reason(cut, prompt, chunk.tokens_predicted, max_tokens),
                        prompt_tokens=prompt,
                        completion_tokens=chunk.tokens_predicted,
                        cached_tokens=timings.cache_n,
                        timings=timings,
                    )
                    return
        # This endpoint has no `[DONE]`: its proper end is the event with `stop`.
        raise broken()

    async def probe(self, ids: Sequence[int], n: int, *, id_slot: int) -> list[tuple[int, float]]:
        """The next `n` tokens by greedy choice: (token id, natural logarithm of its probability) each."""
        body = wire.completion_body(ids, n, Sampling(temperature=0.0), id_slot, True, n_probs=1)
        body["ignore_eos"] = True
        found: list[tuple[int, float]] = []
        async with self._events(_COMPLETION, body) as events:
            async for data in events:
                chunk = _completion_chunk(data)
                found += [
                    (entry.id, entry.logprob if entry.logprob is not None else float("-inf"))
                    for entry in chunk.completion_probabilities
                ]
                if chunk.stop:
                    self._complete_stream(events)
                    return found[:n]
        raise broken()

    async def prefill(
        self,
        ids: Sequence[int],
        *,
        id_slot: int,
        on_progress: Callable[[PromptProgress], None] | None = None,
    ) -> Timings:
        """Process exactly `ids` in a slot; the slot then ends at the last of them.

        The server samples one token even for `n_predict` 0 but does not keep it.
        """
        body = wire.completion_body(ids, 0, Sampling(), id_slot, True)
        async with self._events(_COMPLETION, body) as events:
            async for data in events:
                chunk = _completion_chunk(data)
                if chunk.prompt_progress is not None and on_progress is not None:
                    on_progress(_progress(chunk.prompt_progress))
                if chunk.stop:
                    self._complete_stream(events)
                    return chunk.timings or Timings()
        raise broken()

    def _complete_stream(self, events: EventStream) -> None:
        self.answered += 1
        events.complete()

    def _events(self, path: str, body: dict[str, Any]) -> EventStream:
        if self._closed:
            raise closed_here()

        def check(status: int, reply: bytes) -> None:
            wire.raise_for(status, reply, path)

        stream = EventStream(self._http, path, msgspec.json.encode(body), check, self._alive, self._streams.discard)
        self._streams.add(stream)
        return stream


class _Tokens(msgspec.Struct):
    tokens: list[int]


class _Content(msgspec.Struct):
    content: str


class _Prompt(msgspec.Struct):
    prompt: str


class _InputTokens(msgspec.Struct):
    input_tokens: int


class _Erased(msgspec.Struct):
    n_erased: int


def _progress(wired: wire.WireProgress) -> PromptProgress:
    return PromptProgress(wired.total, wired.cache, wired.processed, wired.time_ms)


def _completion_chunk(data: str) -> wire.CompletionChunk:
    if data == "[DONE]":
        return wire.CompletionChunk()
    chunk: wire.CompletionChunk = _decode(wire.completion_chunk, data, _COMPLETION)
    if chunk.error is not None:
        raise wire.error_of(500, chunk.error, data, _COMPLETION)
    return chunk


def _decode(decoder: msgspec.json.Decoder[Any], data: str, path: str) -> Any:
    try:
        return decoder.decode(data)
    except msgspec.MsgspecError as error:
        raise ServerAnswer(
            f"an event of the stream cannot be read: {error}", code=200, type="unreadable", request=path
        ) from error
