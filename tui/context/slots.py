"""Processed prompts kept on disk and brought back, so that no token is paid for twice.

A server reuses a restored slot only as far as the next prompt has the same tokens; models with a running state reuse it
only when the prompt goes on from exactly the saved tokens. So a slot is kept at a boundary that the next prompt begins
with, and what was really reused is read from the next answer, never from the restore.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

import msgspec

from tui.context import probe
from tui.context.probe import ProbeResult, wants_swa_full
from tui.errors import StorageProblem
from tui.models.modelfile import Memory, ModelFile
from tui.server.client import LlamaClient
from tui.server.errors import ServerAnswer, ServerGone
from tui.server.launch import LaunchRequest
from tui.server.types import PromptProgress, Props, Timings
from tui.store.facts import FactStore
from tui.store.slotfiles import SlotFiles, SlotIdentity, SlotManifest
from tui.units import duration, plural, size

__all__ = ["BroughtBack", "Identity", "Kept", "SlotKeeper", "wants_swa_full"]

# User's flags that change where and how fast a state is computed, but not what it is.
_HARMLESS = frozenset(
    {"-t", "--threads", "-tb", "--threads-batch", "-C", "--cpu-mask", "-Cb", "--cpu-mask-batch", "--prio", "--poll"}
    | {"-ngl", "--gpu-layers", "--n-gpu-layers", "-dev", "--device", "-sm", "--split-mode", "-ts", "--tensor-split"}
    | {"-mg", "--main-gpu", "-ncmoe", "--n-cpu-moe", "-b", "--batch-size", "-ub", "--ubatch-size", "-to", "--timeout"}
    | {"-lv", "--verbosity", "--threads-http", "--sse-ping-interval", "-cram", "--cache-ram", "--load-mode"}
    | {"-cmoe", "--cpu-moe", "--mlock", "--no-mmap", "--no-warmup", "-nkvo", "--no-kv-offload", "--numa", "--metrics"}
)

# Bytes of a cached value against f16's two, from the block layouts of ggml.
_SCALE = {"f32": 2.0, "q8_0": 34 / 64, "q5_1": 24 / 64, "q5_0": 22 / 64, "q4_1": 20 / 64, "q4_0": 18 / 64}
_PER_TOKEN = 16

_MEASURABLE = 64
"""Fewer prompt tokens than this do not tell the speed."""


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """The server and model that slots are kept for."""

    slot: SlotIdentity
    n_ctx: int
    """Context of one slot in tokens."""
    memory: Memory
    kv_bytes_per_token: int = 0
    """Upper bound with f16 caches, in bytes; 0 when not known."""
    model: Path
    """The model's file, where the window of a sliding-window model is read."""

    @classmethod
    def of(cls, model: ModelFile, props: Props, request: LaunchRequest, *, build: str = "") -> Self:
        """For a server that was started with `request` and reports `props`; `build` where props do not tell it."""
        flags = ("--swa-full",) if request.swa_full else ()
        return cls(
            slot=SlotIdentity(
                fingerprint=model.fingerprint,
                build=build or props.build_info,
                parallel=props.total_slots,
                cache_type_k=request.cache_type_k,
                cache_type_v=request.cache_type_v,
                flags=flags + flags_that_matter(request.extra),
            ),
            n_ctx=props.n_ctx,
            memory=model.memory,
            kv_bytes_per_token=model.kv_bytes_per_token,
            model=model.path,
        )

    @property
    def swa_full(self) -> bool:
        return "--swa-full" in self.slot.flags

    @property
    def extends_only(self) -> bool:
        """Whether the state cannot be taken back by even one token."""
        return self.memory in ("hybrid", "recurrent")

    def estimate(self, n_tokens: int) -> int:
        """Bytes that a slot file of that many tokens takes at most; 0 when not known."""
        per_token = self.kv_bytes_per_token
        if not per_token:
            return 0
        scale = (_SCALE.get(self.slot.cache_type_k, 1.0) + _SCALE.get(self.slot.cache_type_v, 1.0)) / 2
        return round(n_tokens * (per_token * scale + _PER_TOKEN))


