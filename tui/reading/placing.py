"""The summary's statements with their places, attached by the program from the notes and sentences they came from."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tui.documents.model import Document
from tui.documents.places import Places, Range
from tui.reading.citing import citations
from tui.reading.content import Claim, measure
from tui.reading.notes import Sheet, notes_of, parents_of
from tui.reading.results import Content, Statement
from tui.reading.sentencing import merged
from tui.reading.statements import Said, pieces_of, written
from tui.reading.tracing import Sources, containment

_CODE = frozenset({"code", "tree", "notebook"})
_REPEATS = 0.6


class Placed(msgspec.Struct, frozen=True, kw_only=True):
    """A summary with places."""

    text: str
    statements: tuple[Statement, ...]
    content: Content


def placed(document: Document, summary: str, sheets: Sequence[Sheet] | None) -> Placed:
    """`summary` with the places of its statements in brackets, and what words tell of each of them.

    `sheets` are the notes that stood in its prompt, in their order; None when the document itself did. Takes time in
    proportion to the document; call it off the event loop.
    """
    pieces = pieces_of(summary, code=document.kind in _CODE)
    said = [piece.said for piece in pieces if piece.said is not None]
    traced = _from_document(document, said) if sheets is None else _from_notes(document, said, sheets)
    measured = measure(document, [Claim(text=one.text, ranges=own) for one, (own, _) in zip(said, traced, strict=True)])
    places = Places(document)
    statements = []
    for one, (own, repeats), verdict in zip(said, traced, measured.verdicts, strict=True):
        supported = verdict.supported
        if supported and not own:
            supported = False  # its words are somewhere, but no place can be named
        elif supported is False and repeats:
            supported = None  # it says what a note says, in other words than the document
        statements.append(
            Statement(
                text=one.text,
                cite=places.cite(own),
                citations=citations(document, places, own),
                supported=supported,
                strange=verdict.strange,
            )
        )
    content = msgspec.structs.replace(
        measured.content, unsupported=sum(statement.supported is False for statement in statements)
    )
    text = written(pieces, lambda index: statements[index].cite)
    return Placed(text=text, statements=tuple(statements), content=content)


_Traced = tuple[tuple[Range, ...], bool]
"""The places of a statement, and whether it repeats a note whose own words are not the document's."""


def _from_document(document: Document, said: Sequence[Said]) -> list[_Traced]:
    """The sentences of the document that bear each statement out."""
    sources = Sources(document.text)
    return [(_traced(sources, one.text), False) for one in said]


def _from_notes(document: Document, said: Sequence[Said], sheets: Sequence[Sheet]) -> list[_Traced]:
    """The places of the notes that each statement comes from, narrowed to the sentences that bear it out."""
    notes = notes_of(sheets)
    everywhere: Sources | None = None
    found: list[_Traced] = []
    for one in said:
        parents = parents_of(one.text, one.ids, notes)
        if parents:
            union = merged([own for parent in parents for own in parent.ranges])
            trace = Sources(document.text, union).trace(one.text)
            repeats = any(containment(one.text, parent.text) >= _REPEATS and not parent.narrowed for parent in parents)
            found.append((merged(trace.ranges), False) if trace.good else (union, repeats))
            continue
        if everywhere is None:
            everywhere = Sources(document.text, merged([own for note in notes for own in note.ranges]))
        found.append((_traced(everywhere, one.text), False))
    return found


def _traced(sources: Sources, statement: str) -> tuple[Range, ...]:
    trace = sources.trace(statement)
    return merged(trace.ranges) if trace.good or trace.anchored else ()
