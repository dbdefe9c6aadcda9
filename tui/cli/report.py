"""The report of a batch: everything there is to know about each document, in one JSON file that grows document by
document, so that a night that was cut short has one too."""

from __future__ import annotations

import asyncio
import datetime
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from tui import __version__
from tui.cli.files import write_whole
from tui.cli.output import as_json

if TYPE_CHECKING:
    from tui.context.runtime import Runtime
    from tui.documents.model import Document
    from tui.reading.ledger import LedgerEntry
    from tui.reading.results import SummaryOptions, SummaryResult

FORMAT = 1
State = Literal["running", "finished", "interrupted"]

_SHARE = 20
"""Writing takes at most one part in so many of the time: a report of a thousand documents is long to write."""


class Range(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of the ledger: `text[start:end]` of the document, in characters."""

    start: int
    end: int
    where: str
    """Pages, lines or headings, as a citation says it."""
    state: str
    mark: str
    reason: str


class Head(msgspec.Struct, kw_only=True):
    """What holds for the whole batch."""

    format: int = FORMAT
    longscroll: str = __version__
    state: State = "running"
    started: str
    updated: str = ""
    model: dict[str, Any] | None = None
    """None until a document needed it."""
    options: dict[str, Any]
    inputs: int
    counts: dict[str, int]


class Report:
    """Collects documents as encoded bytes, so that none is encoded twice and none is kept with its text."""

    def __init__(self, path: Path, options: SummaryOptions, inputs: int) -> None:
        self._path = path
        self._head = Head(
            started=_now(), options=msgspec.to_builtins(options), inputs=inputs, counts=dict.fromkeys(_STATUS, 0)
        )
        self._documents: list[bytes] = []
        self._written = 0.0
        self._cost = 0.0

    def model(self, runtime: Runtime) -> None:
        """Note what the documents are read with."""
        self._head.model = {
            "name": runtime.model_name,
            "fingerprint": runtime.fingerprint,
            "context": runtime.n_ctx,
            "slots": runtime.parallel,
            "server": runtime.props.build_info,
        }

    async def add(
        self, result: SummaryResult, document: Document | None, ledger: tuple[LedgerEntry, ...], output: Path | None
    ) -> None:
        """Add a document and write the report, unless it was written a moment ago. Raises StorageProblem."""
        self._head.counts[result.status] += 1
        self._documents.append(await asyncio.to_thread(_encoded, result, document, ledger, output))
        if time.monotonic() - self._written >= self._cost * _SHARE:
            await self._write()

    async def close(self, state: State) -> None:
        """Write the report as it is at the end. Raises StorageProblem."""
        self._head.state = state
        await self._write()

    async def _write(self) -> None:
        self._head.updated = _now()
        began = time.monotonic()
        await asyncio.to_thread(self._store)
        self._written = time.monotonic()
        self._cost = self._written - began

    def _store(self) -> None:
        head = as_json(self._head)
        data = b"".join(
            (head[:-1], b',\n"documents":[', b",".join(b"\n" + part for part in self._documents), b"\n]}\n")
        )
        write_whole(self._path, data, "--report")


_HEAD = 64
"""Bytes at the beginning of a report, in which its first two keys stand."""
_STATUS = ("done", "partial", "failed")


def is_report(beginning: bytes) -> bool:
    """Whether a file that begins like this is a report."""
    return beginning.startswith(b'{"format":') and b'"longscroll":' in beginning[:_HEAD]


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).astimezone().isoformat(timespec="seconds")


def _encoded(
    result: SummaryResult, document: Document | None, ledger: tuple[LedgerEntry, ...], output: Path | None
) -> bytes:
    record: dict[str, Any] = msgspec.structs.asdict(result)
    record["kind"] = document.kind if document is not None else None
    record["sha256"] = document.sha256 if document is not None else ""
    record["encoding"] = document.encoding if document is not None else ""
    record["output"] = str(output) if output is not None else None
    record["ledger"] = [] if document is None else _ranges(document, ledger)
    return as_json(record)


def _ranges(document: Document, ledger: tuple[LedgerEntry, ...]) -> list[Range]:
    from tui.documents.places import Places

    places = Places(document)
    return [
        Range(
            start=entry.start,
            end=entry.end,
            where=places.cite([(entry.start, entry.end)]),
            state=entry.state,
            mark=entry.mark,
            reason=entry.reason,
        )
        for entry in ledger
    ]
