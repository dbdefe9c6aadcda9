"""GGUF files built by hand, right and wrong."""

from __future__ import annotations

import struct
from typing import Any

U32, I32, F32, BOOL, STRING, ARRAY, U64 = 4, 5, 6, 7, 8, 9, 10
_FORMS = {U32: "<I", I32: "<i", F32: "<f", BOOL: "<?", U64: "<Q"}


def string(text: str) -> bytes:
    data = text.encode("utf-8", "surrogateescape")
    return struct.pack("<Q", len(data)) + data


def value(kind: int, content: Any) -> bytes:
    if kind == STRING:
        return string(content)
    if kind == ARRAY:
        element, items = content
        return struct.pack("<IQ", element, len(items)) + b"".join(value(element, item) for item in items)
    return struct.pack(_FORMS[kind], content)


def key(name: str, kind: int, content: Any) -> bytes:
    return string(name) + struct.pack("<I", kind) + value(kind, content)


def tensor(name: str, shape: tuple[int, ...], kind: int = 0, offset: int = 0) -> bytes:
    return string(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, offset)


BASIC = (
    key("general.architecture", STRING, "llama"),
    key("llama.context_length", U32, 2048),
    key("llama.block_count", U32, 2),
    key("llama.embedding_length", U32, 64),
    key("llama.attention.head_count", U32, 2),
)


def gguf_bytes(
    keys: tuple[bytes, ...] = BASIC,
    tensors: tuple[bytes, ...] = (tensor("a.weight", (8, 4)),),
    data: bytes = bytes(128),
    *,
    version: int = 3,
    magic: bytes = b"GGUF",
) -> bytes:
    head = magic + struct.pack("<IQQ", version, len(tensors), len(keys)) + b"".join(keys) + b"".join(tensors)
    return head + bytes(-len(head) % 32) + data
