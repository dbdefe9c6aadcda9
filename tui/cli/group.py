"""The group of commands by name, each in a file of its own."""

from __future__ import annotations

import difflib
import importlib
import os

import rich_click as click

from tui import __version__
from tui.cli.common import shared_options
from tui.cli.usage import with_ocr_value
from tui.errors import UsageProblem

COMMANDS = ("demo", "summarize", "ask", "extract", "count", "chunk", "doctor", "screen")


class LazyGroup(click.RichGroup):
    """A group whose commands live in files of their own, each imported when it is named or listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = importlib.import_module(f"tui.cli.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-") and not ctx.resilient_parsing:
            raise _no_command(name)
        return super().resolve_command(ctx, with_ocr_value(args))


def _no_command(name: str) -> UsageProblem:
    listed = f"The commands are {', '.join(COMMANDS)}."
    if name and os.path.exists(name):
        return UsageProblem(
            f"{name} is a path, and no command stands before it.",
            f"Say what to do with it, such as `longscroll summarize {name}` or `longscroll screen {name}`.",
        )
    alike = difflib.get_close_matches(name, COMMANDS, n=1)
    if alike:
        return UsageProblem(f"There is no command `{name}`.", f"Did you mean `{alike[0]}`? {listed}")
    return UsageProblem(f"There is no command `{name}`.", listed)


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "-V", "--version", prog_name="longscroll")
@shared_options
@click.pass_context
def group(ctx: click.Context, /, **_: object) -> None:
    """Read what is longer than the machine seems able to hold.

    Chat with, summarize and question long documents on a local llama-server. Without a command: the screen.
    """
    if ctx.invoked_subcommand is None:
        screen = group.get_command(ctx, "screen")
        assert screen is not None
        ctx.invoke(screen, paths=(), session="")
