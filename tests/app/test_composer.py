"""The composer: keys, history, pastes."""

from __future__ import annotations

from textual import events
from textual.app import App, ComposeResult

from tui.app.commands import parse, unquoted
from tui.app.widgets.composer import LONG_LINES, Composer


class Desk(App[None]):
    CSS_PATH = "../../tui/app/theme.tcss"

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[str] = []

    def compose(self) -> ComposeResult:
        yield Composer()

    def on_composer_submitted(self, event: Composer.Submitted) -> None:
        self.sent.append(event.text)
        self.query_one(Composer).sent(event.text)


async def test_enter_sends_and_the_other_enters_begin_a_line() -> None:
    app = Desk()
    async with app.run_test() as pilot:
        await pilot.press("a", "shift+enter", "b", "ctrl+j", "c", "alt+enter", "d", "enter")
        assert app.sent == ["a\nb\nc\nd"]
        assert app.query_one(Composer).text == ""
        await pilot.press("enter", "space", "enter")
        assert app.sent == ["a\nb\nc\nd"], "nothing but blanks is not sent"


async def test_up_and_down_recall_and_keep_the_draft() -> None:
    app = Desk()
    async with app.run_test() as pilot:
        composer = app.query_one(Composer)
        composer.remember("first", "second")
        await pilot.press(*"draft", "up")
        assert composer.text == "second"
        await pilot.press("up", "up")
        assert composer.text == "first"
        await pilot.press("down", "down")
        assert composer.text == "draft"


async def test_up_moves_the_cursor_within_several_lines() -> None:
    app = Desk()
    async with app.run_test() as pilot:
        composer = app.query_one(Composer)
        composer.remember("old")
        await pilot.press("a", "ctrl+j", "b", "up")
        assert composer.text == "a\nb"
        await pilot.press("up")
        assert composer.text == "old"


async def test_a_long_paste_is_a_mark_and_is_sent_whole() -> None:
    app = Desk()
    async with app.run_test() as pilot:
        composer = app.query_one(Composer)
        text = "\r\n".join(f"line {index}" for index in range(LONG_LINES + 5))
        await pilot.press(*"see ")
        composer.post_message(events.Paste(text))
        await pilot.pause()
        assert composer.document.line_count == 1
        assert f"{LONG_LINES + 5} lines" in composer.text
        await pilot.press("!", "enter")
        assert app.sent == ["see " + text.replace("\r\n", "\n") + "!"]
        await pilot.press("up")
        assert composer.message == app.sent[0]


async def test_a_short_paste_is_text() -> None:
    app = Desk()
    async with app.run_test() as pilot:
        composer = app.query_one(Composer)
        composer.post_message(events.Paste("one\ntwo"))
        await pilot.pause()
        assert composer.text == "one\ntwo"


async def test_what_was_typed_while_sending_stays() -> None:
    app = Desk()
    async with app.run_test():
        composer = app.query_one(Composer)
        composer.load("question and more")
        composer.sent("question")
        assert composer.text == " and more"
        composer.load("something else")
        composer.sent("question")
        assert composer.text == "something else"


async def test_control_characters_in_a_draft_are_shown_as_marks() -> None:
    app = Desk()
    async with app.run_test():
        composer = app.query_one(Composer)
        composer.load("a\x1b[31mb\u202ec")
        assert composer.get_line(0).plain == "a␛[31mb\ufffdc"
        assert composer.message == "a\x1b[31mb\u202ec"


def test_commands() -> None:
    attach = parse("/attach my file.pdf")
    assert attach is not None
    assert attach.command is not None
    assert (attach.command.action, attach.argument) == ("attach", "my file.pdf")
    unknown = parse("/nothing")
    assert unknown is not None
    assert unknown.command is None
    assert parse("/etc/hosts is what?") is None
    assert parse("/attach a\nb") is None
    assert parse("what is /attach") is None


def test_dropped_paths() -> None:
    assert unquoted("'/a b/c.pdf'") == "/a b/c.pdf"
    assert unquoted("/a\\ b/c.pdf") == "/a b/c.pdf"
    assert unquoted("/a b/c.pdf") == "/a b/c.pdf"
    assert unquoted("'half") == "'half"
