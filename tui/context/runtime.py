"""Everything one run needs, opened and closed as one: the server, its client, the model, exact counts, kept slots.

Both faces of the program (`cli`, `app`) open exactly this and hand it to `chat` and `reading`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import msgspec

from tui.context.counter import TokenCounter, make_counter
from tui.context.prompt import PromptAssembler
from tui.context.slots import Identity, SlotKeeper, wants_swa_full
from tui.errors import NoModel
from tui.models.modelfile import ModelFile, open_model
from tui.models.vocabulary import Vocabulary, read_vocabulary
from tui.paths import Paths, ensure
from tui.server.attach import attach
from tui.server.binary import find_server
from tui.server.client import LlamaClient
from tui.server.errors import ServerDied, ServerGone, StreamCancelled
from tui.server.flags import read_flags
from tui.server.launch import LaunchRequest, rounded_context
from tui.server.process import ServerProcess
from tui.server.revival import Reviver
from tui.server.state import ServerState
from tui.server.types import Props
from tui.settings import Settings, default_reserve
from tui.store.database import Store
from tui.store.slotfiles import SlotFiles

DEFAULT_CONTEXT = 8192
"""Context size when none is asked for; the model's own where that is smaller."""


_LOGS_KEPT = 20
_WARNINGS_KEPT = 200
_STRETCHING = frozenset({"--override-kv", "--rope-scaling", "--rope-scale", "--yarn-orig-ctx"})


class RuntimeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the user asked for; empty and 0 leave it to the settings, then to longscroll."""

    model: str = ""
    ctx_size: int = 0
    """Context size of one slot in tokens."""
    parallel: int = 0
    server_url: str = ""
    api_key: str = ""
    server: str = ""
    """Path of the llama-server binary."""


class FetchProgress(msgspec.Struct, frozen=True):
    """The demo model is being fetched; bytes."""

    done: int
    total: int


OnState = Callable[[ServerState | FetchProgress], None]


class Runtime:
    """One open engine. `n_ctx` is the context size of one slot, as the server reports it."""

    def __init__(
        self,
        *,
        client: LlamaClient,
        props: Props,
        model: ModelFile | None,
        counter: TokenCounter,
        assembler: PromptAssembler,
        slots: SlotKeeper,
        store: Store,
        paths: Paths,
        settings: Settings,
        process: ServerProcess | None,
    ) -> None:
        self.client = client
        self.props = props
        self.model = model
        self.counter = counter
        self.assembler = assembler
        self.slots = slots
        self.store = store
        self.paths = paths
        self.settings = settings
        self.process = process
        self.warnings: list[str] = []
        self._reviver: Reviver | None = None

    @property
    def n_ctx(self) -> int:
        return self.props.n_ctx

    @property
    def parallel(self) -> int:
        return self.props.total_slots

    @property
    def reserve(self) -> int:
        """Tokens kept for an answer."""
        return default_reserve(self.n_ctx, self.settings.reserve)

    @property
    def model_name(self) -> str:
        return self.model.name if self.model else Path(self.props.model_path).name or self.props.model_alias

    @property
    def fingerprint(self) -> str:
        """The model's fingerprint; for a server elsewhere, its own words about the model."""
        return self.model.fingerprint if self.model else f"{self.props.model_path}|{self.props.build_info}"

    def warn(self, sentence: str) -> None:
        """Note a warning once; both faces show `warnings`. A long run keeps the first few hundred, and says so."""
        if len(self.warnings) > _WARNINGS_KEPT or sentence in self.warnings:
            return
        if len(self.warnings) == _WARNINGS_KEPT:
            sentence = f"There were more than {_WARNINGS_KEPT} warnings about the server; no more are shown."
        self.warnings.append(sentence)

    def restarted_when_it_dies(self) -> Reviver | None:
        """From now on a server of our own that dies is started again, see `revive`; None for a server elsewhere."""
        if self.process is not None and self._reviver is None:
            self._reviver = self.client.revive = Reviver(self.process, self._revived)
        return self._reviver

    @property
    def last_death(self) -> ServerDied | None:
        """Why the server died last; None when it has not, or when nobody starts it again."""
        return self._reviver.death if self._reviver is not None else None

    def _revived(self, death: ServerDied, restarts: int) -> None:
        if self.process is not None:
            self.props = self.process.props
        self.slots.emptied()
        more = f" (restart {restarts} of this run)" if restarts > 1 else ""
        what = death.what.rstrip(".")
        self.warn(f"{what}. It was started again{more}; only what was running is done again. {death.remedy}")

    async def revive(self, error: ServerGone, generation: int) -> None:
        """Returns when the request that failed with `error` may be made again; raises why not.

        `generation` is the client's from before the request. The server was started again (its slots are empty then),
        or it lives and only the connection broke. A server elsewhere, or one whose restart is somebody else's matter
        (the screen's), is not started again.
        """
        if self._reviver is not None:
            await self._reviver(error, generation)
        elif isinstance(error, StreamCancelled) or await self.client.health() != "ok":
            raise error


def wanted_context(asked: int, setting: int, model: ModelFile, *, server_args: Sequence[str] = ()) -> int:
    """Context size of one slot: asked for, else the setting, else the model's own but at most DEFAULT_CONTEXT.

    Never more than the model was trained for, which the server refuses to use but would take the memory for; rounded up
    to the server's step, as it does itself. Flags among `server_args` that stretch the trained context lift the limit.
    """
    most = 0 if _STRETCHING.intersection(server_args) else model.n_ctx_train
    wanted = asked or setting or min(model.n_ctx_train or DEFAULT_CONTEXT, DEFAULT_CONTEXT)
    return rounded_context(min(wanted, most) if most else wanted)


