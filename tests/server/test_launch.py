"""The command line of a server: what is in it, what a user may add, what never reaches it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tui.errors import UsageProblem
from tui.server.binary import ServerBinary
from tui.server.flags import ServerFlags
from tui.server.launch import LaunchRequest, build_command, free_port

BINARY = ServerBinary(("/bin/llama-server",), "x", "option", library_path="/bin")

GROUPS = {
    ("-m", "--model"): "FNAME",
    ("-c", "--ctx-size"): "N",
    ("-np", "--parallel"): "N",
    ("--host",): "HOST",
    ("--port",): "PORT",
    ("-kvu", "--kv-unified", "-no-kvu", "--no-kv-unified"): "",
    ("--context-shift", "--no-context-shift"): "",
    ("-fa", "--flash-attn"): "[on|off|auto]",
    ("-ctk", "--cache-type-k"): "TYPE",
    ("-ctv", "--cache-type-v"): "TYPE",
    ("-b", "--batch-size"): "N",
    ("-ub", "--ubatch-size"): "N",
    ("-ngl", "--n-gpu-layers"): "N",
    ("--slot-save-path",): "PATH",
    ("--slots", "--no-slots"): "",
    ("--sse-ping-interval",): "N",
    ("-a", "--alias"): "STRING",
    ("--swa-full",): "",
    ("--api-key",): "KEY",
    ("--mlock",): "",
}


def flags(*without: str) -> ServerFlags:
    options = {name: (names[0], value) for names, value in GROUPS.items() for name in names if name not in without}
    return ServerFlags("abc", options)


def request(**other: object) -> LaunchRequest:
    values: dict[str, object] = {
        "model": Path("m.gguf"),
        "ctx_size": 2048,
        "slot_dir": Path("slots"),
        "log_file": Path("log"),
    }
    return LaunchRequest(**{**values, **other})  # type: ignore[arg-type]  # the tests name fields freely


def command(asked: LaunchRequest, known: ServerFlags, **env: str) -> tuple[list[str], dict[str, str]]:
    return build_command(BINARY, asked, known, key="the-secret", nonce="nonce-1", port=1234, env=env)


def value(argv: list[str], name: str) -> str:
    assert argv.count(name) == 1
    return argv[argv.index(name) + 1]


def test_the_line() -> None:
    argv, _ = command(request(parallel=3, ctx_size=1500), flags())
    assert argv[0] == "/bin/llama-server"
    assert value(argv, "-m") == "m.gguf"
    assert value(argv, "--host") == "127.0.0.1"
    assert value(argv, "-c") == str(1536 * 3)
    assert value(argv, "-np") == "3"
    assert value(argv, "--alias") == "nonce-1"
    assert value(argv, "-fa") == "on"
    assert value(argv, "--slot-save-path") == "slots"
    assert {"--no-kv-unified", "--no-context-shift"} <= set(argv)
    assert "--swa-full" not in argv
    assert "--metrics" not in argv  # this server has none
    assert "--swa-full" in command(request(swa_full=True), flags())[0]
    assert "--swa-full" not in command(request(swa_full=True), flags("--swa-full"))[0]


def test_the_key_and_inherited_variables() -> None:
    inherited = {"LLAMA_ARG_PORT": "1", "LLAMA_API_KEY": "old", "LLAMA_SERVER_SLOTS_DEBUG": "1", "HOME": "/home/x"}
    argv, env = command(request(), flags(), **inherited)
    assert all("the-secret" not in word for word in argv)
    assert env["LLAMA_API_KEY"] == "the-secret"
    assert env["HOME"] == "/home/x"
    assert not {"LLAMA_ARG_PORT", "LLAMA_SERVER_SLOTS_DEBUG"} & set(env)
    if sys.platform == "linux":
        assert env["LD_LIBRARY_PATH"] == "/bin"


def test_a_bare_flash_attention_flag() -> None:
    options = {**flags().options, "-fa": ("-fa", "")}
    argv, _ = command(request(), ServerFlags("abc", options))
    assert argv[argv.index("-fa") + 1].startswith("-")


def test_a_users_flag_replaces_ours() -> None:
    argv, _ = command(request(extra=("--flash-attn", "auto", "-b", "64", "-ngl", "-1", "--mlock")), flags())
    assert "-fa" not in argv
    assert value(argv, "-b") == "64"
    assert value(argv, "-ngl") == "-1"
    assert value(argv, "-ub") == "512"
    assert "--mlock" in argv


@pytest.mark.parametrize(
    "word",
    ["--port", "-c", "--ctx-size", "-kvu", "--kv-unified", "--context-shift", "--api-key", "-a", "--no-slots", "-m"],
)
def test_flags_that_are_ours(word: str) -> None:
    with pytest.raises(UsageProblem, match=f"`{word}`") as caught:
        command(request(extra=(word, "1")), flags())
    assert caught.value.remedy


def test_flags_that_say_what_we_say_are_welcome() -> None:
    argv, _ = command(request(extra=("--no-kv-unified", "--no-context-shift", "--slots")), flags())
    assert argv.count("--no-kv-unified") == 1


@pytest.mark.parametrize("extra", [("--frob\x1bnicate",), ("-ngl", "1", "--frob\x1bnicate", "3")])
def test_an_unknown_flag_is_named(extra: tuple[str, ...]) -> None:
    with pytest.raises(UsageProblem) as caught:
        command(request(extra=extra), flags())
    assert "frob" in caught.value.what
    assert "\x1b" not in caught.value.what


@pytest.mark.parametrize("extra", [("99",), ("-ngl", "1", "2")])
def test_a_value_without_a_flag(extra: tuple[str, ...]) -> None:
    with pytest.raises(UsageProblem, match="stands alone"):
        command(request(extra=extra), flags())


@pytest.mark.parametrize(("ctx_size", "parallel"), [(0, 1), (-5, 1), (100, 0)])
def test_sizes_that_make_no_sense(ctx_size: int, parallel: int) -> None:
    with pytest.raises(UsageProblem):
        command(request(ctx_size=ctx_size, parallel=parallel), flags())


def test_free_ports_are_free() -> None:
    assert 1024 <= free_port() < 65536
