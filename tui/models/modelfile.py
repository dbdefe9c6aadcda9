"""What is known of a model file before a server loads it: its identity, its kind of memory, its training context."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Literal

import msgspec

from tui.errors import NoModel
from tui.models.gguf import GgufHeader, open_file, read_header
from tui.text import one_line

Memory = Literal["full", "swa", "hybrid", "recurrent"]
"""How a model remembers: `full` attention, `swa` (sliding windows), `hybrid` (attention and a running state) or
`recurrent` (a running state alone)."""

_SAMPLES = 64
_SAMPLE_BYTES = 64 * 1024
_RECURRENT = frozenset({"mamba", "mamba2", "rwkv6", "rwkv7", "rwkv6qwen2", "arwkv7"})
# A model that names one of these keeps a running state beside its attention.
_STATE_KEYS = (".ssm.state_size", ".ssm.conv_kernel", ".ssm.inner_size", ".shortconv.l_cache", ".wkv.head_size")
# These have windows of their own where the file does not name one.
_ALWAYS_SWA = frozenset({"gemma2", "gemma3n", "llama4"})
# phi3 files name a window that llama.cpp does not use.
_NEVER_SWA = frozenset({"phi3"})
_EMBEDDING = frozenset(
    {"bert", "nomic-bert", "nomic-bert-moe", "neo-bert", "modern-bert", "jina-bert-v2", "jina-bert-v3"}
)
_PART = re.compile(r"-(\d{5})-of-(\d{5})\.gguf$", re.IGNORECASE)


class ModelFile(msgspec.Struct, frozen=True, kw_only=True):
    """A model that can be given to llama-server."""

    path: Path
    name: str
    """The file's name without its ending, safe to show."""
    size: int
    """Bytes, of all parts."""
    fingerprint: str
    """Hex; of the length, the header and samples of the weights. Equal fingerprints: take it as the same model."""
    architecture: str
    memory: Memory
    n_ctx_train: int
    """Tokens; 0 when the file does not say."""
    n_layer: int
    kv_bytes_per_token: int
    """Upper bound of the cache for one token with f16 keys and values, in bytes; 0 for a recurrent model."""
    has_chat_template: bool


def open_model(path: Path) -> ModelFile:
    """Read what the GGUF at `path` says about itself.

    Raises NoModel when it is missing, broken, not a model that can chat, or lacks one of its parts.
    """
    header = read_header(path)
    _check_kind(header)
    parts = _parts(header)
    architecture = header.string("general.architecture")
    return ModelFile(
        path=path,
        name=one_line(_PART.sub("", path.name).removesuffix(".gguf"), 200),
        size=sum(part.file_size for part in parts),
        fingerprint=_fingerprint(parts),
        architecture=one_line(architecture, 60),
        memory=_memory(header, architecture),
        n_ctx_train=max(0, header.number(f"{architecture}.context_length")),
        n_layer=max(0, header.number(f"{architecture}.block_count")),
        kv_bytes_per_token=_kv_bytes(header, architecture),
        has_chat_template=bool(header.string("tokenizer.chat_template")),
    )


def _check_kind(header: GgufHeader) -> None:
    name = one_line(str(header.path))
    architecture = header.string("general.architecture")
    kind = header.string("general.type", "model")
    give = "Give the language model's own .gguf file."
    if not architecture:
        raise NoModel(f"{name} does not say what architecture it has.", give)
    if architecture == "clip" or kind == "mmproj":
        raise NoModel(f"{name} is a vision projector (mmproj), not a language model.", give)
    if kind == "adapter":
        raise NoModel(f"{name} is a LoRA adapter, not a whole model.", give)
    if kind == "imatrix" or architecture == "imatrix":
        raise NoModel(f"{name} is an importance matrix, not a model.", give)
    if architecture in _EMBEDDING:
        raise NoModel(f"{name} is an embedding model ({architecture}); it cannot write text.", give)
    if not header.tensors:
        raise NoModel(f"{name} holds a vocabulary only, no weights.", give)


def _parts(header: GgufHeader) -> list[GgufHeader]:
    """The headers of all parts of a split model; each is checked for completeness as it is read."""
    count = header.number("split.count")
    if count <= 1:
        return [header]
    name = one_line(str(header.path))
    match = _PART.search(header.path.name)
    if match is None or int(match[2]) != count:
        raise NoModel(
            f"{name} is one of {count} parts of a model, but is not named like it.",
            f"Rename the parts to …-00001-of-{count:05}.gguf and so on.",
        )
    stem = header.path.name[: match.start()]
    paths = [header.path.with_name(f"{stem}-{i:05}-of-{count:05}.gguf") for i in range(1, count + 1)]
    missing = [one_line(path.name) for path in paths if not path.is_file()]
    if missing:
        raise NoModel(
            f"{name} is one of {count} parts of a model; missing beside it: {', '.join(missing[:5])}.",
            "Download all parts into one folder.",
        )
    if header.number("split.no") != 0:
        raise NoModel(f"{name} is a later part of a model.", f"Give the first part: {one_line(str(paths[0]))}.")
    return [header, *(read_header(path) for path in paths[1:])]


def _fingerprint(parts: list[GgufHeader]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.file_size.to_bytes(8, "little"))
        with open_file(part.path) as file:
            left = part.data_offset
            while left > 0 and (block := file.read(min(left, 1 << 20))):
                digest.update(block)
                left -= len(block)
            span = max(0, part.file_size - part.data_offset - _SAMPLE_BYTES)
            steps = _SAMPLES if span > _SAMPLES * _SAMPLE_BYTES else span // _SAMPLE_BYTES + 2
            for i in range(steps):
                file.seek(part.data_offset + span * i // max(1, steps - 1))
                digest.update(file.read(_SAMPLE_BYTES))
    return digest.hexdigest()


def _memory(header: GgufHeader, architecture: str) -> Memory:
    if architecture in _RECURRENT:
        return "recurrent"
    if any(header.number(architecture + key) for key in _STATE_KEYS):
        return "hybrid"
    window = header.number(f"{architecture}.attention.sliding_window")
    if architecture in _ALWAYS_SWA or (window > 0 and architecture not in _NEVER_SWA):
        return "swa"
    return "full"


def _kv_bytes(header: GgufHeader, architecture: str) -> int:
    """Two bytes for each key and value of each attention layer, windows not counted as savings."""
    if architecture in _RECURRENT:
        return 0

    def number(key: str, default: int = 0) -> int:
        return max(0, header.number(f"{architecture}.{key}", default))

    layers = number("block_count")
    heads = number("attention.head_count")
    per_head = number("embedding_length") // heads if heads else 0
    key_length = number("attention.key_length", per_head)
    if number("attention.key_length_mla"):  # one compressed key per layer serves as value too
        return 2 * layers * key_length
    width = key_length + number("attention.value_length", per_head)
    kv_heads = header.metadata.get(f"{architecture}.attention.head_count_kv")
    if isinstance(kv_heads, list):
        return 2 * width * sum(count for count in kv_heads if isinstance(count, int) and count > 0)
    interval = number("full_attention_interval", 4 if architecture in {"qwen3next", "qwen35", "qwen35moe"} else 1)
    with_cache = layers // interval if interval else layers
    return 2 * width * with_cache * number("attention.head_count_kv", heads)
