"""`longscroll screen`, which is also `longscroll` alone: the only door from the command line to the screen."""

from __future__ import annotations

import sys

import rich_click as click

from tui.cli.common import Shared, with_shared


@click.command("screen")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--session", default="", metavar="ID", help="Open this session instead of a new one.")
@with_shared
def command(shared: Shared, /, *, paths: tuple[str, ...], session: str) -> int:
    """Open the screen: chat, with the documents at PATH attached."""
    from tui.errors import UsageProblem

    if not is_interactive():
        raise UsageProblem(
            "The screen needs a terminal, and this is none.", "Use a command instead: `longscroll --help` lists them."
        )
    if shared.json:
        raise UsageProblem("The screen prints no JSON.", "Use --json with a command, such as `longscroll ask`.")
    return open_screen(shared, paths, session)


def is_interactive() -> bool:
    """Whether there is a terminal to draw on and to type in."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def open_screen(shared: Shared, paths: tuple[str, ...] = (), session: str = "") -> int:
    """Run the screen until the user leaves it. Returns the exit code."""
    from tui.cli.errors import run_async

    return run_async(lambda: _screen(shared, paths, session))


async def _screen(shared: Shared, paths: tuple[str, ...], session: str) -> int:
    from tui.app.app import local_app
    from tui.cli.opening import open_ground, runtime_options
    from tui.cli.output import Out

    async with open_ground(shared, Out(as_json=False)) as ground:
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
