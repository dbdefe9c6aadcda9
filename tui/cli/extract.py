"""`longscroll extract --schema FILE PATH…`"""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import rich_click as click

from tui.cli.common import ReadWishes, Shared, paths_argument, with_reading, with_shared
from tui.cli.usage import Temperature, Whole, Words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui.cli.opening import Ground
    from tui.context.runtime import Runtime
    from tui.documents.inputs import Input
    from tui.reading.extract_schema import RecordSchema
    from tui.reading.results import ExtractedRecord, ExtractOptions, ExtractResult

_SLOTS = 2
_PLACES = ("path", "pages", "lines", "heading", "cite", "unsupported")
"""Columns of a table behind the record's own."""
_FORMS: dict[str, Literal["jsonl", "csv"]] = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl"}
"""What the end of a file's name says of its form."""
_KEPT = "Parts that were read are kept: run it again, and it goes on where it was."


@click.command("extract")
@paths_argument
@click.option(
    "--schema",
    type=Words(),
    required=True,
    metavar="FILE",
    help="What a record looks like: a JSON Schema of an object, or a JSON map of fields with what they mean.",
)
@click.option(
    "--instruction",
    "--focus",
    "instruction",
    default="",
    metavar="TEXT",
    help="Which records are wanted, in words, such as “Every configuration parameter that is mentioned.”",
)
@click.option(
    "--key",
    multiple=True,
    type=Words(),
    metavar="FIELD",
    help="Field by which two records are about the same thing (the schema's first when not given); several together.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["jsonl", "csv"]),
    default=None,
    help="One JSON object a line, or a table. Else the end of --out's name decides (.csv, .jsonl, .json), else jsonl.",
)
@click.option("--out", default="", metavar="FILE", help="Write the records there, whole or not at all.")
@click.option("--chunk-tokens", type=Whole(0), default=0, metavar="N", help="Largest part in one call, in tokens.")
@click.option("--temperature", type=Temperature(), metavar="T", help="Sampling temperature.")
@with_reading
@with_shared
def command(
    shared: Shared,
    /,
    *,
    paths: tuple[str, ...],
    schema: str,
    form: Literal["jsonl", "csv"] | None,
    out: str,
    reading: ReadWishes,
    **wishes: object,
) -> int:
    """Extract structured records from documents, each with the place it stands at.

    Every part of every document is read; answers are held to the schema, checked, and the same thing found twice is one
    record with all its places. Fields whose value does not stand in the text are named in `unsupported`.
    What is finished is kept: run the same command again after an interruption, and it goes on where it was.
    """
    from tui.cli.errors import run_async
    from tui.errors import UsageProblem

    if shared.json and form == "csv":
        raise UsageProblem("--json prints JSON, and --format csv a table.", "Leave one of them out.")
    kind = _form(form, out, as_json=shared.json)
    return run_async(lambda: _extract(shared, paths, schema, kind, out, reading, **wishes), kept=_KEPT)


def _form(given: Literal["jsonl", "csv"] | None, place: str, *, as_json: bool) -> Literal["jsonl", "csv"]:
    """How records are written: as asked, else by the end of the file's name. Raises UsageProblem where both differ."""
    from tui.errors import UsageProblem

    suffix = Path(place).suffix.lower()
    named, asked = _FORMS.get(suffix), "jsonl" if as_json else given
    if named and asked and named != asked:
        option = "--json" if as_json else f"--format {given}"
        raise UsageProblem(
            f"{option} does not go with --out {place}, which ends like another form.",
            f"Leave the option out, or name a file that does not end with {suffix}.",
        )
    return given or named or "jsonl"


