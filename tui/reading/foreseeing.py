"""What a summary will take, told before it begins: the parts, the tokens, the time. No model is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from tui.documents.model import Document
from tui.reading.calls import Caller
from tui.reading.journal import Journal
from tui.reading.ledger import Ledger
from tui.reading.mapping import Mapper
from tui.reading.merging import Merger
from tui.reading.notes import Ids
from tui.reading.plan import Budget, for_document, for_refining, make_budget, overhead, reason_for, step_for
from tui.reading.prompts import SummaryPrompts
from tui.reading.refining import Refiner
from tui.reading.results import Strategy, SummaryOptions
from tui.reading.speeds import known_speed
from tui.reading.summarize import check, chunks_for, in_one_pass, prompts_for
from tui.reading.writing import Writer

if TYPE_CHECKING:
    from tui.context.runtime import Runtime

_WRITTEN_OF_ROOM = 0.6
"""Answers take about this share of their room."""
_DEFAULTS = SummaryOptions()


class Foreseen(msgspec.Struct, frozen=True, kw_only=True):
    """How a document will be read. What depends on the model's answers is an estimate: ≈."""

    strategy: Strategy
    why: str
    chunks: int
    tokens: int
    """Of the document; exact when the counter is."""
    levels: int
    """At most so many merges, the last one into the summary; 0 in one pass."""
    prompt_tokens: int
    """≈ Of all calls that are still to be made."""
    completion_tokens: int
    """≈ Of all calls that are still to be made."""
    reused: int
    """Parts that an earlier run has finished."""
    seconds: float | None
    """≈ At the speed that earlier runs on this machine have measured; None where there was none."""


async def foresee(runtime: Runtime, document: Document, options: SummaryOptions = _DEFAULTS) -> Foreseen:
    """What `summarize` would do now. Raises what it would raise before its first call."""
    check(document, options)
    prompts = await prompts_for(runtime, document, options)
    tokens = await runtime.counter.count(document.text)
    budget = await make_budget(runtime, prompts)
    whole = await in_one_pass(runtime, prompts, budget, document, options, tokens)
    if whole is not None:
        temperature = options.temperature if options.temperature is not None else runtime.settings.temperature
        writer = Writer(Caller(runtime), prompts, Journal(runtime), temperature, lambda event: None)
        known = await Journal(runtime).get(writer.key("single", whole, budget.single))
        reused = known is not None and bool(known.text)
        if known is not None and not reused and options.strategy == "auto":
            return await _in_parts(runtime, document, options, prompts, budget, tokens, failed=known.reason)
        return await _foreseen(
            runtime,
            "single",
            reason_for(budget, tokens, "single", options),
            tokens=tokens,
            chunks=1,
            levels=0,
            reused=int(reused),
            prompt=0 if reused else len(whole.ids),
            written=0 if reused else _written(budget.single),
        )
    return await _in_parts(runtime, document, options, prompts, budget, tokens)


async def _in_parts(
    runtime: Runtime,
    document: Document,
    options: SummaryOptions,
    prompts: SummaryPrompts,
    budget: Budget,
    tokens: int,
    failed: str = "",
) -> Foreseen:
    """`failed`: why an earlier run has made no summary of it in one pass."""
    strategy: Strategy = "refine" if options.strategy == "refine" else "map-reduce"
    refines = strategy == "refine"
    if refines:
        budget = for_refining(budget, options, tokens)
    else:
        budget = for_document(budget, options, tokens, runtime.parallel, unlimited=bool(failed))
    chunks = await chunks_for(runtime, document, budget, options, step=1 if refines else step_for(runtime.parallel))
    journal, ids = Journal(runtime), Ids()
    temperature = options.temperature if options.temperature is not None else runtime.settings.temperature
    caller = Caller(runtime)
    mapper = Mapper(
        caller,
        document,
        prompts,
        budget,
        journal,
        Ledger(len(document.text)),
        temperature,
        lambda event: None,
        kind="refine" if refines else "map",
    )
    if refines:
        merger = Merger(caller, document, prompts, budget, journal, temperature, lambda event: None, ids)
        refiner = Refiner(mapper, merger, journal, budget, runtime.counter, lambda event: None)
        left = chunks[await refiner.finished(chunks) :]
    else:
        known = await mapper.finished(chunks)
        left = [chunk for chunk in chunks if chunk.index not in known]
    per_part = budget.sheet or _written(budget.reply) + budget.sources
    frame = budget.frames["refine"] + budget.known // 2 if refines else budget.frames["map"]
    merges = overhead(msgspec.structs.replace(budget, sheet=per_part), len(chunks)) - len(chunks) * budget.frames["map"]
    if refines:
        merges = budget.frames["final"] + min(budget.known, len(chunks) * per_part)
    return await _foreseen(
        runtime,
        strategy,
        reason_for(budget, tokens, strategy, options, failed),
        tokens=tokens,
        chunks=len(chunks),
        levels=1 if refines else budget.levels(len(chunks)),
        reused=len(chunks) - len(left),
        prompt=sum(chunk.tokens for chunk in left) + len(left) * frame + merges,
        written=len(left) * _written(budget.reply) + _written(budget.summary),
    )


def _written(room: int) -> int:
    return round(_WRITTEN_OF_ROOM * room)


async def _foreseen(
    runtime: Runtime,
    strategy: Strategy,
    why: str,
    *,
    tokens: int,
    chunks: int,
    levels: int,
    reused: int,
    prompt: int,
    written: int,
) -> Foreseen:
    slots = min(runtime.parallel, chunks) if strategy == "map-reduce" else 1
    speed = await known_speed(runtime, slots)
    return Foreseen(
        strategy=strategy,
        why=why,
        chunks=chunks,
        tokens=tokens,
        levels=levels,
        prompt_tokens=prompt,
        completion_tokens=written,
        reused=reused,
        seconds=None if speed is None else round(speed.seconds(prompt, written), 1),
    )
