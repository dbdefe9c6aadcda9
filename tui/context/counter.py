"""Counting tokens: exactly, by the model's own vocabulary, here or by the server; else as an estimate that says so."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Protocol

from tui.context.lru import SizedCache
from tui.context.probes import PROBES
from tui.errors import NoModel
from tui.models.localtokenizer import AskTheServer, LocalTokenizer, build_local
from tui.models.vocabulary import read_vocabulary
from tui.server.client import LlamaClient
from tui.text import well_formed

Source = Literal["local", "server", "estimate"]

_INLINE = 8_000  # characters that are tokenized faster than a thread is asked
_AT_ONCE = 4  # requests to /tokenize in flight
_COUNTS = 200_000  # counts remembered


class Facts(Protocol):
    """What measured facts are kept in (`tui.store`)."""

    def get(self, key: str) -> str | None: ...
    def set(self, key: str, value: str) -> None: ...


class TokenCounter:
    """Counts plain text; control tokens in it stay text, nothing is added before or after.

    `source` says who counts; `exact` whether the figures are the server's own, to be shown without a ≈.
    """

    def __init__(
        self, *, client: LlamaClient | None = None, local: LocalTokenizer | None = None, proven: bool = False
    ) -> None:
        self._client = client
        self._local = local
        self.source: Source = "local" if local else "server" if client else "estimate"
        self.exact: bool = proven if self.source == "local" else self.source == "server"
        self._counts: SizedCache[bytes, int] = SizedCache(_COUNTS)
        self._gate = asyncio.Semaphore(_AT_ONCE)

    async def encode(self, text: str) -> list[int]:
        """The token ids of `text`. Raises NoModel when there is neither a server nor a vocabulary that can say."""
        text = well_formed(text)
        if not text:
            return []
        if self._local is not None:
            try:
                if len(text) <= _INLINE:
                    return self._local.encode(text)
                return await asyncio.to_thread(self._local.encode, text)
            except AskTheServer as reason:
                if self._client is None:
                    raise NoModel(
                        f"The tokens of this text cannot be told without a server ({reason}).", "Start a server first."
                    ) from reason
        if self._client is None:
            raise NoModel("Tokens cannot be told without a server or a model file.", "Name a model with --model.")
        async with self._gate:
            # One request whatever the size: cut in pieces, the tokens at the cuts could differ.
            return await self._client.tokenize(text)

    async def count(self, text: str) -> int:
        """Tokens of `text`. Remembered by content."""
        return (await self.count_many([text]))[0]

    async def count_many(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text. Remembered by content."""
        keys = [_key(text) for text in texts]
        found = {key: count for key in keys if (count := self._counts.get(key)) is not None}
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        if missing:
            for key, count in zip(missing, await self._count_all(list(missing.values())), strict=True):
                found[key] = count
                self._counts.put(key, count, 1)
        return [found[key] for key in keys]

    async def _count_all(self, texts: list[str]) -> list[int]:
        if self.source == "estimate":
            return [estimate(text) for text in texts]
        local = self._local
        if local is None:
            return await asyncio.gather(*(self._count_one(text) for text in texts))
        if sum(map(len, texts)) <= _INLINE:
            counts = _count_here(local, texts)
        else:
            counts = await asyncio.to_thread(_count_here, local, texts)
        return [
            await self._count_one(text) if count is None else count for text, count in zip(texts, counts, strict=True)
        ]

    async def _count_one(self, text: str) -> int:
        if self._client is None:
            self.exact = False
            return estimate(text)
        return len(await self.encode(text))


def _count_here(local: LocalTokenizer, texts: Sequence[str]) -> list[int | None]:
    counts: list[int | None] = []
    for text in texts:
        try:
            counts.append(len(local.encode(text)))
        except AskTheServer:
            counts.append(None)
    return counts


def _key(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def estimate(text: str) -> int:
    """A rough count where nothing better is at hand, from characters per token of common vocabularies; wears a ≈."""
    ascii_letters = han = other = 0
    for char in text:
        if char < "\x80":
            ascii_letters += 1
        elif "\u2e80" <= char <= "\u9fff" or "\uac00" <= char <= "\ud7ff" or char >= "\U00010000":
            han += 1
        else:
            other += 1
    return round(ascii_letters / 3.9 + han / 1.2 + other / 1.9 + 0.49) if text else 0


async def make_counter(client: LlamaClient | None, model_path: Path | None, facts: Facts | None) -> TokenCounter:
    """The best counter there is: local once it has proved equal to the server's, else the server, else an estimate.

    The proof, some sixty probe texts, is remembered in `facts` for this vocabulary and this build of the server; with
    it a later run counts exactly without any server. Raises NoModel when `model_path` is not a readable model.
    """
    if model_path is None:
        return TokenCounter(client=client)
    vocabulary = await asyncio.to_thread(read_vocabulary, model_path)
    local = await asyncio.to_thread(build_local, vocabulary)
    if local is None:
        return TokenCounter(client=client)
    proven_key = f"tokenizer/{vocabulary.digest}"
    if client is None:
        proven = facts is not None and await asyncio.to_thread(facts.get, proven_key) == "equal"
        return TokenCounter(local=local, proven=proven)
    build_key = f"{proven_key}/{(await client.props()).build_info}"
    verdict = await asyncio.to_thread(facts.get, build_key) if facts else None
    if verdict is None:
        verdict = "equal" if await _agrees(client, local) else "differs"
        if facts:
            await asyncio.to_thread(facts.set, build_key, verdict)
            await asyncio.to_thread(facts.set, proven_key, verdict)
    if verdict == "equal":
        return TokenCounter(client=client, local=local, proven=True)
    return TokenCounter(client=client)


async def _agrees(client: LlamaClient, local: LocalTokenizer) -> bool:
    gate = asyncio.Semaphore(_AT_ONCE)

    async def same(text: str) -> bool:
        async with gate:
            return await client.tokenize(text) == local.encode(text)

    return all(await asyncio.gather(*(same(text) for text in PROBES)))
