"""Structured records from every part of a document: asked for in a JSON Schema, checked, placed, merged."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from tui.context.prompt import Prompt
from tui.documents.chunker import chunk_document
from tui.documents.model import Chunk, Document
from tui.documents.places import Places
from tui.errors import InputProblem, UsageProblem
from tui.reading.calls import Caller
from tui.reading.citing import citations
from tui.reading.events import Extracted, ExtractEvent, PlanMade
from tui.reading.extract_evidence import Evidence
from tui.reading.extract_merge import Found, is_empty, merge
from tui.reading.extract_schema import RecordSchema
from tui.reading.flow import events_of
from tui.reading.journal import Journal
from tui.reading.json_lists import endless, records_in
from tui.reading.ledger import Ledger, failure_warnings, unfinished
from tui.reading.partwise import Judged, Outcome, PartReader, part_size
from tui.reading.plan import is_small
from tui.reading.prompts import sampling_of, with_system
from tui.reading.results import ExtractedRecord, ExtractOptions, ExtractResult
from tui.server.errors import ServerAnswer
from tui.server.types import Message, Sampling
from tui.templates import Template, load_template
from tui.text import one_line
from tui.units import plural

if TYPE_CHECKING:
    from tui.context.runtime import Runtime

_DEFAULTS = ExtractOptions()
_LARGEST_PART, _SMALL_MODELS_PART = 2048, 240
"""Tokens. Many records take many tokens, and small models lose most of a long part."""
_SHARE_FOR_TEXT = 0.4
_LEAST_REPLY = 512


class _Task(msgspec.Struct, frozen=True, kw_only=True):
    """Records from every part."""

    template: Template
    schema: RecordSchema
    instruction: str
    sampling: Sampling
    reply: int
    kind: str = "extract"

    def messages(self, part: Chunk) -> tuple[Message, ...]:
        return self._messages((part.context + part.text).strip("\n").rstrip())

    def _messages(self, text: str) -> tuple[Message, ...]:
        body = self.template.render(text=text, instruction=self.instruction, fields=self.schema.fields)
        return with_system(self.template, body)

    def bare(self) -> tuple[Message, ...]:
        """The prompt without text."""
        return self._messages("")

    def judge(self, part: Chunk, answer: str, *, ended: bool) -> Judged:
        records, whole = records_in(answer)
        good = [record for record in records if not self.schema.problem(record)]
        notes = tuple(dict.fromkeys(json.dumps(record, ensure_ascii=False) for record in good if not is_empty(record)))
        if ended and not whole:
            return Judged(notes, "the answer was no JSON list")
        wrong = next((problem for record in records if (problem := self.schema.problem(record))), "")
        return Judged(notes, f"a record was not as the schema wants it ({wrong})" if wrong else "")


def extract_records(
    runtime: Runtime, document: Document, schema: RecordSchema, options: ExtractOptions = _DEFAULTS
) -> AsyncGenerator[ExtractEvent, None]:
    """Extract the records of one document; the last event is Extracted.

    Raises UsageProblem for a schema that the server's grammar cannot express and for a key that is no field;
    InputProblem for a document without text; DoesNotFit when the context has no room for a part; the server's errors.
    """

    async def work(emit: Callable[[ExtractEvent], None]) -> None:
        await _Extraction(runtime, document, schema, options, emit).work()

    return events_of(work)


class _Extraction:
    def __init__(
        self,
        runtime: Runtime,
        document: Document,
        schema: RecordSchema,
        options: ExtractOptions,
        emit: Callable[[ExtractEvent], None],
    ) -> None:
        self._runtime = runtime
        self._document = document
        self._schema = schema
        self._options = options
        self._emit = emit
        self._caller = Caller(runtime, endless=endless)
        self._key = options.key or tuple(field.name for field in schema.fields[:1])

    async def work(self) -> None:
        """The whole way to Extracted."""
        started = time.perf_counter()
        document = self._document
        self._schema.check_key(self._options.key)
        if not document.text.strip():
            raise InputProblem(f"{document.path} holds no text to extract from.", "Name a file with text.")
        task, size = await self._task()
        chunks = await chunk_document(document, size, self._runtime.counter.count_many)
        ledger = Ledger(len(document.text))
        journal = Journal(self._runtime)
        reader = PartReader([self._caller], document, [task], journal, [ledger], self._emit)
        reused = await reader.look_up(chunks)
        self._emit(
            PlanMade(
                strategy="map-reduce",
                why="Every part is asked for its records.",
                chunks=len(chunks),
                tokens=sum(chunk.tokens for chunk in chunks),
                levels=0,
                reserve=task.reply,
                reused=reused,
            )
        )
        if reused < len(chunks):
            await self._check_schema(task)
        outcomes = [outcomes for [outcomes] in await reader.read(chunks)]
        found = await asyncio.to_thread(self._found, chunks, outcomes)
        merged = await asyncio.to_thread(merge, found, self._key)
        warnings = [*document.warnings, *failure_warnings(document, ledger.failures)]
        if journal.trouble:
            warnings.append(f"This run could not be resumed: {journal.trouble}")
        doubted = sum(bool(one.unsupported) for one in merged)
        if doubted:
            warnings.append(
                f"{plural(doubted, 'record')} of {len(merged):,} hold values that do not stand in the text; "
                "their fields are named in `unsupported`."
            )
        places = Places(document)
        self._emit(
            Extracted(
                result=ExtractResult(
                    path=document.path,
                    records=tuple(self._record(one, places) for one in merged),
                    found=len(found),
                    chunks=len(chunks),
                    reused_chunks=reused,
                    coverage=ledger.coverage(),
                    prompt_tokens=self._caller.prompt_tokens,
                    completion_tokens=self._caller.completion_tokens,
                    seconds=round(time.perf_counter() - started, 3),
                    warnings=tuple(dict.fromkeys(warnings)),
                ),
                unfinished=unfinished(ledger),
            )
        )

    async def _task(self) -> tuple[_Task, int]:
        """What every part is asked, and the size of a part in tokens."""
        runtime, options = self._runtime, self._options
        template = await asyncio.to_thread(load_template, "extract", runtime.paths.prompts)
        wish = options.temperature if options.temperature is not None else runtime.settings.temperature
        sampling = msgspec.structs.replace(sampling_of(template, wish), json_schema=self._schema.of_answer())
        instruction = options.instruction.strip() or self._schema.description or self._schema.title
        task = _Task(
            template=template, schema=self._schema, instruction=instruction, sampling=sampling, reply=_LEAST_REPLY
        )
        frame = len((await runtime.assembler.assemble(task.bare())).ids)
        free = max(0, runtime.n_ctx - frame)
        most = _SMALL_MODELS_PART if is_small(runtime) else _LARGEST_PART
        wanted = options.chunk_tokens or min(most, int(free * _SHARE_FOR_TEXT))
        reply = min(max(_LEAST_REPLY, 2 * wanted), free // 2)
        size = await part_size(runtime, frame, reply, wanted)
        return msgspec.structs.replace(task, reply=reply), size

    async def _check_schema(self, task: _Task) -> None:
        """Let the server make its grammar of the schema once, before a part is read."""
        ids = (await self._runtime.assembler.assemble(task.bare())).ids[:8]
        try:
            await Caller(self._runtime).call(
                Prompt(ids=ids, text="", messages=(), as_ids=True), max_tokens=1, sampling=task.sampling, id_slot=0
            )
        except ServerAnswer as error:
            if error.code != 400:
                raise
            raise UsageProblem(
                f"llama-server cannot hold answers to this schema: {one_line(error.message, 300)}",
                "Use simpler types; a pattern must begin with ^ and end with $.",
            ) from error

    def _found(self, chunks: Sequence[Chunk], outcomes: Sequence[Sequence[Outcome]]) -> list[Found]:
        """Every record with its place, in the document's order."""
        found: list[Found] = []
        for chunk, pieces in zip(chunks, outcomes, strict=True):
            for outcome in pieces:
                piece = outcome.piece
                if not piece.notes:
                    continue
                beside = f"{chunk.heading}\n{chunk.context}"
                evidence = Evidence(self._document, chunk.start + piece.start, chunk.start + piece.end, beside)
                for note in piece.notes:
                    record = json.loads(note)
                    place, sure = evidence.place(record, self._schema, self._key)
                    found.append(
                        Found(
                            record=record,
                            ranges=(place,),
                            unsupported=evidence.unsupported(record, self._schema),
                            sure=sure,
                        )
                    )
        return found

    def _record(self, one: Found, places: Places) -> ExtractedRecord:
        ranges = sorted(one.ranges)
        cited = citations(self._document, places, ranges)
        paged = [citation for citation in cited if citation.pages]
        first = cited[0] if cited else None
        return ExtractedRecord(
            record=one.record,
            path=first.path if first else self._document.path,
            pages=tuple(sorted({page for citation in paged for page in citation.pages})),
            lines=first.lines if first else None,
            heading=first.heading if first else "",
            cite=places.cite(ranges),
            unsupported=one.unsupported,
        )
