"""Slot files and their manifests: written whole or not at all, and believed only after a check.

A llama-server aborts on a slot file whose last byte is missing, empties the slot when a restore fails, and takes the
file of another model of the same shape without a word. So a file lies under a temporary name until all of it is on
disk, its manifest is written last, and `verify` says before every restore whether the pair is what it claims to be.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import time
from collections.abc import Collection, Sequence
from pathlib import Path

import msgspec

from tui.errors import StorageProblem
from tui.paths import cannot_write, ensure
from tui.store.checksum import ALGORITHM, file_checksum, prefix_hashes, sync_file, sync_folder, token_hash
from tui.store.slotstate import tokens_differ
from tui.units import size as show_size

FORMAT = 1
"""Of the manifest."""

DEFAULT_BUDGET = 20 << 30
"""Bytes all slot files together may take."""

HEADROOM = 64 << 20
"""Bytes that saving a slot leaves free on the disk."""

LEFTOVER_AGE_S = 30 * 60
"""A file without a manifest may belong to a save that is under way in another terminal; older than this it does not."""

_TEMP = "saving-"
_DATA = ".bin"
_MANIFEST = ".json"
_PARTIAL = ".tmp"


class SlotIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """What a slot file depends on besides its tokens. A file is used only where every one of these is the same."""

    fingerprint: str
    """Of the model's file."""
    build: str
    """Of llama-server: its commit."""
    parallel: int
    """Number of slots: the file's layout depends on it."""
    cache_type_k: str = "f16"
    cache_type_v: str = "f16"
    flags: tuple[str, ...] = ()
    """Further flags that change what the state is or how it is laid out."""

    def key(self, ids: Sequence[int]) -> str:
        """The name of the slot file for `ids` under this identity, as hex."""
        described = msgspec.json.encode((FORMAT, msgspec.structs.astuple(self), token_hash(ids)))
        return hashlib.sha256(described).hexdigest()


class SlotManifest(msgspec.Struct, frozen=True, kw_only=True):
    """What lies beside a slot file and says what it is."""

    format: int
    key: str
    filename: str
    size: int
    checksum: str
    algorithm: str
    fingerprint: str
    build: str
    n_ctx: int
    """Context size of the slot it was saved from, in tokens."""
    parallel: int
    cache_type_k: str
    cache_type_v: str
    flags: tuple[str, ...]
    n_tokens: int
    token_hash: str
    session_id: str | None
    tokens_per_second: float
    """How fast the server processed these tokens, 0 when not known; for "instead of ≈ 34 min"."""
    created: float
    last_used: float
    """Both in seconds since 1970. `last_used` is the manifest's modification time, not what is written in it."""

    @property
    def identity(self) -> SlotIdentity:
        return SlotIdentity(
            fingerprint=self.fingerprint,
            build=self.build,
            parallel=self.parallel,
            cache_type_k=self.cache_type_k,
            cache_type_v=self.cache_type_v,
            flags=self.flags,
        )


class _Format(msgspec.Struct):
    format: int