def flags_that_matter(extra: Sequence[str]) -> tuple[str, ...]:
    """Of the user's own flags with their values, those that may change a slot's state; unknown ones are taken to."""
    kept: list[str] = []
    harmless = False
    for word in extra:
        if word.startswith("-") and not word[1:2].isdigit():
            harmless = word in _HARMLESS
        if not harmless:
            kept.append(word)
    return tuple(kept)


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """What became of keeping a slot. `tokens` are on disk; 0 when they are not, and `reason` says why."""

    tokens: int = 0
    size: int = 0
    """Bytes of the slot file."""
    seconds: float = 0.0
    """For processing what was not in the slot yet, saving and checking."""
    processed: int = 0
    """Tokens that had to be processed."""
    reason: str = ""


class BroughtBack(msgspec.Struct, frozen=True, kw_only=True):
    """What became of bringing a slot back. 0 tokens and no reason: nothing had been kept for this prompt."""

    tokens: int = 0
    """The slot holds exactly this many of the first tokens now."""
    seconds: float = 0.0
    """For checking and restoring."""
    instead_of_s: float = 0.0
    """About how long processing them would have taken; 0 when not known."""
    reason: str = ""
    """Why nothing, or not the longest, was restored; what it costs. For the user to see."""


class SlotKeeper:
    """Keeps and brings back the slots of one server. One lock for each slot, so never two writers.

    A reason is returned where only the saving of work fails; ServerGone and other errors of the server are raised.
    """

    def __init__(
        self, client: LlamaClient, files: SlotFiles | None, identity: Identity | None, facts: FactStore
    ) -> None:
        """`files` and `identity` are None for a server that longscroll did not start: its disk is not ours."""
        self._client = client
        self._files = files
        self._identity = identity
        self._facts = facts
        self._locks: dict[int, asyncio.Lock] = {}
        self._in_slot: dict[int, str] = {}
        self._speed = 0.0
        self._window_size = 0
        self._tidied = False

    @property
    def available(self) -> bool:
        """Whether slots can be kept on this server at all."""
        return self._files is not None and self._identity is not None

    def emptied(self) -> None:
        """The server was started again: its slots hold nothing."""
        self._in_slot.clear()

    def lock(self, id_slot: int) -> asyncio.Lock:
        """Held while a slot is kept or brought back. Not reentrant."""
        return self._locks.setdefault(id_slot, asyncio.Lock())

    async def keep(
        self,
        id_slot: int,
        ids: Sequence[int],
        *,
        session_id: str | None = None,
        on_progress: Callable[[PromptProgress], None] | None = None,
    ) -> Kept:
        """Process exactly `ids` in the slot and save it; the slot ends at the last of them.

        Nothing is processed when these tokens are on disk already, or when the file would not fit or be of no use.
        """
        if self._files is None or self._identity is None:
            return Kept(reason="Slots are kept only by a server that longscroll started itself.")
        if not ids:
            return Kept(reason="An empty prompt is not kept.")
        async with self.lock(id_slot):
            try:
                await self._tidy(self._files)
                there = await asyncio.to_thread(self._there, self._files, self._identity, ids)
                if there is not None:
                    return Kept(tokens=there.n_tokens, size=there.size)
                useless = await self._known_useless(self._identity, len(ids))
                if useless:
                    return Kept(reason=useless)
                await self._make_room(self._files, self._identity.estimate(len(ids)), own=id_slot)
            except StorageProblem as error:
                return Kept(reason=str(error))
            return await self._process_and_save(
                self._files, self._identity, id_slot, ids, session_id=session_id, on_progress=on_progress
            )

    async def _process_and_save(
        self,
        files: SlotFiles,
        identity: Identity,
        id_slot: int,
        ids: Sequence[int],
        *,
        session_id: str | None,
        on_progress: Callable[[PromptProgress], None] | None,
    ) -> Kept:
        started = time.perf_counter()
        self._in_slot.pop(id_slot, None)
        timings = await self._client.prefill(ids, id_slot=id_slot, on_progress=on_progress)
        if timings.prompt_n >= _MEASURABLE:
            self._speed = timings.prompt_per_second
        temp = files.temp_name()
        reason = ""
        try:
            saved = await self._client.save_slot(id_slot, temp)
            if saved.n_saved == len(ids):
                manifest = await asyncio.to_thread(
                    files.commit,
                    temp,
                    ids=ids,
                    identity=identity.slot,
                    n_written=saved.n_written,
                    n_ctx=identity.n_ctx,
                    session_id=session_id,
                    tokens_per_second=self._speed,
                )
                self._in_slot[id_slot] = manifest.key
                reason = await self._within_budget(files, manifest)
                if not reason:
                    if session_id is not None:
                        await asyncio.to_thread(files.retire, manifest, ids)
                    return Kept(
                        tokens=len(ids),
                        size=manifest.size,
                        seconds=time.perf_counter() - started,
                        processed=timings.prompt_n,
                    )
            else:
                reason = f"The server saved {saved.n_saved:,} tokens of the slot instead of {len(ids):,}."
        except ServerAnswer as error:
            reason = f"The slot could not be saved; the disk of {files.folder} may be full. {error.what}"
        except StorageProblem as error:
            reason = str(error)
        finally:
            # After a commit nothing is left under this name.
            await asyncio.to_thread(files.discard, temp)
        return Kept(reason=reason, processed=timings.prompt_n, seconds=time.perf_counter() - started)

    async def bring_back(self, id_slot: int, ids: Sequence[int], *, more_follows: bool = True) -> BroughtBack:
        """Restore the longest kept prefix of `ids` into the slot, once it is proven whole and of this server and model.

        `more_follows`: the prompt that is sent next has more tokens than `ids`. Without that a model with a running
        state gets a shorter prefix only, because it could not use one that is the whole prompt.
        """
        if self._files is None or self._identity is None or not ids:
            return BroughtBack()
        # A running state that is the whole prompt cannot give up the one token that has to be processed again.
        limit = len(ids) - (1 if self._identity.extends_only and not more_follows else 0)
        async with self.lock(id_slot):
            try:
                await self._tidy(self._files)
                return await self._longest(
                    self._files, self._identity, id_slot, ids[: min(limit, self._identity.n_ctx - 1)]
                )
            except StorageProblem as error:
                return BroughtBack(reason=str(error))

    async def _longest(self, files: SlotFiles, identity: Identity, id_slot: int, ids: Sequence[int]) -> BroughtBack:
        started = time.perf_counter()
        found = await asyncio.to_thread(files.prefixes, ids)
        # Of files of one length, those of this server and model come first, and so do their reasons.
        found.sort(key=lambda m: (m.n_tokens, m.identity == identity.slot), reverse=True)
        reasons: list[str] = []
        speeds = [m.tokens_per_second for m in found if m.tokens_per_second and m.identity == identity.slot]
        self._speed = speeds[0] if speeds else self._speed
        for manifest in found:
            refused = (
                files.foreign(manifest, identity.slot)
                or await self._unproven(files, identity, id_slot, ids, manifest)
                or await self._restore(files, id_slot, manifest)
            )
            if refused:
                reasons.append(refused)
                continue
            # What was refused is of interest only where it was longer.
            shorter = manifest.n_tokens < found[0].n_tokens
            return BroughtBack(
                tokens=manifest.n_tokens,
                seconds=time.perf_counter() - started,
                instead_of_s=_seconds(manifest.n_tokens, self._speed),
                reason=f"{reasons[0]} {self._cost(found[0].n_tokens - manifest.n_tokens)}" if shorter else "",
            )
        # The first reason is that of the longest.
        return BroughtBack(reason=f"{reasons[0]} {self._cost(found[0].n_tokens)}" if reasons else "")

    async def _restore(self, files: SlotFiles, id_slot: int, manifest: SlotManifest) -> str:
        """Restore a file of this server and model; why it could not be, in a sentence. Damaged files are deleted."""
        damage = await asyncio.to_thread(files.damage, manifest)
        if damage:
            await asyncio.to_thread(files.remove, manifest.key)
            return damage
        self._in_slot.pop(id_slot, None)
        try:
            restored = await self._client.restore_slot(id_slot, manifest.filename)
        except ServerAnswer as error:
            await asyncio.to_thread(files.remove, manifest.key)
            return f"The server refused the slot file. {error.what}"
        except ServerGone:
            # It may have died of this file: never a second time.
            await asyncio.to_thread(files.remove, manifest.key)
            raise
        if restored.n_restored != manifest.n_tokens:
            await self._client.erase_slot(id_slot)
            await asyncio.to_thread(files.remove, manifest.key)
            return f"The server restored {restored.n_restored:,} tokens instead of {manifest.n_tokens:,}."
        self._in_slot[id_slot] = manifest.key
        await asyncio.to_thread(_note_use, files, manifest)
        return ""

    async def settle_result(self, expected: int, timings: Timings) -> str:
        """Compare what was brought back with what the next answer really reused.

        Returns "" when at least 99 % of `expected` tokens were (newer servers go back by a few), else why not.
        """
        if expected <= 0 or timings.cache_n >= expected - max(1, expected // 100):
            return ""
        memory = self._identity.memory if self._identity else "full"
        missing = expected - timings.cache_n
        if memory in ("hybrid", "recurrent"):
            why = "this model's state cannot be taken back, and the prompt did not go on from exactly the saved tokens"
        elif memory == "swa" and not (self._identity and self._identity.swa_full):
            why = "this model looks back through a sliding window, and the server runs without --swa-full"
        elif timings.cache_n == 0:
            why = "the server did not take up the restored slot"
        else:
            why = f"the prompt differs from the saved one after {plural(timings.cache_n, 'token')}"
        return (
            f"Of {expected:,} restored tokens {timings.cache_n:,} were reused: {why}. "
            f"{plural(missing, 'token')} had to be processed again."
        )

    async def forget(self, session_id: str) -> int:
        """Delete the slot files of a session; how many there were."""
        if self._files is None:
            return 0
        return await asyncio.to_thread(self._files.remove_session, session_id)

    async def prove(self, id_slot: int, ids: Sequence[int]) -> ProbeResult | None:
        """For a sliding-window model: the remembered result of the equality probe, or a new one; None for other models.

        The probe empties the slot and takes about 1.25 windows of prompt. `bring_back` runs it when it is needed.
        """
        if self._files is None or self._identity is None or self._identity.memory != "swa" or not ids:
            return None
        async with self.lock(id_slot):
            return await self._probe(self._files, self._identity, id_slot, ids)

    async def _probe(
        self, files: SlotFiles, identity: Identity, id_slot: int, ids: Sequence[int]
    ) -> ProbeResult | None:
        known = await asyncio.to_thread(probe.remembered, self._facts, identity.slot)
        if known is not None:
            return known
        # Others at work change the batches, and the numbers with them.
        if any(slot.is_processing for slot in await self._client.slots()):
            return None
        window = await self._window(identity)
        if window + max(64, window // 4) + probe.POSITIONS >= identity.n_ctx:
            return None
        self._in_slot.pop(id_slot, None)
        result = await probe.run_probe(self._client, files, id_slot, ids, window=window)
        await asyncio.to_thread(probe.remember, self._facts, identity.slot, result)
        return result

    async def _window(self, identity: Identity) -> int:
        if not self._window_size:
            self._window_size = await asyncio.to_thread(probe.sliding_window, identity.model)
        return self._window_size

    async def _unproven(
        self, files: SlotFiles, identity: Identity, id_slot: int, ids: Sequence[int], manifest: SlotManifest
    ) -> str:
        """Why a whole file of this server and model may still not be used; "" when it may."""
        if identity.memory != "swa":
            return ""
        known = await asyncio.to_thread(probe.remembered, self._facts, identity.slot)
        window = await self._window(identity)
        if known is None and manifest.n_tokens < window:
            # Inside one window nothing is left out of the file; the probe would cost more than it could save.
            return (
                ""
                if identity.swa_full
                else "Whether this llama-server can use a restored slot of this model is tested with the first prompt "
                f"that is longer than the model's sliding window ({plural(window, 'token')})."
            )
        try:
            result = await self._probe(files, identity, id_slot, ids)
        except ServerAnswer as error:
            return f"Whether this model answers the same after a restore could not be tested. {error.what}"
        if result is None:
            return (
                "Whether this model answers the same after a restore is tested only while the server is idle and its "
                "context is larger than the model's sliding window."
            )
        return self._verdict(identity, result)

    async def _known_useless(self, identity: Identity, n_tokens: int) -> str:
        """Why a slot file of that many tokens would not be used, where that is known already."""
        if identity.memory != "swa":
            return ""
        known = await asyncio.to_thread(probe.remembered, self._facts, identity.slot)
        reason = self._verdict(identity, known) if known else ""
        return f"{reason} {self._cost(n_tokens)}" if reason else ""

    def _verdict(self, identity: Identity, result: ProbeResult) -> str:
        """The sentence for a probe's result; "" when it was equal."""
        if result.verdict == "equal":
            return ""
        if result.verdict == "nothing reused":
            remedy = "" if identity.swa_full else " without --swa-full"
            return (
                f"This model looks back through a sliding window, and this llama-server reuses nothing of a restored "
                f"slot{remedy} (measured)."
            )
        much = "other tokens came out" if result.difference < 0 else f"by {result.difference:.2f} in log-probability"
        return (
            f"This model looks back through a sliding window, and after a restore this llama-server answers "
            f"differently ({much}, measured)."
        )

    def _cost(self, n_tokens: int) -> str:
        seconds = _seconds(n_tokens, self._speed)
        about = f", which takes ≈{duration(seconds)}" if seconds else ""
        return f"{plural(n_tokens, 'token')} will be processed again{about}."

    def _there(self, files: SlotFiles, identity: Identity, ids: Sequence[int]) -> SlotManifest | None:
        """The manifest of exactly these tokens when its file is there and whole."""
        manifest = files.find(identity.slot.key(ids))
        if manifest is None or files.damage(manifest):
            return None
        _note_use(files, manifest)
        return manifest

    async def _make_room(self, files: SlotFiles, needed: int, *, own: int | None = None) -> None:
        """Room for `needed` bytes; files of what is in the slots stay, except that of slot `own` where it must go."""
        protect = set(self._in_slot.values())
        try:
            await asyncio.to_thread(files.make_room, needed, protect=protect)
        except StorageProblem:
            if own not in self._in_slot:
                raise
            protect = {key for slot, key in self._in_slot.items() if slot != own}
            await asyncio.to_thread(files.make_room, needed, protect=protect)

    async def _within_budget(self, files: SlotFiles, manifest: SlotManifest) -> str:
        """Let older files give way to a new one whose size was not known before; why the new one had to go instead."""
        try:
            await self._make_room(files, 0)
        except StorageProblem:
            await asyncio.to_thread(files.remove, manifest.key)
            return (
                f"The slot file of {size(manifest.size)} was not kept: it does not fit beside those in use "
                f"({size(files.budget)} for all slot files, {size(files.headroom)} left free on the disk)."
            )
        return ""

    async def _tidy(self, files: SlotFiles) -> None:
        """Once: delete what crashed saves have left."""
        if not self._tidied:
            self._tidied = True
            await asyncio.to_thread(files.collect)


def _note_use(files: SlotFiles, manifest: SlotManifest) -> None:
    # A slot file that can be read is of use even where nothing can be written; only the order of deletion suffers.
    with contextlib.suppress(StorageProblem):
        files.used(manifest)


def _seconds(n_tokens: int, tokens_per_second: float) -> float:
    return n_tokens / tokens_per_second if tokens_per_second > 0 else 0.0
