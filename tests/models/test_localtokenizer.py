"""The local tokenizer against the real server, on vocabularies that show every border between words."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.support.running import running
from tests.support.tiny_models import build, write
from tests.support.tiny_vocabulary import make_vocabulary, wild_text
from tui.context.probes import PROBES
from tui.models.localtokenizer import AskTheServer, LocalTokenizer, build_local, byte_alphabet
from tui.models.pretokenizers import PATTERNS
from tui.models.vocabulary import read_vocabulary
from tui.server.binary import ServerBinary
from tui.server.client import LlamaClient

# One name for each way of cutting words.
WAYS = sorted({pattern: name for name, pattern in reversed(PATTERNS.items())}.values())


def local_of(path: Path) -> LocalTokenizer:
    local = build_local(read_vocabulary(path))
    assert local is not None
    return local


async def differing(client: LlamaClient, local: LocalTokenizer, texts: list[str]) -> list[str]:
    """Texts that the two tokenize differently; ones the local tokenizer leaves to the server are none."""
    found = []
    for text in texts:
        try:
            ids = local.encode(text)
        except AskTheServer:
            continue
        if ids != await client.tokenize(text):
            found.append(text)
    return found


@pytest.mark.real
@pytest.mark.parametrize("pre", WAYS)
async def test_words_are_cut_as_the_server_cuts_them(
    server_binary: ServerBinary, tmp_path: Path, pre: str, long_run: bool
) -> None:
    path = tmp_path / "wild.gguf"
    write("llama", path, make_vocabulary(pre, wild=True, merges=600))
    rng = random.Random(f"words {pre}")
    texts = [*PROBES, *(wild_text(rng, rng.randint(1, 25)) for _ in range(3000 if long_run else 100))]
    async with running(server_binary, path, tmp_path, ctx_size=1024) as client:
        assert await differing(client, local_of(path), texts) == []


@pytest.mark.real
@pytest.mark.parametrize("pre", sorted(PATTERNS))
@pytest.mark.long
async def test_every_name_is_known_to_the_server(server_binary: ServerBinary, tmp_path: Path, pre: str) -> None:
    path = tmp_path / "wild.gguf"
    write("llama", path, make_vocabulary(pre, wild=True, merges=600))
    rng = random.Random(f"names {pre}")
    async with running(server_binary, path, tmp_path, ctx_size=1024) as client:
        texts = [wild_text(rng, 20) for _ in range(200)]
        assert await differing(client, local_of(path), texts) == []


@pytest.mark.real
@pytest.mark.demo
async def test_the_demo_models_tokens(server_binary: ServerBinary, demo_model: Path, tmp_path: Path) -> None:
    rng = random.Random("demo")
    texts = [*PROBES, *(wild_text(rng, rng.randint(1, 40)) for _ in range(200))]
    # Its vocabulary lacks some bytes, which are left out.
    texts += ["\x04", "a\x06\x13b", "\U000f0000"]
    async with running(server_binary, demo_model, tmp_path, ctx_size=256) as client:
        assert await differing(client, local_of(demo_model), texts) == []


@pytest.mark.real
async def test_user_defined_tokens_are_matched_and_control_tokens_are_not(
    server_binary: ServerBinary, tmp_path: Path
) -> None:
    path = tmp_path / "model.gguf"
    names = ("  ", "    ", "<th", "ink>", "<think>x")
    write("llama", path, make_vocabulary("qwen2", user_defined=names, controls=("<ctl>",)))
    pieces = [*names, " ", "<think>", "</think>", "<ctl>", "<|im_end|>", "<tool_call>", "a", "\n"]
    rng = random.Random(3)
    texts = ["".join(rng.choices(pieces, k=rng.randint(1, 12))) for _ in range(300)]
    async with running(server_binary, path, tmp_path, ctx_size=256) as client:
        assert await differing(client, local_of(path), texts) == []


def test_what_has_no_single_expression_is_left_to_the_server(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    for pre in ("deepseek-v3", "falcon", "default", "never heard of", ""):
        write("llama", path, make_vocabulary(pre))
        assert build_local(read_vocabulary(path)) is None


def test_texts_it_is_not_sure_of(tiny_models: Path) -> None:
    local = local_of(build("llama", tiny_models))
    for text in (
        "a" + " " * 300_000,
        "\n" * 262_144 + "x",
        " \n" * 200_000,
        "new: \U00013460",
        "unassigned \U000effff",
    ):
        with pytest.raises(AskTheServer):
            local.encode(text)
    assert local.encode(" " * 100_000)
    assert local.encode(("x" * 1000 + "\n") * 2000)
    assert local.encode("a private character \ue000 and a lone half \ud800") == local.encode(
        "a private character \ue000 and a lone half \ufffd"
    )
    assert local.encode("") == []
    assert local.encode_many(["a", "", "b"]) == [local.encode("a"), [], local.encode("b")]


def test_the_byte_alphabet_is_the_public_one() -> None:
    alphabet = byte_alphabet()
    assert len(set(alphabet)) == 256
    assert (alphabet[0x20], alphabet[0x0A], alphabet[0x41], alphabet[0x00], alphabet[0xFF]) == ("Ġ", "Ċ", "A", "Ā", "ÿ")