async def _extract(
    shared: Shared,
    paths: tuple[str, ...],
    schema: str,
    form: Literal["jsonl", "csv"],
    place: str,
    reading: ReadWishes,
    **wishes: object,
) -> int:
    import msgspec

    from tui.cli.files import check_file, write_whole
    from tui.cli.opening import open_ground, open_inputs
    from tui.cli.output import Out
    from tui.reading.results import ExtractOptions

    options = msgspec.convert(wishes, ExtractOptions)
    wanted = await asyncio.to_thread(_read_schema, schema)
    wanted.check_key(options.key)  # before a model is loaded
    if place:
        await asyncio.to_thread(check_file, Path(place), "--out")
    out = Out(as_json=shared.json)
    written = _Written(wanted, form)
    async with open_ground(shared, out) as ground, open_inputs(ground, paths) as found:
        inputs = await asyncio.to_thread(_without_earlier, found, place, schema) if place else found
        batch = _Batch(ground, wanted, options, reading)
        try:
            for item in inputs:
                for text in written.of(await batch.take(item)):
                    if not place:
                        out.write(text)
        finally:
            await batch.close()
    if place:
        await asyncio.to_thread(write_whole, Path(place), written.whole().encode("utf-8", "replace"), "--out")
        out.note(f"Wrote {place}.")
    return batch.exit_code


def _without_earlier(inputs: Sequence[Input], place: str, schema: str) -> Sequence[Input]:
    """The inputs without the records that an earlier run wrote to `place`."""
    import os

    from tui.cli.files import without_target
    from tui.errors import UsageProblem

    if os.path.realpath(os.path.expanduser(schema)) == os.path.realpath(place):
        raise UsageProblem(f"--out would replace the schema {schema}.", "Name another file with --out.")
    kept = without_target(inputs, Path(place), "--out", _are_records)
    if not kept:
        raise UsageProblem(f"All that is named is {place}, records of longscroll's.", "Name documents.")
    return kept


def _are_records(beginning: bytes) -> bool:
    first = beginning.partition(b"\n")[0]
    return not first or first.startswith(b'{"record":') or first.endswith(f",{','.join(_PLACES)}".encode())


def _read_schema(path: str) -> RecordSchema:
    from tui.errors import UsageProblem
    from tui.reading.extract_schema import parse_schema

    try:
        data = Path(path).expanduser().read_bytes()
    except OSError as error:
        raise UsageProblem(
            f"The schema {path} cannot be read ({error.strerror or error}).", "Name a JSON file with --schema."
        ) from error
    return parse_schema(data, path)


