"""The chat: transcript, status line, context meter, composer. It shows what the controller tells it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from time import monotonic
from typing import TYPE_CHECKING, ClassVar, Final

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Footer, TextArea

from tui.app import activity
from tui.app.activity import Activity
from tui.app.commands import names, parse, unquoted
from tui.app.controller import Controller
from tui.app.engine import Engine
from tui.app.screens.problem import ProblemScreen
from tui.app.widgets.composer import Composer
from tui.app.widgets.meter import GROWING, NOTHING, TYPED, ContextMeter
from tui.app.widgets.status import StatusLine
from tui.app.widgets.titlebar import TitleBar
from tui.app.widgets.transcript import Entry, TranscriptView, warm_up
from tui.errors import LongscrollError
from tui.text import display_safe, one_line
from tui.units import duration, plural, size, tokens

if TYPE_CHECKING:
    from tui.chat.events import Overflow, Resumed
    from tui.context.plan import ContextPlan
    from tui.context.runtime import FetchProgress
    from tui.context.slots import Kept
    from tui.documents.model import Document
    from tui.server.state import ServerState
    from tui.server.types import PromptProgress
    from tui.store.sessions import MessageRow, SessionRow

COUNT_AFTER: Final = 0.4
"""Seconds without a key after which the draft is counted."""
STATUS_EVERY: Final = 0.25
"""Seconds between two states of the status line while an answer streams."""
GREETING: Final = (
    "longscroll",
    "",
    "Ask something, or attach a document: /attach PATH",
    "F1 shows all keys.",
)


class ChatScreen(Screen[None]):
    """One conversation."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "stop", "Stop", show=False),
        Binding("ctrl+o", "sessions", "Sessions"),
        Binding("ctrl+n", "new_session", "New"),
        Binding("ctrl+r", "again", "Retry", show=False),
        Binding("f1", "help", "Help"),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("ctrl+home", "edge(-1)", show=False, priority=True),
        Binding("ctrl+end", "edge(1)", show=False, priority=True),
    ]
    AUTO_FOCUS = "Composer"

    def __init__(self, engine: Engine, *, session: str = "", documents: Sequence[str] = ()) -> None:
        super().__init__()
        self.controller = Controller(engine, self, session=session, documents=documents)
        self._answer: Entry | None = None
        self._waiting: Entry | None = None
        """The note about a document that is being read."""
        self._shown = ""
        """Id of the session in the transcript."""
        self._warnings: list[str] = []
        self._warned: set[str] = set()
        self._sent = ""
        self._asked_at = 0.0
        self._first_at = 0.0
        self._pieces = 0
        self._thinking = False
        self._ticker: Timer | None = None
        self._counter: Timer | None = None
        self._plan: ContextPlan | None = None
        """Of the draft as it was counted last."""
        self._sent_plan: ContextPlan | None = None
        """Of what the answer under way answers."""

    def compose(self) -> ComposeResult:
        yield TitleBar()
        yield TranscriptView(id="transcript", greeting=GREETING)
        yield StatusLine()
        yield ContextMeter()
        yield Composer(id="composer")
        yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        self.transcript = self.query_one(TranscriptView)
        self.composer = self.query_one(Composer)
        self.meter = self.query_one(ContextMeter)
        self.status = self.query_one(StatusLine)
        self.bar = self.query_one(TitleBar)
        self.status.activity = activity.STARTING
        self._ticker = self.set_interval(STATUS_EVERY, self._tick, pause=True)
        # The engine's imports are heavy: the first paint comes before them.
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        self._start("engine", self.controller.run)
        self._start("warm-up", asyncio.to_thread, warm_up)

    def _start(self, group: str, work: Callable[..., Awaitable[object]], *given: object) -> None:
        async def guarded() -> None:
            # Called here: a coroutine that is made for a worker that never comes to run would never be awaited.
            await self.controller.guard(work(*given))

        named: Callable[[], Awaitable[None]] = guarded
        self.run_worker(named, group=group)

    def _show(self, state: Activity) -> None:
        self.status.activity = state

    # The engine

    def engine_state(self, state: ServerState | FetchProgress) -> None:
        self._show(activity.of_server(state))

    def engine_ready(self, model: str, context: int, warnings: Sequence[str]) -> None:
        self.bar.model = f"{model} · {tokens(context)} tokens"
        self._warnings = [warning for warning in warnings if warning not in self._warned]
        self._warned.update(warnings)
        self._show(Activity(label="Opening the conversation", tone="busy"))

    def engine_failed(self, error: LongscrollError) -> None:
        self._end_answer("")
        self._show(Activity(label="The server is not running", hint="Ctrl+R starts it again", tone="bad"))
        self._problem_note(error.what, error.remedy)

        def answered(answer: str | None) -> None:
            if answer == "again":
                self.action_again()
            elif answer == "quit":
                self._start("quit", self.app.run_action, "quit")

        self.app.push_screen(ProblemScreen("No model to talk to", error, again="Try again"), answered)

    # The conversation

    def session_opened(
        self, session: SessionRow, messages: Sequence[MessageRow], documents: Sequence[Document]
    ) -> None:
        self._titled(session.title)
        self.composer.forget()
        if session.id != self._shown:
            if self._shown:
                self.transcript.clear()
            self._shown = session.id
            for document in documents:
                self._document_note(document)
            for row in messages:
                self._show_row(row)
        for warning in self._warnings:
            self.transcript.add_message("note", _literal(warning))
        self._warnings = []
        self.composer.remember(*(row.content for row in messages if row.role == "user"))

    def _titled(self, title: str) -> None:
        self.bar.title = one_line(title) or "New conversation"

    def _show_row(self, row: MessageRow) -> None:
        if row.role == "user":
            self.transcript.add_message("user", row.content)
        elif row.role == "assistant":
            self.transcript.add_message("assistant", row.content, reasoning=row.reasoning, status=activity.of_row(row))

    def resuming(self) -> None:
        self._show(Activity(label="Bringing the conversation's tokens back", tone="busy"))

    def resumed(self, resumed: Resumed) -> None:
        if resumed.tokens:
            instead = f" instead of ≈{duration(resumed.instead_of_s)}" if resumed.instead_of_s else ""
            took = duration(resumed.seconds)
            self.transcript.add_message("note", f"Restored {tokens(resumed.tokens)} tokens in {took}{instead}.")
        if resumed.reason:
            self.transcript.add_message("note", _literal(resumed.reason))

    def session_ready(self) -> None:
        self._show(activity.READY)
        self._count()

    # An answer

    def user_stored(self, row: MessageRow, title: str) -> None:
        self.composer.sent(self._sent)
        self._titled(title)
        self.transcript.add_message("user", row.content)
        self.transcript.action_scroll_end()

    def answer_started(self) -> None:
        self._answer = self.transcript.add_message("assistant", live=True)
        self._asked_at = monotonic()
        self._pieces = 0
        self._sent_plan = self._plan
        self._show(Activity(label="Reading the prompt", hint="Esc stops", tone="busy"))

    def prompt_progress(self, progress: PromptProgress) -> None:
        if not self._pieces:
            self._show(activity.of_prompt(progress))

    def answer_delta(self, text: str, *, reasoning: bool) -> None:
        if self._answer is None:
            return
        if not self._pieces:
            self._first_at = monotonic()
            if self._ticker is not None:
                self._ticker.resume()
        self._pieces += 1
        self._thinking = reasoning
        self.transcript.append(self._answer, text, reasoning=reasoning)

    def _tick(self) -> None:
        if self._pieces and self._answer is not None:
            since = monotonic() - self._first_at
            first_after = self._first_at - self._asked_at
            self._show(activity.of_answer(self._pieces, since, first_after, thinking=self._thinking))
            self._grow()

    def _grow(self) -> None:
        """The meter while an answer comes: what was sent is history, and nearly every piece is a token of it."""
        plan = self._sent_plan
        if plan is not None:
            from msgspec.structs import replace

            self.meter.plan = replace(plan, history=plan.history + plan.draft + self._pieces, draft=0)
            self.meter.estimated = GROWING

    def answer_ended(self, row: MessageRow | None, notice: str) -> None:
        self._end_answer(activity.of_row(row) if row is not None else "")
        if notice:
            self.transcript.add_message("note", _literal(notice))

    def answer_failed(self, row: MessageRow | None, what: str, remedy: str) -> None:
        self._end_answer(activity.of_row(row) if row is not None else "")
        self._problem_note(what, remedy, "Ctrl+R asks again.")

    def _end_answer(self, status: str) -> None:
        if self._ticker is not None:
            self._ticker.pause()
        answer, self._answer = self._answer, None
        if answer is None:
            return
        self.transcript.finish(answer, status=status or None)
        if not answer.text and not answer.reasoning and not answer.status:
            self.transcript.remove_message(answer)

    def overflow(self, overflow: Overflow) -> None:
        plan = overflow.plan
        self.meter.plan = plan
        self.meter.estimated = NOTHING
        parts = [f"system {tokens(plan.system)}"]
        parts += [f"{one_line(name, 40)} {tokens(count)}" for name, count in plan.documents]
        parts += [f"history {tokens(plan.history)}", f"this message {tokens(plan.draft)}"]
        parts.append(f"kept for the answer {tokens(plan.reserve)}")
        self._problem_note(
            f"This message needs {tokens(overflow.needed)} tokens with the room kept for the answer; "
            f"the context holds {tokens(overflow.available)}. Nothing was sent.",
            f"{' · '.join(parts)}. The draft is still in the composer: shorten it, begin a new conversation (Ctrl+N), "
            "or start longscroll with a larger --ctx-size.",
        )

    def turn_over(self) -> None:
        self._end_answer("")
        self._show(activity.READY)
        self._count()

    def problem(self, error: LongscrollError) -> None:
        self._problem_note(error.what, error.remedy)

    def _problem_note(self, *sentences: str) -> None:
        text = "\n".join(_literal(sentence) for sentence in sentences if sentence)
        self.transcript.add_message("error", text)
        self.transcript.action_scroll_end()

    # Documents

    def reading(self, path: str) -> None:
        name = _literal(path)
        self._waiting = self.transcript.add_message("note", f"Reading {name} …")
        self._show(Activity(label=f"Reading {one_line(path, 60)}", hint="Esc stops", tone="busy"))

    def attached(self, document: Document) -> None:
        self._drop_waiting()
        self._document_note(document)

    def not_attached(self, path: str, error: LongscrollError | None) -> None:
        self._drop_waiting()
        if error is not None:
            self.problem(error)
            return
        self.transcript.add_message("note", f"{_literal(path)} was not attached: the reading was stopped.")

    def _drop_waiting(self) -> None:
        if self._waiting is not None:
            self.transcript.remove_message(self._waiting)
            self._waiting = None

    def _document_note(self, document: Document) -> None:
        extent = [plural(document.pages, "page")] if document.pages else []
        extent.append(plural(len(document.text), "character"))
        lines = [f"**{_literal(document.name)}** is attached ({', '.join(extent)})."]
        lines += [_literal(warning) for warning in document.warnings]
        self.transcript.add_message("note", "\n".join(lines))

    # Counting

    def planned(self, plan: ContextPlan, draft: str) -> None:
        self._plan = self.meter.plan = plan
        self.meter.estimated = TYPED if draft != self.composer.message else NOTHING

    def _count(self) -> None:
        if self._counter is not None:
            self._counter.stop()
            self._counter = None
        self._start("count", self.controller.plan, self.composer.message)

    @on(TextArea.Changed, "#composer")
    def _draft_changed(self) -> None:
        if not self.controller.busy:
            self.meter.estimated = TYPED
        if self._counter is None:
            self._counter = self.set_timer(COUNT_AFTER, self._count)
        else:
            self._counter.reset()

    # Leaving

    def keeping(self, progress: PromptProgress | None) -> None:
        label = "Keeping the conversation's tokens"
        hint = "Ctrl+Q leaves at once" if self.controller.closing else ""
        if progress is None:
            self._show(Activity(label=label, hint=hint, tone="busy"))
        else:
            self._show(activity.of_prompt(progress, label=label, hint=hint))

    def kept(self, kept: Kept | None) -> None:
        if kept is None:
            return
        if kept.reason:
            self.transcript.add_message("note", _literal(kept.reason))
        elif kept.tokens:
            self._show(Activity(label=f"Kept {tokens(kept.tokens)} tokens ({size(kept.size)})", tone="busy"))

    # What the user does

    @on(Composer.Submitted)
    def _submitted(self, event: Composer.Submitted) -> None:
        command = parse(event.text)
        if command is not None:
            if command.command is None:
                known = " ".join(names())
                self.notify(
                    f"There is no command /{command.name}. There are: {known}", severity="warning", markup=False
                )
                return
            self.composer.sent(event.text)
            self._run_command(command.command.action, command.argument)
        elif not self.controller.ready:
            self.notify("The model is not ready yet; the draft stays in the composer.", severity="warning")
        elif self.controller.busy:
            self.notify("An answer is under way; Esc stops it. The draft stays in the composer.", severity="warning")
        else:
            self._sent = event.text
            self._start("turn", self.controller.send, event.text)

    def _run_command(self, action: str, argument: str) -> None:
        if action == "attach":
            self.action_attach(argument)
        else:
            self.act(action)

    def act(self, action: str) -> None:
        """Do an action by its name, beside everything else."""
        self._start("action", self.run_action, action)

    def action_attach(self, path: str = "") -> None:
        """Put the document at a path before the conversation; without a path the composer asks for one."""
        if not path:
            self.composer.load("/attach ")
            self.composer.focus()
            return
        self._start("attach", self.controller.attach, unquoted(path))

    def action_stop(self) -> None:
        if self.controller.busy:
            self.controller.stop()
        elif self.selections:
            self.clear_selection()
        else:
            self.composer.focus()

    def action_again(self) -> None:
        if not self.controller.opened:
            self._show(activity.STARTING)
            self.controller.restart()
        elif self.controller.ready and not self.controller.busy:
            self._start("turn", self.controller.retry)

    def action_new_session(self) -> None:
        self._switch("")

    def action_sessions(self) -> None:
        from tui.app.screens.sessions import SessionsScreen

        self.app.push_screen(SessionsScreen(self.controller.engine.sessions, self.controller.session_id), self._switch)

    def _switch(self, chosen: str | None) -> None:
        if chosen is None or (chosen and chosen == self.controller.session_id):
            return
        if self.controller.busy:
            self.notify("Something is under way; Esc stops it.", severity="warning")
            return
        if not chosen and not self.controller.opened:
            self._show(activity.STARTING)
        self._start("turn", self.controller.open_session, chosen)

    def action_help(self) -> None:
        from tui.app.screens.help import HelpScreen

        self.app.push_screen(HelpScreen())

    def action_page(self, direction: int) -> None:
        (self.transcript.action_page_up if direction < 0 else self.transcript.action_page_down)()

    def action_edge(self, direction: int) -> None:
        (self.transcript.action_scroll_home if direction < 0 else self.transcript.action_scroll_end)()

    def on_key(self, event: events.Key) -> None:
        """What is typed with the transcript in focus goes on in the composer."""
        if self.focused is self.transcript and event.is_printable and event.character:
            event.stop()
            self.composer.focus()
            self.composer.insert(event.character)


def _literal(text: str) -> str:
    """Text for a Markdown message that is to be shown as it is."""
    return "".join("\\" + mark if mark in _MARKUP else mark for mark in display_safe(text))


_MARKUP = frozenset("\\`*_{}[]<>#|~$&")
