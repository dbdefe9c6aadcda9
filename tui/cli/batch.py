"""Many documents summarized, one after the other on one engine: a failure costs its own document."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tui.cli.pace import BatchPace, ReadingShown
from tui.cli.rendering import figures_of, markdown, rendered, unfinished, without_support
from tui.cli.summarize import Format
from tui.cli.table import Row, RowStatus, print_table, row_of
from tui.errors import ExitCode, LongscrollError, NoModel, StorageProblem
from tui.reading.events import ChunkDone, Finished, PlanMade, ReadingEvent
from tui.reading.results import Coverage, SummaryResult, failed
from tui.text import one_line

if TYPE_CHECKING:
    from tui.cli.common import ReadWishes
    from tui.cli.opening import Ground
    from tui.cli.report import Report
    from tui.context.runtime import Runtime
    from tui.documents.inputs import Input
    from tui.documents.model import Document
    from tui.reading.ledger import LedgerEntry
    from tui.reading.results import SummaryOptions


_HEAD = 4096
"""Bytes of a file that tell whether it is text."""
_SLOW_S = 2.0
"""A document that takes longer to be read is waited for in sight."""


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """Where results go."""

    form: Format | None = None
    """None: the plain summary on stdout, Markdown in files."""
    folder: Path | None = None
    """Of result files; None: stdout."""
    names: tuple[str, ...] = ()
    """Of the result files, one for each input."""
    report: Report | None = None


class _Known(msgspec.Struct):
    """What is known of a document while it is being read, for the record of a failure."""

    path: str
    began: float
    document: Document | None = None
    plan: PlanMade | None = None
    reused: int = 0

    def result(self, error: LongscrollError) -> SummaryResult:
        seconds = round(time.perf_counter() - self.began, 3)
        result = failed(self.path, error, seconds)
        if self.document is None:
            return result
        characters = len(self.document.text)
        result = msgspec.structs.replace(
            result,
            pages=self.document.pages,
            characters=characters,
            coverage=Coverage(characters_total=characters, characters_read=0, fraction=0.0),
            warnings=self.document.warnings,
        )
        if self.plan is None:
            return result
        return msgspec.structs.replace(
            result,
            strategy=self.plan.strategy,
            why=self.plan.why,
            tokens=self.plan.tokens,
            chunks=self.plan.chunks,
            reused_chunks=self.reused,
        )


class Batch:
    """Summarizes inputs in their order. `close` always; it stops the engine and says what was done."""

    def __init__(
        self,
        ground: Ground,
        options: SummaryOptions,
        wishes: ReadWishes,
        inputs: Sequence[Input],
        delivery: Delivery,
    ) -> None:
        self._ground = ground
        self._options = options
        self._wishes = wishes
        self._inputs = inputs
        self._delivery = delivery
        self._several = len(inputs) > 1
        self._engine = contextlib.AsyncExitStack()
        self._runtime: Runtime | None = None
        self._warned = 0
        self._ahead: asyncio.Task[None] | None = None
        self._codes: set[int] = set()
        self._rows: list[Row] = []
        self._began = time.perf_counter()
        self._pace = BatchPace([_size(item) for item in inputs])
        self._known = _Known(path="", began=self._began)

    @property
    def exit_code(self) -> int:
        """0 when all is done; the failure's own code when every document failed alike; else 1."""
        if len(self._codes) == 1:
            return next(iter(self._codes))
        return ExitCode.SOME_FAILED

    async def run(self) -> None:
        """Take every input."""
        for index, item in enumerate(self._inputs):
            if self._several:
                self._ground.out.note(f"{self._pace.begin(index)}: {item.shown}", style="dim")
                self._ground.out.progress.about = f"{index + 1}/{len(self._inputs)}"
            await self._take(index, item)

    async def _take(self, index: int, item: Input) -> None:
        """Read, summarize and deliver one document."""
        known = self._known = _Known(path=item.shown, began=time.perf_counter())
        code: int = ExitCode.OK
        ledger: tuple[LedgerEntry, ...] = ()
        try:
            finished = await self._summarized(index, item, known)
            result, ledger = finished.result, finished.ledger
            code = ExitCode.OK if result.status == "done" else ExitCode.SOME_FAILED
        except Exception as error:  # noqa: BLE001 - a defect that one document brings out must not cost the others
            told = await self._told(error)
            code = told.exit_code
            result = known.result(told)
        self._pace.end(result.tokens if result.status != "failed" else 0)
        output, kept = await self._deliver(index, result)
        self._codes.add(code if kept else max(code, int(ExitCode.SOME_FAILED)))
        self._rows.append(row_of(result))
        self._known = _Known(path="", began=time.perf_counter())
        await self._report(result, known.document, ledger, output)

    async def _told(self, error: Exception) -> LongscrollError:
        """The failure as a sentence. Raises it where no other document could fare better."""
        from tui.cli.errors import defect
        from tui.context.diagnosed import diagnosed

        if not isinstance(error, LongscrollError):
            return await asyncio.to_thread(defect, error)
        if self._runtime is None:
            if isinstance(error, NoModel | StorageProblem):
                self._known.path = ""
                raise error  # no engine for this document is none for the others
            return error
        told = await diagnosed(self._runtime, error)
        if isinstance(told, NoModel):
            await self._close_engine()  # it was started again in vain: the next document gets a new one
        return told

    async def _summarized(self, index: int, item: Input, known: _Known) -> Finished:
        from tui.cli.opening import read
        from tui.reading.summarize import summarize

        await self._end_reading_ahead()
        document = known.document = await read(self._ground, item, self._wishes)
        self._pace.found(index, _bytes_of(document))
        self._read_ahead(index + 1)
        runtime = await self._opened(document)
        out = self._ground.out
        finished: Finished | None = None
        with out.working() as progress:
            shown = ReadingShown(progress, batch=self._pace if self._several else None)
            async with contextlib.aclosing(summarize(runtime, document, self._options)) as events:
                async for event in events:
                    self._note(event, known)
                    if isinstance(event, Finished):
                        finished = event
                    else:
                        shown.show(event)
        self._warn_of_engine(runtime)
        assert finished is not None, "a summary ends with Finished or raises"
        return finished

    def _read_ahead(self, index: int) -> None:
        """The next document is read while this one is summarized."""
        if index < len(self._inputs):
            self._ahead = asyncio.create_task(self._one_ahead(index))

    async def _one_ahead(self, index: int) -> None:
        from tui.cli.opening import read_ahead

        document = await read_ahead(self._ground, self._inputs[index], self._wishes)
        if document is not None and not self._wishes.pages:
            self._pace.found(index, _bytes_of(document))

    async def _end_reading_ahead(self, *, cancel: bool = False) -> None:
        task, self._ahead = self._ahead, None
        if task is not None:
            if cancel:
                task.cancel()
            if not cancel and not (await asyncio.wait({task}, timeout=_SLOW_S))[0]:
                with self._ground.out.working() as progress:
                    progress.update("Reading the document")
                    await asyncio.wait({task})
            await asyncio.wait({task})
            if not task.cancelled():
                task.exception()  # whatever it is, reading the document itself meets it again

    def _note(self, event: ReadingEvent, known: _Known) -> None:
        """Keep what a failure's record needs, and say at once what should not wait."""
        if isinstance(event, PlanMade):
            known.plan = event
            if self._options.strategy == "auto":
                self._ground.out.note(f"{known.path}: {event.why}", style="dim")
        elif isinstance(event, ChunkDone):
            known.reused += event.reused
        if self._runtime is not None:
            self._warn_of_engine(self._runtime)

    def _warn_of_engine(self, runtime: Runtime) -> None:
        for warning in runtime.warnings[self._warned :]:
            self._ground.out.warn(warning)
        self._warned = len(runtime.warnings)

    async def _opened(self, document: Document) -> Runtime:
        from tui.cli.slots import open_reading_engine

        if self._runtime is None:
            engine = open_reading_engine(self._ground, self._options, document, several=self._several)
            self._runtime = await self._engine.enter_async_context(engine)
            self._warned = 0
            if self._delivery.report is not None:
                self._delivery.report.model(self._runtime)
        return self._runtime

    # Results

    async def _deliver(self, index: int, result: SummaryResult) -> tuple[Path | None, bool]:
        """Print the result or write its file: the file, and whether it went where it should."""
        out, delivery = self._ground.out, self._delivery
        for warning in result.warnings:
            out.warn(warning, about=result.path)
        if result.error:
            out.note(f"longscroll: {result.error}", style="error")
        written: Path | None = None
        kept = True
        if delivery.folder is not None and result.summary:
            try:
                written = await asyncio.to_thread(self._write, delivery.folder, delivery.names[index], result)
            except StorageProblem as error:
                out.error(error)
                kept = False
        if out.as_json:
            out.emit(result)
        elif delivery.folder is None and result.summary:
            self._print(result)
        if result.status != "failed":
            where = f" Written to {written}." if written is not None else ""
            out.note(f"{result.path}: {figures_of(result)}.{where}", style="dim")
            if without := without_support(result):
                out.note(f"{result.path}: {without}" if self._several else without, style="dim")
        return written, kept

    def _write(self, folder: Path, name: str, result: SummaryResult) -> Path:
        from tui.cli.files import write_whole

        path = folder / name
        data = rendered(result, self._delivery.form or "md", self._model_name)
        aside = path.with_name(f"{path.stem}.partial{path.suffix}")
        if result.status != "done" and path.exists() and not unfinished(path):
            self._ground.out.warn(
                f"{path} is a finished summary of an earlier run and stays; this one, which is not, is in {aside}."
            )
            path = aside
        write_whole(path, data, "--out")
        if path != aside:
            aside.unlink(missing_ok=True)
        return path

    def _print(self, result: SummaryResult) -> None:
        out = self._ground.out
        if self._delivery.form == "md":
            out.line(markdown(result, self._model_name))
            return
        if self._several and self._delivery.form is None:
            out.line(f"# {one_line(result.path)}\n")
        out.line(result.summary.rstrip("\n") + ("\n" if self._several else ""))

    @property
    def _model_name(self) -> str:
        return self._runtime.model_name if self._runtime is not None else self._ground.model

    async def _report(
        self,
        result: SummaryResult,
        document: Document | None,
        ledger: tuple[LedgerEntry, ...],
        output: Path | None,
    ) -> None:
        report = self._delivery.report
        if report is None:
            return
        try:
            await report.add(result, document, ledger, output)
        except StorageProblem as error:
            self._no_report(error)

    def _no_report(self, error: StorageProblem) -> None:
        self._codes.add(ExitCode.SOME_FAILED)
        self._ground.out.warn(f"The report is not up to date. {error}")

    # The end

    async def close(self) -> None:
        """Stop the engine, print the table, finish the report."""
        try:
            await self._end_reading_ahead(cancel=True)
            await self._close_engine()
        finally:
            await self._say_what_was_done()

    async def _close_engine(self) -> None:
        self._runtime = None
        await self._engine.aclose()

    async def _say_what_was_done(self) -> None:
        whole = len(self._rows) == len(self._inputs)
        rows = list(self._rows)
        waiting = len(self._inputs) - len(rows)
        if self._known.path:
            rows.append(_interrupted(self._known))
            waiting -= 1
        if self._several and rows:
            print_table(self._ground.out, rows, waiting, time.perf_counter() - self._began)
        report = self._delivery.report
        if report is not None:
            try:
                await report.close("finished" if whole else "interrupted")
            except StorageProblem as error:
                self._no_report(error)


def _interrupted(known: _Known) -> Row:
    status: RowStatus = "interrupted"
    return row_of(known.result(LongscrollError("Interrupted.")), status)


def _bytes_of(document: Document) -> int:
    """Of its text."""
    return len(document.text.encode("utf-8", "surrogatepass"))


def _size(item: Input) -> int | None:
    """Bytes of a text file; None for what only reading tells the text of: other formats, folders, what is not there."""
    from tui.documents.kinds import DOCUMENT_SUFFIXES, READABLE_SUFFIXES

    if item.folder or not item.path or item.problem is not None:
        return None
    if Path(item.path).suffix.lower() in DOCUMENT_SUFFIXES | READABLE_SUFFIXES:
        return None
    try:
        with open(item.path, "rb") as file:
            return None if b"\0" in file.read(_HEAD) else os.fstat(file.fileno()).st_size
    except OSError:
        return None
