"""From log and exit status to a sentence: texts of real servers, those of graphics cards included."""

# ruff: noqa: E501  (log lines are kept whole)

from __future__ import annotations

from pathlib import Path

import pytest

from tui.server.binary import ServerBinary
from tui.server.diagnose import diagnose, last_words, read_tail, spawn_failed
from tui.server.launch import LaunchRequest

REQUEST = LaunchRequest(
    model=Path("/models/a.gguf"), ctx_size=100_000, parallel=2, slot_dir=Path("s"), log_file=Path("l")
)

END = "\n0.00.282.325 E srv  llama_server: exiting due to model loading error\n"

CASES = [
    ("memory-weights", 1, "alloc_tensor_range: failed to allocate Vulkan0 buffer of size 9\nllama_model_load: error loading model: unable to allocate Vulkan0 buffer", "-ngl"),
    ("memory-kv", 1, "cudaMalloc failed: out of memory\nalloc_tensor_range: failed to allocate CUDA0 buffer of size 9\nllama_init_from_model: failed to initialize the context: failed to allocate buffer for kv cache", "100,000 tokens in 2 slots"),
    ("memory-compute", 1, "ggml_gallocr_reserve_n_impl: failed to allocate CUDA0 buffer of size 5\ngraph_reserve: failed to allocate compute buffers", "-ub"),
    ("memory", -6, "CUDA error: out of memory\n  current device: 0\n", "ran out of memory"),
    ("memory", 1, "terminate called after throwing an instance of 'std::bad_alloc'", "std::bad_alloc"),
    ("v-cache-needs-fa", 1, "quantized V cache requires flash_attn to be enabled", "flash"),
    ("cache-type", 1, "K cache type q8_0 with block size 32 does not divide n_embd_head_k=80", "f16"),
    ("cache-type", 1, "model does not support different K (q8_0) and V (f16) cache types", "f16"),
    ("removed-flag", 1, 'error while handling argument "--draft-max": the argument has been removed. use --spec-draft-n-max', "--spec-draft-n-max"),
    ("bad-value", 1, 'error while handling argument "-c": stoi', "-c"),
    ("slot-dir", 1, 'error while handling argument "--slot-save-path": not a directory: /x', "/x"),
    ("device", 1, 'error while handling argument "--device": invalid device: CUDA0', "CUDA0"),
    ("unknown-flag", 1, "error: invalid argument: --mmap", "--mmap"),
    ("port", 1, "E start: couldn't bind HTTP server socket, hostname: 127.0.0.1, port: 19003", "19003"),
    ("architecture", 1, "error loading model: error loading model architecture: unknown model architecture: 'qwen9'", "qwen9"),
    ("pre-tokenizer", 1, "error loading model vocabulary: unknown pre-tokenizer type: 'new'", "new"),
    ("truncated", 1, "tensor 'blk.11.ffn_up.weight' data is not within the file bounds, model is corrupted or incomplete", "/models/a.gguf"),
    ("missing-tensor", 1, "error loading model: missing tensor 'blk.0.attn_q.weight'", "blk.0.attn_q.weight"),
    ("missing-library", 127, "llama-server: error while loading shared libraries: libgomp.so.1: cannot open shared object file: No such file", "libgomp.so.1"),
    ("library", 127, "llama-server: error while loading shared libraries: libx.so: failed to map segment from shared object", "failed to map"),
    ("libc-too-old", 1, "llama-server: /lib/libc.so.6: version `GLIBC_2.38' not found (required by llama-server)", "GLIBC_2.38"),
    ("slot-file", -6, "/src/llama-context.cpp:3142: GGML_ASSERT(nread <= state_size) failed", "slot file"),
    ("abort", -6, "/src/ggml-backend.cpp:1: GGML_ASSERT(*cur_backend_id != -1) failed", "GGML_ASSERT"),
    ("killed", -9, "0.00.1 I all fine", "memory"),
    ("killed", 137, "", "memory"),
    ("crash", -11, "", "crashed"),
    ("illegal-instruction", -4, "", "processor"),
    ("missing-library", 127, "", "missing"),
    ("unknown", 1, "something new\n", "something new"),
    ("model", 1, "error loading model: a new reason", "a new reason"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "returncode", "log", "named"), CASES)
def test_causes(kind: str, returncode: int, log: str, named: str) -> None:
    if returncode == 1 and kind not in ("unknown",):
        log += END
    found = diagnose(returncode, "0.00.001 I a first line\n" + log, REQUEST)
    assert found.kind == kind
    assert named in f"{found.what} {found.remedy}"
    assert found.remedy
    assert "{" not in found.what + found.remedy
    assert found.as_error().kind == found.as_death().kind == kind


def test_a_log_cannot_steer_the_terminal() -> None:
    found = diagnose(1, "error: invalid argument: --x\x1b[2J\u202e{model}{line}\n", REQUEST)
    assert not set("\x1b\u202e\n") & set(str(found.as_error()))
    assert "{model}" in found.what  # taken as it is, not filled in


def test_without_a_request() -> None:
    assert "the model" in diagnose(1, "failed to read magic", None).what


def test_last_words() -> None:
    assert last_words("") == ""
    assert last_words("0.00.001.002 E srv  x: first\n0.00.001.003 I srv  y: second\n") == "srv  x: first"
    assert last_words("plain\nlast\n\n") == "last"


def test_the_tail_of_a_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert read_tail(log) == ""
    log.write_bytes(b"x" * 1000 + "é end".encode())
    assert read_tail(log).endswith("é end")
    assert read_tail(log, 5) == "\ufffd end"


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (PermissionError(13, "Permission denied"), "no-exec-bit"),
        (FileNotFoundError(2, "No such file"), "no-binary"),
        (OSError(8, "Exec format error"), "cannot-execute"),
    ],
)
def test_what_the_system_will_not_start(error: OSError, kind: str) -> None:
    assert spawn_failed(ServerBinary(("/x/llama-server",), "x", "option"), error).kind == kind
