"""Progress on a terminal never stands still; speed and time left are those of the work."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from tui.cli.bar import Bar
from tui.cli.output import Progress
from tui.cli.pace import ReadingShown, Written, figures, prompt_figures
from tui.reading.events import ChunkDone, ChunkProgress, ChunkStarted, LevelDone, PlanMade, SummaryDelta
from tui.server.types import PromptProgress


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def frame(bar: Bar) -> str:
    """What the bar would draw now."""
    assert bar._rich is not None
    file = io.StringIO()
    Console(file=file, width=120).print(bar._rich.get_renderable())
    return file.getvalue().strip()


def test_a_full_step_does_not_stop_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    clock = Clock()
    bar = Bar(Terminal(), clock)
    bar.begin()
    bar.update("Read part 9 of 9", 9, 9, "")
    full = frame(bar)
    assert "100%" in full
    clock.now += 5
    assert "5.0 s so far" in frame(bar)
    assert not frame(bar).startswith("Read"), "the spinner is gone"
    # The next step does not know its end: no share is claimed, and the time goes on.
    bar.update("Writing the summary", 0, None, "12 tokens/s")
    clock.now += 60
    written = frame(bar)
    assert "Writing the summary" in written
    assert "%" not in written
    assert "12 tokens/s, 1 min 05 s so far" in written
    bar.update("Writing the summary", 0, None, "12 tokens/s, ≈9.0 s left")
    assert "so far" not in frame(bar), "the time left stands alone"
    assert "Read part" not in written
    assert bar._rich is not None
    assert not any(task.finished for task in bar._rich.tasks)
    bar.close()
    bar.update("Later", 1, 2, "")
    assert "50%" in frame(bar)
    assert "1 min 05 s" in frame(bar)
    bar.begin()
    bar.close()


def test_a_step_with_an_end_after_one_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    bar = Bar(Terminal(), Clock())
    bar.update("Same words", 0, None, "")
    bar.update("Same words", 1, 4, "")
    assert "25%" in frame(bar)
    bar.update("A reason of many words, " * 10, 0, None, "10 tokens/s")
    assert "10 tokens/s" in frame(bar)
    bar.close()


def part_done(index: int, done: int, total: int, *, reused: bool) -> ChunkDone:
    return ChunkDone(index=index, state="read", reused=reused, done=done, total=total)


def plan(chunks: int, reused: int) -> PlanMade:
    return PlanMade(
        strategy="map-reduce", why="", chunks=chunks, tokens=9000, levels=1, reserve=500, reused=reused
    )  # fmt: skip


def test_a_rerun_names_what_was_reused_once() -> None:
    stream = io.StringIO()
    shown = ReadingShown(Progress(stream))
    shown.show(plan(21, 20))
    for index in range(20):
        shown.show(part_done(index, index + 1, 21, reused=True))
    shown.show(part_done(20, 21, 21, reused=False))
    shown.show(LevelDone(level=1, notes_before=21, notes_after=1))
    assert stream.getvalue().splitlines() == [
        "Reading and noting 9,000 tokens in 21 parts, 20 of them finished earlier 95%",
        "Read all parts 100%",
        "Merged 21 notes into 1",
    ]


def test_time_left_and_speed_of_the_parts() -> None:
    clock, seen = Clock(), []

    class Seen(Progress):
        def update(self, label: str, done: float | None = None, total: float | None = None, figures: str = "") -> None:
            seen.append((label, done, total, figures))

    shown = ReadingShown(Seen(io.StringIO()), clock)
    shown.show(plan(6, 2))
    shown.show(ChunkStarted(2, 0, None))
    clock.now += 10
    shown.show(ChunkProgress(index=2, processed=1000, total=1000, generated=0))
    assert seen[-1][1:] == (2.5, 6, "100 tokens/s")  # how long a part takes is not known yet
    clock.now += 10
    shown.show(part_done(2, 3, 6, reused=False))
    assert seen[-1] == ("Reading and noting, 3 of 6 parts done", 3, 6, "50 tokens/s, ≈1 min 00 s left")
    shown.show(ChunkProgress(index=3, processed=1000, total=1000, generated=0))
    shown.show(ChunkProgress(index=3, processed=10, total=1000, generated=0))  # asked again
    assert seen[-1][1] == 3.5, "it never goes back"
    for _ in range(11):
        shown.show(SummaryDelta("word "))
        clock.now += 0.1
    assert seen[-1][0] == "Writing the summary"
    assert seen[-1][3] == "10 tokens/s"


def test_one_pass_shows_the_prompt_and_then_the_writing() -> None:
    clock, seen = Clock(), []

    class Seen(Progress):
        def update(self, label: str, done: float | None = None, total: float | None = None, figures: str = "") -> None:
            seen.append((label, done, total, figures))

    shown = ReadingShown(Seen(io.StringIO()), clock)
    shown.show(
        PlanMade(strategy="single", why="", chunks=1, tokens=900, levels=0, reserve=500, reused=0)
    )  # fmt: skip
    assert seen == [("Reading 900 tokens", 0, None, "")], "no share of what has no parts"
    shown.show(SummaryDelta("- "))
    assert len(seen) == 1, "it was put in the model's mouth"
    shown.show(ChunkProgress(index=0, processed=100, total=1000, generated=0))
    clock.now += 10
    shown.show(ChunkProgress(index=0, processed=600, total=1000, generated=0))
    assert seen[-1] == ("Reading 900 tokens", 600, 1000, "50 tokens/s, ≈8.0 s left")
    shown.show(ChunkProgress(index=0, processed=1000, total=1000, generated=0))
    assert seen[-1] == ("Writing the summary", None, None, "")
    shown.show(SummaryDelta("word"))
    assert seen[-1][0] == "Writing the summary"


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_figures_are_never_cut_by_a_long_label(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", str(width))
    bar = Bar(Terminal(), Clock())
    bar.update("12/34 Reading and noting 2,075 tokens in 4 parts, and more", 1, 4, "82 tokens/s, ≈2 min 44 s left")
    assert bar._rich is not None
    file = io.StringIO()
    Console(file=file, width=width).print(bar._rich.get_renderable())
    (line,) = file.getvalue().rstrip().splitlines()
    assert line.endswith("≈2 min 44 s left")
    assert "25%" in line
    assert "12/34 Reading" in line
    bar.close()


def test_figures() -> None:
    assert figures(0) == ""
    assert figures(20, 0.4) == "20 tokens/s"
    assert figures(3.25) == "3.2 tokens/s"
    assert figures(1234.5, 3.0) == "1,234 tokens/s, ≈3.0 s left"
    assert prompt_figures(PromptProgress(total=1000, cached=1000, processed=1000, time_ms=5)) == ""
    assert prompt_figures(PromptProgress(1000, 200, 600, 4000.0)) == "100 tokens/s, ≈4.0 s left"
    assert Written(Clock()).piece() == ""
