"""Byte-level BPE on this machine, as fast as a file is read: a tiktoken `Encoding` built from the GGUF's vocabulary.

It is to be believed only after it agreed with the server on a set of probes (`tui.context.counter`).
"""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Sequence

import tiktoken

from tui.models.pretokenizers import PATTERNS, WHOLE_WORDS
from tui.models.vocabulary import NORMAL, Vocabulary
from tui.text import well_formed

_NO_TOKEN = -1
"""Stands for a byte that the vocabulary lacks: llama.cpp leaves such a byte out."""


@functools.cache
def byte_alphabet() -> tuple[str, ...]:
    """The character that stands for each byte in a byte-level vocabulary (GPT-2's table)."""
    shown = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    hidden = [byte for byte in range(256) if byte not in shown]
    return tuple(chr(byte) if byte in shown else chr(0x100 + hidden.index(byte)) for byte in range(256))


_STEP = 1 << 17


# Letters and marks of Unicode 16 (2024), which the engine knows and llama.cpp, with its tables of Unicode 15, does not.
_NEWER = (
    (0x897, 0x897), (0x1C89, 0x1C8A), (0xA7CB, 0xA7CD), (0xA7DA, 0xA7DC), (0x105C0, 0x105F3), (0x10D40, 0x10D85),
    (0x10EC2, 0x10EC4), (0x10EFC, 0x10EFC), (0x11380, 0x113E2), (0x116D0, 0x116E3), (0x11BC0, 0x11BF9),
    (0x11F5A, 0x11F5A), (0x13460, 0x143FA), (0x16100, 0x16139), (0x16D40, 0x16D79), (0x18CFF, 0x18CFF),
    (0x1CCF0, 0x1CCF9), (0x1E5D0, 0x1E5FA),
)  # fmt: skip


class AskTheServer(ValueError):
    """A text for which this tokenizer may differ from the server's; the message says why."""


class LocalTokenizer:
    """Text to token ids without a server. Control tokens in the text stay text; user-defined tokens are matched."""

    def __init__(self, encoding: tiktoken.Encoding, ids: Sequence[int], user_defined: dict[str, int]) -> None:
        self._encoding = encoding
        self._ids = ids  # token id by rank
        self._lacks_bytes = _NO_TOKEN in ids
        self._user_defined = sorted(user_defined.items(), key=lambda item: -len(item[0].encode("utf-8", "replace")))

    def encode(self, text: str) -> list[int]:
        """Token ids of plain `text`, nothing added before or after; lone surrogates count as U+FFFD.

        Raises AskTheServer for a text with very new characters or with 262,144 characters of white space in a row.
        """
        text = well_formed(text)
        self._check(text)
        out: list[int] = []
        for piece in self._pieces(text):
            if isinstance(piece, int):
                out.append(piece)
            elif piece:
                ids = self._ids
                out.extend([ids[rank] for rank in self._encoding.encode_ordinary(piece)])
        return [token_id for token_id in out if token_id != _NO_TOKEN] if self._lacks_bytes else out

    @staticmethod
    def _check(text: str) -> None:
        # A run of twice the step covers one whole step, so looking at each step's first character finds it. The engine
        # runs out of stack at some 700,000.
        for start in range(0, len(text) - _STEP + 1, _STEP):
            if text[start].isspace() and text[start : start + _STEP].isspace():
                raise AskTheServer("a very long stretch of white space")
        if not text.isascii() and (newer := _newer_characters(text)):
            raise AskTheServer(f"characters of a newer Unicode: {' '.join(f'U+{ord(char):04X}' for char in newer)}")

    def encode_many(self, texts: Sequence[str]) -> list[list[int]]:
        """`encode` of each."""
        return [self.encode(text) for text in texts]

    def _pieces(self, text: str) -> list[str | int]:
        """Cut at user-defined tokens, the longest token first, each through the whole text, as llama.cpp does."""
        pieces: list[str | int] = [text]
        for token, token_id in self._user_defined:
            if token not in text:
                continue
            cut: list[str | int] = []
            for piece in pieces:
                if isinstance(piece, int) or token not in piece:
                    cut.append(piece)
                    continue
                head, *rest = piece.split(token)
                cut.append(head)
                for part in rest:
                    cut.extend((token_id, part))
            pieces = cut
        return pieces


def _newer_characters(text: str) -> list[str]:
    rare = sorted(char for char in set(text) if char >= "\u0897")
    return [
        char
        for char in rare
        if unicodedata.category(char) == "Cn" or any(first <= ord(char) <= last for first, last in _NEWER)
    ]


def build_local(vocabulary: Vocabulary) -> LocalTokenizer | None:
    """The tokenizer of `vocabulary`, or None when it cannot be built faithfully (then the server counts)."""
    pattern = PATTERNS.get(vocabulary.pre)
    if vocabulary.model != "gpt2" or pattern is None or not vocabulary.merges or vocabulary.strips_after:
        return None
    to_byte = {char: byte for byte, char in enumerate(byte_alphabet())}
    id_of = {text: i for i, text in enumerate(vocabulary.tokens)}
    ranks: dict[bytes, int] = {}
    ids: list[int] = []

    def add(text: str) -> bool:
        token_id = id_of.get(text)
        if token_id is None:
            return False
        try:
            raw = bytes([to_byte[char] for char in text])
        except KeyError:
            return False
        if raw not in ranks:
            ranks[raw] = len(ids)
            ids.append(token_id)
        return True

    for byte, char in enumerate(byte_alphabet()):
        if not add(char):
            ranks[bytes([byte])] = len(ids)
            ids.append(_NO_TOKEN)
    for merge in vocabulary.merges:
        gap = merge.find(" ", 1)
        if gap < 0 or not add(merge[:gap] + merge[gap + 1 :]):
            return None
    if vocabulary.pre in WHOLE_WORDS:
        for text, kind in zip(vocabulary.tokens, vocabulary.types, strict=True):
            if kind == NORMAL:
                add(text)
    encoding = tiktoken.Encoding(
        f"gguf-{vocabulary.digest[:12]}", pat_str=pattern, mergeable_ranks=ranks, special_tokens={}
    )
    return LocalTokenizer(encoding, ids, vocabulary.user_defined)
