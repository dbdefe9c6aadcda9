"""`longscroll screen`, which is also `longscroll` alone: the only door from the command line to the screen."""

from __future__ import annotations

import asyncio
import sys

import rich_click as click

from tui.cli.common import Shared, with_shared
from tui.cli.usage import Readable, Words


@click.command("screen")
@click.argument("paths", nargs=-1, type=Readable(), metavar="[PATH]...")
@click.option("--session", type=Words(), metavar="ID", help="Open this session instead of a new one.")
@with_shared
def command(shared: Shared, /, *, paths: tuple[str, ...], session: str | None) -> int:
    """Open the screen: chat, with the documents at PATH attached."""
    from tui.errors import UsageProblem

    if not is_interactive():
        raise UsageProblem(
            "The screen needs a terminal, and this is none.", "Use a command instead: `longscroll --help` lists them."
        )
    if shared.json:
        raise UsageProblem("The screen prints no JSON.", "Use --json with a command, such as `longscroll ask`.")
    return open_screen(shared, paths, session or "")


def is_interactive() -> bool:
    """Whether there is a terminal to draw on and to type in. (The screen is drawn through stderr.)"""
    return sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()


def open_screen(shared: Shared, paths: tuple[str, ...] = (), session: str = "") -> int:
    """Run the screen until the user leaves it. Returns the exit code."""
    from tui.cli.errors import run_async

    return run_async(lambda: _screen(shared, paths, session), kept="The conversation is kept.")


async def _screen(shared: Shared, paths: tuple[str, ...], session: str) -> int:
    from tui.app.app import local_app
    from tui.cli.opening import open_ground, runtime_options
    from tui.cli.output import Out
    from tui.errors import UsageProblem

    async with open_ground(shared, Out(as_json=False)) as ground:
        if session and await asyncio.to_thread(ground.store.sessions.get, session) is None:
            raise UsageProblem(
                f"There is no session {session}.",
                "Leave --session out and open one from the list of sessions.",
            )
        app = local_app(
            lambda: runtime_options(ground, parallel=1),
            settings=ground.settings,
            paths=ground.paths,
            store=ground.store,
            session=session,
            documents=paths,
        )
        code = await app.run_async()
    return (app.return_code or 0) if code is None else code
