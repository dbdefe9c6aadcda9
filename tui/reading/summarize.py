"""A document summarized: in one pass when it fits, else notes on all its parts, merged in a tree until one is left."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import TYPE_CHECKING

from tui.context.prompt import Prompt
from tui.documents.chunker import chunk_document
from tui.documents.model import Chunk, Document
from tui.errors import DoesNotFit, InputProblem, UsageProblem
from tui.reading.calls import Caller
from tui.reading.events import Finished, PlanMade, ReadingEvent, SummaryReplaced, SummaryRestarted
from tui.reading.flow import events_of
from tui.reading.journal import Journal
from tui.reading.ledger import Ledger, LedgerEntry, failure_warnings, where
from tui.reading.mapping import Mapper
from tui.reading.merging import Merger
from tui.reading.notes import Ids, Sheet
from tui.reading.placing import placed
from tui.reading.plan import (
    Budget,
    for_document,
    for_refining,
    make_budget,
    reason_for,
    step_for,
    whole_prompt,
)
from tui.reading.prompts import SummaryPrompts, load_summary_prompts
from tui.reading.refining import Refiner
from tui.reading.results import AT_LIMIT, Status, Strategy, SummaryOptions, SummaryResult, failed
from tui.reading.speeds import remember_speed
from tui.reading.writing import Summary, Writer
from tui.units import plural

if TYPE_CHECKING:
    from tui.context.runtime import Runtime

__all__ = ["SummaryOptions", "SummaryResult", "failed", "summarize"]

_DEFAULTS = SummaryOptions()
_FEW = 24
"""With more parts than that, a slot that waits for the last ones hardly counts."""
_LARGER, _SMALLER = (1.03, 1.07, 1.11, 1.16, 1.22, 1.3, 0.94, 0.88), (0.96, 0.92, 0.87, 0.81, 0.75)
_NO_PROSE = frozenset({"code", "tree", "table", "notebook"})


def summarize(
    runtime: Runtime, document: Document, options: SummaryOptions = _DEFAULTS
) -> AsyncGenerator[ReadingEvent, None]:
    """Summarize `document`; the last event is Finished.

    Every finished call is in the journal before it counts, so a run that was stopped or killed goes on where it was.
    Closing the generator stops the work. Raises ServerGone when the server is gone, DoesNotFit when the context is too
    small even for parts (or for the whole where `single` was asked), InputProblem for a document without text,
    UsageProblem for a template that is not right.
    """
    return events_of(_Run(runtime, document, options).work)


def check(document: Document, options: SummaryOptions) -> None:
    """Raises InputProblem for a document without text, UsageProblem for options that make no sense."""
    if not document.text.strip():
        raise InputProblem(f"{document.path} holds no text.", "Choose a file with text in it.")
    if options.chunk_tokens < 0 or options.max_tokens < 0:
        raise UsageProblem("A number of tokens cannot be negative.", "Give a larger number, or none.")
    if isinstance(options.length, int) and options.length < 1:
        raise UsageProblem("A summary has at least one word.", "Give a larger number of words.")


async def prompts_for(runtime: Runtime, document: Document, options: SummaryOptions) -> SummaryPrompts:
    """The templates, told the document's language where that can be told. The errors are load_summary_prompts's."""
    text = "" if document.kind in _NO_PROSE else document.text
    return await asyncio.to_thread(load_summary_prompts, runtime.paths.prompts, options, text)


async def in_one_pass(
    runtime: Runtime,
    prompts: SummaryPrompts,
    budget: Budget,
    document: Document,
    options: SummaryOptions,
    tokens: int,
) -> Prompt | None:
    """The prompt with the whole document where that is wanted and fits. Raises DoesNotFit where only that is wanted."""
    if options.strategy not in ("auto", "single"):
        return None
    whole = await whole_prompt(runtime, prompts, budget, document, tokens)
    if whole is None and options.strategy == "single":
        raise DoesNotFit(
            budget.frames["single"] + tokens + budget.single,
            budget.context,
            "Use a larger --ctx-size, or let longscroll read it in parts.",
            subject=f"Reading {document.name} in one pass",
        )
    return whole


async def chunks_for(
    runtime: Runtime, document: Document, budget: Budget, options: SummaryOptions, *, step: int
) -> list[Chunk]:
    """The document's parts; few ones in a multiple of `step`, as far as the text allows, so that no slot waits.

    Raises DoesNotFit where the context is too small for any.
    """
    if budget.lacking:
        raise DoesNotFit(
            budget.context + budget.lacking,
            budget.context,
            "Use a larger --ctx-size or shorter prompt templates.",
            subject="Reading a document in parts",
        )
    chunks = await chunk_document(document, budget.chunk, runtime.counter.count_many)
    if len(chunks) % step == 0 or not 2 < len(chunks) <= _FEW:
        return chunks
    # Parts end where the text does, so their number is known only now; another size may give a better one.
    for factor in _SMALLER if options.chunk_tokens else _LARGER:
        size = max(16, min(round(budget.chunk * factor), budget.room("map", budget.reply)))
        others = await chunk_document(document, size, runtime.counter.count_many)
        if len(others) % step == 0:
            return others
    return chunks


class _Run:
    def __init__(self, runtime: Runtime, document: Document, options: SummaryOptions) -> None:
        self._runtime = runtime
        self._document = document
        self._options = options
        setting = runtime.settings.temperature
        self._temperature = options.temperature if options.temperature is not None else setting
        self._started = time.perf_counter()
        self._caller = Caller(runtime, cache_prompt=options.cache_prompt)
        self._journal = Journal(runtime)
        self._ledger = Ledger(len(document.text))
        self._warnings = list(document.warnings)
        self._tokens = 0
        self._failed = ""
        self._why = ""
        self._ids = Ids()
        self._slots = 1
        """That work at once, for the speed."""
        self._emit: Callable[[ReadingEvent], None] = lambda event: None

    async def work(self, emit: Callable[[ReadingEvent], None]) -> None:
        """The whole way from the document to Finished."""
        self._emit = emit
        self._started = time.perf_counter()
        document, runtime = self._document, self._runtime
        check(document, self._options)
        prompts = await prompts_for(runtime, document, self._options)
        self._tokens = await runtime.counter.count(document.text)
        budget = await make_budget(runtime, prompts)
        whole = await in_one_pass(runtime, prompts, budget, document, self._options, self._tokens)
        try:
            result = await self._single(prompts, budget, whole) if whole is not None else None
            result = result or await self._in_parts(prompts, budget)
        finally:
            # Also of a run that was interrupted: the next one is foreseen by it.
            await remember_speed(runtime, self._caller.timings, time.perf_counter() - self._started, self._slots)
        emit(Finished(result=result, ledger=self._ledger.entries))

    async def _single(self, prompts: SummaryPrompts, budget: Budget, prompt: Prompt) -> SummaryResult | None:
        """In one pass; None when no summary came of it and the document may be read in parts instead."""
        or_parts = self._options.strategy == "auto" and self._tokens > budget.chunk
        writer = Writer(self._caller, prompts, self._journal, self._temperature, self._emit)
        known = await self._journal.get(writer.key("single", prompt, budget.single))
        reused = known is not None and bool(known.text)
        self._why = reason_for(budget, self._tokens, "single", self._options)
        self._emit(
            PlanMade(
                strategy="single",
                why=self._why,
                chunks=1,
                tokens=self._tokens,
                levels=0,
                reserve=budget.single,
                reused=int(reused),
            )
        )
        summary = await writer.write("single", prompt, self._document.text, budget.single, remember_failure=or_parts)
        if or_parts and (summary.extracted or not summary.read):
            self._failed = summary.reason or summary.doubt
            self._emit(SummaryRestarted(self._failed))
            return None
        self._ledger.add(
            LedgerEntry(
                start=0,
                end=len(self._document.text),
                state="reused" if summary.reused else "read" if summary.read else "failed",
                mark="extracted" if summary.extracted else "",
                reason=summary.reason,
            )
        )
        return await self._result("single", summary, None, chunks=1, levels=0, reused=int(summary.reused), whole=True)

    async def _in_parts(self, prompts: SummaryPrompts, budget: Budget) -> SummaryResult:
        """Notes on every part, merged until they fit, and the summary made of them."""
        runtime, document, options = self._runtime, self._document, self._options
        strategy: Strategy = "refine" if options.strategy == "refine" else "map-reduce"
        if strategy == "refine":
            budget = for_refining(budget, options, self._tokens)
        else:
            unlimited = bool(self._failed)
            budget = for_document(budget, options, self._tokens, runtime.parallel, unlimited=unlimited)
        step = 1 if strategy == "refine" else step_for(runtime.parallel)
        chunks = await chunks_for(runtime, document, budget, options, step=step)
        self._slots = min(runtime.parallel, len(chunks)) if strategy == "map-reduce" else 1
        mapper = Mapper(
            self._caller,
            document,
            prompts,
            budget,
            self._journal,
            self._ledger,
            self._temperature,
            self._emit,
            kind="refine" if strategy == "refine" else "map",
        )
        merger = Merger(
            self._caller, document, prompts, budget, self._journal, self._temperature, self._emit, self._ids
        )
        sheets = await self._notes(strategy, chunks, budget, mapper, merger)
        ready = await merger.until_it_fits(sheets)
        writer = Writer(self._caller, prompts, self._journal, self._temperature, self._emit)
        summary = await writer.write("final", ready.prompt, ready.text, budget.summary)
        self._warn_of_parts(merger)
        return await self._result(
            strategy,
            summary,
            ready.sheets,
            chunks=len(chunks),
            levels=ready.levels + 1,
            reused=mapper.reused,
            whole=not merger.unended,
        )

    async def _notes(
        self, strategy: Strategy, chunks: Sequence[Chunk], budget: Budget, mapper: Mapper, merger: Merger
    ) -> list[Sheet]:
        refiner = Refiner(mapper, merger, self._journal, budget, self._runtime.counter, self._emit)
        known = await mapper.finished(chunks) if strategy == "map-reduce" else {}
        reused = len(known) if strategy == "map-reduce" else await refiner.finished(chunks)
        self._why = reason_for(budget, self._tokens, strategy, self._options, self._failed)
        self._emit(
            PlanMade(
                strategy=strategy,
                why=self._why,
                chunks=len(chunks),
                tokens=self._tokens,
                levels=budget.levels(len(chunks)) if strategy == "map-reduce" else 1,
                reserve=budget.summary,
                reused=reused,
            )
        )
        if strategy == "map-reduce":
            return await mapper.read(chunks, known, self._ids)
        return await refiner.read(chunks)

    def _warn_of_parts(self, merger: Merger) -> None:
        document = self._document
        self._warnings += failure_warnings(document, self._ledger.failures)
        extracted = [entry for entry in self._ledger.entries if entry.mark == "extracted" and entry.state != "failed"]
        if extracted:
            self._warnings.append(
                f"The model gave no usable notes on {where(document, extracted)}; "
                "sentences of the text itself stand in for them."
            )
        repeated = [entry for entry in self._ledger.entries if entry.mark == "repeated"]
        if repeated:
            self._warnings.append(
                f"On {where(document, repeated)} the model said its notes again and again; each is kept once."
            )
        trimmed = [entry for entry in self._ledger.entries if entry.reason and entry.mark in ("", "split")]
        if trimmed:
            self._warnings.append(f"Notes on {where(document, trimmed)} were too long and were shortened.")
        if merger.stand_ins:
            reasons = f" {merger.unended[0]}" if merger.unended else ""
            self._warnings.append(
                f"In {plural(merger.stand_ins, 'merge')} of notes the model gave no usable answer; "
                f"the most telling notes were taken over as they were.{reasons}"
            )

    def _remedy(self, strategy: Strategy) -> str:
        """What to do about a summary that was cut off at its limit."""
        if self._options.max_tokens:
            return "Use a larger --max-tokens, or none."
        parts = " or let longscroll read the text in parts (--strategy map-reduce)," if strategy == "single" else ""
        return f"Use a larger --ctx-size,{parts} or ask for less (--length short)."

    async def _result(
        self,
        strategy: Strategy,
        summary: Summary,
        sheets: Sequence[Sheet] | None,
        *,
        chunks: int,
        levels: int,
        reused: int,
        whole: bool,
    ) -> SummaryResult:
        traced = await asyncio.to_thread(placed, self._document, summary.text, sheets)
        if traced.text != summary.text:
            self._emit(SummaryReplaced(traced.text))
        coverage = self._ledger.coverage()
        if summary.reason:
            instead = " Sentences of the text stand in for the summary." if summary.extracted else ""
            remedy = f" {self._remedy(strategy)}" if summary.reason == AT_LIMIT else ""
            self._warnings.append(f"{summary.reason}{instead}{remedy}")
        if summary.doubt:
            self._warnings.append(summary.doubt)
        if self._journal.trouble:
            self._warnings.append(f"This run could not be resumed: {self._journal.trouble}")
        status: Status = "done" if coverage.fraction == 1.0 and whole and not summary.reason else "partial"
        return SummaryResult(
            path=self._document.path,
            status=status,
            summary=traced.text,
            strategy=strategy,
            pages=self._document.pages,
            characters=len(self._document.text),
            tokens=self._tokens,
            chunks=chunks,
            levels=levels,
            coverage=coverage,
            prompt_tokens=self._caller.prompt_tokens,
            completion_tokens=self._caller.completion_tokens,
            reused_chunks=reused,
            seconds=round(time.perf_counter() - self._started, 3),
            warnings=tuple(dict.fromkeys(self._warnings)),
            error=None,
            why=self._why,
            content=traced.content,
            statements=traced.statements,
            retry_tokens=self._caller.retry_tokens,
        )
