"""What every command opens before it works: settings, folders, the database, the engine, documents."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tui.cli.common import ReadWishes, Shared
from tui.cli.output import Out, Progress
from tui.errors import LongscrollError, NoModel, StorageProblem
from tui.paths import Paths, get_paths
from tui.settings import Settings, load_settings
from tui.text import one_line

if TYPE_CHECKING:
    from tui.context.runtime import FetchProgress, OnState, Runtime, RuntimeOptions
    from tui.documents.inputs import Input
    from tui.documents.model import Document
    from tui.server.state import ServerState
    from tui.store.database import Store

_SMALLEST_CONTEXT = 256
_WORTH_READING_AHEAD = frozenset({".pdf", ".docx", ".rtf", ".html", ".htm", ".epub"})
_SLOW_S = 2.0
_TRIES = 3
"""How often a password is asked for."""


class Ground(msgspec.Struct, frozen=True):
    """What stands before any model is chosen."""

    shared: Shared
    settings: Settings
    paths: Paths
    store: Store
    out: Out
    model: str
    """The model to use: as named by option or setting, else `demo` when this machine has it, else empty."""

    @property
    def server_url(self) -> str:
        """Address of the server to use instead of starting one; empty when one is to be started."""
        return self.shared.server_url or self.settings.server_url


@contextlib.asynccontextmanager
async def open_ground(shared: Shared, out: Out) -> AsyncIterator[Ground]:
    """Read the settings and open the database.

    Raises UsageProblem or StorageProblem; NoModel when the server named by option or the model named by the settings
    is not there.
    """
    from tui.server.binary import find_server
    from tui.store.database import Store

    paths = get_paths()
    settings = await asyncio.to_thread(load_settings, paths.settings_file)
    if shared.server_url and shared.model:
        out.warn("The server at --server-url has its own model; --model has no effect.")
    elif shared.model:
        # An option wins over the settings, also where the setting is another way to get at a model.
        settings = msgspec.structs.replace(settings, server_url="")
    if shared.server and (shared.server_url or settings.server_url):
        out.warn("The server that runs already is used; --server has no effect.")
    elif shared.server:
        await asyncio.to_thread(find_server, shared.server)
    store = await asyncio.to_thread(Store, paths)
    try:
        model = await _chosen_model(shared, settings, paths, out)
        yield Ground(shared, settings, paths, store, out, model)
    finally:
        await asyncio.to_thread(store.close)


async def _chosen_model(shared: Shared, settings: Settings, paths: Paths, out: Out) -> str:
    from tui.models.demo import demo_path

    named = shared.model or settings.model
    if named or shared.server_url or settings.server_url:
        if named not in ("", "demo", shared.model) and not (shared.server_url or settings.server_url):
            await asyncio.to_thread(_check_setting, named, paths)
        return named
    if not await asyncio.to_thread(demo_path(paths.models).is_file):
        return ""
    out.warn("No model was named, so the demo model is used, which is very small. Name yours with --model PATH.")
    return "demo"


def _check_setting(name: str, paths: Paths) -> None:
    from tui.models.modelfile import open_model
    from tui.models.resolve import resolve_model

    try:
        open_model(resolve_model(name, paths.models))
    except NoModel as error:
        raise from_settings(error, paths) from error


def from_settings(error: NoModel, paths: Paths) -> NoModel:
    """The failure of a model that no option named, with the place where it is named."""
    return NoModel(
        f"{error.what} It is named by `model` in {paths.settings_file}.", "Correct it there, or give --model PATH."
    )


def runtime_options(ground: Ground, *, parallel: int = 0, small: bool = False) -> RuntimeOptions:
    """What the options and settings ask of the engine; `parallel` where neither says anything.

    With `small`, the smallest context and one slot: for questions that need no prompt.
    """
    from tui.context.runtime import RuntimeOptions

    shared, settings = ground.shared, ground.settings
    return RuntimeOptions(
        model=ground.model,
        ctx_size=_SMALLEST_CONTEXT if small else shared.ctx_size,
        parallel=1 if small else shared.parallel or settings.parallel or parallel,
        server_url=ground.server_url,
        api_key=shared.api_key,
        server=shared.server,
    )


@contextlib.asynccontextmanager
async def open_engine(ground: Ground, *, parallel: int = 0, small: bool = False) -> AsyncIterator[Runtime]:
    """The engine, with its start shown on stderr; see `runtime_options`."""
    from tui.context.runtime import open_runtime

    options = runtime_options(ground, parallel=parallel, small=small)
    async with contextlib.AsyncExitStack() as stack:
        with ground.out.working() as progress:
            runtime = await stack.enter_async_context(
                open_runtime(
                    options,
                    settings=ground.settings,
                    paths=ground.paths,
                    store=ground.store,
                    on_state=show_start(progress),
                    restarts=True,
                )
            )
        yield runtime


def show_start(progress: Progress) -> OnState:
    """A callback that shows how the model is fetched and the server comes up."""
    from tui.context.runtime import FetchProgress
    from tui.units import size

    def show(state: ServerState | FetchProgress) -> None:
        if isinstance(state, FetchProgress):
            label = "Fetching the demo model"
            if state.total:
                label = f"{label} ({size(state.total)})"
            progress.update(label, state.done, state.total or None)
        elif state.phase in ("starting", "loading"):
            progress.update("Loading the model", state.fraction, 1.0 if state.fraction is not None else None)

    return show


@contextlib.asynccontextmanager
async def open_inputs(ground: Ground, paths: Sequence[str]) -> AsyncIterator[tuple[Input, ...]]:
    """The inputs that the arguments stand for, see `tui.documents.inputs.expand`; what was decided is told on stderr.

    An argument that gives nothing is an input too: `read` raises its problem. Raises StorageProblem.
    """
    from tui.documents.inputs import expand
    from tui.documents.spool import spool_folder

    limit = ground.settings.read_memory_mib
    with contextlib.ExitStack() as stack:
        spool = None
        if "-" in paths:
            if sys.stdin.isatty():
                ground.out.note("Type or paste the text, then end it with Ctrl-D (Ctrl-Z and Enter on Windows).")
            spool = stack.enter_context(spool_folder(ground.paths.cache / "standard-input"))
        expansion = await expand(paths, spool=spool, limit_mib=limit)
        for note in expansion.notes:
            ground.out.note(note)
        yield expansion.inputs


async def read(ground: Ground, item: Input, wishes: ReadWishes) -> Document:
    """Read one document, or take it from the database when it was read before, and print its warnings.

    At a terminal the password of an encrypted PDF is asked for. Raises InputProblem; UsageProblem for pages that the
    document does not have.
    """
    from tui.cli.remembered import remembered
    from tui.documents.selection import select_pages

    if item.problem is not None:
        raise item.problem
    place = None
    if not item.spooled:
        place = await remembered(ground.store, item.path, Path(item.path).name, wishes)
    document = None if place is None else await place.document(item.shown)
    if document is None:
        document, secret = await _read_with_password(ground, item, wishes)
        if place is not None and not secret:
            try:
                await place.keep(document)
            except StorageProblem as error:
                ground.out.warn(f"What was read of {item.shown} could not be kept for the next time. {error}")
    if wishes.pages:
        document = select_pages(document, wishes.pages)
    for warning in document.warnings:
        ground.out.warn(warning, about=item.shown)
    return document


async def read_ahead(ground: Ground, item: Input, wishes: ReadWishes) -> Document | None:
    """Read a document into the database before it is wanted, so that `read` finds it there. Nothing is told or asked.

    What cannot be read so, or is read in no time, is left to `read`: None.
    """
    from tui.cli.remembered import remembered

    if item.problem is not None or item.spooled or Path(item.path).suffix.lower() not in _WORTH_READING_AHEAD:
        return None
    place = await remembered(ground.store, item.path, Path(item.path).name, wishes)
    document = None if place is None else await place.document(item.shown)
    if place is None or document is not None:
        return document
    with contextlib.suppress(LongscrollError):  # met again, and told, when it is read
        document = await _read_once(ground, item, wishes, "")
        await place.keep(document)
    return document


async def _read_with_password(ground: Ground, item: Input, wishes: ReadWishes) -> tuple[Document, bool]:
    """The document, and whether a password opened it.

    The first try is without one, so that what needs none can be kept; then the one given, those typed before, and
    at a terminal up to three new ones.
    """
    from tui.cli.asking import ask_secret, can_ask
    from tui.documents.refusal import PasswordNeeded

    known = [password for password in (wishes.password, *wishes.typed) if password]
    asked = 0
    password = ""
    while True:
        try:
            document = await _read_once(ground, item, wishes, password)
        except PasswordNeeded as error:
            if known:
                password = known.pop(0)
                continue
            if asked == _TRIES or not can_ask():
                raise
            if asked:
                ground.out.note(f"That password does not open {item.shown}.")
            asked += 1
            password = await ask_secret(f"Password of {one_line(item.shown)}: ")
            if not password:
                raise error
            continue
        if password and password not in wishes.typed:
            wishes.typed.append(password)
        return document, bool(password)


async def _read_once(ground: Ground, item: Input, wishes: ReadWishes, password: str) -> Document:
    from tui.documents.loader import read_document

    async with _shown_when_slow(ground.out, f"Reading {item.shown}"):
        return await read_document(
            item.path,
            shown=item.shown,
            password=password or None,
            encoding=wishes.encoding or None,
            ocr=wishes.ocr,
            timeout_s=ground.settings.read_timeout_s,
            ocr_timeout_s=ground.settings.ocr_timeout_s,
            memory_mib=ground.settings.read_memory_mib,
        )


@contextlib.asynccontextmanager
async def _shown_when_slow(out: Out, label: str) -> AsyncIterator[None]:
    """Show `label` while the work inside goes on, once it has taken some seconds."""

    async def show() -> None:
        await asyncio.sleep(_SLOW_S)
        with out.working() as progress:
            while True:
                progress.update(label)
                await asyncio.sleep(_SLOW_S)

    task = asyncio.create_task(show())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])
