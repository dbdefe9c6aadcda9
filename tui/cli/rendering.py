"""A summary as a file or on a page: Markdown with its figures, plain text, the record itself."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tui.cli.output import as_json
from tui.reading.statements import with_cite
from tui.text import one_line, well_formed
from tui.units import duration, plural

if TYPE_CHECKING:
    from tui.cli.summarize import Format
    from tui.reading.results import SummaryResult


_UNFINISHED = "**Not everything was read, or the summary has no proper end.** The warnings below say what and why."
_NO_SUPPORT = "[?]"
"""Stands behind a statement that no place of the document bears out."""
_LISTED, _FIRST_WORDS = 5, 8
_MARKS = re.compile(r"([\\`*_\[\]<>#])")


def rendered(result: SummaryResult, form: Format, model: str) -> bytes:
    """The file of a result in UTF-8; `model` is the model's name."""
    if form == "json":
        return msgspec.json.format(as_json(result), indent=2) + b"\n"
    text = markdown(result, model) if form == "md" else f"{result.summary.strip()}\n"
    return well_formed(text).encode("utf-8")


def markdown(result: SummaryResult, model: str) -> str:
    """Title, summary, and a foot with the figures and the warnings."""
    parts = [f"# {_escaped(result.path)}"]
    if result.status != "done":
        parts.append(_UNFINISHED)
    parts += [marked(result).strip(), "---", f"Read {figures_of(result)}. Model: {_escaped(model)}."]
    if without := without_support(result):
        parts.append(f"{_escaped(without)} They are marked with {_escaped(_NO_SUPPORT)}.")
    if result.warnings:
        parts.append("\n".join(f"- {_escaped(warning)}" for warning in result.warnings))
    return "\n\n".join(part for part in parts if part) + "\n"


def _escaped(text: str) -> str:
    return _MARKS.sub(r"\\\1", one_line(text))


def figures_of(result: SummaryResult) -> str:
    """`12 pages, 9,000 tokens, in 21 parts, 100 % read, 8 of 9 sections covered, … , 40 s`."""
    parts = [
        "in one pass" if result.strategy == "single" else f"in {plural(result.chunks, 'part')}",
        f"{result.tokens:,} tokens",
        read_share(result),
    ]
    if result.pages:
        parts.insert(1, plural(result.pages, "page"))
    if result.reused_chunks:
        parts.insert(1, f"{result.reused_chunks} finished earlier")
    if result.content is not None:
        parts.append(f"{result.content.covered} of {plural(result.content.sections, 'section')} covered")
        if result.content.unsupported:
            parts.append(f"{plural(result.content.unsupported, 'statement')} without support")
        if unchecked := unchecked_of(result):
            parts.append(f"{plural(unchecked, 'statement')} could not be checked")
        if result.content.strange:
            what = plural(result.content.strange, "number or name", "numbers or names")
            parts.append(f"{what} not in {'its place' if result.content.strange == 1 else 'their places'}")
    if result.cut_off and result.strategy != "single":
        parts.append("summary cut off at its limit")
    parts.append(duration(result.seconds))
    return ", ".join(parts)


def read_share(result: SummaryResult) -> str:
    """`100 % read`; words where the ledger's figure alone would be misread."""
    if result.cut_off and result.strategy == "single":
        return "text processed, summary cut off at its limit"
    return f"{percent(result.coverage.fraction)} % read"


def unchecked_of(result: SummaryResult) -> int:
    """Statements of which words cannot tell, such as those in another language than the document."""
    return sum(statement.supported is None for statement in result.statements)


def without_support(result: SummaryResult) -> str:
    """`Without support: “The tower fell in …”; “…”; and 3 more.`; empty where there are none."""
    found = [statement.text for statement in result.statements if statement.supported is False]
    if not found:
        return ""
    listed = [f"“{_first_words(text)}”" for text in found[:_LISTED]]
    if len(found) > _LISTED:
        listed.append(f"and {len(found) - _LISTED} more")
    return f"Without support: {'; '.join(listed)}."


def _first_words(text: str) -> str:
    words = one_line(text).split()
    first = " ".join(words[:_FIRST_WORDS])
    short = first if len(first) <= 60 else first[:60].rstrip()
    return short.rstrip(".") if short == " ".join(words) else f"{short} …"


def marked(result: SummaryResult) -> str:
    """The summary with a mark behind each statement that has no support."""
    pieces: list[str] = []
    place = 0
    for statement in result.statements:
        written = with_cite(statement.text, statement.cite)
        found = result.summary.find(written, place)
        if found < 0:
            continue  # its line was tidied; the foot names it
        end = found + len(written)
        pieces.append(result.summary[place:end])
        if statement.supported is False:
            pieces.append(f" {_NO_SUPPORT}")
        place = end
    return "".join((*pieces, result.summary[place:]))


def percent(fraction: float) -> str:
    """Rounded down to a tenth, so that 100 stands for all of it only."""
    return f"{math.floor(fraction * 1000) / 10:g}"


def unfinished(path: Path) -> bool:
    """Whether the result in a file is one that was not finished; what cannot be told is taken for finished."""
    try:
        data = path.read_bytes()
    except OSError:
        return False
    if path.suffix == ".md":
        return f"\n{_UNFINISHED}\n".encode() in data
    if path.suffix == ".json":
        try:
            return msgspec.json.decode(data, type=_Status).status == "partial"
        except msgspec.MsgspecError:
            return False
    return False


class _Status(msgspec.Struct):
    status: str = ""
