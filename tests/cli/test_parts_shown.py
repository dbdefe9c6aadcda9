"""Progress of parts that are asked for something: what is being done is what is said."""

from __future__ import annotations

import io

from tests.cli.test_progress import Clock
from tui.cli.output import Progress
from tui.cli.parts import PartsShown
from tui.reading.events import ChunkAgain, ChunkDone, ChunkProgress, ChunkStarted, ExtractEvent, PlanMade


def plan(chunks: int) -> PlanMade:
    return PlanMade(strategy="map-reduce", why="", chunks=chunks, tokens=163, levels=0, reserve=512, reused=0)


def progress(index: int, processed: int, generated: int) -> ChunkProgress:
    return ChunkProgress(index=index, processed=processed, total=200, generated=generated)


def done(index: int, count: int, total: int) -> ChunkDone:
    return ChunkDone(index=index, state="read", reused=False, done=count, total=total)


def shown(clock: Clock, *events: ExtractEvent | float) -> list[str]:
    stream = io.StringIO()
    parts = PartsShown(Progress(stream), "Writing records", clock)
    for event in events:
        if isinstance(event, float):
            clock.now += event
        else:
            parts.show(event)
    return stream.getvalue().splitlines()


def test_writing_is_told_from_reading_and_asking_again_has_its_reason() -> None:
    lines = shown(
        Clock(), plan(1), ChunkStarted(0, 0, None), 4.0, progress(0, 200, 0), 1.0, progress(0, 200, 1), 5.0,
        progress(0, 200, 101), ChunkAgain(index=0, reason="a record was not as the schema wants it"), 3.0,
        progress(0, 200, 1), done(0, 1, 1),
    )  # fmt: skip
    assert lines[0] == "Reading 163 tokens in 1 part 0%"
    assert lines[1].startswith("Writing records 50%, 1 tokens written")
    assert lines[2].startswith("Asking again: a record was not as the schema wants it 50%")
    assert lines[3].startswith("Writing records 50%, 3 tokens written")
    assert lines[4].startswith("Read part 1 of 1 100%")
    assert len(lines) == 5
    assert not any("tokens/s" in line for line in lines if "Read part" in line), "no speed of two different things"


def test_short_parts_make_one_line_each() -> None:
    events: list[ExtractEvent | float] = [plan(4), 3.0]
    for index in range(4):
        events += [ChunkStarted(index, 0, None), 0.2, progress(index, 200, 1), 0.5, done(index, index + 1, 4)]
    lines = shown(Clock(), *events)
    assert [line.partition(",")[0] for line in lines] == [
        "Reading 163 tokens in 4 parts 0%",
        "Writing records 12%",
        *(f"Read part {count} of 4 {count * 25}%" for count in range(1, 5)),
    ]
