"""An answer from passages: parts of documents that speak of the question, as many as the exact budget holds."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from tui.context.again import again
from tui.context.prompt import Prompt
from tui.errors import DoesNotFit, LongscrollError
from tui.reading.ask_answers import says_nothing, wants_list
from tui.reading.ask_work import Work, result_of
from tui.reading.events import PassagesChosen
from tui.reading.passages import joined, ranked, spread
from tui.reading.prompts import with_system
from tui.reading.results import AskResult
from tui.reading.units import Units, short
from tui.server.types import Message, TextDelta
from tui.templates import Template, load_template
from tui.units import plural

if TYPE_CHECKING:
    from tui.context.runtime import Runtime

_HEAD = 14
"""Tokens of a place above a passage, about; only for the plan that is then counted exactly."""
_EDGES = 4
"""Documents whose ends and beginnings come before anything else that does not speak of the question."""


class _Passage(msgspec.Struct, frozen=True):
    """As the template has it."""

    place: str
    text: str


class _Excerpt(msgspec.Struct, frozen=True):
    """The passages of one document, as the template has them."""

    name: str
    passages: tuple[_Passage, ...]


class Chosen(msgspec.Struct, frozen=True):
    """A prompt with passages that fits."""

    prompt: Prompt
    parts: tuple[int, ...]
    """In the documents' order."""
    found: bool
    """They hold words of the question; else they are spread over the documents."""


async def answer_from_passages(
    work: Work, question: str, *, said: Sequence[str] = ()
) -> tuple[AskResult, LongscrollError | None]:
    """The answer and, when it broke off, why. `said` are warnings that come before its own.

    Raises DoesNotFit when not even one part has room.
    """
    started = time.perf_counter()
    template = await asyncio.to_thread(load_template, "ask-passages", work.runtime.paths.prompts)
    units = await work.units()
    chosen = await choose(work.runtime, units, template, question, work.reserve)
    cite = units.cite(units.ranges(chosen.parts))
    warnings = (*said, _choice(units, chosen, question, cite))
    work.emit(
        PassagesChosen(
            passages=len(joined(chosen.parts, units.ends)),
            parts=len(chosen.parts),
            of_parts=len(units),
            cite=cite,
            said=warnings,
        )
    )
    answer = await again(work.runtime, lambda: work.begun(template, chosen.prompt))
    text = answer.text.strip()
    if answer.error is None and text:
        places = await asyncio.to_thread(_sources, units, chosen, text)
        if places:
            work.emit(TextDelta(f"\n\n[{places}]"))
            text = f"{text}\n\n[{places}]"
    result = result_of(
        work,
        question,
        answer,
        strategy="passages",
        started=started,
        text=text,
        warnings=[*warnings, work.cut(answer)],
        citations=units.citations(units.ranges(chosen.parts)),
    )
    return result, answer.error


def _choice(units: Units, chosen: Chosen, question: str, cite: str) -> str:
    """The sentence that says what was sent."""
    share = f"{len(chosen.parts):,} of {plural(len(units), 'part')}"
    places = (short(cite) or "from all over the text").rstrip(".")
    advice = ""
    if wants_list(question):
        advice = " A question for all of something is answered better by --strategy map-reduce, which asks every part."
    if chosen.found:
        return f"Passages were sent, {share}: {places}.{advice}"
    return (
        f"No word of the question stands in the documents, so passages spread over them were sent, {share}: "
        f"{places}. --strategy map-reduce asks every part instead."
    )


def _sources(units: Units, chosen: Chosen, answer: str) -> str:
    """Where the answer's words stand; all passages where its words do not tell (it may be in another language)."""
    if says_nothing(answer):
        return ""
    traced = units.cite(units.trace(answer, chosen.parts))
    if traced:
        return short(traced)
    sent = short(units.cite(units.ranges(chosen.parts)))
    return f"passages: {sent}" if sent else ""


