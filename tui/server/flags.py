"""Which flags a server has, read once from its `--help` and kept on disk until the binary changes."""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import os
import re
from pathlib import Path

import msgspec

from tui.errors import NoModel
from tui.paths import cannot_write, ensure
from tui.server.binary import IN_PROCESS, ServerBinary
from tui.server.diagnose import diagnose, spawn_failed
from tui.server.environment import child_environment
from tui.text import one_line

_FORMAT = 1
_TIMEOUT_S = 120.0
_NAME = re.compile(r"(--?[A-Za-z][\w.-]*)(,?)( *)")
_VERSION = re.compile(r"version: (?:(\d+) \(([0-9a-f]+)\)|\S+ \(build (\d+), commit ([0-9a-f]+)\)|(.+))")


class ServerFlags(msgspec.Struct, frozen=True):
    """The flags of one server. `options`: every name → first name of its group, form of its value."""

    build: str
    options: dict[str, tuple[str, str]]

    def has(self, name: str) -> bool:
        return name in self.options

    def takes_value(self, name: str) -> bool:
        """Whether the flag wants a value; False for one it does not have."""
        return bool(self.options.get(name, ("", ""))[1])

    def same(self, one: str, other: str) -> bool:
        """Whether two names are one option (`-c` and `--ctx-size`)."""
        if one == other:
            return True
        return self.has(one) and self.has(other) and self.options[one][0] == self.options[other][0]


class _Cached(msgspec.Struct, frozen=True):
    format: int
    stamp: str
    flags: ServerFlags


def parse_help(text: str) -> dict[str, tuple[str, str]]:
    """Options of a `--help` text: name → (first name of the group, form of the value or "")."""
    options: dict[str, tuple[str, str]] = {}
    for line in text.splitlines():
        if not line.startswith("-") or line.startswith("-----"):
            continue
        names: list[str] = []
        position = 0
        value = ""
        while match := _NAME.match(line, position):
            names.append(match[1])
            position = match.end()
            if not match[2]:
                # One blank, then the form of the value; two or more, then the description.
                if match[3] == " ":
                    value = re.split(r" {2,}", line[position:])[0].strip()
                break
        for name in names:
            options.setdefault(name, (names[0], value))
    return options


def parse_version(text: str) -> str:
    """The commit of a build from `--version`; else the whole version text."""
    match = _VERSION.search(text)
    if match is None:
        return ""
    return match[2] or match[4] or (match[5] or "").strip()


def _stamp(binary: ServerBinary) -> str:
    """Size and change time of the binary and of the libraries beside it (a small binary may be all library)."""
    parts = []
    file = binary.file.resolve()
    files = {file}
    folders = [file.parent]
    if binary.kind == "xllamacpp":
        spec = importlib.util.find_spec(IN_PROCESS)
        folders = [Path(place) for place in (spec.submodule_search_locations or ())] if spec is not None else []
    for folder in folders:
        files |= {*folder.glob("*llama*.*"), *folder.glob("*ggml*.*")}
    for path in sorted(files):
        status = path.stat()
        parts.append(f"{path.name}:{status.st_size}:{status.st_mtime_ns}")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _cache_file(binary: ServerBinary, cache_dir: Path) -> Path:
    digest = hashlib.sha256("\0".join(binary.argv0).encode()).hexdigest()[:24]
    return cache_dir / "flags" / f"{digest}.json"


def _load(file: Path, stamp: str) -> ServerFlags | None:
    try:
        cached = msgspec.json.decode(file.read_bytes(), type=_Cached)
    except (OSError, msgspec.MsgspecError):
        return None  # not there, or of another format: it is read anew
    return cached.flags if cached.format == _FORMAT and cached.stamp == stamp else None


def _store(file: Path, cached: _Cached) -> None:
    ensure(file.parent)
    temporary = file.with_name(f"{file.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(msgspec.json.encode(cached))
        os.replace(temporary, file)
    except OSError as error:
        raise cannot_write(file, error) from error


async def _output(binary: ServerBinary, argument: str) -> tuple[int, str]:
    """Exit status and all output of one short run."""
    try:
        process = await asyncio.create_subprocess_exec(
            *binary.argv0,
            argument,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=child_environment(binary),
        )
    except OSError as error:
        raise spawn_failed(binary, error).as_error() from error
    try:
        async with asyncio.timeout(_TIMEOUT_S):
            output, _ = await process.communicate()
    except BaseException as error:
        if process.returncode is None:
            process.kill()
            await process.wait()
        if isinstance(error, TimeoutError):
            raise NoModel(
                f"{one_line(binary.label, 200)} did not answer `{argument}` within {_TIMEOUT_S:.0f} s.",
                "Name another llama-server with `--server PATH`.",
            ) from None
        raise
    return process.returncode or 0, output.decode("utf-8", "replace")


async def read_flags(binary: ServerBinary, cache_dir: Path) -> ServerFlags:
    """The flags of `binary`, from the cache while binary and libraries are unchanged.

    Raises NoModel when it cannot be run or is no llama-server, StorageProblem when the cache cannot be written.
    """
    file = _cache_file(binary, cache_dir)
    try:
        stamp = await asyncio.to_thread(_stamp, binary)
    except OSError as error:
        raise spawn_failed(binary, error).as_error() from error
    flags = await asyncio.to_thread(_load, file, stamp)
    if flags is not None:
        return flags
    (status, text), (_, version) = await asyncio.gather(_output(binary, "--help"), _output(binary, "--version"))
    options = parse_help(text)
    if status != 0:
        raise diagnose(status, text, None).as_error()
    if "--ctx-size" not in options or "--port" not in options:
        raise NoModel(
            f"{one_line(binary.label, 200)} is not a llama-server: its `--help` knows no --ctx-size and no --port.",
            "Name a llama-server with `--server PATH`.",
        )
    flags = ServerFlags(parse_version(version), options)
    await asyncio.to_thread(_store, file, _Cached(_FORMAT, stamp, flags))
    return flags
