"""The transcript on a screen: following, scrolling, correcting heights, selecting, themes."""

from __future__ import annotations

import pytest
from textual.app import App, ComposeResult
from textual.geometry import Offset
from textual.selection import Selection

from tests.app.driving import shown, until
from tui.app.widgets.transcript import TranscriptView


class Page(App[None]):
    CSS_PATH = "../../tui/app/theme.tcss"

    def compose(self) -> ComposeResult:
        yield TranscriptView(greeting=("hello",))


def filled(view: TranscriptView, messages: int) -> None:
    for index in range(messages):
        view.add_message("user", f"question {index}")
        view.add_message("assistant", f"answer {index}\n\n" + "some words of it " * 30 + f"\n\n- end {index}")


async def test_an_empty_transcript_greets() -> None:
    app = Page()
    async with app.run_test(size=(60, 12)) as pilot:
        view = app.query_one(TranscriptView)
        assert "hello" in shown(view)
        view.add_message("user", "hi")
        await until(pilot, lambda: "▌ hi" in shown(view))
        assert "hello" not in shown(view)


async def test_follows_the_end_until_the_reader_scrolls_up() -> None:
    app = Page()
    async with app.run_test(size=(60, 12)) as pilot:
        view = app.query_one(TranscriptView)
        filled(view, 20)
        entry = view.add_message("assistant", live=True)
        view.append(entry, "first\n\n")
        await until(pilot, lambda: "first" in shown(view))
        view.focus()
        await pilot.press("pageup")
        assert not view.following
        before = shown(view)
        view.append(entry, "second\n\n" * 30)
        await until(pilot, lambda: "new text below" in shown(view))
        assert shown(view).splitlines()[:-1] == before.splitlines()[:-1], "what is read must not move"
        await pilot.press("end")
        assert view.following
        assert "second" in shown(view)
        assert "new text below" not in shown(view)
        view.append(entry, "third")
        await until(pilot, lambda: "third" in shown(view))


async def test_scrolling_up_through_estimated_heights_never_skips_or_repeats_a_line() -> None:
    app = Page()
    async with app.run_test(size=(50, 14)) as pilot:
        view = app.query_one(TranscriptView)
        filled(view, 30)
        await until(pilot, lambda: "end 29" in shown(view))
        seen = shown(view).splitlines()
        while view.scroll_y > 0:
            view.action_scroll_up()
            seen.insert(0, shown(view).splitlines()[0])
        whole = ["".join(segment.text for segment in line.strip).rstrip() for line in view.page.window(0, 10_000)]
        assert seen == whole


async def test_page_by_page_every_line_is_met() -> None:
    app = Page()
    async with app.run_test(size=(50, 14)) as pilot:
        view = app.query_one(TranscriptView)
        filled(view, 30)
        await until(pilot, lambda: "end 29" in shown(view))
        view.action_scroll_home()
        pages = shown(view)
        while not view.following:
            view.action_page_down()
            pages += "\n" + shown(view)
        for index in range(30):
            assert f"question {index}" in pages
            assert f"end {index}" in pages


async def test_a_new_width_keeps_the_place() -> None:
    app = Page()
    async with app.run_test(size=(80, 14)) as pilot:
        view = app.query_one(TranscriptView)
        filled(view, 30)
        await until(pilot, lambda: "end 29" in shown(view))
        while "question 15" not in shown(view).splitlines()[0]:
            view.action_scroll_up()
        await pilot.resize_terminal(47, 14)
        await until(pilot, lambda: view.page.width == view.size.width)
        assert "question 15" in shown(view).splitlines()[0]
        assert all(len(row) <= 47 for row in shown(view).splitlines())


async def test_another_theme_draws_anew() -> None:
    app = Page()
    async with app.run_test(size=(60, 12)) as pilot:
        view = app.query_one(TranscriptView)
        view.add_message("assistant", "# Title")
        await until(pilot, lambda: "Title" in shown(view))
        before = view.render_lines(view.size.region)[0]
        app.theme = "textual-light"
        await until(pilot, lambda: view.render_lines(view.size.region)[0] != before)
        assert "Title" in shown(view)


async def test_next_and_previous_message() -> None:
    app = Page()
    async with app.run_test(size=(60, 12)) as pilot:
        view = app.query_one(TranscriptView)
        filled(view, 10)
        await until(pilot, lambda: "end 9" in shown(view))
        view.focus()
        await pilot.press("home", "right_square_bracket", "right_square_bracket")
        assert "question 1" in shown(view).splitlines()[1]
        await pilot.press("left_square_bracket")
        assert "answer 0" in shown(view).splitlines()[1]


