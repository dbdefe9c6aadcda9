"""Why a server did not start or ended: from exit status and log to a sentence and a remedy."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tui.server.errors import ServerDied, StartFailed
from tui.text import one_line

if TYPE_CHECKING:
    from tui.server.binary import ServerBinary
    from tui.server.launch import LaunchRequest

_PREFIX = re.compile(r"^\d+\.\d\d\.\d{3}\.\d{3} [A-Z] ")
_LESS_MEMORY = (
    "Use a smaller `--ctx-size` or fewer slots (`--parallel`), a quantised cache, a smaller model, "
    "or close other programs."
)
_DAMAGED = "Download the model again and compare its size and checksum."
_LINE = 300


class Diagnosis(msgspec.Struct, frozen=True):
    """`kind` is a stable name for the cause, `what` and `remedy` are sentences for the user."""

    kind: str
    what: str
    remedy: str
    returncode: int | None = None

    def as_error(self) -> StartFailed:
        """The error for a server that did not start."""
        return StartFailed(self.what, self.remedy, kind=self.kind, returncode=self.returncode)

    def as_death(self) -> ServerDied:
        """The error for a server that ended while it was in use."""
        return ServerDied(self.what, self.remedy, kind=self.kind, returncode=self.returncode)


class _Case(msgspec.Struct, frozen=True):
    """One known cause. `what` and `remedy` may use `{model}`, `{line}` (the log line) and the pattern's own groups."""

    kind: str
    pattern: re.Pattern[str]
    what: str
    remedy: str


def _case(kind: str, pattern: str, what: str, remedy: str) -> _Case:
    return _Case(kind, re.compile(pattern), what, remedy)


