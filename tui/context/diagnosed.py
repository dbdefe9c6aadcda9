"""Why a request failed, when the reason is that our own server died: its log knows more than the broken connection."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tui.errors import LongscrollError
from tui.server.errors import ServerGone, StreamCancelled

if TYPE_CHECKING:
    from tui.context.runtime import Runtime

_SECONDS = 5.0
"""How long the end of the process is waited for, once its connection broke."""


async def diagnosed(runtime: Runtime, error: LongscrollError) -> LongscrollError:
    """`error`, or in its place the reason why the server that `runtime` started has died."""
    if runtime.process is None or not isinstance(error, ServerGone) or isinstance(error, StreamCancelled):
        return error
    try:
        async with asyncio.timeout(_SECONDS):
            return await runtime.process.wait_failed()
    except TimeoutError:
        return error
