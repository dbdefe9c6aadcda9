"""The transcript on the screen: one line-rendered widget, whatever the number of messages."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import ClassVar, Final

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events, on
from textual.binding import Binding, BindingType
from textual.geometry import Offset, Region, Size
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar, ScrollTo
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

from tui.app.widgets.transcript.model import Entry, Kind, Transcript
from tui.app.widgets.transcript.palette import NAMES, Palette, plain_palette
from tui.app.widgets.transcript.render import plain_rows
from tui.app.widgets.transcript.rows import Line
from tui.app.widgets.transcript.selecting import highlighted, selected_text, word_at

PAINT_INTERVAL: Final = 0.05
"""Seconds between two paints of a growing message, at least."""
PAINT_SHARE: Final = 4
"""A paint that takes long is followed by a pause of this many times its own processor time."""
WHEEL: Final = 3
"""Rows per turn of the mouse wheel."""
_LINE_BITS: Final = 20


class TranscriptView(ScrollView, can_focus=True):
    """Shows messages; follows the end of a growing one unless the reader scrolled up.

    Calls cost next to nothing: what they change is drawn by the next paint, at most 20 times a second. Nothing is
    painted while nothing changes.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"transcript--{name}" for name in NAMES}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "scroll_up", "Up", show=False),
        Binding("down,j", "scroll_down", "Down", show=False),
        Binding("pageup,b", "page_up", "Page up", show=False),
        Binding("pagedown,space", "page_down", "Page down", show=False),
        Binding("home,g", "scroll_home", "Top", show=False),
        Binding("end,G", "scroll_end", "End", show=False),
        Binding("left_square_bracket,shift+up", "previous_message", "Previous message", show=False),
        Binding("right_square_bracket,shift+down", "next_message", "Next message", show=False),
    ]
    ALLOW_SELECT = True
    HELP = (
        "Scroll with the arrows and pages, `[` and `]` go from message to message, "
        "drag with the mouse to select, Ctrl+C copies."
    )

    def __init__(
        self,
        *,
        greeting: Sequence[str] = (),
        id: str | None = None,  # noqa: A002  # Textual's name
        classes: str | None = None,
    ) -> None:
        """`greeting`: lines in the middle of the empty transcript, the first of them bright."""
        super().__init__(id=id, classes=classes)
        self._greeting = tuple(greeting)
        self.page = Transcript(plain_palette())
        self._styled = False
        self._following = True
        self._unseen = False
        self._handle: asyncio.TimerHandle | None = None
        self._painted_at = 0.0
        self._pause = PAINT_INTERVAL
        self._bar_drawn: tuple[int, int] = (-1, -1)

    # What callers say

    def add_message(
        self, role: Kind, text: str = "", *, reasoning: str = "", status: str = "", live: bool = False
    ) -> Entry:
        """A message at the end; `live` when more text follows. The handle is what the other calls take."""
        entry = self.page.add(role, text, reasoning=reasoning, status=status, live=live)
        self._changed()
        return entry

    def append(self, entry: Entry, delta: str, *, reasoning: bool = False) -> None:
        """More text (or reasoning) of a live message."""
        self.page.append(entry, delta, reasoning=reasoning)
        if self._handle is None:
            self._changed()

    def finish(self, entry: Entry, *, status: str | None = None) -> None:
        """The message is complete; `status` becomes the muted row under it."""
        self.page.finish(entry, status)
        self._changed()

    def set_status(self, entry: Entry, status: str) -> None:
        """The muted row under a message; empty for none."""
        self.page.set_status(entry, status)
        self._changed()

    def remove_message(self, entry: Entry) -> None:
        self.page.remove(entry)
        self._changed()

    def clear(self) -> None:
        self.page.clear()
        self._following = True
        self._changed()

    @property
    def following(self) -> bool:
        """Whether the end stays in view as text comes."""
        return self._following

    # The clock

    def _changed(self) -> None:
        """See that a paint happens: at once when the last one is long enough ago, else when the clock says so."""
        if self._handle is not None or not self.is_attached:
            return
        loop = asyncio.get_running_loop()
        delay = max(0.0, self._painted_at + self._pause - loop.time())
        # Through the widget's own queue: there a defect in drawing ends the program instead of being logged away.
        self._handle = loop.call_later(delay, self.call_next, self._paint)

    def _paint(self) -> None:
        self._handle = None
        if not self.is_attached or not self.size:
            return
        started = time.process_time()
        self._style()
        first = self.page.flush()
        self._place(changed_from=first)
        self._pause = max(PAINT_INTERVAL, PAINT_SHARE * (time.process_time() - started))
        self._painted_at = asyncio.get_running_loop().time()

    def on_unmount(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    # Where the reader is

    @property
    def _rows(self) -> int:
        return max(1, self.size.height)

    def _place(self, *, changed_from: int | None = 0) -> None:
        """Draw what is in view, put the scroll position where it belongs and repaint what changed."""
        page = self.page
        before = round(self.scroll_y)
        if self._following:
            top = self._settle_end()
        else:
            top = self._settle_from(before)
            if changed_from is not None and page.total > top + self._rows and not self._unseen:
                self._unseen = True
                changed_from = 0
        self._set_position(top)
        page.trim()
        if top != before or changed_from is None or changed_from <= top:
            self.refresh()
        elif changed_from < top + self._rows:
            self.refresh(Region(0, changed_from - top, self.size.width, self._rows - (changed_from - top)))

    def _settle_end(self) -> int:
        """Draw the last screen of lines; its first line."""
        page, missing = self.page, self._rows
        index = len(page.sections)
        while index and missing > 0:
            index -= 1
            missing -= len(page.lines_of(page.sections[index]))
        return max(0, page.total - self._rows)

    def _settle_from(self, line: int) -> int:
        """Draw a screen of lines from `line` on; where the top line is now that heights may have been corrected."""
        page = self.page
        if not page.sections:
            return 0
        section, at = page.find(max(0, min(line, page.total - self._rows)))
        at = min(at, max(0, len(page.lines_of(section)) - 1))
        missing = self._rows - (len(page.lines_of(section)) - at)
        index = section.index + 1
        while missing > 0 and index < len(page.sections):
            missing -= len(page.lines_of(page.sections[index]))
            index += 1
        return max(0, min(page.top(section.index) + at, page.total - self._rows))

    def _walked(self, rows: int) -> int:
        """The line `rows` below (above, when negative) the top one, counted in drawn lines: estimates play no part."""
        page = self.page
        section, at = page.find(round(self.scroll_y))
        index, at = section.index, at + rows
        while at < 0 and index > 0:
            index -= 1
            at += len(page.lines_of(page.sections[index]))
        while at >= len(page.lines_of(page.sections[index])) and index < len(page.sections) - 1:
            at -= len(page.lines_of(page.sections[index]))
            index += 1
        return page.top(index) + max(0, at)

    def _set_position(self, top: int) -> None:
        total = self.page.total
        # Without watchers: a changed size would lay out the whole screen, a changed position would come back here.
        self.set_reactive(Widget.virtual_size, Size(self.size.width, max(total, 1)))
        self.set_reactive(Widget.scroll_y, float(top))
        self.set_reactive(Widget.scroll_target_y, float(top))
        self._set_bar(top, total)

    def _set_bar(self, top: int, total: int) -> None:
        """Move the scrollbar; painted only when it looks different."""
        bar, rows = self.vertical_scrollbar, self._rows
        shown = (round(top * rows * 8 / max(1, total)), round(rows * rows * 8 / max(rows, total)))
        if shown == self._bar_drawn:
            bar.set_reactive(ScrollBar.window_virtual_size, total)
            bar.set_reactive(ScrollBar.position, float(top))
            return
        self._bar_drawn = shown
        bar.window_virtual_size = total
        bar.window_size = rows
        bar.position = float(top)

    def _scroll_by(self, rows: int) -> None:
        """Scroll by so many rows."""
        if self.page.sections:
            self.page.flush()
            self._go(self._walked(rows))

    def _go(self, line: float) -> None:
        """Scroll so that `line` is the top one."""
        before = round(self.scroll_y)
        if self.page.flush() is not None:
            self._settle_from(before)
        wanted = round(line)
        top = self._settle_end() if wanted >= self.page.total - self._rows else self._settle_from(wanted)
        following = top >= self.page.total - self._rows
        if following:
            self._unseen = False
        self._set_position(top)
        self.page.trim()
        if top != before:
            self.refresh()
        if following != self._following:
            self._following = following
            self.refresh()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Textual moves the page by parts of a row while a selection is dragged over its edge."""
        if round(old_value) != round(new_value) and self.page.sections:
            part = new_value - round(new_value)
            self._go(new_value)
            self.set_reactive(Widget.scroll_y, self.scroll_y + part)
            self.refresh()

    def scroll_to(self, x: float | None = None, y: float | None = None, **_options: object) -> None:
        """Every way of scrolling ends here; never animated, so that corrected heights cannot make it jump."""
        if y is not None:
            self._go(y)

    def _on_scroll_to(self, message: ScrollTo) -> None:
        message.stop()
        if message.y is not None:
            self._go(message.y)

    def _on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self._scroll_by(WHEEL)

    def _on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self._scroll_by(-WHEEL)

    def action_scroll_up(self) -> None:
        self._scroll_by(-1)

    def action_scroll_down(self) -> None:
        self._scroll_by(1)

    def action_page_up(self) -> None:
        self._scroll_by(-max(1, self._rows - 2))

    def action_page_down(self) -> None:
        self._scroll_by(max(1, self._rows - 2))

    def action_scroll_home(self) -> None:
        self._go(0)

    def action_scroll_end(self) -> None:
        self._go(self.page.total)

    def action_previous_message(self) -> None:
        top = round(self.scroll_y)
        starts = [self.page.top(entry.sections[0].index) for entry in self.page.entries if entry.kind != "note"]
        self._go(max((start for start in starts if start < top), default=0))

    def action_next_message(self) -> None:
        top = round(self.scroll_y)
        starts = [self.page.top(entry.sections[0].index) for entry in self.page.entries if entry.kind != "note"]
        self._go(min((start for start in starts if start > top), default=self.page.total))

    # Painting

    def _style(self) -> None:
        if self._styled and self.page.width == self.size.width:
            return
        palette = self.page.palette if self._styled else self._palette()
        self._styled = True
        anchor = None if self._following else self.page.find(round(self.scroll_y)) if self.page.sections else None
        self.page.look(palette, self.size.width)
        if anchor is not None:
            section, at = anchor
            self.set_reactive(
                Widget.scroll_y, float(self.page.top(section.index) + min(at, max(0, section.height - 1)))
            )

    def _palette(self) -> Palette:
        return Palette({name: self.get_component_rich_style(f"transcript--{name}") for name in NAMES})

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._styled = False
        self._changed()

    def on_resize(self, event: events.Resize) -> None:
        if self.page.width != event.size.width:
            self.screen.clear_selection()
        self._bar_drawn = (-1, -1)
        self._paint_now()

    def on_mount(self) -> None:
        self._changed()

    def _paint_now(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
        self._paint()

    def render_lines(self, crop: Region) -> list[Strip]:
        """The strips in view; see Widget. Lines are ready: there is no border and no padding to put around them."""
        width = self.size.width
        if not self._styled or self.page.width != width:
            self._style()
        blank = Strip.blank(width, self.page.palette.text)
        top = round(self.scroll_y)
        selection = self.text_selection
        strips: list[Strip] = []
        for at, line in enumerate(self.page.window(top + crop.y, crop.height)):
            strip = line.strip
            if selection is not None:
                strip = self._with_selection(line, top + crop.y + at, selection)
            strips.append(strip)
        strips.extend([blank] * (crop.height - len(strips)))
        if not self.page.sections and self._greeting:
            strips = self._greeted(strips, crop, width)
        if self._unseen and crop.bottom >= self._rows:
            strips[self._rows - 1 - crop.y] = self._with_mark(strips[self._rows - 1 - crop.y], width)
        for line_filter in self.get_line_filters():
            background = self.background_colors[1]
            strips = [strip.apply_filter(line_filter, background) for strip in strips]
        if crop.column_span != (0, width):
            strips = [strip.crop(*crop.column_span) for strip in strips]
        return strips

    def _greeted(self, strips: list[Strip], crop: Region, width: int) -> list[Strip]:
        palette = self.page.palette
        rows = [row for line in self._greeting for row in plain_rows(line, max(8, width - 4), "muted", palette)]
        first = max(0, (self._rows - len(rows)) // 2)
        for at, row in enumerate(rows):
            if crop.y <= first + at < crop.bottom:
                style = palette["h2"] if at == 0 else palette["muted"]
                left = (width - row.cells) // 2
                text = Segment(row.text, style)
                cells = [
                    Segment(" " * left, palette.text),
                    text,
                    Segment(" " * (width - left - row.cells), palette.text),
                ]
                strips[first + at - crop.y] = Strip(cells, width)
        return strips

    def _with_mark(self, strip: Strip, width: int) -> Strip:
        label = " ↓ new text below · End " if width >= 40 else " ↓ End "
        style = self.page.palette["mark"] + Style.from_meta({"@click": "scroll_end"})
        cells = cell_len(label)
        left = width - cells - 1
        if left < 0:
            return strip
        return Strip([*strip.crop(0, left), Segment(label, style), *strip.crop(left + cells, width)], width)

    def render_line(self, y: int) -> Strip:
        """One line with the offsets that Textual's selection asks for."""
        line = next(self.page.window(round(self.scroll_y) + y, 1), None)
        if line is None:
            last = self._place_of(self.page.total - 1) if self.page.sections else 0
            return Strip(
                [Segment(" " * self.size.width, Style.from_meta({"offset": (1 << 30, last)}))], self.size.width
            )
        place = self._place_of(round(self.scroll_y) + y)
        segments: list[Segment] = []
        at = 0
        everything = list(line.strip)
        for number, (text, style, _control) in enumerate(everything):
            style = style or Style()
            if number < line.lead:
                # Decoration counts as the start of the text, cell by cell.
                segments.extend(Segment(mark, style + Style.from_meta({"offset": (0, place)})) for mark in text)
            elif number >= len(everything) - line.trail:
                segments.extend(Segment(mark, style + Style.from_meta({"offset": (at, place)})) for mark in text)
            else:
                segments.append(Segment(text, style + Style.from_meta({"offset": (at, place)})))
                at += len(text)
        return Strip(segments, self.size.width)

    # Selecting

    def _place_of(self, line: int) -> int:
        """A number for a line that stays the same when heights above it are corrected."""
        section, at = self.page.find(line)
        return (section.index << _LINE_BITS) + at

    def _with_selection(self, line: Line, number: int, selection: Selection) -> Strip:
        span = selection.get_span(self._place_of(number))
        if span is None:
            return line.strip
        return highlighted(line, span, self.screen.get_component_rich_style("screen--selection"))

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text: wrapped lines joined again, without gutters and bars."""
        if not self.page.sections:
            return None
        return selected_text(self.page, selection, _LINE_BITS), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        self.refresh()

    @on(events.Click)
    def _select_by_clicks(self, event: events.Click) -> None:
        if event.chain < 2 or not self.page.sections:
            return
        # Textual's own answer is to select everything.
        event.prevent_default()
        number = round(self.scroll_y) + event.y
        line = next(self.page.window(number, 1), None)
        if line is None:
            return
        place = self._place_of(number)
        if event.chain == 2:
            start, end = word_at(line, event.x)
            if start < end:
                self.screen.selections = {self: Selection(Offset(start, place), Offset(end, place))}
        else:
            entry = self.page.find(number)[0].entry
            self.page.lines_of(entry.sections[0])
            first = (entry.sections[0].index << _LINE_BITS) + entry.sections[0].frame[0]
            last = entry.sections[-1]
            bottom = (last.index << _LINE_BITS) + max(0, len(self.page.lines_of(last)) - 1)
            self.screen.selections = {self: Selection(Offset(0, first), Offset(1 << 30, bottom))}

    def action_open_link(self, url: str) -> None:
        """Open the address of a link that was clicked."""
        if url.startswith(("http://", "https://", "mailto:")):
            self.app.open_url(url)
