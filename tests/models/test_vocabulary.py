"""Vocabularies: the kinds of tokens as llama.cpp understands them, and the digest that names a vocabulary."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.models.broken import ARRAY, BASIC, BOOL, I32, STRING, U32, gguf_bytes, key
from tests.support.tiny_models import build, write
from tests.support.tiny_vocabulary import make_vocabulary
from tui.models.vocabulary import CONTROL, NORMAL, USER_DEFINED, Vocabulary, read_vocabulary


def vocabulary_of(tmp_path: Path, *more: bytes, tokens: dict[str, int] | None = None, pre: str = "gpt-2") -> Vocabulary:
    found = tokens or {"a": NORMAL, "<|im_end|>": CONTROL, "<think>": USER_DEFINED}
    keys = (
        *BASIC,
        key("tokenizer.ggml.model", STRING, "gpt2"),
        key("tokenizer.ggml.pre", STRING, pre),
        key("tokenizer.ggml.tokens", ARRAY, (STRING, list(found))),
        key("tokenizer.ggml.token_type", ARRAY, (I32, list(found.values()))),
        *more,
    )
    file = tmp_path / "v.gguf"
    file.write_bytes(gguf_bytes(keys))
    return read_vocabulary(file)


def test_the_tiny_models_vocabulary(tiny_models: Path) -> None:
    vocabulary = read_vocabulary(build("llama", tiny_models))
    assert set(vocabulary.specials) == {"<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|begin|>"}
    assert set(vocabulary.user_defined) == {"<think>", "</think>", "<tool_call>"}
    assert vocabulary.doubtful == {}
    assert vocabulary.add_bos
    assert vocabulary.bos == vocabulary.specials["<|begin|>"]
    assert vocabulary.eos == vocabulary.specials["<|im_end|>"]
    assert len(vocabulary.tokens) == len(vocabulary.types)


def test_control_tokens_by_name_and_the_harmony_frame(tmp_path: Path) -> None:
    tokens = {"</s>": NORMAL, "<|eot_id|>": USER_DEFINED, "<|start|>": CONTROL, "<|end|>": CONTROL, "x": NORMAL}
    vocabulary = vocabulary_of(tmp_path, tokens=tokens)
    assert vocabulary.doubtful == {"</s>": 0, "<|eot_id|>": 1}
    assert vocabulary.user_defined == {"<|start|>": 2}
    assert vocabulary.specials == {"<|end|>": 3}
    tokens |= {"<|return|>": CONTROL, "<|call|>": CONTROL}
    assert vocabulary_of(tmp_path, tokens=tokens).user_defined == {"<|start|>": 2, "<|end|>": 3}


def test_the_beginning_token_by_pre_tokenizer_and_by_the_file(tmp_path: Path) -> None:
    assert not vocabulary_of(tmp_path).add_bos
    assert vocabulary_of(tmp_path, pre="llama-bpe").add_bos
    off = key("tokenizer.ggml.add_bos_token", BOOL, False)
    assert not vocabulary_of(tmp_path, off, pre="llama-bpe").add_bos
    assert vocabulary_of(tmp_path, key("tokenizer.ggml.bos_token_id", U32, 1)).bos == 1
    assert vocabulary_of(tmp_path, key("tokenizer.ggml.bos_token_id", U32, 77)).bos is None


def test_phi_3_swallows_white_space_after_its_tokens(tmp_path: Path) -> None:
    named = key("general.name", STRING, "Phi-3 mini")
    assert vocabulary_of(tmp_path, named).strips_after == {1, 2}
    assert vocabulary_of(tmp_path).strips_after == frozenset()


def test_the_digest_names_what_decides_the_tokens(tmp_path: Path) -> None:
    paths = [tmp_path / f"{i}.gguf" for i in range(4)]
    write("llama", paths[0], make_vocabulary("qwen2"), seed=1)
    write("mamba", paths[1], make_vocabulary("qwen2"), seed=2)
    write("llama", paths[2], make_vocabulary("qwen35"), seed=1)
    write("llama", paths[3], make_vocabulary("qwen2", merges=300), seed=1)
    first, same, other_words, other_merges = (read_vocabulary(path).digest for path in paths)
    assert first == same
    assert len({first, other_words, other_merges}) == 3


def test_a_vocabulary_that_is_held_is_not_read_again(tmp_path: Path) -> None:
    path = tmp_path / "v.gguf"
    write("llama", path, make_vocabulary("qwen2"))
    held = read_vocabulary(path)
    assert read_vocabulary(path) is held
    write("llama", path, make_vocabulary("qwen35", merges=100))
    assert read_vocabulary(path).pre == "qwen35"


def test_a_file_without_a_vocabulary(tmp_path: Path) -> None:
    file = tmp_path / "v.gguf"
    file.write_bytes(gguf_bytes())
    vocabulary = read_vocabulary(file)
    assert (vocabulary.model, vocabulary.tokens, vocabulary.specials) == ("", [], {})


@pytest.mark.demo
def test_the_demo_models_vocabulary(demo_model: Path) -> None:
    vocabulary = read_vocabulary(demo_model)
    assert (vocabulary.model, vocabulary.pre, len(vocabulary.tokens)) == ("gpt2", "smollm", 49_152)
    assert vocabulary.specials["<|im_start|>"] == 1
    assert not vocabulary.add_bos
