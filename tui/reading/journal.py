"""The journal of calls: what a call answered, under a key that names everything the answer depends on."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from tui.documents.places import Range
from tui.errors import StorageProblem
from tui.reading.ledger import Mark
from tui.server.types import Message, Sampling

if TYPE_CHECKING:
    from tui.context.runtime import Runtime

_FORMAT = 2  # raise it when what is stored, or how answers are judged, changes


class Piece(msgspec.Struct, frozen=True, kw_only=True):
    """Notes on `text[start:end]` of the text that was given to the call (characters)."""

    start: int
    end: int
    notes: tuple[str, ...]
    ranges: tuple[tuple[Range, ...], ...] = ()
    """Of each note: the sentences that bear it out, as offsets from `start`; empty for the whole piece."""
    mark: Mark = ""
    reason: str = ""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One finished call with all its attempts: notes by piece for a map call, notes for a merge, else one text."""

    format: int = _FORMAT
    pieces: tuple[Piece, ...] = ()
    notes: tuple[str, ...] = ()
    """As the model wrote them, with the numbers of the notes that they come from."""
    text: str = ""
    reason: str = ""


_decoder = msgspec.msgpack.Decoder(Entry)


class Journal:
    """The journal of one run."""

    def __init__(self, runtime: Runtime) -> None:
        self._store = runtime.store.journal
        self._fingerprint = runtime.fingerprint
        self.trouble = ""
        """Why something could not be written; the run goes on, but could not be resumed."""

    def key(
        self,
        kind: str,
        level: int,
        messages: Sequence[Message],
        sampling: Sampling,
        max_tokens: int,
        *,
        text: str = "",
    ) -> str:
        """SHA-256 over model, prompt (template and text in it), parameters and level.

        `text` is what an entry's pieces are ranges of: a prompt does not show the white space around it.
        """
        around = (len(text), len(text) - len(text.lstrip())) if text else ()
        named = (_FORMAT, kind, level, self._fingerprint, tuple(messages), sampling, max_tokens, *around)
        return f"reading/{hashlib.sha256(msgspec.msgpack.encode(named)).hexdigest()}"

    async def look_up(self, keys: Sequence[str]) -> dict[str, Entry]:
        """The finished calls among `keys`."""
        found = await asyncio.to_thread(self._store.get_many, keys)
        entries: dict[str, Entry] = {}
        for key, value in found.items():
            try:
                entry = _decoder.decode(value)
            except msgspec.MsgspecError:
                continue  # written by another version: that call is made again
            if entry.format == _FORMAT:
                entries[key] = entry
        return entries

    async def get(self, key: str) -> Entry | None:
        return (await self.look_up([key])).get(key)

    async def put(self, key: str, entry: Entry) -> Entry:
        """Store a finished call; on disk when this returns. The entry that counts: the first one under this key."""
        try:
            stored = await asyncio.to_thread(self._store.put, key, msgspec.msgpack.encode(entry))
        except StorageProblem as error:
            self.trouble = str(error)
            return entry
        return entry if stored else await self.get(key) or entry