# In this order: the first that is found in the log wins, so a cause stands before its consequences.
_CASES = (
    _case(
        "missing-library",
        r"error while loading shared libraries: (?P<name>[^\s:]+): cannot open|Library not loaded: (?P<name2>\S+)",
        "llama-server cannot start: the library {name} is missing.",
        "Install llama-server again together with its libraries, or name another one with `--server PATH`.",
    ),
    _case(
        "library",
        r"error while loading shared libraries: (?P<name>[^\s:]+): (?P<reason>.*)",
        "llama-server cannot start: its library {name} cannot be loaded ({reason}).",
        "Install llama-server again together with its libraries, or name another one with `--server PATH`.",
    ),
    _case(
        "libc-too-old",
        r"version `(?P<name>\w+_[\d.]+)' not found",
        "llama-server cannot start: it needs {name}, which this system's libraries do not have.",
        "Use a llama-server built for this system.",
    ),
    _case(
        "cannot-execute",
        r"longscroll: cannot execute (?P<name>.+)",
        "llama-server cannot be executed: {name}.",
        "Install llama-server again, or name another one with `--server PATH`.",
    ),
    _case(
        "removed-flag",
        r'error while handling argument "(?P<name>[^"]+)": the argument has been removed\.?(?P<reason>.*)',
        "This llama-server no longer has the flag {name}:{reason}.",
        "Remove it from the server arguments or use its successor.",
    ),
    _case(
        "slot-dir",
        r'error while handling argument "--slot-save-path": (?P<reason>.*)',
        "llama-server cannot use the folder for slot files: {reason}.",
        "Make sure that the folder exists and is a folder.",
    ),
    _case(
        "device",
        r"invalid device: (?P<name>.+)",
        "This machine has no device `{name}` that llama-server could use.",
        "See the names with `llama-server --list-devices`.",
    ),
    _case(
        "bad-value",
        r'error while handling argument "(?P<name>[^"]+)": (?P<reason>.*)',
        "llama-server does not accept the value of the flag {name}: {reason}.",
        "Correct the value in the settings or in the server arguments.",
    ),
    _case(
        "unknown-flag",
        r"error: invalid argument: (?P<name>.+)",
        "This llama-server has no flag `{name}`.",
        "Remove it from the server arguments, or use another llama-server.",
    ),
    _case(
        "port",
        r"couldn't bind (?:to server socket|HTTP server socket).*port: ?(?P<name>\d+)|couldn't bind",
        "llama-server could not take the port {name}: something else uses it.",
        "Try again; another port is picked each time.",
    ),
    _case(
        "v-cache-needs-fa",
        r"quantized V cache requires flash_attn to be enabled|V cache quantization requires flash_attn",
        "A quantised cache of values needs flash attention, which is switched off.",
        "Remove `-fa off` from the server arguments, or keep values as f16.",
    ),
    _case(
        "cache-type",
        r"[KV] cache type \S+ with block size \d+ does not divide .*|"
        r"model does not support different K \([^)]*\) and V \([^)]*\) cache types",
        "This model cannot use the cache types asked for ({line}).",
        "Use f16 for both.",
    ),
    _case(
        "model-missing",
        r"failed to open GGUF file '[^\n]*' \(No such file or directory\)|"
        r"failed to open [^\n]*: No such file or directory",
        "There is no model file {model}.",
        "Correct the path, or use `--model demo`.",
    ),
    _case(
        "model-forbidden",
        r"failed to open GGUF file '[^\n]*' \((?P<reason>[^)]*)\)",
        "The model file {model} cannot be opened ({reason}).",
        "Make it readable for you.",
    ),
    _case(
        "not-gguf",
        r"invalid magic characters: '(?P<name>[^']*)'|failed to read magic",
        "{model} is not a GGUF model.",
        "Choose a file that ends in .gguf; other formats have to be converted first.",
    ),
    _case(
        "gguf-version",
        r"this GGUF file is version (?P<name>\d+) but this software only supports up to version (?P<reason>\d+)",
        "{model} is GGUF version {name}; this llama-server reads up to version {reason}.",
        "Use a newer llama-server.",
    ),
    _case(
        "truncated",
        r"data is not within the file bounds|failed to read key-value pairs|failed to read tensor info|"
        r"unexpectedly reached end of file",
        "The model file {model} is incomplete or damaged.",
        _DAMAGED,
    ),
    _case(
        "architecture",
        r"unknown model architecture: '(?P<name>[^']*)'",
        "This llama-server does not know models of the kind `{name}` ({model}).",
        "Use a newer llama-server.",
    ),
    _case(
        "pre-tokenizer",
        r"unknown pre-tokenizer type: '(?P<name>[^']*)'",
        "This llama-server does not know the tokenizer `{name}` of {model}.",
        "Use a newer llama-server.",
    ),
    _case(
        "memory-kv",
        r"failed to allocate buffer for kv cache|failed to allocate buffer for rs cache|"
        r"failed to allocate memory for kv cache",
        "There is not enough memory for a context of {ctx} tokens in {slots} ({line}).",
        _LESS_MEMORY,
    ),
    _case(
        "memory-compute",
        r"failed to allocate compute (?:pp |tg )?buffers|ggml_gallocr_reserve_n[^\n]*failed to allocate",
        "There is not enough memory for the model's working buffers ({line}).",
        "Use a smaller batch (`-ub 128` in the server arguments), fewer layers on the graphics card, "
        "or a smaller context.",
    ),
    _case(
        "memory-weights",
        r"alloc_tensor_range: failed to allocate|unable to allocate \S+ buffer|failed to load model.*out of memory|"
        r"llama_model_load: [^\n]*failed to allocate",
        "There is not enough memory for the weights of {model} ({line}).",
        "Put fewer layers on the graphics card (`-ngl`), or use a smaller or more strongly quantised model.",
    ),
    _case(
        "memory",
        r"CUDA error: out of memory|cudaMalloc failed: out of memory|ErrorOutOfDeviceMemory|"
        r"ggml_aligned_malloc: insufficient memory|std::bad_alloc|cannot allocate memory|bad allocation",
        "llama-server ran out of memory ({line}).",
        _LESS_MEMORY,
    ),
    _case(
        "resources",
        r"std::system_error|Resource temporarily unavailable",
        "llama-server could not start a thread: the limit of processes or of memory is reached ({line}).",
        "Close other programs, or raise the limits of your user (`ulimit -u`, `ulimit -v`).",
    ),
    _case(
        "missing-tensor",
        r"missing tensor '(?P<name>[^']*)'|wrong number of tensors|check_tensor_dims",
        "The model file {model} does not hold what its kind of model needs ({line}).",
        "It may be damaged, converted badly, or newer than this llama-server. " + _DAMAGED,
    ),
    _case(
        "missing-key",
        r"error loading model hyperparameters: (?P<reason>.*)|error loading model vocabulary: (?P<name>.*)",
        "The header of {model} lacks what its kind of model needs ({line}).",
        "It may be converted badly, or newer than this llama-server. " + _DAMAGED,
    ),
    _case(
        "slot-file",
        r"GGML_ASSERT\(nread <= state_size\) failed",
        "llama-server aborted while it read a damaged slot file.",
        "The server is started anew without it; the prompt is processed again.",
    ),
    _case(
        "abort",
        r"GGML_ASSERT\([^\n]*\) failed|GGML_ABORT|terminate called after throwing",
        "llama-server aborted ({line}).",
        "Try again; if it happens again, use another build of llama-server and report it there.",
    ),
    _case(
        "model",
        r"error loading model: (?P<reason>.*)|exiting due to model loading error",
        "llama-server could not load {model} ({line}).",
        _DAMAGED,
    ),
)

