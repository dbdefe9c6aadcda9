"""Each way a server fails to start, on the real binary: one message that names the cause, and no process left."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import gguf
import pytest

from tests.server_real.conftest import QUICK, Ask
from tui.errors import NoModel, StorageProblem, UsageProblem
from tui.server.binary import ServerBinary, find_server
from tui.server.errors import StartFailed
from tui.server.flags import ServerFlags, read_flags
from tui.server.launch import LaunchRequest
from tui.server.process import ServerProcess

pytestmark = [pytest.mark.real, pytest.mark.skipif(sys.platform == "win32", reason="Unix files")]


async def failure(binary: ServerBinary, flags: ServerFlags, request: LaunchRequest) -> StartFailed:
    server = ServerProcess()
    with pytest.raises(StartFailed) as caught:
        await server.start(binary, request, flags)
    assert server.phase == "failed"
    assert server.pid == 0
    assert caught.value.remedy
    assert caught.value.exit_code == 3
    assert "\n" not in str(caught.value)
    await server.stop()
    return caught.value


def cut(model: Path, folder: Path, size: int) -> Path:
    path = folder / "cut.gguf"
    path.write_bytes(model.read_bytes()[:size])
    return path


def write(folder: Path, content: bytes) -> Path:
    path = folder / "file.gguf"
    path.write_bytes(content)
    return path


def strange_architecture(model: Path, folder: Path) -> Path:
    path = folder / "strange.gguf"
    writer = gguf.GGUFWriter(path, "nosuch")
    writer.add_context_length(128)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


MODELS = {
    "model-missing": lambda model, folder: folder / "not\x1bthere.gguf",
    "truncated": lambda model, folder: cut(model, folder, model.stat().st_size - 4096),
    "truncated in the header": lambda model, folder: cut(model, folder, 200),
    "not-gguf": lambda model, folder: write(folder, b"hello, this is a text\n" * 100),
    "not-gguf (empty)": lambda model, folder: write(folder, b""),
    "not-gguf (folder)": lambda model, folder: folder,
    "gguf-version": lambda model, folder: write(folder, b"GGUF" + (99).to_bytes(4, "little") + bytes(64)),
    "architecture": strange_architecture,
}


@pytest.mark.parametrize("case", MODELS)
async def test_models_that_cannot_be_loaded(
    case: str, server_binary: ServerBinary, server_flags: ServerFlags, ask: Ask, tiny_llama: Path, tmp_path: Path
) -> None:
    model = MODELS[case](tiny_llama, tmp_path)
    error = await failure(server_binary, server_flags, ask(model=model))
    assert error.kind == case.split(" ")[0]
    assert "\x1b" not in str(error)
    assert model.name.replace("\x1b", "\u241b") in error.what


@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may read everything")
async def test_a_model_one_may_not_read(
    server_binary: ServerBinary, server_flags: ServerFlags, ask: Ask, tiny_llama: Path, tmp_path: Path
) -> None:
    model = Path(shutil.copy(tiny_llama, tmp_path / "locked.gguf"))
    model.chmod(0)
    assert (await failure(server_binary, server_flags, ask(model=model))).kind == "model-forbidden"


EXTRAS = {
    "bad-value": (("-t", "many"), "-t"),
    "device": (("-dev", "CUDA0"), "CUDA0"),
    "v-cache-needs-fa": (("-fa", "off", "-ctv", "q8_0"), "-fa off"),
    "bad-value (cache type)": (("-ctk", "q3_0"), "q3_0"),
    "removed-flag": (("--draft-max", "4"), "--draft-max"),
}


@pytest.mark.parametrize("case", EXTRAS)
async def test_flags_the_server_does_not_accept(
    case: str, server_binary: ServerBinary, server_flags: ServerFlags, ask: Ask
) -> None:
    extra, named = EXTRAS[case]
    # As if the help had named it: some builds list a flag they then refuse.
    flags = ServerFlags(server_flags.build, {"--draft-max": ("--draft-max", "N"), **server_flags.options})
    error = await failure(server_binary, flags, ask(extra=(*QUICK, *extra)))
    assert error.kind == case.split(" ")[0]
    assert named in str(error)


async def test_an_unknown_flag_is_named_before_anything_runs(
    server_binary: ServerBinary, server_flags: ServerFlags, ask: Ask
) -> None:
    server = ServerProcess()
    with pytest.raises(UsageProblem, match="--frobnicate"):
        await server.start(server_binary, ask(extra=("--frobnicate",)), server_flags)
    assert server.phase == "failed"


async def test_an_unknown_flag_the_server_names(
    server_binary: ServerBinary, server_flags: ServerFlags, ask: Ask
) -> None:
    flags = ServerFlags(server_flags.build, {"--frobnicate": ("--frobnicate", ""), **server_flags.options})
    error = await failure(server_binary, flags, ask(extra=("--frobnicate",)))
    assert error.kind == "unknown-flag"
    assert "`--frobnicate`" in error.what


def limited(binary: ServerBinary, folder: Path, kib: int) -> ServerBinary:
    """The same server with a limit on its address space."""
    script = folder / "llama-server"
    script.write_text(f'#!/bin/sh\nulimit -v {kib}\nexec "{binary.argv0[0]}" "$@"\n')
    script.chmod(0o755)
    return ServerBinary((str(script),), str(script), "option", library_path=binary.library_path)


@pytest.mark.skipif(sys.platform != "linux", reason="ulimit -v")
async def test_a_context_larger_than_the_memory(
    server_binary: ServerBinary, server_flags: ServerFlags, ask: Ask, tmp_path: Path
) -> None:
    # 2 GiB are enough for program and model, not for 16 million tokens at 256 bytes each.
    error = await failure(limited(server_binary, tmp_path, 2 << 20), server_flags, ask(ctx_size=16_000_000))
    assert error.kind == "memory-kv"
    assert "16,000,000" in error.what
    assert "--ctx-size" in error.remedy


@pytest.mark.demo
@pytest.mark.skipif(sys.platform != "linux", reason="ulimit -v")
async def test_too_little_memory_for_each_part(
    server_binary: ServerBinary, server_flags: ServerFlags, ask: Ask, tmp_path: Path, demo_model: Path
) -> None:
    """With ever more memory the weights, then the context, then the working buffers are what no longer fits."""
    extra = ("-fit", "off", "--no-warmup", "-nr", "-t", "2", "-lm", "none", "-b", "4096", "-ub", "4096")
    seen: list[str] = []
    for mib in range(200, 1200, 40):
        server = ServerProcess()
        try:
            await server.start(
                limited(server_binary, tmp_path, mib << 10),
                ask(model=demo_model, ctx_size=8192, extra=extra),
                server_flags,
            )
        except StartFailed as error:
            seen.append(error.kind)
        else:
            break
        finally:
            await server.stop()
    # With too little for even one part it may also fail to map a library or to start a thread.
    parts = list(dict.fromkeys(kind for kind in seen if kind.startswith("memory-")))
    assert parts == ["memory-weights", "memory-kv", "memory-compute"]
    assert "unknown" not in seen


async def test_a_slot_folder_that_is_a_file(
    server_binary: ServerBinary, server_flags: ServerFlags, ask: Ask, tmp_path: Path
) -> None:
    (tmp_path / "slots").write_text("in the way")
    server = ServerProcess()
    with pytest.raises(StorageProblem, match="slots"):
        await server.start(server_binary, ask(), server_flags)
    assert server.phase == "failed"


async def test_a_log_that_cannot_be_written(
    server_binary: ServerBinary, server_flags: ServerFlags, ask: Ask, tmp_path: Path
) -> None:
    (tmp_path / "server.log").mkdir()
    server = ServerProcess()
    with pytest.raises(StorageProblem, match=r"server\.log"):
        await server.start(server_binary, ask(log_file=tmp_path / "server.log"), server_flags)


# The binary itself


async def flags_failure(binary: Path, folder: Path) -> NoModel:
    with pytest.raises(NoModel) as caught:
        await read_flags(find_server(str(binary)), folder / "cache")
    assert caught.value.remedy
    return caught.value


async def test_missing_libraries(server_binary: ServerBinary, tmp_path: Path) -> None:
    alone = Path(shutil.copy2(server_binary.file, tmp_path / "llama-server"))
    error = await flags_failure(alone, tmp_path)
    assert isinstance(error, StartFailed)
    assert (error.kind, error.returncode) == ("missing-library", 127)
    assert "libllama-server-impl.so" in error.what


async def test_missing_libraries_at_the_start(
    server_binary: ServerBinary, server_flags: ServerFlags, ask: Ask, tmp_path: Path
) -> None:
    """The flags may come from the cache; then the start itself meets the missing library."""
    alone = Path(shutil.copy2(server_binary.file, tmp_path / "llama-server"))
    error = await failure(find_server(str(alone)), server_flags, ask())
    assert error.kind == "missing-library"


async def test_not_allowed_to_run(server_binary: ServerBinary, tmp_path: Path) -> None:
    locked = Path(shutil.copy(server_binary.file, tmp_path / "llama-server"))
    locked.chmod(0o644)
    with pytest.raises(NoModel, match="may not be executed"):
        find_server(str(locked))


async def test_a_program_for_another_processor(tmp_path: Path) -> None:
    other = tmp_path / "llama-server"
    other.write_bytes(b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\x00\xf7\x00" + bytes(64))
    other.chmod(0o755)
    error = await flags_failure(other, tmp_path)
    assert isinstance(error, StartFailed)
    assert error.kind == "cannot-execute"


async def test_another_program(tmp_path: Path) -> None:
    error = await flags_failure(Path(shutil.which("true") or "/bin/true"), tmp_path)
    assert "not a llama-server" in error.what


async def test_a_program_that_vanishes(server_flags: ServerFlags, ask: Ask, tmp_path: Path) -> None:
    binary = ServerBinary((str(tmp_path / "llama-server"),), "gone", "option")
    with pytest.raises(NoModel):
        await read_flags(binary, tmp_path / "cache")
    assert (await failure(binary, server_flags, ask())).kind in ("cannot-execute", "no-binary")


async def test_a_program_that_crashes(ask: Ask, server_flags: ServerFlags, tmp_path: Path) -> None:
    script = tmp_path / "llama-server"
    script.write_text("#!/bin/sh\necho last words >&2\nkill -SEGV $$\n")
    script.chmod(0o755)
    error = await failure(find_server(str(script)), server_flags, ask())
    assert (error.kind, error.returncode) == ("crash", -11)
    assert "last words" in error.what


@pytest.mark.parametrize("cuts", [0.05, 0.3, 0.6, 0.9, 0.99])
async def test_every_cut_has_a_cause(
    cuts: float, server_binary: ServerBinary, server_flags: ServerFlags, ask: Ask, tiny_llama: Path, tmp_path: Path
) -> None:
    model = cut(tiny_llama, tmp_path, int(tiny_llama.stat().st_size * cuts))
    assert (await failure(server_binary, server_flags, ask(model=model))).kind == "truncated"
