"""Tiny models with random weights, made in a second: the real server loads them and answers, though without sense.

`build(kind, folder)` writes one GGUF file of about a megabyte and returns its path; a file that is there is reused.
Greedy answers are printable ASCII and never end by themselves, so give `max_tokens`.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import gguf
import numpy as np

from tests.support.tiny_vocabulary import TinyVocabulary, make_vocabulary

KINDS = ("llama", "qwen35moe", "qwen3next", "mamba", "gemma3")
CONTEXT = 32768
SLIDING_WINDOW = 512

_VERSION = 1  # part of the file name: raise it when what is written changes
_EMBD = 64
_HEAD = 32
_HEADS = 2
_HEADS_KV = 1
_FF = 128
_EXPERTS = 4
_EXPERTS_USED = 2
_LOGIT_SPREAD = 6.0  # wide enough that a token with a zeroed row (logit 0) is never the likeliest


@dataclass(frozen=True)
class _Tensors:
    """Adds random tensors; shapes are given as llama.cpp names them, the fastest dimension first."""

    writer: gguf.GGUFWriter
    rng: np.random.Generator

    def matrix(self, name: str, *shape: int, spread: float | None = None) -> None:
        deviation = spread if spread is not None else 1.0 / float(np.sqrt(shape[0]))
        values = self.rng.normal(0.0, deviation, tuple(reversed(shape))).astype(np.float32)
        self.writer.add_tensor(name, values)

    def fill(self, name: str, value: float, *shape: int) -> None:
        self.writer.add_tensor(name, np.full(tuple(reversed(shape)), value, dtype=np.float32))

    def array(self, name: str, values: np.ndarray) -> None:
        self.writer.add_tensor(name, values.astype(np.float32))

    def ends(self, vocabulary: TinyVocabulary) -> None:
        """Embedding, output norm and output; only printable tokens have an output row."""
        n = len(vocabulary.tokens)
        self.matrix("token_embd.weight", _EMBD, n, spread=1.0)
        self.fill("output_norm.weight", 1.0, _EMBD)
        rows = self.rng.normal(0.0, _LOGIT_SPREAD / np.sqrt(_EMBD), (n, _EMBD))
        rows[[not printable for printable in vocabulary.printable]] = 0.0
        self.array("output.weight", rows)

    def attention(self, block: str, *, gated: bool = False, normed: bool = False) -> None:
        self.matrix(f"{block}.attn_q.weight", _EMBD, _HEAD * _HEADS * (2 if gated else 1))
        self.matrix(f"{block}.attn_k.weight", _EMBD, _HEAD * _HEADS_KV)
        self.matrix(f"{block}.attn_v.weight", _EMBD, _HEAD * _HEADS_KV)
        self.matrix(f"{block}.attn_output.weight", _HEAD * _HEADS, _EMBD)
        if normed:
            self.fill(f"{block}.attn_q_norm.weight", 1.0, _HEAD)
            self.fill(f"{block}.attn_k_norm.weight", 1.0, _HEAD)

    def feed_forward(self, block: str) -> None:
        self.fill(f"{block}.ffn_norm.weight", 1.0, _EMBD)
        self.matrix(f"{block}.ffn_gate.weight", _EMBD, _FF)
        self.matrix(f"{block}.ffn_up.weight", _EMBD, _FF)
        self.matrix(f"{block}.ffn_down.weight", _FF, _EMBD)

    def experts(self, block: str) -> None:
        self.matrix(f"{block}.ffn_gate_inp.weight", _EMBD, _EXPERTS)
        self.matrix(f"{block}.ffn_gate_exps.weight", _EMBD, _FF, _EXPERTS)
        self.matrix(f"{block}.ffn_up_exps.weight", _EMBD, _FF, _EXPERTS)
        self.matrix(f"{block}.ffn_down_exps.weight", _FF, _EMBD, _EXPERTS)
        self.matrix(f"{block}.ffn_gate_inp_shexp.weight", _EMBD)
        self.matrix(f"{block}.ffn_gate_shexp.weight", _EMBD, _FF)
        self.matrix(f"{block}.ffn_up_shexp.weight", _EMBD, _FF)
        self.matrix(f"{block}.ffn_down_shexp.weight", _FF, _EMBD)


def _common(writer: gguf.GGUFWriter, blocks: int) -> None:
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(_EMBD)
    writer.add_block_count(blocks)
    writer.add_layer_norm_rms_eps(1e-5)


def _attention_sizes(writer: gguf.GGUFWriter) -> None:
    writer.add_head_count(_HEADS)
    writer.add_head_count_kv(_HEADS_KV)
    writer.add_key_length(_HEAD)
    writer.add_value_length(_HEAD)
    writer.add_rope_freq_base(10000.0)


def _llama(writer: gguf.GGUFWriter, t: _Tensors) -> None:
    blocks = 2
    _common(writer, blocks)
    _attention_sizes(writer)
    writer.add_feed_forward_length(_FF)
    writer.add_rope_dimension_count(_HEAD)
    for i in range(blocks):
        t.fill(f"blk.{i}.attn_norm.weight", 1.0, _EMBD)
        t.attention(f"blk.{i}")
        t.feed_forward(f"blk.{i}")


def _gemma3(writer: gguf.GGUFWriter, t: _Tensors) -> None:
    blocks = 6  # every sixth layer attends to everything, the others to the window
    _common(writer, blocks)
    _attention_sizes(writer)
    writer.add_feed_forward_length(_FF)
    writer.add_sliding_window(SLIDING_WINDOW)
    for i in range(blocks):
        t.fill(f"blk.{i}.attn_norm.weight", 1.0, _EMBD)
        t.attention(f"blk.{i}", normed=True)
        t.fill(f"blk.{i}.post_attention_norm.weight", 1.0, _EMBD)
        t.feed_forward(f"blk.{i}")
        t.fill(f"blk.{i}.post_ffw_norm.weight", 1.0, _EMBD)


_STATE = 32
_GROUPS = 2
_RANK = 4
_CONV = 4


def _delta_net(writer: gguf.GGUFWriter, t: _Tensors, *, split_beta: bool) -> None:
    """Three layers of gated delta net, then one of full attention, each with experts."""
    blocks, interval = 4, 4
    value_dim = _STATE * _RANK
    mixed = 2 * _STATE * _GROUPS + value_dim
    _common(writer, blocks)
    _attention_sizes(writer)
    writer.add_feed_forward_length(_FF)
    writer.add_rope_dimension_count(_HEAD)
    writer.add_expert_count(_EXPERTS)
    writer.add_expert_used_count(_EXPERTS_USED)
    writer.add_expert_feed_forward_length(_FF)
    writer.add_expert_shared_feed_forward_length(_FF)
    writer.add_full_attention_interval(interval)
    writer.add_ssm_conv_kernel(_CONV)
    writer.add_ssm_state_size(_STATE)
    writer.add_ssm_group_count(_GROUPS)
    writer.add_ssm_time_step_rank(_RANK)
    writer.add_ssm_inner_size(value_dim)
    for i in range(blocks):
        block = f"blk.{i}"
        t.fill(f"{block}.attn_norm.weight", 1.0, _EMBD)
        t.fill(f"{block}.post_attention_norm.weight", 1.0, _EMBD)
        if (i + 1) % interval == 0:
            t.attention(block, gated=True, normed=True)
        else:
            t.matrix(f"{block}.attn_qkv.weight", _EMBD, mixed)
            t.matrix(f"{block}.attn_gate.weight", _EMBD, value_dim)
            t.matrix(f"{block}.ssm_conv1d.weight", _CONV, mixed)
            t.fill(f"{block}.ssm_dt.bias", 0.1, _RANK)
            t.array(f"{block}.ssm_a", -np.linspace(0.02, 0.3, _RANK))
            if split_beta:
                t.matrix(f"{block}.ssm_beta.weight", _EMBD, _RANK)
                t.matrix(f"{block}.ssm_alpha.weight", _EMBD, _RANK)
            else:
                t.matrix(f"{block}.ssm_ba.weight", _EMBD, 2 * _RANK)
            t.fill(f"{block}.ssm_norm.weight", 1.0, _STATE)
            t.matrix(f"{block}.ssm_out.weight", value_dim, _EMBD)
        t.experts(block)


def _qwen35moe(writer: gguf.GGUFWriter, t: _Tensors) -> None:
    writer.add_rope_dimension_sections([4, 6, 6, 0])
    _delta_net(writer, t, split_beta=True)


def _qwen3next(writer: gguf.GGUFWriter, t: _Tensors) -> None:
    _delta_net(writer, t, split_beta=False)


def _mamba(writer: gguf.GGUFWriter, t: _Tensors) -> None:
    blocks, inner, state, rank = 2, 2 * _EMBD, 16, 4
    _common(writer, blocks)
    writer.add_feed_forward_length(0)
    writer.add_head_count(0)
    writer.add_ssm_conv_kernel(_CONV)
    writer.add_ssm_inner_size(inner)
    writer.add_ssm_state_size(state)
    writer.add_ssm_time_step_rank(rank)
    for i in range(blocks):
        block = f"blk.{i}"
        t.fill(f"{block}.attn_norm.weight", 1.0, _EMBD)
        t.matrix(f"{block}.ssm_in.weight", _EMBD, 2 * inner)
        t.matrix(f"{block}.ssm_conv1d.weight", _CONV, inner)
        t.fill(f"{block}.ssm_conv1d.bias", 0.0, inner)
        t.matrix(f"{block}.ssm_x.weight", inner, rank + 2 * state)
        t.matrix(f"{block}.ssm_dt.weight", rank, inner)
        t.fill(f"{block}.ssm_dt.bias", -2.0, inner)
        t.array(f"{block}.ssm_a", -np.tile(np.arange(1, state + 1), (inner, 1)))
        t.fill(f"{block}.ssm_d", 1.0, inner)
        t.matrix(f"{block}.ssm_out.weight", inner, _EMBD)


@dataclass(frozen=True)
class _Recipe:
    write: Callable[[gguf.GGUFWriter, _Tensors], None]
    pre: str
    add_bos: bool
    template_has_bos: bool = False


_RECIPES = {
    "llama": _Recipe(_llama, "llama-bpe", add_bos=True, template_has_bos=True),
    "qwen35moe": _Recipe(_qwen35moe, "qwen35", add_bos=False),
    "qwen3next": _Recipe(_qwen3next, "qwen2", add_bos=False),
    "mamba": _Recipe(_mamba, "gpt-2", add_bos=False),
    "gemma3": _Recipe(_gemma3, "smollm", add_bos=True),
}


def build(kind: str, folder: Path) -> Path:
    """The GGUF file of one of `KINDS` in `folder`, written when it is not there yet (safe when two tests want it)."""
    recipe = _RECIPES[kind]
    path = folder / f"tiny-{kind}-v{_VERSION}.gguf"
    if path.exists():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    temporary = folder / f".{path.name}.{os.getpid()}"
    write(kind, temporary, make_vocabulary(recipe.pre, bos=recipe.add_bos, template_has_bos=recipe.template_has_bos))
    temporary.replace(path)
    return path


def write(kind: str, path: Path, vocabulary: TinyVocabulary, *, seed: int | None = None, name: str = "tiny") -> None:
    """Write a model of `kind` with this vocabulary; `seed` gives other weights of the same shape."""
    recipe = _RECIPES[kind]
    if seed is None:
        seed = int.from_bytes(hashlib.sha256(kind.encode()).digest()[:4], "big")
    writer = gguf.GGUFWriter(path, kind)
    writer.add_name(f"{name} {kind}, random weights")
    vocabulary.add_to(writer)
    tensors = _Tensors(writer, np.random.default_rng(seed))
    tensors.ends(vocabulary)
    recipe.write(writer, tensors)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
