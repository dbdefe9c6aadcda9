"""The screen of longscroll."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import Screen

from tui.app.engine import Engine, LocalEngine
from tui.app.screens.chat import ChatScreen
from tui.text import one_line

if TYPE_CHECKING:
    from tui.context.runtime import RuntimeOptions
    from tui.paths import Paths
    from tui.settings import Settings
    from tui.store.database import Store


class LongscrollApp(App[int]):
    """Opens the chat on an engine. Its return value is the exit code."""

    TITLE = "longscroll"
    CSS_PATH = "theme.tcss"
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
            if command.action != "app.quit":
                title = f"{command.name.capitalize()}: {command.help}"
                yield SystemCommand(title, f"/{command.name} {command.argument}", self._act(command.action))
        yield from super().get_system_commands(screen)

    def _act(self, action: str) -> Callable[[], None]:
        def act() -> None:
            self.run_worker(self.chat.run_action(action))

        return act

    async def action_quit(self) -> None:
        """Leave in good order; the second time at once but with the server stopped, the third time without waiting."""
        self._leaving += 1
        if self._leaving == 1:
            self.run_worker(self._leave(), group="leave")
        elif self._leaving == 2:
            self.workers.cancel_group(self.chat, "engine")
        else:
            self.exit(0)

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
