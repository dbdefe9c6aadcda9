"""Work on the server that is done again when the server was started again in its middle."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from tui.context.diagnosed import diagnosed
from tui.server.client import AGAIN
from tui.server.errors import ServerGone, StreamBroken

if TYPE_CHECKING:
    from tui.context.runtime import Runtime

_T = TypeVar("_T")


async def again(
    runtime: Runtime, work: Callable[[], Awaitable[_T]], *, before: Callable[[ServerGone], None] | None = None
) -> _T:
    """The result of `work()`, called again from its beginning when the server ended under it and was started again.

    At most `AGAIN` times; once where a stream broke and the server lived on. `before` hears why it begins again: what
    came so far is void. After a restart the slots are empty, so `work` should begin with what fills its slot.
    Raises what `work` raised, or why the server is not there again.
    """
    lived_on = False
    for attempt in range(AGAIN + 1):
        generation = runtime.client.generation
        try:
            return await work()
        except ServerGone as error:
            if attempt == AGAIN:
                raise (runtime.last_death or await diagnosed(runtime, error)) from error
            await runtime.revive(error, generation)
            if runtime.client.generation == generation:
                if lived_on or not isinstance(error, StreamBroken):
                    raise
                lived_on = True
            if before is not None:
                before(error)
    raise AssertionError("the last attempt returns or raises")
