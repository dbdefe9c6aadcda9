"""`longscroll summarize PATH…`"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec
import rich_click as click

from tui.cli.common import ReadWishes, Shared, paths_argument, with_reading, with_shared
from tui.cli.usage import Length, Temperature, Whole, Words
from tui.errors import UsageProblem
from tui.units import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui.cli.batch import Delivery
    from tui.cli.output import Out
    from tui.documents.inputs import Input
    from tui.reading.results import SummaryOptions

Format = Literal["md", "txt", "json"]

KEPT = "What was finished is kept. Run the same command to go on."
"""Told when a summary is interrupted: the journal holds every part that was read."""


class Where(msgspec.Struct, frozen=True, kw_only=True):
    """Where results go and how they look; empty where nothing was said."""

    form: Format | None = None
    out: str = ""
    """Folder of result files."""
    report: str = ""


@click.command("summarize")
@paths_argument
@click.option(
    "--strategy",
    type=click.Choice(["auto", "single", "map-reduce", "refine"]),
    default="auto",
    show_default=True,
    help="One pass; parts whose notes are merged; parts one after the other. `auto` chooses and says why.",
)
@click.option("--length", type=Length(), metavar="short|medium|long|N", help="Length; N is in words.")
@click.option("--max-tokens", type=Whole(0), default=0, metavar="N", help="Longest summary, in tokens.")
@click.option("--chunk-tokens", type=Whole(0), default=0, metavar="N", help="Longest part, in tokens.")
@click.option("--language", default="", metavar="NAME", help="Language of the summary.")
@click.option("--focus", default="", metavar="TEXT", help="What to pay attention to above all.")
@click.option("--temperature", type=Temperature(), metavar="T", help="Sampling temperature.")
@click.option("--prompt", type=Words(), metavar="NAME", help="Set of prompt templates to use.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["md", "txt", "json"]),
    help="Markdown with the figures, the summary alone, or the record.",
)
@click.option("--out", type=Words(), metavar="DIR", help="Write one file per document into this folder.")
@click.option("--report", type=Words(), metavar="FILE.json", help="Write all results with their ledgers.")
@click.option(
    "--dry-run", is_flag=True, help="Say what there is to do and how long it takes; the model is asked nothing."
)
@with_reading
@with_shared
def command(
    shared: Shared,
    /,
    *,
    paths: tuple[str, ...],
    reading: ReadWishes,
    form: Format | None,
    out: str | None,
    report: str | None,
    dry_run: bool,
    **wishes: object,
) -> int:
    """Summarize files and folders, read whole whatever their length.

    What is finished is kept: run the same command again after an interruption, and it goes on where it was.
    """
    from tui.cli.errors import run_async

    wishes |= {name: wishes[name] or "" for name in ("length", "prompt")}
    if form is not None and shared.json and not out and form != "json":
        raise UsageProblem("--json prints records, so --format has no effect.", "Leave one of them out, or give --out.")
    if dry_run:
        from tui.cli.dryrun import dry_run as foresee

        return run_async(lambda: foresee(shared, paths, reading, **wishes))
    where = Where(form=form, out=out or "", report=report or "")
    return run_async(lambda: summarize(shared, paths, reading, where, **wishes), kept=KEPT)


async def summarize(
    shared: Shared,
    paths: Sequence[str],
    reading: ReadWishes | None = None,
    where: Where | None = None,
    **wishes: object,
) -> int:
    """Summarize each input and print its result, or write it where `where` says. Returns the exit code."""
    from tui.cli.batch import Batch
    from tui.cli.opening import open_ground, open_inputs
    from tui.cli.output import Out
    from tui.reading.results import SummaryOptions

    options = msgspec.convert(wishes, SummaryOptions)
    await check_prompts(options)
    where = where or Where()
    told = Out(as_json=shared.json or (where.form == "json" and not where.out))
    async with open_ground(shared, told) as ground, open_inputs(ground, paths) as found:
        inputs = await asyncio.to_thread(_without_results, found, where, told)
        delivery = await asyncio.to_thread(_delivery, options, inputs, where)
        batch = Batch(ground, options, reading or ReadWishes(), inputs, delivery)
        try:
            await batch.run()
        finally:
            await batch.close()
    return batch.exit_code


async def check_prompts(options: SummaryOptions) -> None:
    """Before anything is loaded. Raises UsageProblem when there is no such set of templates, or one is wrong."""
    from tui.paths import get_paths
    from tui.reading.prompts import load_summary_prompts

    await asyncio.to_thread(load_summary_prompts, get_paths().prompts, options)


def _without_results(inputs: Sequence[Input], where: Where, told: Out) -> tuple[Input, ...]:
    """The inputs but for what earlier runs have written where this one writes: result files, and the report."""
    from tui.cli.files import own_result, without_target
    from tui.cli.report import is_report

    kept = list(inputs)
    if where.out:
        kept = [item for item in kept if item.problem is not None or not own_result(item, Path(where.out))]
        if len(kept) < len(inputs):
            told.note(
                f"{plural(len(inputs) - len(kept), 'summary', 'summaries')} of earlier runs in {where.out} left out."
            )
        if not kept:
            raise UsageProblem(f"All that is named are summaries of earlier runs in {where.out}.", "Name documents.")
    if where.report:
        kept = without_target(kept, Path(where.report), "--report", is_report)
        if not kept:
            raise UsageProblem(f"All that is named is {where.report}, a report of longscroll's.", "Name documents.")
    return tuple(kept)


def _delivery(options: SummaryOptions, inputs: Sequence[Input], where: Where) -> Delivery:
    """Where results go, proven to be there before any work is done."""
    from tui.cli.batch import Delivery
    from tui.cli.files import check_file, prepare_folder, result_names
    from tui.cli.report import Report

    folder = Path(where.out) if where.out else None
    if folder is not None:
        prepare_folder(folder, "--out")
    if where.report:
        check_file(Path(where.report), "--report")
    return Delivery(
        form=where.form,
        folder=folder,
        names=tuple(result_names(inputs, where.form or "md")) if folder is not None else (),
        report=Report(Path(where.report), options, len(inputs)) if where.report else None,
    )
