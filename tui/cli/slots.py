"""The engine for reading long documents, with as many slots as serve them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from tui.cli.opening import open_engine, show_start

if TYPE_CHECKING:
    from tui.cli.opening import Ground
    from tui.context.runtime import Runtime
    from tui.documents.model import Document
    from tui.reading.results import SummaryOptions


@contextlib.asynccontextmanager
async def open_reading_engine(
    ground: Ground, options: SummaryOptions, document: Document, *, several: bool
) -> AsyncIterator[Runtime]:
    """The engine for `document` and, with `several`, for others that are not known yet.

    The number of slots that the user named wins; else it is chosen from the memory there is and the document's length.
    """
    named = ground.shared.parallel or ground.settings.parallel or ground.server_url
    slots = 0 if named else await _chosen(ground, options, document, several=several)
    async with open_engine(ground, parallel=slots) as runtime:
        yield runtime


async def _chosen(ground: Ground, options: SummaryOptions, document: Document, *, several: bool) -> int:
    from tui.context.counter import estimate
    from tui.context.runtime import find_model, wanted_context
    from tui.models.modelfile import open_model
    from tui.reading.choosing import choose_slots

    if options.strategy == "refine" and not several:
        return 1  # part after part
    with ground.out.working() as progress:
        path = await find_model(ground.model, ground.paths, show_start(progress))
    model = await asyncio.to_thread(open_model, path)
    settings = ground.settings
    context = wanted_context(ground.shared.ctx_size, settings.ctx_size, model, server_args=settings.server_args)
    tokens = await asyncio.to_thread(estimate, document.text)
    if several or options.strategy == "map-reduce":
        tokens = max(tokens, context)  # some of them will not fit
    return (await asyncio.to_thread(choose_slots, model, context, tokens)).slots
