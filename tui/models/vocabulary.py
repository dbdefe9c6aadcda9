"""A model's vocabulary as its GGUF file holds it, with the token kinds as llama.cpp understands them.

Sources of the rules: llama.cpp's vocabulary loader (public, MIT); only the facts are restated here.
"""

from __future__ import annotations

import hashlib
import weakref
from pathlib import Path
from typing import Any

import msgspec

from tui.models.gguf import GgufHeader, read_array, read_header

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6

# Pre-tokenizers whose models begin every prompt with the beginning token unless the file says otherwise.
_BEGIN_BY_PRE = frozenset(
    {"llama3", "llama-v3", "llama-bpe", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2", "tekken", "chameleon"}
)
# Texts that llama.cpp takes for control tokens whatever the file says; which ones differs a little between builds.
_CONTROL_BY_NAME = frozenset(
    {
        *("<|eot_id|>", "<|im_end|>", "<|end|>", "<|return|>", "<|call|>", "<|flush|>", "<|calls|>", "<end_of_turn>"),
        *("<|endoftext|>", "<|eom_id|>", "<EOT>", "_<EOT>", "[EOT]", "[EOS]", "<|end_of_text|>", "</s>", "<eos>"),
        *("<end_of_utterance>", "<turn|>", "<|tool_response>", "<｜end▁of▁sentence｜>", "[e~["),
        *("<|fim_prefix|>", "<fim-prefix>", "<fim_prefix>", "<｜fim▁begin｜>", "<PRE>", "▁<PRE>", "<|code_prefix|>"),
        *("<|fim_suffix|>", "<fim-suffix>", "<fim_suffix>", "<｜fim▁hole｜>", "<SUF>", "▁<SUF>", "<|code_suffix|>"),
        *("<|fim_middle|>", "<fim-middle>", "<fim_middle>", "<｜fim▁end｜>", "<MID>", "▁<MID>", "<|code_middle|>"),
        *("<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]", "<|prefix|>", "<|suffix|>", "<|middle|>"),
        *("<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>", "<|file_sep|>"),
    }
)
# The message frame of the harmony format: llama.cpp makes these user-defined so that they are shown.
_HARMONY = ("<|channel|>", "<|message|>", "<|start|>", "<|constrain|>")
_NO_RSTRIP = frozenset({"<unk>", "<s>", "<|endoftext|>"})


class Vocabulary(msgspec.Struct, frozen=True, kw_only=True, weakref=True, eq=False):
    """Tokens by id, and what the tokens are. Token texts are as in the file: byte-level for `gpt2`, `▁` for `llama`."""

    model: str
    """`gpt2` (byte-level BPE), `llama` (sentencepiece), `bert`, `t5`, …"""
    pre: str
    """Name of the pre-tokenizer; empty when the file names none."""
    tokens: list[str]
    types: list[int]
    merges: list[str]
    bos: int | None
    eos: int | None
    add_bos: bool
    """Whether a prompt begins with `bos`."""
    add_eos: bool
    specials: dict[str, int]
    """CONTROL and UNKNOWN tokens: matched in a template, plain text in contents."""
    doubtful: dict[str, int]
    """Tokens that are control tokens by their name alone, in some builds; ask the server which."""
    user_defined: dict[str, int]
    """Matched everywhere, also in contents."""
    strips_after: frozenset[int] = frozenset()
    """Special tokens that swallow the white space after them (Phi-3)."""
    digest: str = ""
    """SHA-256, hex, of all that decides how text becomes tokens."""


# A large vocabulary takes a second to read: whoever holds one shares it with the next who asks.
_held: weakref.WeakValueDictionary[tuple[Path, int, int], Vocabulary] = weakref.WeakValueDictionary()


def read_vocabulary(path: Path) -> Vocabulary:
    """The vocabulary in the GGUF file at `path`. Raises NoModel as `read_header` does."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return _read(read_header(path))  # which says what is wrong
    key = (path.absolute(), found.st_size, found.st_mtime_ns)
    vocabulary = _held.get(key)
    if vocabulary is None:
        vocabulary = _held[key] = _read(read_header(path))
    return vocabulary


def _read(header: GgufHeader) -> Vocabulary:
    tokens = [text for text in read_array(header, "tokenizer.ggml.tokens") if isinstance(text, str)]
    types = [kind for kind in read_array(header, "tokenizer.ggml.token_type") if isinstance(kind, int)]
    types = (types + [NORMAL] * len(tokens))[: len(tokens)]
    merges = [text for text in read_array(header, "tokenizer.ggml.merges") if isinstance(text, str)]
    model = header.string("tokenizer.ggml.model")
    pre = header.string("tokenizer.ggml.pre")
    specials, doubtful, user_defined = _kinds(tokens, types)
    name = header.string("general.name").lower()
    every = {**specials, **doubtful, **user_defined}
    strips = {every[text] for text in every if text not in _NO_RSTRIP} if "phi-3" in name or "phi3" in name else set()
    vocabulary = Vocabulary(
        model=model,
        pre=pre,
        tokens=tokens,
        types=types,
        merges=merges,
        bos=_token_id(header, "bos", len(tokens)),
        eos=_token_id(header, "eos", len(tokens)),
        add_bos=_flag(header, "tokenizer.ggml.add_bos_token", _adds_bos(model, pre)),
        add_eos=_flag(header, "tokenizer.ggml.add_eos_token", model == "t5"),
        specials=specials,
        doubtful=doubtful,
        user_defined=user_defined,
        strips_after=frozenset(strips),
    )
    return msgspec.structs.replace(vocabulary, digest=_digest(vocabulary, header))


def _kinds(tokens: list[str], types: list[int]) -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
    specials: dict[str, int] = {}
    doubtful: dict[str, int] = {}
    user_defined: dict[str, int] = {}
    for i, kind in enumerate(types):
        text = tokens[i]
        if not text:
            continue
        if kind in (CONTROL, UNKNOWN):
            specials[text] = i
        elif text in _CONTROL_BY_NAME:
            doubtful[text] = i
        elif kind == USER_DEFINED:
            user_defined[text] = i
    harmony = list(_HARMONY)
    if "<|end|>" in specials and "<|return|>" in specials and "<|call|>" in specials:
        harmony.append("<|end|>")
    for text in harmony:
        if text in specials:
            user_defined[text] = specials.pop(text)
    return specials, doubtful, user_defined


def _token_id(header: GgufHeader, which: str, count: int) -> int | None:
    value = header.number(f"tokenizer.ggml.{which}_token_id", -1)
    return value if 0 <= value < count else None


def _flag(header: GgufHeader, key: str, default: bool) -> bool:
    value = header.metadata.get(key, default)
    return value if isinstance(value, bool) else default


def _adds_bos(model: str, pre: str) -> bool:
    return pre in _BEGIN_BY_PRE if model == "gpt2" else model in {"llama", "bert"}


def _digest(vocabulary: Vocabulary, header: GgufHeader) -> str:
    digest = hashlib.sha256()
    settings: list[Any] = [
        *(vocabulary.model, vocabulary.pre, vocabulary.add_bos, vocabulary.add_eos),
        *(vocabulary.bos, vocabulary.eos, sorted(vocabulary.strips_after)),
        *(
            str(header.metadata.get(f"tokenizer.ggml.{key}"))
            for key in ("add_space_prefix", "remove_extra_whitespaces")
        ),
    ]
    digest.update(repr(settings).encode())
    for texts in (vocabulary.tokens, vocabulary.merges):
        digest.update(b"\xff" + "\n\x00".join(texts).encode("utf-8", "surrogateescape"))
    digest.update(b"\xff" + bytes(kind & 0xFF for kind in vocabulary.types))
    return digest.hexdigest()