async def choose(runtime: Runtime, units: Units, template: Template, question: str, reserve: int) -> Chosen:
    """The best parts, as many as fit with the question and the answer's room, by exact counts of the whole prompt.

    When all that speak of the question leave more than half of that room, others fill it up to there. When none
    does, they take all of it.
    """
    best = ranked(units.index.find(question), units.ends)
    found = bool(best)
    order = best or _others(units, ())

    async def prompt_of(parts: Sequence[int]) -> Prompt:
        return await runtime.assembler.assemble(_messages(template, units, parts, question))

    room = runtime.n_ctx - reserve
    empty = len((await prompt_of(())).ids)
    count = _planned(units, order, room - empty)
    prompt = await prompt_of(order[:count])
    while count < len(order) and len(prompt.ids) <= room:
        longer = await prompt_of(order[: count + 1])
        if len(longer.ids) > room:
            break
        count, prompt = count + 1, longer
    while len(prompt.ids) > room:
        if count <= 1:
            raise DoesNotFit(
                len(prompt.ids) + reserve,
                runtime.n_ctx,
                "Use a larger --ctx-size, or give the answer less room with --max-tokens.",
                subject="The question with one passage",
            )
        # As many go as are too much by their own counts, at least one; the next exact count says whether that does.
        over, less = len(prompt.ids) - room, 0
        while less < count - 1 and over > 0:
            less += 1
            over -= units.chunks[order[count - less]].tokens
        count -= max(1, less)
        prompt = await prompt_of(order[:count])
    parts = order[:count]
    if found and count == len(order):
        enough = empty + (room - empty) // 2
        others = _others(units, parts)
        more = _planned(units, others, enough - len(prompt.ids), least=0)
        while more:
            longer = await prompt_of([*parts, *others[:more]])
            if len(longer.ids) <= enough:
                parts, prompt = [*parts, *others[:more]], longer
                break
            more -= 1
    return Chosen(prompt, tuple(sorted(parts)), found)


def _others(units: Units, best: Sequence[int]) -> list[int]:
    """The parts that are not in `best`, in the order in which they may still help.

    First where documents end and begin, for that is where names, dates and signatures stand; then what surrounds the
    best parts; then a spread over everything.
    """
    ends = units.ends
    owners = dict.fromkeys([*(units.owners[part] for part in best), *units.owners])
    starts = (0, *ends)
    pasts = (*ends, len(units))
    first = [part for at, owner in enumerate(owners) if at < _EDGES for part in _edges(units, starts, pasts, owner)]
    around = [near for part in best for near in (part + 1, part - 1) if 0 <= near < len(units)]
    taken = set(best)
    order = dict.fromkeys([*first, *around, *spread(len(units))])
    return [part for part in order if part not in taken and units.chunks[part].text.strip()]


def _edges(units: Units, starts: Sequence[int], pasts: Sequence[int], owner: int) -> tuple[int, ...]:
    """The last and the first part of a document."""
    for start, past in zip(starts, pasts, strict=True):
        if units.owners[start] == owner:
            return past - 1, start
    return ()


def _planned(units: Units, order: Sequence[int], room: int, least: int = 1) -> int:
    count = 0
    for part in order:
        room -= units.chunks[part].tokens + _HEAD
        if room < 0:
            break
        count += 1
    return max(least, count)


def _messages(template: Template, units: Units, parts: Sequence[int], question: str) -> tuple[Message, ...]:
    by_document: dict[int, list[_Passage]] = {}
    for first, last in joined(parts, units.ends):
        owner = units.owners[first]
        start, end = units.chunks[first].start, units.chunks[last - 1].end
        text = units.chunks[first].context + units.documents[owner].text[start:end]
        passage = _Passage(units.place(owner, [(start, end)]), text.strip("\n").rstrip())
        by_document.setdefault(owner, []).append(passage)
    excerpts = tuple(_Excerpt(units.documents[owner].name, tuple(found)) for owner, found in by_document.items())
    return with_system(template, template.render(documents=excerpts, question=question.strip()))
