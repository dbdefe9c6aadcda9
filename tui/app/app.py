"""The screen of longscroll."""

from __future__ import annotations

import io
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from rich.console import Console, RenderableType
from rich.text import Text
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.worker import WorkerFailed

from tui.app.defects import recorded, recorded_text
from tui.app.engine import Engine, LocalEngine
from tui.app.screens.chat import ChatScreen
from tui.errors import LongscrollError
from tui.text import display_safe, one_line

if TYPE_CHECKING:
    from textual.driver import Driver

    from tui.context.runtime import RuntimeOptions
    from tui.paths import Paths
    from tui.settings import Settings
    from tui.store.database import Store


class LongscrollApp(App[int]):
    """Opens the chat on an engine. Its return value is the exit code."""

    TITLE = "longscroll"
    CSS_PATH = Path(__file__).with_name("theme.tcss")
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q", "quit", "Quit", priority=True),
        Binding("ctrl+p", "command_palette", "Palette", priority=True),
    ]

    def __init__(self, engine: Engine, *, theme: str = "", session: str = "", documents: Sequence[str] = ()) -> None:
        """`session`: id of the conversation to open, a new one when empty. `documents`: paths to attach to it."""
        super().__init__()
        self._engine = engine
        self._session = session
        self._documents = tuple(documents)
        self._leaving = 0
        self._unknown_theme = "" if not theme or theme in self.available_themes else theme
        if theme and not self._unknown_theme:
            self.theme = theme

    def on_mount(self) -> None:
        if self._unknown_theme:
            self.notify(
                f"There is no theme {one_line(self._unknown_theme, 40)}; Ctrl+P lists those that there are.",
                severity="warning",
                markup=False,
            )

    def get_default_screen(self) -> Screen[None]:
        self.chat = ChatScreen(self._engine, session=self._session, documents=self._documents)
        return self.chat

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        from tui.app.commands import COMMANDS

        for command in COMMANDS:
            title = f"{command.name.capitalize()}: {command.help}"
            yield SystemCommand(title, f"/{command.name} {command.argument}", self._act(command.action))
        # Of Textual's own only the themes: its keys panel covers the chat, and F1 says more.
        yield SystemCommand("Theme", "Choose another theme", self.action_change_theme)

    def _act(self, action: str) -> Callable[[], None]:
        def act() -> None:
            self.chat.act(action)

        return act

    async def action_quit(self) -> None:
        """Leave in good order; the second time at once but with the server stopped, the third time without waiting."""
        self._leaving += 1
        if self._leaving == 1:
            # As a callable: a coroutine of a worker that never comes to run would never be awaited.
            leaving: Callable[[], Awaitable[None]] = self._leave
            self.run_worker(leaving, group="leave")
        elif self._leaving == 2:
            self.workers.cancel_group(self.chat, "engine")
        else:
            self.exit(0)

    def action_help_quit(self) -> None:
        """Ctrl+C with nothing selected."""
        self.notify("Ctrl+C copies what is selected. Ctrl+Q leaves longscroll.", markup=False)

    # Defects

    def get_driver_class(self) -> type[Driver]:
        chosen = super().get_driver_class()
        if chosen.__name__ != "LinuxDriver":
            return chosen
        from tui.app.driver import ReplacingDriver

        return ReplacingDriver

    def panic(self, *renderables: RenderableType) -> None:
        """End at once, never with the exit code 0; what Textual has to say goes into the log file."""
        text = io.StringIO()
        Console(file=text, width=120).print(*renderables)
        self._end_with(recorded_text(text.getvalue(), self._engine.logs))

    def _handle_exception(self, error: Exception) -> None:
        """Every exception that nobody caught, from workers, messages and drawing, ends here: a sentence and a trace."""
        super()._handle_exception(error)
        cause = error.error if isinstance(error, WorkerFailed) else error
        self._end_with(recorded(cause, self._engine.logs))

    def _fatal_error(self) -> None:
        """Textual's own would print a trace over several pages."""

    def _end_with(self, told: LongscrollError) -> None:
        self._return_code = self._return_code or int(told.exit_code)
        self._exit_renderables[:] = [Text(display_safe(str(told)))]
        self._close_messages_no_wait()

    async def _leave(self) -> None:
        controller = self.chat.controller
        while self.screen is not self.chat:
            await self.pop_screen()
        controller.close()
        if not controller.opened:
            # It may be loading for minutes; there is nothing to keep yet.
            self.workers.cancel_group(self.chat, "engine")
        await controller.closed.wait()
        self.exit(0)


def local_app(
    options: Callable[[], RuntimeOptions],
    *,
    settings: Settings,
    paths: Paths,
    store: Store,
    session: str = "",
    documents: Sequence[str] = (),
) -> LongscrollApp:
    """The app on this machine's engine. `options` is called when the engine is opened, after the first paint."""
    engine = LocalEngine(options, settings=settings, paths=paths, store=store)
    return LongscrollApp(engine, theme=settings.theme, session=session, documents=documents)
