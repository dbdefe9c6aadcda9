"""`summarize --dry-run`: what there is to do, and how long it will take."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from tui.cli.common import ReadWishes, Shared
from tui.cli.output import Out, columns
from tui.errors import ExitCode, LongscrollError, NoModel, StorageProblem
from tui.text import one_line
from tui.units import duration, plural, size
from tui.units import tokens as in_words

if TYPE_CHECKING:
    from tui.cli.opening import Ground
    from tui.context.runtime import Runtime
    from tui.documents.inputs import Input
    from tui.reading.foreseeing import Foreseen
    from tui.reading.results import SummaryOptions

_ENTRY, _PER_TOKEN = 600, 5
"""Bytes in the journal: of an entry with its key, and of each token that the model wrote, about."""
_HEAD = ("file", "strategy", "tokens", "parts", "done", "levels", "prompts", "answers", "time", "disk")


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """One document that would be summarized: the object that `--dry-run --json` prints."""

    path: str
    strategy: str | None
    why: str
    pages: int
    characters: int
    tokens: int
    exact: bool
    """Whether `tokens` is exact. `levels` is an upper bound; what follows `reused_chunks` are estimates."""
    chunks: int
    levels: int
    reused_chunks: int
    prompt_tokens: int
    completion_tokens: int
    seconds: float | None
    """At the speed measured in earlier runs with this model; None where there was none."""
    disk_bytes: int
    """For the journal. No slot files are written."""
    warnings: tuple[str, ...]
    error: str | None


async def dry_run(shared: Shared, paths: Sequence[str], reading: ReadWishes, **wishes: object) -> int:
    """Print the plan of every input. Returns the exit code. The engine is started, but the model is asked nothing."""
    from tui.cli.opening import open_ground, open_inputs
    from tui.cli.summarize import check_prompts
    from tui.reading.results import SummaryOptions

    options = msgspec.convert(wishes, SummaryOptions)
    await check_prompts(options)
    out = Out(as_json=shared.json)
    async with open_ground(shared, out) as ground, open_inputs(ground, paths) as inputs:
        run = _DryRun(ground, options, reading, several=len(inputs) > 1)
        try:
            for item in inputs:
                await run.take(item)
            run.say_all()
        finally:
            await run.close()
    return run.exit_code


class _DryRun:
    def __init__(self, ground: Ground, options: SummaryOptions, wishes: ReadWishes, *, several: bool) -> None:
        self._ground = ground
        self._options = options
        self._wishes = wishes
        self._several = several
        self._engine = contextlib.AsyncExitStack()
        self._runtime: Runtime | None = None
        self._plans: list[Plan] = []
        self._codes: set[int] = set()

    @property
    def exit_code(self) -> int:
        return next(iter(self._codes)) if len(self._codes) == 1 else ExitCode.SOME_FAILED

    async def close(self) -> None:
        await self._engine.aclose()

    async def take(self, item: Input) -> None:
        """Read a document and foresee its summary."""
        from tui.context.diagnosed import diagnosed

        out = self._ground.out
        try:
            plan = await self._foreseen(item)
            self._codes.add(ExitCode.OK)
        except LongscrollError as error:
            if self._runtime is None and isinstance(error, NoModel | StorageProblem):
                raise
            told = error if self._runtime is None else await diagnosed(self._runtime, error)
            if isinstance(told, NoModel):
                raise told from error
            out.error(told)
            self._codes.add(told.exit_code)
            plan = _refused(item.shown, str(told))
        if out.as_json:
            out.emit(plan)
        self._plans.append(msgspec.structs.replace(plan, warnings=()))

    async def _foreseen(self, item: Input) -> Plan:
        from tui.cli.opening import read
        from tui.cli.slots import open_reading_engine
        from tui.reading.foreseeing import foresee

        document = await read(self._ground, item, self._wishes)
        if self._runtime is None:
            engine = open_reading_engine(self._ground, self._options, document, several=self._several)
            self._runtime = await self._engine.enter_async_context(engine)
            for warning in self._runtime.warnings:
                self._ground.out.warn(warning)
        with self._ground.out.working() as progress:
            progress.update(f"Counting {document.name}")
            found = await foresee(self._runtime, document, self._options)
        return Plan(
            path=item.shown,
            strategy=found.strategy,
            why=found.why,
            pages=document.pages,
            characters=len(document.text),
            tokens=found.tokens,
            exact=self._runtime.counter.exact,
            chunks=found.chunks,
            levels=found.levels,
            reused_chunks=found.reused,
            prompt_tokens=found.prompt_tokens,
            completion_tokens=found.completion_tokens,
            seconds=found.seconds,
            disk_bytes=_disk(found),
            warnings=document.warnings,
            error=None,
        )

    def say_all(self) -> None:
        """The table, and what it comes to."""
        out = self._ground.out
        if out.as_json:
            return
        if not self._several:
            for plan in self._plans:
                if plan.why:
                    out.line(f"{one_line(plan.path)}: {plan.why}\n")
        columns(out, [_HEAD, *(_cells(plan) for plan in self._plans)], right=range(2, len(_HEAD)))
        planned = [plan for plan in self._plans if plan.error is None]
        seconds = [plan.seconds for plan in planned]
        known = [value for value in seconds if value is not None]
        takes = (
            f"≈{duration(sum(known))}" if len(known) == len(planned) else "not known yet: nothing was measured so far"
        )
        disk = sum(plan.disk_bytes for plan in planned)
        slots = self._runtime.parallel if self._runtime is not None else 0
        out.line(
            f"\n{plural(len(self._plans), 'file')}, {sum(plan.tokens for plan in planned):,} tokens in "
            f"{plural(sum(plan.chunks for plan in planned), 'part')} on {plural(slots, 'slot')}. Time: {takes}. "
            f"Disk: ≈{size(disk)} for the journal, none for slot files; {size(_free(self._ground))} are free."
        )


def _refused(path: str, error: str) -> Plan:
    return Plan(
        path=path,
        strategy=None,
        why="",
        pages=0,
        characters=0,
        tokens=0,
        exact=False,
        chunks=0,
        levels=0,
        reused_chunks=0,
        prompt_tokens=0,
        completion_tokens=0,
        seconds=None,
        disk_bytes=0,
        warnings=(),
        error=error,
    )


def _disk(found: Foreseen) -> int:
    """Bytes that the journal grows by: an entry for each call that is still to be made, with what the model writes."""
    left = max(0, found.chunks - found.reused)
    calls = left if found.levels == 0 else 2 * left + 1
    return calls * _ENTRY + found.completion_tokens * _PER_TOKEN


def _free(ground: Ground) -> int:
    import shutil

    return shutil.disk_usage(ground.paths.database.parent).free


def _cells(plan: Plan) -> tuple[str, ...]:
    if plan.error is not None:
        return (plan.path, "cannot be read", *("-" for _ in _HEAD[2:]))
    return (
        plan.path,
        plan.strategy or "",
        in_words(plan.tokens, exact=plan.exact),
        f"{plan.chunks:,}",
        f"{plan.reused_chunks:,}",
        f"≤{plan.levels}" if plan.levels else "0",
        in_words(plan.prompt_tokens, exact=False),
        in_words(plan.completion_tokens, exact=False),
        "?" if plan.seconds is None else f"≈{duration(plan.seconds)}",
        f"≈{size(plan.disk_bytes)}",
    )
