"""What is known of a model file: identity, memory, size; and files that are no model to chat with."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.models.broken import ARRAY, BASIC, STRING, U32, gguf_bytes, key, tensor
from tests.support.tiny_models import CONTEXT, build, write
from tests.support.tiny_vocabulary import make_vocabulary
from tui.errors import NoModel
from tui.models.modelfile import open_model

MEMORY = {"llama": "full", "gemma3": "swa", "qwen35moe": "hybrid", "qwen3next": "hybrid", "mamba": "recurrent"}


@pytest.mark.parametrize(("kind", "memory"), MEMORY.items())
def test_the_kind_of_memory(tiny_models: Path, kind: str, memory: str) -> None:
    model = open_model(build(kind, tiny_models))
    assert (model.architecture, model.memory, model.n_ctx_train) == (kind, memory, CONTEXT)
    assert model.has_chat_template
    assert model.size == model.path.stat().st_size


def test_the_cache_of_a_token(tiny_models: Path) -> None:
    """One key-value head of 32 in f16: 128 bytes in each layer that attends."""
    sizes = {kind: open_model(build(kind, tiny_models)).kv_bytes_per_token for kind in MEMORY}
    assert sizes == {"llama": 2 * 128, "gemma3": 6 * 128, "qwen35moe": 128, "qwen3next": 128, "mamba": 0}


def test_heads_that_differ_by_layer(tmp_path: Path) -> None:
    file = tmp_path / "m.gguf"
    per_layer = key("llama.attention.head_count_kv", ARRAY, (U32, [0, 1]))
    file.write_bytes(gguf_bytes((*BASIC, per_layer)))
    assert open_model(file).kv_bytes_per_token == 2 * (32 + 32) * 1


def test_other_weights_have_another_fingerprint(tmp_path: Path) -> None:
    paths = [tmp_path / f"{i}.gguf" for i in range(3)]
    for path, seed in zip(paths, (1, 1, 2), strict=True):
        write("llama", path, make_vocabulary("qwen2"), seed=seed)
    first, same, other = (open_model(path).fingerprint for path in paths)
    assert first == same != other
    changed = bytearray(paths[0].read_bytes())
    changed[len(changed) // 2] ^= 1
    paths[0].write_bytes(changed)
    assert open_model(paths[0]).fingerprint != first


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ((key("general.architecture", STRING, "clip"),), "vision projector"),
        ((*BASIC, key("general.type", STRING, "mmproj")), "vision projector"),
        ((*BASIC, key("general.type", STRING, "adapter")), "LoRA adapter"),
        ((key("general.architecture", STRING, "bert"),), "embedding model"),
        ((key("general.name", STRING, "x"),), "architecture"),
    ],
    ids=["clip", "mmproj", "adapter", "bert", "nameless"],
)
def test_files_that_are_no_language_model(tmp_path: Path, keys: tuple[bytes, ...], said: str) -> None:
    file = tmp_path / "m.gguf"
    file.write_bytes(gguf_bytes(keys))
    with pytest.raises(NoModel, match=said):
        open_model(file)


def test_a_vocabulary_without_weights(tmp_path: Path) -> None:
    file = tmp_path / "m.gguf"
    file.write_bytes(gguf_bytes(tensors=()))
    with pytest.raises(NoModel, match="vocabulary only"):
        open_model(file)


def part(number: int, count: int) -> bytes:
    split = (key("split.count", U32, count), key("split.no", U32, number - 1))
    return gguf_bytes((*(BASIC if number == 1 else ()), *split), (tensor(f"t{number}", (8, 4)),))


def test_a_model_in_parts(tmp_path: Path) -> None:
    first, second, third = (tmp_path / f"big-{i:05}-of-00003.gguf" for i in (1, 2, 3))
    first.write_bytes(part(1, 3))
    third.write_bytes(part(3, 3))
    with pytest.raises(NoModel, match=r"missing beside it: big-00002-of-00003\.gguf"):
        open_model(first)
    second.write_bytes(part(2, 3))
    model = open_model(first)
    assert model.name == "big"
    assert model.size == sum(path.stat().st_size for path in (first, second, third))
    second.write_bytes(part(2, 3)[:-5])
    with pytest.raises(NoModel, match="5 of its"):
        open_model(first)
    renamed = tmp_path / "other.gguf"
    renamed.write_bytes(part(1, 3))
    with pytest.raises(NoModel, match="not named like it"):
        open_model(renamed)
