"""The command `longscroll`: the group, its commands by name, and the one place where it ends."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from typing import NoReturn

import rich_click as click

from tui import __version__
from tui.cli.common import shared_options

_COMMANDS = ("demo", "summarize", "ask", "count", "chunk", "doctor", "screen")


class LazyGroup(click.RichGroup):
    """A group whose commands live in files of their own, each imported when it is named or listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command = importlib.import_module(f"tui.cli.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command


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


def main(args: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and end the process with one of the exit codes of `tui.errors.ExitCode`."""
    from tui.cli.errors import run_guarded

    sys.exit(run_guarded(group, sys.argv[1:] if args is None else list(args)))


if __name__ == "__main__":
    main()
