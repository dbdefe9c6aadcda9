"""`longscroll demo`"""

from __future__ import annotations

from pathlib import Path

import msgspec
import rich_click as click

from tui.cli.common import Shared, with_shared

SAMPLE = Path(__file__).resolve().parent.parent / "assets" / "sample.md"


@click.command("demo")
@with_shared
def command(shared: Shared, /) -> int:
    """Try longscroll: open the screen on a small model and a sample document.

    The model is fetched once (89 MiB to download, 94 MiB on disk).

    Where there is no terminal, the sample document is summarized to stdout instead, on the same model.
    """
    from tui.cli.errors import run_async
    from tui.cli.screen import is_interactive, open_screen

    shared = msgspec.structs.replace(shared, model="demo", server_url="")
    if is_interactive() and not shared.json:
        run_async(lambda: _fetch(shared))
        return open_screen(shared, (str(SAMPLE),))
    from tui.cli.summarize import KEPT, summarize

    return run_async(lambda: summarize(shared, (str(SAMPLE),)), kept=KEPT)


async def _fetch(shared: Shared) -> int:
    """Fetch the demo model, with a progress bar, before the screen takes the terminal."""
    from tui.cli.opening import show_start
    from tui.cli.output import Out
    from tui.context.runtime import find_model
    from tui.errors import ExitCode
    from tui.paths import get_paths

    with Out(as_json=False).working() as progress:
        await find_model(shared.model, get_paths(), show_start(progress))
    return ExitCode.OK
