"""The progress bar on a terminal: it always moves, also while a step takes long, until it is taken away."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import IO

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TaskID
from rich.table import Column
from rich.text import Text

from tui.text import one_line
from tui.units import duration

_LABEL = 60
"""Characters; the figures beside it have to fit into a terminal of 110."""
_SHORTEST = 12
_NARROW = 100
"""Columns; below that the bar is shorter, and the speed gives way to the time left."""
_BESIDE = 10
"""Cells of the spinner, the share and the gaps."""


class _Spinner(SpinnerColumn):
    """Turns also where a step has all it waits for: the next one may be long in coming."""

    def render(self, task: Task) -> Text:
        drawn = self.spinner.render(task.get_time())
        return drawn if isinstance(drawn, Text) else Text(str(drawn))


class _Share(ProgressColumn):
    """Per cent, where the end is known."""

    def render(self, task: Task) -> Text:
        return Text("" if task.total is None else f"{task.percentage:>3.0f}%")


class _Figures(ProgressColumn):
    """Speed and time left, where known, else the time since the whole piece of work began."""

    def __init__(self, began: float, clock: Callable[[], float], *, narrow: bool) -> None:
        super().__init__(table_column=Column(no_wrap=True))
        self._began = began
        self._clock = clock
        self._narrow = narrow

    def text(self, task: Task) -> str:
        figures = str(task.fields.get("figures", ""))
        if "≈" in figures:
            # Beside a time left, another one would be taken for it.
            return figures[figures.index("≈") :] if self._narrow else figures
        so_far = f"{duration(self._clock() - self._began)} so far"
        return ", ".join(part for part in (figures, so_far) if part)

    def render(self, task: Task) -> Text:
        return Text(self.text(task), "dim")


class _Label(ProgressColumn):
    """What is done, in the room that the rest of the line leaves."""

    def __init__(self, console: Console, bar: int, figures: _Figures) -> None:
        super().__init__(table_column=Column(no_wrap=True))
        self._console = console
        self._rest = bar + _BESIDE
        self._figures = figures

    def render(self, task: Task) -> Text:
        label = Text(task.description)
        room = self._console.width - self._rest - len(self._figures.text(task))
        label.truncate(max(room, _SHORTEST), overflow="ellipsis")
        return label


class Bar:
    """One line of progress. Each label is a task of its own, since Rich holds one that was full once for finished."""

    def __init__(self, stream: IO[str], clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._clock = clock
        self._began: float | None = None
        self._rich: Progress | None = None
        self._task: TaskID | None = None
        self._step: tuple[str, bool] = ("", False)

    def begin(self) -> None:
        """The time from here on is what the line shows."""
        self._began = self._clock()

    def update(self, label: str, done: float, total: float | None, figures: str) -> None:
        """Show a step; `done` of `total` in one unit, `total` None where the end is not known."""
        if self._rich is None:
            if self._began is None:
                self.begin()
            self._rich = self._new()
            self._rich.start()
        step = (label, total is None)
        if self._task is None or step != self._step:
            old = self._task
            self._task = self._rich.add_task(one_line(label, _LABEL), total=total, completed=int(done), figures=figures)
            self._step = step
            if old is not None:
                self._rich.remove_task(old)
        self._rich.update(self._task, completed=done, total=total, figures=figures)

    def close(self) -> None:
        """Take the line away; the next `update` shows it again."""
        if self._rich is not None:
            if self._task is not None:
                self._rich.remove_task(self._task)
            self._rich.stop()
            self._rich = self._task = None

    def _new(self) -> Progress:
        console = Console(file=self._stream)
        narrow = console.width < _NARROW
        bar = 10 if narrow else 20
        figures = _Figures(self._began or 0.0, self._clock, narrow=narrow)
        return Progress(
            _Spinner(),
            _Label(console, bar, figures),
            BarColumn(bar_width=bar),
            _Share(),
            figures,
            console=console,
            transient=True,
        )
