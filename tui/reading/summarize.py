"""A document summarized: in one pass when it fits, else notes on all its parts, merged in a tree until one is left."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from typing import TYPE_CHECKING

from tui.context.prompt import Prompt
from tui.documents.chunker import chunk_document
from tui.documents.model import Document
from tui.errors import DoesNotFit, InputProblem, UsageProblem
from tui.reading.calls import Caller
from tui.reading.events import Finished, PlanMade, ReadingEvent, SummaryRestarted
from tui.reading.flow import events_of
from tui.reading.journal import Journal
from tui.reading.ledger import Ledger, LedgerEntry, failure_warnings, places
from tui.reading.mapping import Mapper
from tui.reading.merging import Merger
from tui.reading.plan import Budget, chunk_size, make_budget, reason_for, whole_prompt
from tui.reading.prompts import SummaryPrompts, load_summary_prompts
from tui.reading.results import Status, Strategy, SummaryOptions, SummaryResult, failed
from tui.reading.writing import Summary, Writer
from tui.units import plural

if TYPE_CHECKING:
    from tui.context.runtime import Runtime

__all__ = ["SummaryOptions", "SummaryResult", "failed", "summarize"]

_DEFAULTS = SummaryOptions()


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


class _Run:
    def __init__(self, runtime: Runtime, document: Document, options: SummaryOptions) -> None:
        self._runtime = runtime
        self._document = document
        self._options = options
        setting = runtime.settings.temperature
        self._temperature = options.temperature if options.temperature is not None else setting
        self._started = time.perf_counter()
        self._caller = Caller(runtime)
        self._journal = Journal(runtime)
        self._ledger = Ledger(len(document.text))
        self._warnings = list(document.warnings)
        self._tokens = 0
        self._failed = ""
        self._emit: Callable[[ReadingEvent], None] = lambda event: None

    async def work(self, emit: Callable[[ReadingEvent], None]) -> None:
        """The whole way from the document to Finished."""
        self._emit = emit
        self._started = time.perf_counter()
        document, runtime = self._document, self._runtime
        if not document.text.strip():
            raise InputProblem(f"{document.path} holds no text.", "Choose a file with text in it.")
        if self._options.chunk_tokens < 0 or self._options.max_tokens < 0:
            raise UsageProblem("A number of tokens cannot be negative.", "Give a larger number, or none.")
        prompts = await asyncio.to_thread(load_summary_prompts, runtime.paths.prompts, self._options)
        self._tokens = await runtime.counter.count(document.text)
        budget = await make_budget(runtime, prompts)
        whole = None
        if self._options.strategy != "map-reduce":
            whole = await whole_prompt(runtime, prompts, budget, document, self._tokens)
        if whole is not None:
            result = await self._single(prompts, budget, whole) or await self._map_reduce(prompts, budget)
        elif self._options.strategy == "single":
            needed = budget.frames["single"] + self._tokens + budget.single
            raise DoesNotFit(
                needed,
                budget.context,
                "Use a larger --ctx-size, or let longscroll read it in parts.",
                subject=f"Reading {document.name} in one pass",
            )
        else:
            result = await self._map_reduce(prompts, budget)
        emit(Finished(result=result, ledger=self._ledger.entries))

    async def _single(self, prompts: SummaryPrompts, budget: Budget, prompt: Prompt) -> SummaryResult | None:
        """In one pass; None when no summary came of it and the document may be read in parts instead."""
        or_parts = self._options.strategy == "auto" and self._tokens > budget.chunk
        writer = Writer(self._caller, prompts, self._journal, self._temperature, self._emit)
        known = await self._journal.get(writer.key("single", prompt, budget.single))
        reused = known is not None and bool(known.text)
        self._emit(
            PlanMade(
                strategy="single",
                why=reason_for(budget, self._tokens, single=True),
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
        return self._result("single", summary, chunks=1, levels=0, reused=int(summary.reused), whole=True)

    async def _map_reduce(self, prompts: SummaryPrompts, budget: Budget) -> SummaryResult:
        runtime, document = self._runtime, self._document
        if budget.lacking:
            raise DoesNotFit(
                budget.context + budget.lacking,
                budget.context,
                "Use a larger --ctx-size or shorter prompt templates.",
                subject="Reading a document in parts",
            )
        size = chunk_size(budget, self._tokens)
        chunks = await chunk_document(document, size, runtime.counter.count_many)
        mapper = Mapper(
            self._caller, document, prompts, budget, self._journal, self._ledger, self._temperature, self._emit
        )
        known = await mapper.finished(chunks)
        self._emit(
            PlanMade(
                strategy="map-reduce",
                why=reason_for(budget, self._tokens, single=False, failed=self._failed),
                chunks=len(chunks),
                tokens=self._tokens,
                levels=budget.levels(len(chunks)),
                reserve=budget.summary,
                reused=len(known),
            )
        )
        notes = await mapper.read(chunks, known)
        merger = Merger(self._caller, prompts, budget, self._journal, self._temperature, self._emit)
        ready = await merger.until_it_fits(notes)
        writer = Writer(self._caller, prompts, self._journal, self._temperature, self._emit)
        summary = await writer.write("final", ready.prompt, ready.text, budget.summary)
        self._warn_of_parts(merger)
        return self._result(
            "map-reduce",
            summary,
            chunks=len(chunks),
            levels=ready.levels + 1,
            reused=mapper.reused,
            whole=not merger.unended,
        )

    def _warn_of_parts(self, merger: Merger) -> None:
        document = self._document
        self._warnings += failure_warnings(document, self._ledger.failures)
        extracted = [entry for entry in self._ledger.entries if entry.mark == "extracted" and entry.state != "failed"]
        if extracted:
            self._warnings.append(
                f"The model gave no usable notes on {places(document, extracted)}; "
                "sentences of the text itself stand in for them."
            )
        repeated = [entry for entry in self._ledger.entries if entry.mark == "repeated"]
        if repeated:
            self._warnings.append(
                f"On {places(document, repeated)} the model said its notes again and again; each is kept once."
            )
        trimmed = [entry for entry in self._ledger.entries if entry.reason and entry.mark in ("", "split")]
        if trimmed:
            self._warnings.append(f"Notes on {places(document, trimmed)} were too long and were shortened.")
        if merger.stand_ins:
            reasons = f" {merger.unended[0]}" if merger.unended else ""
            self._warnings.append(
                f"In {plural(merger.stand_ins, 'merge')} of notes the model gave no usable answer; "
                f"the most telling notes were taken over as they were.{reasons}"
            )

    def _result(
        self, strategy: Strategy, summary: Summary, *, chunks: int, levels: int, reused: int, whole: bool
    ) -> SummaryResult:
        coverage = self._ledger.coverage()
        if summary.reason:
            instead = " Sentences of the text stand in for the summary." if summary.extracted else ""
            self._warnings.append(f"{summary.reason}{instead}")
        if summary.doubt:
            self._warnings.append(summary.doubt)
        if self._journal.trouble:
            self._warnings.append(f"This run could not be resumed: {self._journal.trouble}")
        status: Status = "done" if coverage.fraction == 1.0 and whole and not summary.reason else "partial"
        return SummaryResult(
            path=self._document.path,
            status=status,
            summary=summary.text,
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
        )
