"""The head of a llama.cpp slot file, where the saved token ids lie in clear."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

from tui.store.checksum import pack_tokens

_MAGIC = 0x67677371
"""`ggsq`: a saved sequence (llama.h, LLAMA_STATE_SEQ_MAGIC). Then a format number, a count of words, the words."""
_HEAD = struct.Struct("<III")
_VERSIONS = (2, 3, 4)
_WRAPPED = struct.Struct("<iii")
"""Newer servers put -1, a format number and the count of tokens before the ids, and what belongs to images after."""


def tokens_differ(path: Path, ids: Sequence[int]) -> str:
    """What the file holds instead of `ids`, in a sentence; "" when it holds them or has a head not known here.

    Raises OSError.
    """
    with path.open("rb") as file:
        head = file.read(_HEAD.size)
        if len(head) < _HEAD.size:
            return f"The slot file was saved with {len(head)} bytes only."
        magic, version, count = _HEAD.unpack(head)
        if magic != _MAGIC or version not in _VERSIONS:
            return ""
        words = file.read(min(4 * count, 4 * len(ids) + _WRAPPED.size))
    if len(words) >= _WRAPPED.size and words[:4] == b"\xff\xff\xff\xff":
        _, form, count = _WRAPPED.unpack_from(words)
        if form != 1:
            return ""
        words = words[_WRAPPED.size :]
    if count != len(ids):
        return f"The slot was saved with {count:,} tokens instead of {len(ids):,}; another request came between."
    if words[: 4 * count] != pack_tokens(ids):
        return "The slot was saved with other tokens than were asked for; another request came between."
    return ""