class _Batch:
    """One document after the other on one engine; a failure costs its own document."""

    def __init__(self, ground: Ground, schema: RecordSchema, options: ExtractOptions, reading: ReadWishes) -> None:
        self._ground = ground
        self._schema = schema
        self._options = options
        self._reading = reading
        self._engine = contextlib.AsyncExitStack()
        self._runtime: Runtime | None = None
        self._codes: set[int] = set()

    @property
    def exit_code(self) -> int:
        """0 when all is done; the failure's own code when every document failed alike; else 1."""
        from tui.errors import ExitCode

        return next(iter(self._codes)) if len(self._codes) == 1 else ExitCode.SOME_FAILED

    async def take(self, item: Input) -> tuple[ExtractedRecord, ...]:
        """Read one document and extract its records; what went wrong is told on stderr."""
        from tui.cli.opening import read
        from tui.context.diagnosed import diagnosed
        from tui.errors import ExitCode, LongscrollError, NoModel, StorageProblem, UsageProblem

        try:
            document = await read(self._ground, item, self._reading)
            if self._runtime is None:
                from tui.cli.opening import open_engine

                self._runtime = await self._engine.enter_async_context(open_engine(self._ground, parallel=_SLOTS))
        except LongscrollError as error:
            if isinstance(error, NoModel | StorageProblem):
                raise  # no engine for this document is none for the others
            self._fail(error)
            return ()
        try:
            result, unfinished = await self._records(self._runtime, document)
        except UsageProblem:
            raise  # the schema or the key, for all documents alike
        except LongscrollError as error:
            better = await diagnosed(self._runtime, error)
            self._fail(better)
            if isinstance(better, NoModel):
                await self.close()  # the server died: the next document gets a new one
            return ()
        self._tell(result, unfinished, told=document.warnings)
        self._codes.add(ExitCode.OK if result.coverage.fraction == 1.0 else ExitCode.SOME_FAILED)
        return result.records

    async def close(self) -> None:
        """Stop the engine."""
        self._runtime = None
        await self._engine.aclose()

    def _fail(self, error: Exception) -> None:
        from tui.errors import LongscrollError

        assert isinstance(error, LongscrollError)
        self._codes.add(error.exit_code)
        self._ground.out.error(error)

    async def _records(self, runtime: Runtime, document: object) -> tuple[ExtractResult, int]:
        """The records, and the number of characters to which the answer is not whole."""
        from tui.cli.parts import PartsShown
        from tui.documents.model import Document
        from tui.reading.events import Extracted
        from tui.reading.extract import extract_records

        assert isinstance(document, Document)
        last: Extracted | None = None
        with self._ground.out.working() as progress:
            shown = PartsShown(progress, "Writing records")
            events = extract_records(runtime, document, self._schema, self._options)
            async with contextlib.aclosing(events):
                async for event in events:
                    if isinstance(event, Extracted):
                        last = event
                    else:
                        shown.show(event)
        assert last is not None
        for warning in runtime.warnings:
            self._ground.out.warn(warning)
        return last.result, last.unfinished

    def _tell(self, result: ExtractResult, unfinished: int, told: tuple[str, ...]) -> None:

        from tui.units import duration, plural

        out = self._ground.out
        for warning in result.warnings:
            if warning not in told:
                out.warn(warning, about=result.path)
        total = result.coverage.characters_total
        joined = result.found - len(result.records)
        parts = [
            plural(len(result.records), "record"),
            *([f"{plural(joined, 'double')} joined"] if joined else []),
            f"from {plural(result.chunks, 'part')}",
            *([f"{result.reused_chunks} of them read earlier"] if result.reused_chunks else []),
            f"{_percent(result.coverage.characters_read + unfinished, total)} % read",
            *([f"but for {_percent(unfinished, total)} % not all records taken"] if unfinished else []),
            duration(result.seconds),
        ]
        out.note(f"{result.path}: {', '.join(parts)}.")


class _Written:
    """Records as text: JSON lines, or CSV whose first line names the columns."""

    def __init__(self, schema: RecordSchema, form: Literal["jsonl", "csv"]) -> None:
        self._names = [field.name for field in schema.fields]
        self._form = form
        self._texts: list[str] = []

    def of(self, records: tuple[ExtractedRecord, ...]) -> list[str]:
        """The text of further records, in pieces; kept for `whole` too."""
        import msgspec

        if self._form == "jsonl":
            new = [msgspec.json.encode(record).decode() + "\n" for record in records]
        else:
            head = [self._row([*self._names, *_PLACES])]
            new = [*([] if self._texts else head), *(self._row(self._cells(record)) for record in records)]
        self._texts += new
        return new

    def whole(self) -> str:
        """All of it."""
        return "".join(self._texts)

    def _cells(self, one: ExtractedRecord) -> list[str]:
        from tui.documents.places import runs

        return [
            *(_cell(one.record.get(name)) for name in self._names),
            one.path,
            runs(one.pages),
            "-".join(str(line) for line in dict.fromkeys(one.lines or ())),
            one.heading,
            one.cite,
            ", ".join(one.unsupported),
        ]

    @staticmethod
    def _row(cells: list[str]) -> str:
        import csv
        import io

        buffer = io.StringIO()
        csv.writer(buffer, lineterminator="\n").writerow(cells)
        return buffer.getvalue()


def _percent(some: int, total: int) -> str:
    """Rounded down, so that only all of it is 100."""
    return f"{some * 1000 // max(1, total) / 10:g}"


def _cell(value: object) -> str:
    import json

    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(inner, str | int | float) for inner in value):
        return "; ".join(_cell(inner) for inner in value)
    return json.dumps(value, ensure_ascii=False)
