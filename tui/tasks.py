"""Work that must come to its end, whatever is cancelled around it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

_T = TypeVar("_T")


async def undisturbed(work: Coroutine[Any, Any, _T]) -> _T:
    """The result of `work`, which goes on to its end also when the caller is being cancelled meanwhile.

    Raises what `work` raised; else CancelledError when the caller was cancelled. A cancellation may be pending already
    and come at this very await: `asyncio.shield` would leave the work behind then.
    """
    task = asyncio.ensure_future(work)
    cancelled = False
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            cancelled = True
    if cancelled and not task.exception():
        raise asyncio.CancelledError
    return task.result()