_SIGNALS = {
    4: (
        "illegal-instruction",
        "the processor lacks an instruction this build needs",
        "Use a build for this processor.",
    ),
    6: ("abort", "it aborted", "Try again; if it happens again, use another build of llama-server."),
    7: ("bus-error", "a part of the model file could not be read", "Check the disk the model is on."),
    9: (
        "killed",
        "it was killed, by the system when memory ran out or by somebody else",
        f"If memory ran out: {_LESS_MEMORY}",
    ),
    11: ("crash", "it crashed", "Try again; if it happens again, use another build of llama-server."),
    15: ("terminated", "it was terminated by another program", "Start it again."),
}


def diagnose(returncode: int | None, log_text: str, request: LaunchRequest | None) -> Diagnosis:
    """The cause of a server's end. `returncode` is negative for a signal; None when it still runs (stuck).

    Text from the log is made safe to show before it goes into a sentence.
    """
    model = one_line(str(request.model), 200) if request is not None else "the model"
    for case in _CASES:
        match = case.pattern.search(log_text)
        if match is not None:
            return _tell(case, match, log_text, model, request, returncode)
    last = one_line(last_words(log_text), _LINE)
    said = f" Its last words: {last}" if last else ""
    code = returncode if returncode is not None else 0
    number = -code if code < 0 else code - 128 if 128 < code < 160 else 0
    if number:
        kind, reason, remedy = _SIGNALS.get(number, ("signal", f"it was ended by signal {number}", "Try again."))
        return Diagnosis(kind, f"llama-server ended: {reason}.{said}", remedy, returncode)
    if returncode == 127:
        return Diagnosis(
            "missing-library",
            f"llama-server cannot be started: it or one of its libraries is missing.{said}",
            "Install it again, or name another one with `--server PATH`.",
            returncode,
        )
    return Diagnosis(
        "unknown", f"llama-server ended with exit status {returncode}.{said}", "The log may say more.", returncode
    )


def _tell(
    case: _Case,
    match: re.Match[str],
    log_text: str,
    model: str,
    request: LaunchRequest | None,
    returncode: int | None,
) -> Diagnosis:
    start = log_text.rfind("\n", 0, match.start()) + 1
    end = log_text.find("\n", match.start())
    line = log_text[start : end if end >= 0 else len(log_text)]
    groups = {name: one_line((value or "").strip(), _LINE) for name, value in match.groupdict().items()}
    if not groups.get("name") and groups.get("name2"):
        groups["name"] = groups["name2"]
    values = {
        "name": groups.get("name") or "that was asked for",
        "reason": groups.get("reason", ""),
        "line": one_line(_PREFIX.sub("", line).strip(), _LINE),
        "model": model,
        "ctx": f"{request.ctx_size:,}" if request is not None else "this size",
        "slots": ("1 slot" if request.parallel == 1 else f"{request.parallel} slots") if request is not None else "all",
    }
    fill: Callable[[str], str] = lambda text: re.sub(r"\{(\w+)\}", lambda found: values[found[1]], text)  # noqa: E731
    return Diagnosis(case.kind, fill(case.what), fill(case.remedy), returncode)


def last_words(log_text: str) -> str:
    """The last error line of a log without its time stamp, else its last line."""
    lines = [line.strip() for line in log_text.splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"^\d+\.\d\d\.\d{3}\.\d{3} E |^error", line)]
    chosen = errors[-1] if errors else lines[-1] if lines else ""
    return _PREFIX.sub("", chosen)


def spawn_failed(binary: ServerBinary, error: OSError) -> Diagnosis:
    """The cause when the operating system would not even start the program."""
    shown = one_line(str(binary.file), 200)
    reason = error.strerror or str(error)
    if isinstance(error, PermissionError):
        return Diagnosis(
            "no-exec-bit",
            f"{shown} may not be executed.",
            f"Allow it with `chmod +x {shown}`, or move it off a volume mounted without execution.",
        )
    if isinstance(error, FileNotFoundError):
        return Diagnosis(
            "no-binary",
            f"There is no llama-server at {shown}, or the loader it needs is missing.",
            "Install it, or name another one with `--server PATH`.",
        )
    return Diagnosis(
        "cannot-execute",
        f"{shown} cannot be executed ({one_line(reason, 100)}).",
        "It may be for another system or processor; name another one with `--server PATH`.",
    )


def read_tail(log_file: Path, limit: int = 256 * 1024) -> str:
    """The last `limit` bytes of a log as text; "" when there is none."""
    try:
        with log_file.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - limit))
            return file.read().decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
