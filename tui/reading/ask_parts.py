"""An answer from every part: each is asked, what they say is combined, the program keeps the places."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

import msgspec

from tui.documents.chunker import chunk_document
from tui.documents.model import Chunk, Document
from tui.documents.places import Places, Range
from tui.reading import answers
from tui.reading.ask_answers import NOTHING, Item, items, merged, says_nothing, wants_list
from tui.reading.ask_combine import Finding, Place, combine
from tui.reading.ask_work import Work
from tui.reading.calls import Caller
from tui.reading.citing import citations
from tui.reading.events import Answered, PlanMade
from tui.reading.journal import Journal
from tui.reading.json_lists import endless, listed_in
from tui.reading.ledger import Ledger, failure_warnings
from tui.reading.partwise import Judged, Outcome, PartReader, part_size
from tui.reading.plan import is_small
from tui.reading.prompts import sampling_of, with_system
from tui.reading.results import AskResult, Citation
from tui.server.types import Message, Sampling
from tui.templates import Template, load_template

_SHARE_OF_CONTEXT = 6
_LEAST_REPLY, _MOST_REPLY = 48, 512
_SMALL_MODELS_PART = 240
"""Tokens: of a list in a longer part, models below 1 GiB find the first things only (seen on the demo model)."""
_LIST = '{"type": "array", "items": {"type": "string"}}'
NO_ANSWER = "No part of the documents says anything about this."


class _AskTask(msgspec.Struct, frozen=True, kw_only=True):
    """One question for every part."""

    template: Template
    question: str
    as_list: bool
    sampling: Sampling
    reply: int
    kind: str = "ask-map"

    def messages(self, part: Chunk) -> tuple[Message, ...]:
        text = (part.context + part.text).strip("\n").rstrip()
        return self._messages(text)

    def _messages(self, text: str) -> tuple[Message, ...]:
        body = self.template.render(text=text, question=self.question, nothing=NOTHING, as_list=self.as_list)
        return with_system(self.template, body)

    def bare(self) -> tuple[Message, ...]:
        """The prompt without text."""
        return self._messages("")

    def judge(self, part: Chunk, answer: str, *, ended: bool) -> Judged:
        said = answers.tidy(answer)
        if self.as_list:
            listed, whole = listed_in(answer)
            found = answers.Support(part.text).borne_out(items("\n".join(" ".join(one.split()) for one in listed)))
            return Judged(tuple(found), "the answer was no list" if ended and not whole else "")
        if says_nothing(said):
            return Judged(())
        instruction = "\n".join(message.content for message in self.bare())
        return Judged((said,), answers.problem(said, instruction, part.text))


class _Read(msgspec.Struct, frozen=True):
    """What the parts of all documents said to one question."""

    findings: list[Finding]
    warnings: list[str]
    """One for each reason why a part could not be read, with its places."""


async def answer_from_parts(work: Work, questions: Sequence[str]) -> list[Answered]:
    """One answer for each question. A part is read for all of them in a row, so its tokens are processed once.

    Raises DoesNotFit when the context has no room for a part; the server's errors.
    """
    started = time.perf_counter()
    runtime = work.runtime
    template = await asyncio.to_thread(load_template, "ask-map", runtime.paths.prompts)
    tasks = _tasks(work, template, questions)
    frames = [len((await runtime.assembler.assemble(task.bare())).ids) for task in tasks]
    wanted = _SMALL_MODELS_PART if is_small(runtime) and any(task.as_list for task in tasks) else 0
    size = await part_size(runtime, max(frames), max(task.reply for task in tasks), wanted)
    callers = [Caller(runtime, endless=endless) if task.as_list else Caller(runtime) for task in tasks]
    read = [_Read([], []) for _ in tasks]
    journal = Journal(runtime)
    for owner, document in enumerate(work.documents):
        await _read(work, callers, journal, tasks, owner, document, size, read)
    return [
        Answered(await _result(work, caller, journal, question, task, found, started), complete=not found.warnings)
        for question, task, caller, found in zip(questions, tasks, callers, read, strict=True)
    ]


def _tasks(work: Work, template: Template, questions: Sequence[str]) -> list[_AskTask]:
    room = max(_LEAST_REPLY, min(_MOST_REPLY, work.runtime.n_ctx // _SHARE_OF_CONTEXT))
    return [
        _AskTask(
            template=template,
            question=question.strip(),
            as_list=wants_list(question),
            sampling=_sampling(work, template, as_list=wants_list(question)),
            reply=min(room, work.options.max_tokens or room),
        )
        for question in questions
    ]


def _sampling(work: Work, template: Template, *, as_list: bool) -> Sampling:
    """A list is asked for as JSON: small models keep to it, and nothing has to be guessed of lines and marks."""
    sampling = sampling_of(template, work.temperature)
    return msgspec.structs.replace(sampling, json_schema=_LIST) if as_list else sampling


async def _read(
    work: Work,
    callers: Sequence[Caller],
    journal: Journal,
    tasks: Sequence[_AskTask],
    owner: int,
    document: Document,
    size: int,
    into: Sequence[_Read],
) -> None:
    """Ask every part of one document."""
    chunks = await chunk_document(document, size, work.runtime.counter.count_many)
    ledgers = [Ledger(len(document.text)) for _ in tasks]
    reader = PartReader(callers, document, tasks, journal, ledgers, work.emit)
    reused = await reader.look_up(chunks)
    work.emit(
        PlanMade(
            strategy="map-reduce",
            why=f"Every part of {document.name} is asked.",
            chunks=len(chunks),
            tokens=sum(chunk.tokens for chunk in chunks),
            levels=1,
            reserve=work.reserve,
            reused=reused,
        )
    )
    for chunk, by_task in zip(chunks, await reader.read(chunks), strict=True):
        for found, outcomes in zip(into, by_task, strict=True):
            found.findings.extend(_findings(owner, document, chunk, outcomes))
    several = len(work.documents) > 1
    for found, ledger in zip(into, ledgers, strict=True):
        unread = failure_warnings(document, ledger.failures)
        found.warnings.extend(f"{document.name}: {warning}" if several else warning for warning in unread)


def _findings(owner: int, document: Document, chunk: Chunk, outcomes: Sequence[Outcome]) -> list[Finding]:
    places = []
    for outcome in outcomes:
        start, end = chunk.start + outcome.piece.start, chunk.start + outcome.piece.end
        for note in outcome.piece.notes:
            place: Range = narrowed(document, (start, end), note)
            places.append(Finding(note, ((owner, place),)))
    return places


def narrowed(document: Document, place: Range, said: str) -> Range:
    """Where in `place` the words `said` stand one after the other; `place` when they do not."""
    start, end = place
    at = document.text.lower().find(said.lower(), start, end) if len(said) > 1 else -1
    return (at, at + len(said)) if at >= 0 else place


async def _result(
    work: Work, caller: Caller, journal: Journal, question: str, task: _AskTask, read: _Read, started: float
) -> AskResult:
    warnings = list(read.warnings)
    cite = _Citer(work.documents)
    if not read.findings:
        text = NO_ANSWER
        used: tuple[Place, ...] = ()
    elif task.as_list:
        things = merged([Item(finding.text, finding.places) for finding in read.findings])
        text = "\n".join(f"- {item.text}{cite.brackets(item.places)}" for item in things)
        used = tuple(place for item in things for place in item.places)
    else:
        combined = await combine(work, caller, journal, question, read.findings)
        warnings += combined.warnings
        used = combined.places
        text = f"{combined.text}\n\n{cite.brackets(used).strip()}".rstrip()
        if combined.apart:
            text = "\n".join(f"- {finding.text}{cite.brackets(finding.places)}" for finding in read.findings)
    if journal.trouble:
        warnings.append(f"This run could not be resumed: {journal.trouble}")
    first = time.perf_counter()
    return AskResult(
        answer=text,
        strategy="map-reduce",
        prompt_tokens=caller.prompt_tokens,
        cached_tokens=caller.timings.cache_n,
        restored_tokens=0,
        completion_tokens=caller.completion_tokens,
        ttft_s=round(first - started, 4),
        tokens_per_second=0.0,
        warnings=work.warnings(*warnings),
        question=question,
        citations=cite.citations(used),
    )


class _Citer:
    def __init__(self, documents: Sequence[Document]) -> None:
        self._documents = documents
        self._places = [Places(document) for document in documents]

    def brackets(self, places: Sequence[Place]) -> str:
        """` [pp. 3, 12]`, with the documents' names where there are several; empty when there is nothing to cite."""
        cited = []
        for owner, ranges in self._by_document(places).items():
            words = self._places[owner].cite(ranges)
            name = self._documents[owner].name if len(self._documents) > 1 else ""
            cited.append(f"{name} {words}".strip())
        joined = "; ".join(part for part in cited if part)
        return f" [{joined}]" if joined else ""

    def citations(self, places: Sequence[Place]) -> tuple[Citation, ...]:
        return tuple(
            citation
            for owner, ranges in self._by_document(places).items()
            for citation in citations(self._documents[owner], self._places[owner], ranges)
        )

    @staticmethod
    def _by_document(places: Sequence[Place]) -> dict[int, list[Range]]:
        found: dict[int, list[Range]] = {}
        for owner, place in sorted(set(places)):
            found.setdefault(owner, []).append(place)
        return found