async def find_model(name: str, paths: Paths, on_state: OnState | None) -> Path:
    """The file of `--model`: a path, or `demo`, which is fetched when this machine does not have it yet."""
    from tui.models.demo import fetch_demo
    from tui.models.resolve import resolve_model

    if not name:
        raise NoModel("No model was named.", "Give --model PATH, or --model demo for the small demo model.")
    if name == "demo":

        def report(done: int, total: int) -> None:
            if on_state is not None:
                on_state(FetchProgress(done, total))

        return await asyncio.to_thread(fetch_demo, paths.models, report)
    return await asyncio.to_thread(resolve_model, name, paths.models)


@contextlib.asynccontextmanager
async def open_runtime(
    options: RuntimeOptions,
    *,
    settings: Settings,
    paths: Paths,
    store: Store,
    on_state: OnState | None = None,
    restarts: bool = False,
) -> AsyncIterator[Runtime]:
    """Start (or attach to) a server and yield a Runtime; a server that was started is stopped on the way out.

    With `restarts` it is started again when it dies, for work that nobody watches.
    Raises NoModel with a diagnosis when there is no binary, no model, or the server does not start.
    `on_state` is called from the event loop, except FetchProgress, which comes from a thread.
    """
    url = options.server_url or settings.server_url
    async with contextlib.AsyncExitStack() as stack:
        if url:
            runtime = await _attached(stack, url, options, settings, paths, store, on_state)
        else:
            runtime = await _launched(stack, options, settings, paths, store, on_state)
        reviver = runtime.restarted_when_it_dies() if restarts else None
        if reviver is not None:
            stack.push_async_callback(reviver.aclose)
        yield runtime


async def _launched(
    stack: contextlib.AsyncExitStack,
    options: RuntimeOptions,
    settings: Settings,
    paths: Paths,
    store: Store,
    on_state: OnState | None,
) -> Runtime:
    path = await find_model(options.model or settings.model, paths, on_state)
    model = await asyncio.to_thread(open_model, path)
    binary = await asyncio.to_thread(find_server, options.server, settings.llama_server)
    flags = await read_flags(binary, ensure(paths.cache))
    files = SlotFiles(ensure(paths.slots))
    await asyncio.to_thread(_tidy_logs, ensure(paths.logs))
    request = LaunchRequest(
        model=path,
        ctx_size=wanted_context(options.ctx_size, settings.ctx_size, model, server_args=settings.server_args),
        parallel=options.parallel or settings.parallel or 1,
        slot_dir=paths.slots,
        log_file=paths.logs / f"server-{os.getpid()}.log",
        swa_full=wants_swa_full(model.memory, flags),
        extra=tuple(settings.server_args),
    )
    process = await stack.enter_async_context(ServerProcess())
    await process.start(binary, request, flags, on_state=on_state)
    vocabulary = await asyncio.to_thread(read_vocabulary, path)
    counter = await make_counter(process.client, path, store.facts)
    runtime = Runtime(
        client=process.client,
        props=process.props,
        model=model,
        counter=counter,
        assembler=PromptAssembler(process.client, counter, vocabulary, process.props),
        slots=SlotKeeper(
            process.client, files, Identity.of(model, process.props, request, build=flags.build), store.facts
        ),
        store=store,
        paths=paths,
        settings=settings,
        process=process,
    )
    asked = options.ctx_size or settings.ctx_size
    if model.n_ctx_train and request.ctx_size < asked:
        runtime.warn(
            f"{model.name} was trained for {model.n_ctx_train:,} tokens, so the context is that instead of {asked:,}."
        )
    for sentence in process.warnings:
        runtime.warn(sentence)
    return runtime


def _tidy_logs(folder: Path) -> None:
    """Remove the oldest server logs; each start writes a new one."""

    def written(path: Path) -> float:
        try:
            return path.stat().st_mtime
        except FileNotFoundError:  # another longscroll tidies up as well
            return 0.0

    for path in sorted(folder.glob("server-*.log"), key=written, reverse=True)[_LOGS_KEPT:]:
        path.unlink(missing_ok=True)


async def _attached(
    stack: contextlib.AsyncExitStack,
    url: str,
    options: RuntimeOptions,
    settings: Settings,
    paths: Paths,
    store: Store,
    on_state: OnState | None,
) -> Runtime:
    server = await attach(url, options.api_key, on_state=on_state)
    stack.push_async_callback(server.client.aclose)
    model: ModelFile | None = None
    vocabulary: Vocabulary | None = None
    path = Path(server.props.model_path)
    # The vocabulary tells special tokens apart; a server on another machine has it where we cannot read it.
    if server.props.model_path != "" and await asyncio.to_thread(path.is_file):
        model = await asyncio.to_thread(open_model, path)
        vocabulary = await asyncio.to_thread(read_vocabulary, path)
    counter = await make_counter(server.client, path if model else None, store.facts)
    runtime = Runtime(
        client=server.client,
        props=server.props,
        model=model,
        counter=counter,
        assembler=PromptAssembler(server.client, counter, vocabulary, server.props),
        slots=SlotKeeper(server.client, None, None, store.facts),
        store=store,
        paths=paths,
        settings=settings,
        process=None,
    )
    for sentence in server.warnings:
        runtime.warn(sentence)
    if options.ctx_size and options.ctx_size != runtime.n_ctx:
        runtime.warn(
            f"The server at {url} runs with a context of {runtime.n_ctx:,} tokens; --ctx-size {options.ctx_size:,} "
            "has no effect on it."
        )
    return runtime
