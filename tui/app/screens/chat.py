"""The chat: transcript, status line, context meter, composer. It shows what the controller tells it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Footer, TextArea

from tui.app import activity, notes
from tui.app.activity import Activity
from tui.app.commands import names, parse, unquoted
from tui.app.controller import Controller
from tui.app.engine import Engine
from tui.app.notes import literal
from tui.app.screens.answering import Answering, since_question
from tui.app.screens.problem import ProblemScreen
from tui.app.widgets.composer import Composer
from tui.app.widgets.meter import NOTHING, TYPED, ContextMeter
from tui.app.widgets.status import StatusLine
from tui.app.widgets.titlebar import TitleBar
from tui.app.widgets.transcript import Entry, TranscriptView, warm_up
from tui.errors import LongscrollError
from tui.text import one_line
from tui.units import size, tokens

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
        self._waiting: Entry | None = None
        """The note about a document that is being read."""
        self._shown = ""
        """Id of the session in the transcript."""
        self._warnings: list[str] = []
        self._warned: set[str] = set()
        self._unsent = ""
        """What was sent and is not in the conversation yet."""
        self._queued: Entry | None = None
        """A message that waits for the model."""
        self._told_no_room = False
        self._counter: Timer | None = None
        self._plan: ContextPlan | None = None
        """As it was counted last, and of which draft."""
        self._planned = ""
        self._sent = ""
        self._queued_text = ""

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
        self.answering = Answering(self.transcript, self.meter, self._show)
        self.answering.clock = self.set_interval(STATUS_EVERY, self.answering.tick, pause=True)
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
        self.answering.end("")
        queued = self._take_queued()
        if queued:
            self.composer.give_back(queued)
        self._show(Activity(label="The server is not running", hint="Ctrl+R starts it again", tone="bad"))
        self._problem_note(error.what, error.remedy)

        def answered(answer: str | None) -> None:
            if answer == "again":
                self.action_again()
            elif answer == "quit":
                self._start("quit", self.app.run_action, "quit")

        dialog = ProblemScreen("No model to talk to", error, again="Try again", typed=self.composer.insert)
        self.app.push_screen(dialog, answered)

    # The conversation

    def session_opened(
        self, session: SessionRow, messages: Sequence[MessageRow], documents: Sequence[Document]
    ) -> None:
        self._titled(session.title)
        self.composer.forget()
        # Never the figures of another conversation.
        self._plan = None
        self._told_no_room = False
        self.meter.show(None)
        if self.controller.ready:
            self.meter.note = "… the context is being counted"
        queued = self._take_queued()
        if session.id != self._shown:
            if self._shown:
                self.transcript.clear()
            self._shown = session.id
            for document in documents:
                self.transcript.add_message("note", notes.attached(document))
            for row in messages:
                self._show_row(row)
        for warning in self._warnings:
            self.transcript.add_message("note", literal(warning))
        self._warnings = []
        self.composer.remember(*(row.content for row in messages if row.role == "user"))
        if queued:
            self._queue(queued)

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
        for sentence in notes.restored(resumed):
            self.transcript.add_message("note", sentence)

    def session_ready(self) -> None:
        self._show(activity.READY)
        queued = self._take_queued()
        if queued and self.controller.ready:
            self._send(queued)
        else:
            self._count()

    # An answer

    def user_stored(self, row: MessageRow, title: str) -> None:
        self.composer.sent(self._unsent)
        self._unsent = ""
        self._titled(title)
        self.transcript.add_message("user", row.content)
        self.transcript.action_scroll_end()

    def answer_started(self) -> None:
        self.answering.start(self._plan if self._plan is not None and self._planned == self._sent else None)

    def prompt_progress(self, progress: PromptProgress) -> None:
        self.answering.progress(progress)

    def answer_delta(self, text: str, *, reasoning: bool) -> None:
        self.answering.add(text, reasoning=reasoning)

    def answer_ended(self, row: MessageRow | None, notice: str) -> None:
        self.answering.end(activity.of_row(row) if row is not None else "")
        if notice:
            self.transcript.add_message("note", literal(notice))

    def answer_failed(self, row: MessageRow | None, what: str, remedy: str) -> None:
        self.answering.end(activity.of_row(row) if row is not None else "")
        self._problem_note(what, remedy, "Ctrl+R asks again.")

    def answer_withdrawn(self, messages: Sequence[MessageRow], draft: str) -> None:
        self.answering.take_back()
        shown = since_question(self.transcript)
        if draft:
            for entry in shown:
                self.transcript.remove_message(entry)
            self.composer.give_back(draft)
            self.notify("Stopped before the answer began: the message is back in the composer.", markup=False)
        elif not any(entry.kind == "assistant" for entry in shown):
            # The answer that was to be replaced stands again.
            last = max((at for at, row in enumerate(messages) if row.role == "user"), default=-1)
            for row in messages[last + 1 :]:
                self._show_row(row)

    def overflow(self, overflow: Overflow) -> None:
        self.meter.show(overflow.plan)
        self._problem_note(*notes.overflow(overflow.plan, self.controller.largest_context))

    def turn_over(self) -> None:
        self.answering.end("")
        unsent, self._unsent = self._unsent, ""
        if unsent:
            self.composer.give_back(unsent)
        self._show(activity.READY)
        self._count()

    def problem(self, error: LongscrollError) -> None:
        self._problem_note(error.what, error.remedy)

    def _problem_note(self, *sentences: str) -> None:
        text = "\n".join(literal(sentence) for sentence in sentences if sentence)
        self.transcript.add_message("error", text)
        self.transcript.action_scroll_end()

    # Documents

    def reading(self, path: str) -> None:
        name = literal(path)
        self._waiting = self.transcript.add_message("note", f"Reading {name} …")
        self._show(Activity(label=f"Reading {one_line(path, 60)}", hint="Esc stops", tone="busy"))

    def counting(self, document: Document) -> None:
        self._show(Activity(label=f"Counting the tokens of {one_line(document.name, 60)}", tone="busy"))

    def attached(self, document: Document, plan: ContextPlan | None) -> None:
        self._drop_waiting()
        self.transcript.add_message("note", notes.attached(document, notes.tokens_of(document, plan)))
        if plan is not None:
            self._told_no_room = False
            self._tell_room(plan)

    def detached(self, document: Document) -> None:
        self._told_no_room = False
        self.transcript.add_message("note", f"**{literal(document.name)}** is not part of the conversation any more.")

    def _tell_room(self, plan: ContextPlan) -> None:
        """Say once that nothing fits any more, as soon as it is known."""
        if plan.free + plan.draft >= 0:
            self._told_no_room = False
        elif not self._told_no_room:
            self._told_no_room = True
            self._problem_note(*notes.no_room(plan, self.controller.largest_context))

    def not_attached(self, path: str, error: LongscrollError | None) -> None:
        self._drop_waiting()
        if error is not None:
            self.problem(error)
            return
        self.transcript.add_message("note", f"{literal(path)} was not attached: the reading was stopped.")

    def _drop_waiting(self) -> None:
        if self._waiting is not None:
            self.transcript.remove_message(self._waiting)
            self._waiting = None

    # Counting

    def planned(self, plan: ContextPlan, draft: str) -> None:
        self._plan, self._planned = plan, draft
        typed = draft != self.composer.message and not self.controller.answering
        self.meter.show(plan, TYPED if typed else NOTHING)
        self._tell_room(plan)

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
            self.transcript.add_message("note", literal(kept.reason))
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
        elif self.controller.failed:
            self.notify("The model is not running; Ctrl+R starts it. The draft stays in the composer.", markup=False)
        elif self.controller.answering or self._queued is not None:
            self.notify("An answer is under way; Esc stops it. The draft stays in the composer.", severity="warning")
        elif not self.controller.ready or self.controller.busy:
            self.composer.sent(event.text)
            self._queue(event.text)
        else:
            self._send(event.text)

    def _send(self, text: str) -> None:
        self._sent = self._unsent = text
        counted = self._plan is not None and self._planned == text and not self.meter.estimated
        self._start("turn", partial(self.controller.send, counted=counted), text)

    def _queue(self, text: str) -> None:
        """Show a message that is sent as soon as the model is ready."""
        self._queued_text = text
        status = "waits for the model · Esc takes it back"
        self._queued = self.transcript.add_message("user", text, status=status)
        self.transcript.action_scroll_end()

    def _take_queued(self) -> str:
        """The message that waits, which is off the screen now; empty when there is none."""
        entry, self._queued = self._queued, None
        if entry is None:
            return ""
        self.transcript.remove_message(entry)
        return self._queued_text

    def _run_command(self, action: str, argument: str) -> None:
        if action == "attach" and not argument:
            self.composer.load("/attach ")
            self.notify("Which one? /attach PATH, such as /attach ~/report.pdf or a folder.", markup=False)
        elif action == "attach":
            self.action_attach(argument)
        elif action == "detach":
            self.action_detach(argument)
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

    def action_detach(self, name: str = "") -> None:
        """Take a document out; without a name the only one there is."""
        documents = self.controller.documents
        found = notes.matching(documents, name) if name else list(documents)
        if len(found) == 1:
            self._start("attach", self.controller.detach, found[0])
            return
        names = ", ".join(one_line(document.name, 40) for document in documents)
        told = f"Which one? /detach NAME. Attached: {names}" if documents else "No document is attached."
        self.notify(told, severity="warning", markup=False)

    def action_stop(self) -> None:
        if self._queued is not None:
            self.composer.give_back(self._take_queued())
        elif self.controller.busy:
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
            self._sent = ""
            self._plan = None
            # What is asked again leaves the conversation, so it leaves the screen.
            for entry in since_question(self.transcript)[1:]:
                if entry.kind in ("assistant", "error"):
                    self.transcript.remove_message(entry)
            self._start("turn", self.controller.retry)

    def action_new_session(self) -> None:
        self._switch("")

    def action_sessions(self) -> None:
        from tui.app.screens.sessions import SessionsScreen

        engine = self.controller.engine
        listed = SessionsScreen(engine.sessions, self.controller.session_id, delete=engine.delete)
        self.app.push_screen(listed, self._switch)

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
