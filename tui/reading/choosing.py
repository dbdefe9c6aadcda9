"""How many slots to start when the user named no number.

Parts of a document are read side by side: what each slot writes is computed in one batch, so reading a model's weights
once serves all of them. Measured on 2 processor cores beside other work, demo model, 8 parts of 500 tokens: 1 slot took
87 s of the server's processor time (130 s on the clock), 2 took 54 to 59 (103 to 118), 4 took 39 to 40 (63 to 71). More
would split the memory further, and parts come in fours at most.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from tui.units import plural

if TYPE_CHECKING:
    from tui.models.modelfile import ModelFile

MOST_SLOTS = 4
_PART = 4096
"""Tokens of a part, about (see plan.py)."""
_FRAME = 1024
"""Tokens beside the text of a document that is read in one pass, about."""
_SPARE = 768 << 20
"""Bytes left to everything else on the machine."""
_PER_SLOT = 96 << 20
"""Bytes that a slot takes beside its cache, about: its share of the compute buffers."""


class SlotChoice(msgspec.Struct, frozen=True):
    """How many slots, and why, in a sentence."""

    slots: int
    why: str


def choose_slots(model: ModelFile | None, ctx_size: int, tokens: int, *, available: int | None = None) -> SlotChoice:
    """Slots for reading a document of about `tokens` tokens with `ctx_size` tokens of context each.

    `available` is the memory that can be had in bytes, by default what the system reports. The model is taken to run
    in main memory; on a graphics card the server itself says when it does not fit.
    """
    if tokens + _FRAME <= ctx_size:
        return SlotChoice(1, "It is read in one pass.")
    parts = max(2, -(-tokens // min(_PART, max(256, ctx_size // 2))))
    slots = min(MOST_SLOTS, parts)
    if model is not None:
        if available is None:
            import psutil

            available = int(psutil.virtual_memory().available)
        each = ctx_size * model.kv_bytes_per_token + _PER_SLOT
        held = max(1, (available - _SPARE - model.size) // each)
        if held < slots:
            slots = 2 if held >= 2 else 1
            return SlotChoice(slots, f"Memory holds {plural(slots, 'slot')} of {ctx_size:,} tokens beside the model.")
    if slots == 3:
        slots = 2  # parts come in even numbers
    return SlotChoice(slots, f"{plural(slots, 'part')} of about {parts} are read side by side.")
