"""The states of a server that longscroll started."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec

Phase = Literal["stopped", "starting", "loading", "ready", "stopping", "failed"]


class ServerState(msgspec.Struct, frozen=True):
    """One step of a server's life. `fraction`: share of the model in memory while loading, an estimate, or None."""

    phase: Phase
    detail: str = ""
    fraction: float | None = None


OnState = Callable[[ServerState], None]
