"""A summary run to its end, and what a listener has seen of it."""

from __future__ import annotations

from tests.reading.scripted import ScriptedRuntime
from tui.documents.model import Document
from tui.reading.events import Finished, ReadingEvent, SummaryDelta, SummaryReplaced, SummaryRestarted
from tui.reading.results import SummaryOptions
from tui.reading.summarize import summarize


async def run(
    runtime: ScriptedRuntime, document: Document, options: SummaryOptions | None = None
) -> tuple[Finished, list[ReadingEvent]]:
    events = [event async for event in summarize(runtime.runtime, document, options or SummaryOptions())]
    last = events[-1]
    assert isinstance(last, Finished)
    edge = 0
    for entry in last.ledger:
        assert entry.start == edge, "the ledger tiles the document"
        edge = entry.end
    assert edge == len(document.text)
    return last, events


def streamed(events: list[ReadingEvent]) -> str:
    """The summary as a listener has it on the screen."""
    text = ""
    for event in events:
        if isinstance(event, SummaryDelta):
            text += event.text
        elif isinstance(event, SummaryRestarted):
            text = ""
        elif isinstance(event, SummaryReplaced):
            text = event.text
    return text