class SlotFiles:
    """The folder that llama-server gets as `--slot-save-path`. All methods wait for the disk: call them from a thread.

    Several programs may use one folder. Raises StorageProblem where something cannot be written.
    """

    def __init__(self, folder: Path, *, budget: int = DEFAULT_BUDGET, headroom: int = HEADROOM) -> None:
        """`budget` and `headroom` in bytes."""
        self.folder = ensure(folder)
        self.budget = budget
        self.headroom = headroom
        # Files whose checksum was compared by this program, by what changes when a file is written.
        self._verified: dict[str, tuple[int, int, int]] = {}
        if os.name != "nt":
            try:
                folder.chmod(0o700)
            except OSError as error:
                raise cannot_write(folder, error) from error

    def path(self, filename: str) -> Path:
        return self.folder / filename

    def temp_name(self) -> str:
        """A fresh name to hand to the server for saving."""
        return f"{_TEMP}{secrets.token_hex(8)}{_DATA}"

    def discard(self, temp: str) -> None:
        """Delete what a save that failed has left under its temporary name."""
        self._unlink(self.path(temp))

    def commit(
        self,
        temp: str,
        *,
        ids: Sequence[int],
        identity: SlotIdentity,
        n_written: int,
        n_ctx: int,
        session_id: str | None = None,
        tokens_per_second: float = 0.0,
    ) -> SlotManifest:
        """Make the saved file the slot file of `ids`: check it, bring it to disk, then write its manifest.

        `n_written` is the size in bytes that the server reported. Raises StorageProblem, and deletes the temporary
        file, when it has another size, holds other tokens, or cannot be written. A crash at any point leaves the
        earlier file of the same key, if there was one, as it was.
        """
        source = self.path(temp)
        key = identity.key(ids)
        earlier = self.find(key)
        try:
            size = source.stat().st_size
            if size != n_written:
                raise StorageProblem(
                    f"The slot file was saved with {size:,} bytes where the server wrote {n_written:,}.",
                    "It was not kept; the prompt is processed again next time.",
                )
            wrong = tokens_differ(source, ids)
            if wrong:
                raise StorageProblem(wrong, "It was not kept; the prompt is processed again next time.")
            source.chmod(0o600)
            sync_file(source)
            # A name of its own for each save: the pair of before stays whole until the new manifest names the new file.
            filename = f"{key[:32]}-{secrets.token_hex(4)}{_DATA}"
            now = time.time()
            manifest = SlotManifest(
                format=FORMAT,
                key=key,
                filename=filename,
                size=size,
                checksum=file_checksum(source),
                algorithm=ALGORITHM,
                fingerprint=identity.fingerprint,
                build=identity.build,
                n_ctx=n_ctx,
                parallel=identity.parallel,
                cache_type_k=identity.cache_type_k,
                cache_type_v=identity.cache_type_v,
                flags=identity.flags,
                n_tokens=len(ids),
                token_hash=token_hash(ids),
                session_id=session_id,
                tokens_per_second=tokens_per_second,
                created=now,
                last_used=now,
            )
            source.rename(self.path(filename))
            sync_folder(self.folder)
            self._write_manifest(manifest)
        except OSError as error:
            self.discard(temp)
            raise cannot_write(self.folder, error) from error
        except BaseException:
            self.discard(temp)
            raise
        if earlier is not None:
            self._unlink(self.path(earlier.filename))
        return manifest

    def find(self, key: str) -> SlotManifest | None:
        """The manifest of a key; None when there is none that can be read."""
        return self._read(self._manifest_path(key))

    def all(self) -> list[SlotManifest]:
        """Every manifest that can be read, the one used last first."""
        found = [self._read(path) for path in self.folder.glob(f"*{_MANIFEST}")]
        return sorted((m for m in found if m is not None), key=lambda m: m.last_used, reverse=True)

    def prefixes(self, ids: Sequence[int]) -> list[SlotManifest]:
        """The manifests whose tokens begin `ids` (or are `ids`), of whatever identity, longest first."""
        fitting = [m for m in self.all() if m.n_tokens <= len(ids)]
        hashes = prefix_hashes(ids, [m.n_tokens for m in fitting])
        found = [m for m in fitting if m.token_hash == hashes[m.n_tokens]]
        return sorted(found, key=lambda m: (m.n_tokens, m.last_used), reverse=True)

    def foreign(self, manifest: SlotManifest, expected: SlotIdentity) -> str:
        """Why this file is not for that server and model, in a sentence; "" when it is. Reads no file."""
        pairs = (
            ("was saved with another model file", manifest.fingerprint, expected.fingerprint),
            ("was saved by another llama-server build", manifest.build, expected.build),
            ("was saved with another number of slots", manifest.parallel, expected.parallel),
            ("was saved with another cache type (K)", manifest.cache_type_k, expected.cache_type_k),
            ("was saved with another cache type (V)", manifest.cache_type_v, expected.cache_type_v),
            ("was saved with other server flags", manifest.flags, expected.flags),
        )
        for reason, found, wanted in pairs:
            if found != wanted:
                return f"The slot file {reason} ({_show(found)} instead of {_show(wanted)})."
        return ""

    def damage(self, manifest: SlotManifest) -> str:
        """What is wrong with the file itself, in a sentence; "" when it is whole, byte for byte."""
        path = self.path(manifest.filename)
        try:
            status = path.stat()
            if status.st_size != manifest.size:
                return f"The slot file is damaged: it has {status.st_size:,} bytes instead of {manifest.size:,}."
            stamp = (status.st_ino, status.st_size, status.st_mtime_ns)
            if self._verified.get(manifest.checksum) == stamp:
                return ""
            if manifest.algorithm != ALGORITHM:
                return f"The slot file has a checksum this version does not know ({manifest.algorithm})."
            if file_checksum(path) != manifest.checksum:
                return "The slot file is damaged: its checksum is not the one it was saved with."
        except FileNotFoundError:
            return "The slot file is gone; only its manifest is left."
        except OSError as error:
            return f"The slot file cannot be read ({error.strerror or error})."
        self._verified[manifest.checksum] = stamp
        return ""

    def verify(self, manifest: SlotManifest, expected: SlotIdentity) -> str:
        """ "" when the file may be restored by that server, else the reason in a sentence. Reads the whole file."""
        return self.foreign(manifest, expected) or self.damage(manifest)

    def used(self, manifest: SlotManifest) -> None:
        """Note that the file was used now."""
        try:
            os.utime(self._manifest_path(manifest.key))
        except FileNotFoundError:
            return  # removed by another terminal: nothing to note
        except OSError as error:
            raise cannot_write(self.folder, error) from error

    def remove(self, key: str) -> bool:
        """Delete the pair of that key. False when there was none."""
        manifest = self.find(key)
        existed = self._unlink(self._manifest_path(key))
        if manifest is not None:
            self._verified.pop(manifest.checksum, None)
            self._unlink(self.path(manifest.filename))
        return existed

    def remove_session(self, session_id: str) -> int:
        """Delete the slot files of a session (they hold its text); how many there were."""
        return sum(self.remove(m.key) for m in self.all() if m.session_id == session_id)

    def retire(self, manifest: SlotManifest, ids: Sequence[int], *, leave: int = 1) -> int:
        """Delete a session's earlier files that the new one of `ids` goes on from, but the `leave` longest; how many.

        Each turn of a conversation makes a new file; without this one conversation would push out all others.
        """
        earlier = [
            m
            for m in self.prefixes(ids[:-1])
            if m.session_id == manifest.session_id and m.identity == manifest.identity
        ]
        return sum(self.remove(m.key) for m in earlier[leave:])

    def total(self) -> int:
        """Bytes of all files in the folder."""
        return sum(_size(path) for path in self._listing())

    def make_room(self, needed: int, *, protect: Collection[str] = ()) -> list[SlotManifest]:
        """Delete the files used longest ago until `needed` more bytes fit; what was deleted.

        They fit when the budget holds and the disk keeps its headroom. Keys in `protect` are not deleted. Raises
        StorageProblem, with nothing deleted, when even that would not make room.
        """
        present = self.total()
        free = self._free()
        excess = max(present + needed - self.budget, needed + self.headroom - free)
        candidates = [m for m in reversed(self.all()) if m.key not in protect]
        if excess > sum(m.size for m in candidates):
            if needed + self.headroom - free > present + needed - self.budget:
                limit = f"{show_size(free)} are free on the disk of {self.folder}"
            else:
                limit = f"slot files may take {show_size(self.budget)} together"
            raise StorageProblem(
                f"The slot was not saved: it needs {show_size(needed)}, and {limit}.",
                "Free some space; until then the prompt is processed again next time.",
            )
        removed: list[SlotManifest] = []
        for manifest in candidates:
            if excess <= 0:
                break
            self.remove(manifest.key)
            excess -= manifest.size
            removed.append(manifest)
        return removed

    def collect(self, *, older_than_s: float = LEFTOVER_AGE_S) -> list[str]:
        """Delete what crashed saves have left, once it is older than that; the names deleted.

        Leftovers are temporary files, slot files without a manifest, and manifests without a file or in no known form.
        A manifest of a newer format, and its file, stay.
        """
        newest = time.time() - older_than_s
        kept: set[Path] = set()
        present = [path for path in self._listing() if path.suffix in (_DATA, _MANIFEST, _PARTIAL)]
        for path in present:
            if path.suffix != _MANIFEST:
                continue
            manifest = self._read(path)
            if manifest is not None and self.path(manifest.filename).exists():
                kept |= {path, self.path(manifest.filename)}
            elif manifest is None and _newer_format(path):
                # Which file it names is not known here, so no finished file may go.
                kept |= {path, *(other for other in present if not other.name.startswith(_TEMP))}
        left = [path for path in present if path not in kept and _modified(path) <= newest]
        return [path.name for path in left if self._unlink(path)]

    def _listing(self) -> list[Path]:
        try:
            return sorted(self.folder.iterdir())
        except OSError as error:
            raise cannot_write(self.folder, error) from error

    def _free(self) -> int:
        try:
            return shutil.disk_usage(self.folder).free
        except OSError as error:
            raise cannot_write(self.folder, error) from error

    def _manifest_path(self, key: str) -> Path:
        return self.folder / f"{key}{_MANIFEST}"

    def _write_manifest(self, manifest: SlotManifest) -> None:
        temp = self.folder / f"{_TEMP}{secrets.token_hex(8)}{_PARTIAL}"
        try:
            descriptor = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(msgspec.json.format(msgspec.json.encode(manifest)))
                file.flush()
                os.fsync(file.fileno())
            temp.replace(self._manifest_path(manifest.key))
        except BaseException:
            self._unlink(self.path(manifest.filename))
            self._unlink(temp)
            raise
        sync_folder(self.folder)

    def _read(self, path: Path) -> SlotManifest | None:
        try:
            manifest = msgspec.json.decode(path.read_bytes(), type=SlotManifest)
            used = path.stat().st_mtime
        except (OSError, msgspec.DecodeError):
            return None  # removed meanwhile, or no manifest: `collect` deletes it
        # The file name comes from a file: it may not point anywhere else.
        if manifest.format != FORMAT or manifest.key != path.stem or Path(manifest.filename).name != manifest.filename:
            return None
        return msgspec.structs.replace(manifest, last_used=used)

    def _unlink(self, path: Path) -> bool:
        try:
            path.unlink()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise cannot_write(path, error) from error
        return True


def _newer_format(path: Path) -> bool:
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Format).format > FORMAT
    except (OSError, msgspec.DecodeError):
        return False


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _show(value: object) -> str:
    if isinstance(value, tuple):
        return " ".join(str(part) for part in value) or "none"
    text = str(value)
    return text if len(text) <= 16 else f"{text[:12]}…"
