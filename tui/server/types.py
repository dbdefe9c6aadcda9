"""What goes to llama-server and what comes back: small frozen structs. Unknown fields of a reply are ignored."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Role = Literal["system", "user", "assistant"]


class Message(msgspec.Struct, frozen=True):
    """One message of a prompt."""

    role: Role
    content: str


class Sampling(msgspec.Struct, frozen=True, kw_only=True):
    """Sampling of one request; None leaves the server's default."""

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    repeat_penalty: float | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    json_schema: str = ""
    """A JSON Schema, as JSON text, that the answer is held to; empty for a free answer. An answer that is cut at its
    limit is no whole JSON."""


class Timings(msgspec.Struct, frozen=True, kw_only=True):
    """`timings` of an answer. `cache_n + prompt_n` = prompt tokens; times in milliseconds."""

    cache_n: int = 0
    prompt_n: int = 0
    prompt_ms: float = 0.0
    predicted_n: int = 0
    predicted_ms: float = 0.0

    @property
    def prompt_per_second(self) -> float:
        return self.prompt_n / self.prompt_ms * 1000 if self.prompt_ms > 0 else 0.0

    @property
    def predicted_per_second(self) -> float:
        return self.predicted_n / self.predicted_ms * 1000 if self.predicted_ms > 0 else 0.0


class PromptProgress(msgspec.Struct, frozen=True):
    """Prefill progress in tokens: `processed` of `total`, `cached` of them reused; `time_ms` since the start."""

    total: int
    cached: int
    processed: int
    time_ms: float


class TextDelta(msgspec.Struct, frozen=True):
    text: str


class ReasoningDelta(msgspec.Struct, frozen=True):
    text: str


FinishReason = Literal["stop", "length", "context"]
"""`stop`: the model ended; `length`: max_tokens reached; `context`: the context is full."""


class StreamFinished(msgspec.Struct, frozen=True, kw_only=True):
    """The last event of a stream that ended as it should."""

    finish_reason: FinishReason
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    timings: Timings


StreamEvent = PromptProgress | TextDelta | ReasoningDelta | StreamFinished


class Props(msgspec.Struct, frozen=True, kw_only=True):
    """`/props`: what the server really runs. `n_ctx` is the context of one slot."""

    n_ctx: int
    total_slots: int
    model_path: str = ""
    model_alias: str = ""
    build_info: str = ""
    chat_template: str = ""
    bos_token: str = ""
    eos_token: str = ""
    is_sleeping: bool = False
    raw: dict[str, Any] = {}


class SlotState(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of `/slots`."""

    id: int
    n_ctx: int
    is_processing: bool = False
    n_prompt_tokens: int = 0
    n_prompt_tokens_processed: int = 0
    n_prompt_tokens_cache: int = 0


class SlotSaved(msgspec.Struct, frozen=True, kw_only=True):
    n_saved: int
    n_written: int
    ms: float = 0.0


class SlotRestored(msgspec.Struct, frozen=True, kw_only=True):
    n_restored: int
    n_read: int
    ms: float = 0.0
