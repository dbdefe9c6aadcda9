"""Reading a server's help: names, groups, forms of values, the build; and remembering it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tui.server.binary import find_server
from tui.server.flags import parse_help, parse_version, read_flags

HELP = """----- common params -----

-h,    --help, --usage                  print usage and exit
-c,    --ctx-size N                     size of the prompt context (default: 0, see --parallel)
                                        (env: LLAMA_ARG_CTX_SIZE)
--swa-full                              use full-size SWA cache (default: false)
-fa,   --flash-attn [on|off|auto]       set Flash Attention use ('on', 'off', or 'auto')
-kvu,  --kv-unified, -no-kvu, --no-kv-unified
                                        use single unified KV buffer
-fitt, --fit-target MiB0,MiB1,MiB2,...
                                        target margin
--override-kv KEY=TYPE:VALUE,...        advanced option
--mirostat N                            use Mirostat sampling.
--port PORT                             port to listen (default: 8080)
"""


def test_names_groups_and_values() -> None:
    options = parse_help(HELP)
    assert options["--ctx-size"] == options["-c"] == ("-c", "N")
    assert options["--swa-full"] == ("--swa-full", "")
    assert options["--flash-attn"] == ("-fa", "[on|off|auto]")
    assert options["--no-kv-unified"] == ("-kvu", "")
    assert options["--fit-target"] == ("-fitt", "MiB0,MiB1,MiB2,...")
    assert options["--override-kv"] == ("--override-kv", "KEY=TYPE:VALUE,...")
    assert options["--usage"] == ("-h", "")
    assert "--parallel" not in options
    assert "-----" not in options


def test_an_old_server_with_a_bare_flash_attention() -> None:
    options = parse_help("-fa,   --flash-attn                     enable Flash Attention (default: disabled)\n")
    assert options["-fa"] == ("-fa", "")


@pytest.mark.parametrize(
    ("text", "build"),
    [
        ("version: 9413 (24d6d7c)\nbuilt with cc\n", "24d6d7c"),
        ("version: 0.1.0-dev (build 1, commit 7e4c0a9)\nbuilt with GNU 11\n", "7e4c0a9"),
        ("version: xllamacpp 2026.10.11549\n", "xllamacpp 2026.10.11549"),
        ("nothing of the kind", ""),
    ],
)
def test_versions(text: str, build: str) -> None:
    assert parse_version(text) == build


@pytest.mark.skipif(sys.platform == "win32", reason="a shell script stands for the server")
async def test_asked_once_until_the_binary_changes(tmp_path: Path) -> None:
    script = tmp_path / "llama-server"
    asked = tmp_path / "asked"

    def write(version: str) -> None:
        script.write_text(
            f'#!/bin/sh\necho "$1" >>"{asked}"\n'
            f'[ "$1" = --version ] && echo "version: 1 ({version})" && exit\n'
            'printf -- "--ctx-size N  size\\n--port PORT  port\\n"\n'
        )
        script.chmod(0o755)

    write("aaa")
    binary = find_server(str(script))
    for _ in range(3):
        assert (await read_flags(binary, tmp_path / "cache")).build == "aaa"
    assert sorted(asked.read_text().split()) == ["--help", "--version"]
    write("bbb")
    os.utime(script, ns=(1, 1))
    assert (await read_flags(binary, tmp_path / "cache")).build == "bbb"


@pytest.mark.skipif(sys.platform == "win32", reason="a shell script stands for the server")
async def test_a_damaged_cache_is_read_anew(tmp_path: Path) -> None:
    script = tmp_path / "llama-server"
    script.write_text('#!/bin/sh\nprintf -- "--ctx-size N  size\\n--port PORT  port\\n"\n')
    script.chmod(0o755)
    binary = find_server(str(script))
    flags = await read_flags(binary, tmp_path / "cache")
    (file,) = (tmp_path / "cache" / "flags").iterdir()
    file.write_text("{")
    assert await read_flags(binary, tmp_path / "cache") == flags
