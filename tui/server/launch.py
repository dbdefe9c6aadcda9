"""The command line a server is started with. Why each flag is there stands beside it."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Mapping
from pathlib import Path

import msgspec

from tui.errors import UsageProblem
from tui.server.binary import ServerBinary
from tui.server.environment import child_environment
from tui.server.flags import ServerFlags
from tui.text import one_line

HOST = "127.0.0.1"

_CONTEXT_STEP = 256
"""The server rounds the context of a slot up to a multiple of this."""

_OWN = {
    "-m": "Choose the model with `--model`.",
    "--model": "Choose the model with `--model`.",
    "-c": "Set the context with `--ctx-size`.",
    "--ctx-size": "Set the context with `--ctx-size`.",
    "-np": "Set the number of slots with `--parallel`.",
    "--parallel": "Set the number of slots with `--parallel`.",
    "--host": "longscroll's own server is for this machine alone; use `--server-url` for another one.",
    "--port": "longscroll picks a free port itself; use `--server-url` for a server of your own.",
    "--api-key": "longscroll makes a new key for each server.",
    "--api-key-file": "longscroll makes a new key for each server.",
    "--api-prefix": "longscroll needs the server's own paths.",
    "--ssl-key-file": "The connection does not leave this machine.",
    "--ssl-cert-file": "The connection does not leave this machine.",
    "--alias": "longscroll recognizes its server by it.",
    "--slot-save-path": "longscroll keeps slot files in its own folder.",
    "--kv-unified": "A shared context lets one conversation push out another.",
    "--context-shift": "It forgets the middle of a conversation without a word.",
    "--no-slots": "longscroll needs the slots' state.",
    "--log-disable": "longscroll reads the log to tell what went wrong.",
    "--log-file": "longscroll reads the log to tell what went wrong.",
    "--log-prompts-dir": "It would write your documents to another place.",
    "--embedding": "longscroll needs a server that answers.",
    "--reranking": "longscroll needs a server that answers.",
    "--help": "",
    "--version": "",
}
"""Flags a user may not pass on, because longscroll sets them or cannot work with them; and what to do instead."""

_NUMBER = re.compile(r"-\d")
_NEGATED = re.compile(r"--?no-")


class LaunchRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What is wanted of a server. `ctx_size` is the context of one slot in tokens; `parallel` the number of slots."""

    model: Path
    ctx_size: int
    parallel: int = 1
    slot_dir: Path
    log_file: Path
    swa_full: bool = False
    cache_type_k: str = "f16"
    cache_type_v: str = "f16"
    extra: tuple[str, ...] = ()


def rounded_context(tokens: int) -> int:
    """`tokens` rounded up as the server does it for each slot."""
    return -(-tokens // _CONTEXT_STEP) * _CONTEXT_STEP


def free_port() -> int:
    """A port of the loopback interface that was free a moment ago."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def _negated(name: str) -> bool:
    return _NEGATED.match(name) is not None


def check_extra(extra: tuple[str, ...], flags: ServerFlags) -> None:
    """Raise UsageProblem that names the first of the user's flags that this server lacks or must not get."""
    for index, word in enumerate(extra):
        if not word.startswith("-") or _NUMBER.match(word):
            if index == 0 or not extra[index - 1].startswith("-"):
                raise UsageProblem(
                    f"The server argument `{one_line(word, 100)}` stands alone.",
                    "Write a flag and its value as two arguments, in that order.",
                )
            continue
        name = one_line(word, 100)
        for own, reason in _OWN.items():
            if word == own or (flags.same(word, own) and _negated(word) == _negated(own)):
                raise UsageProblem(f"The server flag `{name}` cannot be passed on.", reason)
        if not flags.has(word):
            raise UsageProblem(
                f"This llama-server has no flag `{name}`.",
                "Correct it, or see the flags with `llama-server --help`.",
            )


def build_command(
    binary: ServerBinary,
    request: LaunchRequest,
    flags: ServerFlags,
    *,
    key: str,
    nonce: str,
    port: int,
    env: Mapping[str, str] = os.environ,
) -> tuple[list[str], dict[str, str]]:
    """The arguments and the environment. Only flags the binary has; a flag the user gave replaces ours of that name.

    Raises UsageProblem for the user's own flags (see `check_extra`) and for sizes below 1.
    """
    if request.ctx_size < 1 or request.parallel < 1:
        raise UsageProblem(
            f"A context of {request.ctx_size} tokens in {request.parallel} slots makes no sense.", "Both begin at 1."
        )
    check_extra(request.extra, flags)
    per_slot = rounded_context(request.ctx_size)
    needed = [
        ["-m", str(request.model)],
        ["--host", HOST],
        ["--port", str(port)],
        # Always given: without it the server may take a context it thinks fits, or all the model was trained for.
        ["-c", str(per_slot * request.parallel)],
        ["-np", str(request.parallel)],
    ]
    quantised_v = request.cache_type_v not in ("f16", "f32", "bf16")
    wished = [
        # A slot file is bound to the number of streams, and a shared pool lets one slot empty another.
        ["--no-kv-unified"],
        ["--no-context-shift"],
        # Slot files of one attention layout are refused by the other, so it is fixed.
        ["-fa", "on"] if flags.takes_value("-fa") else ["-fa"],
        ["-ctk", request.cache_type_k],
        ["-ctv", request.cache_type_v],
        # Progress and stopping happen at the edge of a batch.
        ["-b", "512"],
        ["-ub", "512"],
        ["--slot-save-path", str(request.slot_dir)],
        # Lets the server notice a reader that went away; without it ending takes up to 30 s.
        ["--sse-ping-interval", "1"],
        ["--alias", nonce],
        ["--metrics"],
        ["--no-ui"] if flags.has("--no-ui") else ["--no-webui"],
        ["--log-colors", "off"],
        # Says where the memory went and why a prompt is processed anew.
        ["-lv", "4"],
        ["--offline"],
    ]
    if request.swa_full:
        wished.append(["--swa-full"])
    given = [word for word in request.extra if word.startswith("-")]
    argv = list(binary.argv0)
    for group in needed:
        argv += group
    for group in wished:
        if flags.has(group[0]) and not any(flags.same(group[0], word) for word in given):
            argv += group
    if quantised_v and not flags.has("-fa"):
        raise UsageProblem(
            f"This llama-server cannot keep values as {one_line(request.cache_type_v, 20)}: it has no flash attention.",
            "Use f16 or another llama-server.",
        )
    argv += request.extra
    return argv, child_environment(binary, key, env)
