"""Run as a program: the server inside the package xllamacpp, with the flags of llama-server that longscroll uses.

For machines without a prebuilt llama-server. It imports nothing of longscroll; its `--help` has llama-server's form, so
that it is read by the same code. The key comes from LLAMA_API_KEY. Started as
`python -m tui.server.xllama_child` or as a file.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from typing import Any, NoReturn

Setter = Callable[[Any, str], None]


def _number(name: str) -> Setter:
    return lambda params, value: setattr(params, name, int(value))


def _flag(name: str, value: bool) -> Setter:
    return lambda params, _: setattr(params, name, value)


def _set_model(params: Any, value: str) -> None:
    params.model.path = value


def _set_alias(params: Any, value: str) -> None:
    params.model_alias = {value}


def _set_hosts(params: Any, value: str) -> None:
    params.hostnames = [value]


def _set_slot_path(params: Any, value: str) -> None:
    if not os.path.isdir(value):
        raise ValueError(f"not a directory: {value}")
    params.slot_save_path = os.path.join(value, "")  # it joins folder and name without a separator


def _set_flash(params: Any, value: str) -> None:
    import xllamacpp

    kind = xllamacpp.llama_flash_attn_type
    names = {
        "on": kind.LLAMA_FLASH_ATTN_TYPE_ENABLED,
        "off": kind.LLAMA_FLASH_ATTN_TYPE_DISABLED,
        "auto": kind.LLAMA_FLASH_ATTN_TYPE_AUTO,
    }
    if value not in names:
        raise ValueError("on, off or auto is wanted")
    params.flash_attn_type = names[value]


def _cache_type(name: str) -> Setter:
    def set_type(params: Any, value: str) -> None:
        import xllamacpp

        known = {"f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1"}
        if value not in known:
            raise ValueError(f"Unsupported cache type: {value}")
        setattr(params, name, getattr(xllamacpp.ggml_type, f"GGML_TYPE_{value.upper()}"))

    return set_type


def _set_layers(params: Any, value: str) -> None:
    params.n_gpu_layers = {"auto": -1, "all": -2}.get(value) if value in ("auto", "all") else int(value)


def _set_threads(params: Any, value: str) -> None:
    params.cpuparams.n_threads = int(value)


def _on_off(name: str) -> Setter:
    def set_switch(params: Any, value: str) -> None:
        if value not in ("on", "off"):
            raise ValueError("on or off is wanted")
        setattr(params, name, value == "on")

    return set_switch


OPTIONS: tuple[tuple[tuple[str, ...], str, str, Setter], ...] = (
    (("-m", "--model"), "FNAME", "model path to load", _set_model),
    (("-c", "--ctx-size"), "N", "size of the prompt context, all slots together", _number("n_ctx")),
    (("-np", "--parallel"), "N", "number of server slots", _number("n_parallel")),
    (("-b", "--batch-size"), "N", "logical maximum batch size", _number("n_batch")),
    (("-ub", "--ubatch-size"), "N", "physical maximum batch size", _number("n_ubatch")),
    (("-t", "--threads"), "N", "number of CPU threads", _set_threads),
    (("-fa", "--flash-attn"), "[on|off|auto]", "set Flash Attention use", _set_flash),
    (("-ctk", "--cache-type-k"), "TYPE", "KV cache data type for K", _cache_type("cache_type_k")),
    (("-ctv", "--cache-type-v"), "TYPE", "KV cache data type for V", _cache_type("cache_type_v")),
    (("--swa-full",), "", "use full-size SWA cache", _flag("swa_full", True)),
    (("--no-kv-unified", "-no-kvu"), "", "one KV buffer per slot", _flag("kv_unified", False)),
    (("--no-context-shift",), "", "never forget the middle of a context", _flag("ctx_shift", False)),
    (("-ngl", "--gpu-layers", "--n-gpu-layers"), "N", "layers to keep on the GPU", _set_layers),
    (("-fit", "--fit"), "[on|off]", "adjust unset arguments to fit in memory", _on_off("fit_params")),
    (("--no-warmup",), "", "skip warming up the model with an empty run", _flag("warmup", False)),
    (("-nr", "--no-repack"), "", "disable weight repacking", _flag("no_extra_bufts", True)),
    (("-cram", "--cache-ram"), "N", "host memory for the prompt cache, in MiB", _number("cache_ram_mib")),
    (("--offline",), "", "never use the network", _flag("offline", True)),
    (("-lv", "--verbosity"), "N", "verbosity of the log", _number("verbosity")),
    (("--host",), "HOST", "address to listen on", _set_hosts),
    (("--port",), "PORT", "port to listen on", _number("port")),
    (("-a", "--alias"), "STRING", "model name to be used by the API", _set_alias),
    (("--slot-save-path",), "PATH", "folder for slot files", _set_slot_path),
    (("--sse-ping-interval",), "N", "seconds between pings of a silent stream", _number("sse_ping_interval")),
    (("--metrics",), "", "enable the metrics endpoint", _flag("endpoint_metrics", True)),
    (("--no-ui",), "", "disable the Web UI", _flag("ui", False)),
)


def _help() -> str:
    lines = [
        "-h, --help                              print usage and exit",
        "--version                               version",
    ]
    for names, value, text, _ in OPTIONS:
        head = ", ".join(names) + (f" {value}" if value else "")
        lines.append(f"{head:<38}  {text}")
    return "\n".join(lines)


def _fail(message: str) -> NoReturn:
    print(message, file=sys.stderr)
    raise SystemExit(1)


def _apply(params: Any, arguments: list[str]) -> None:
    known = {name: (value, setter) for names, value, _, setter in OPTIONS for name in names}
    words = iter(arguments)
    for word in words:
        if word not in known:
            _fail(f"error: invalid argument: {word}")
        form, setter = known[word]
        value = next(words, None) if form else ""
        if value is None:
            _fail(f'error while handling argument "{word}": expected value for argument')
        try:
            setter(params, value)
        except (ValueError, OverflowError, TypeError, AttributeError) as error:
            _fail(f'error while handling argument "{word}": {error}')


def main() -> None:
    arguments = sys.argv[1:]
    if {"-h", "--help"} & set(arguments):
        print(_help())
        return
    import xllamacpp

    if "--version" in arguments:
        print(f"version: xllamacpp {xllamacpp.__version__}")
        return
    params = xllamacpp.CommonParams()
    _apply(params, arguments)
    if not params.model.path:
        _fail('error while handling argument "-m": a model is needed')
    params.endpoint_slots = True
    key = os.environ.pop("LLAMA_API_KEY", "")
    if key:
        params.api_keys = [key]
    try:
        server = xllamacpp.Server(params)
    except RuntimeError as error:
        _fail(f"xllamacpp: {error}")
    print(f"listening on {server.listening_address}", file=sys.stderr, flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
