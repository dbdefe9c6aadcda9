"""`longscroll doctor`"""

from __future__ import annotations

import rich_click as click

from tui.cli.common import Shared, with_shared


@click.command("doctor")
@with_shared
def command(shared: Shared, /) -> int:
    """Check what longscroll needs: folders, database, llama-server, model, and whether it really answers.

    Starts the server on the model and asks it something; nothing is left running.
    """
    from tui.cli.errors import run_async

    return run_async(lambda: _doctor(shared))


async def _doctor(shared: Shared) -> int:
    from tui.cli.checks import NEEDED_TO_ANSWER, Examination
    from tui.cli.opening import show_start
    from tui.cli.output import Out
    from tui.errors import ExitCode
    from tui.paths import get_paths

    out = Out(as_json=shared.json)
    found = []
    with out.working() as progress:
        async for check in Examination(shared, get_paths(), show_start(progress)).checks():
            found.append(check)
            if not shared.json:
                out.line(f"{check.status.upper():<5} {check.name}: {check.detail}")
                if check.remedy and check.status != "ok":
                    out.line(f"      → {check.remedy}")
    if shared.json:
        out.emit({"checks": found})
    failed = {check.name for check in found if check.status == "fail"}
    if failed & NEEDED_TO_ANSWER:
        return ExitCode.NO_MODEL
    return ExitCode.SOME_FAILED if failed else ExitCode.OK