async def test_the_mouse_selects_across_messages_and_wrapped_lines_are_joined() -> None:
    app = Page()
    async with app.run_test(size=(40, 12)) as pilot:
        view = app.query_one(TranscriptView)
        view.add_message("user", "what is it")
        view.add_message("assistant", "It is a sentence that is longer than the line.\n\n```python\nx = 1\n```")
        await until(pilot, lambda: "x = 1" in shown(view))
        await pilot.mouse_down(view, offset=(7, 0))
        await pilot.hover(view, offset=(30, 6))
        await pilot.mouse_up(view, offset=(30, 6))
        assert app.screen.get_selected_text() == "is it\n\nIt is a sentence that is longer than the line.\n\nx = 1"
        selected = [
            segment.text for row in view.render_lines(view.size.region) for segment in row if segment.text == "is it"
        ]
        assert selected, "what is selected is drawn as one piece of its own"


async def test_two_clicks_take_a_word_three_a_message() -> None:
    app = Page()
    async with app.run_test(size=(40, 12)) as pilot:
        view = app.query_one(TranscriptView)
        view.add_message("user", "one question")
        view.add_message("assistant", "The **answer** to it.")
        await until(pilot, lambda: "answer" in shown(view))
        await pilot.click(view, offset=(9, 2), times=2)
        assert app.screen.get_selected_text() == "answer"
        await pilot.click(view, offset=(9, 2), times=3)
        assert app.screen.get_selected_text() == "The answer to it."


async def test_a_selection_stays_with_its_text_when_heights_above_are_corrected() -> None:
    app = Page()
    async with app.run_test(size=(50, 14)) as pilot:
        view = app.query_one(TranscriptView)
        filled(view, 30)
        await until(pilot, lambda: "end 29" in shown(view))
        section, _at = view.page.find(view.page.total - 1)
        start = (section.index << 20) + section.height - 1
        selection = Selection(Offset(0, start), Offset(8, start))
        assert view.get_selection(selection) == ("• end 29", "\n")
        view.action_scroll_home()
        assert view.get_selection(selection) == ("• end 29", "\n")


async def test_what_is_not_drawn_is_copied_as_its_source() -> None:
    app = Page()
    async with app.run_test(size=(50, 14)) as pilot:
        view = app.query_one(TranscriptView)
        filled(view, 200)
        await until(pilot, lambda: "end 199" in shown(view))
        found = view.get_selection(Selection(None, None))
        assert found is not None
        for index in range(200):
            assert f"question {index}\n" in found[0]
            assert f"- end {index}" in found[0] or f"• end {index}" in found[0]


async def test_long_messages_are_drawn_in_sections() -> None:
    app = Page()
    async with app.run_test(size=(60, 12)) as pilot:
        view = app.query_one(TranscriptView)
        text = "\n\n".join(f"Paragraph {index}. " + "word " * 60 for index in range(600))
        view.add_message("assistant", text)
        view.add_message("user", "\n".join(f"line {index}" for index in range(20_000)))
        await until(pilot, lambda: "line 19999" in shown(view))
        drawn = [section for section in view.page.sections if section.lines is not None]
        assert len(view.page.sections) > 20
        assert len(drawn) <= 2, "only what is seen is drawn"
        assert view.page.entries[0].text == text
        view.action_scroll_home()
        assert "Paragraph 0." in shown(view)


@pytest.mark.parametrize("width", [20, 8, 3, 1])
async def test_a_very_narrow_screen_breaks_nothing(width: int) -> None:
    app = Page()
    async with app.run_test(size=(width, 6)) as pilot:
        view = app.query_one(TranscriptView)
        view.add_message("user", "中文 and words")
        view.add_message("assistant", "| a | b |\n|--|--|\n| 中文 | x |\n\n> - ```\n>   code\n\n1. x", reasoning="hm")
        await pilot.pause(0.1)
        view.action_scroll_home()
        view.action_scroll_end()


async def test_links_open_only_web_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    app = Page()
    async with app.run_test(size=(60, 12)) as pilot:
        opened: list[str] = []
        monkeypatch.setattr(app, "open_url", opened.append)
        view = app.query_one(TranscriptView)
        view.add_message("assistant", "[here](https://example.org/a'b) [bad](file:///etc/passwd)")
        await until(pilot, lambda: "here" in shown(view))
        await pilot.click(view, offset=(3, 0))
        await pilot.click(view, offset=(8, 0))
        await until(pilot, lambda: opened)
        assert opened == ["https://example.org/a'b"]


async def test_idle_costs_nothing() -> None:
    app = Page()
    async with app.run_test(size=(60, 12)) as pilot:
        view = app.query_one(TranscriptView)
        filled(view, 5)
        await until(pilot, lambda: "end 4" in shown(view))
        painted = view._painted_at
        await pilot.pause(0.2)
        assert view._painted_at == painted
        assert view._handle is None


async def test_parts_of_a_row_add_up_while_a_selection_is_dragged_over_the_edge() -> None:
    app = Page()
    async with app.run_test(size=(50, 14)) as pilot:
        view = app.query_one(TranscriptView)
        filled(view, 30)
        await until(pilot, lambda: "end 29" in shown(view))
        before = view.page.total - view.scroll_y
        for _ in range(10):
            view.scroll_y -= 0.3
            view.scroll_target_y = view.scroll_y
        assert round(view.page.total - view.scroll_y) == before + 3
        assert not view.following
