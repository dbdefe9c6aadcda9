"""Counting: who counts, what is exact, and that a local tokenizer is believed only after it agreed with the server."""

from __future__ import annotations

from pathlib import Path

import pytest

import tui.context.counter as counter_module
from tests.support.running import running
from tests.support.tiny_models import build, write
from tests.support.tiny_vocabulary import make_vocabulary
from tui.context.counter import TokenCounter, estimate, make_counter
from tui.context.probes import PROBES
from tui.errors import NoModel
from tui.models.localtokenizer import build_local
from tui.models.vocabulary import read_vocabulary
from tui.server.binary import ServerBinary
from tui.server.client import LlamaClient

TEXTS = ["", "one", "one two", "中文", "a <|im_end|> b <think>", "x" * 20_000, "  \n\n"]


class Memory:
    """Facts in a dictionary."""

    def __init__(self) -> None:
        self.facts: dict[str, str] = {}

    def get(self, key: str) -> str | None:
        return self.facts.get(key)

    def set(self, key: str, value: str) -> None:
        self.facts[key] = value


@pytest.mark.real
async def test_local_and_server_count_alike_and_the_proof_is_remembered(
    server_binary: ServerBinary, tiny_models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, facts = build("qwen3next", tiny_models), Memory()
    unproven = await make_counter(None, model, facts)
    assert (unproven.source, unproven.exact) == ("local", False)
    async with running(server_binary, model, tmp_path, ctx_size=256) as client:
        local, server = await make_counter(client, model, facts), TokenCounter(client=client)
        assert (local.source, local.exact) == ("local", True)
        assert (server.source, server.exact) == ("server", True)
        assert await local.count_many(TEXTS) == await server.count_many(TEXTS)
        assert [await local.encode(text) for text in TEXTS] == [await server.encode(text) for text in TEXTS]
        assert await local.count("one two") == len(await server.encode("one two"))
        # What only the server can tell is asked of it.
        rare = "very new \U00013460, very empty" + " \n" * 150_000
        assert await local.encode(rare) == await client.tokenize(rare)
        assert await local.count(rare) == len(await client.tokenize(rare))
        assert local.exact

        async def ask_again(client: LlamaClient, local: object) -> bool:
            raise AssertionError("probed although proven")

        monkeypatch.setattr(counter_module, "_agrees", ask_again)
        assert (await make_counter(client, model, facts)).exact
    proven = await make_counter(None, model, facts)
    assert (proven.source, proven.exact) == ("local", True)
    # A text that the local tokenizer is not sure of is an estimate now, and the counter says so.
    assert await proven.count("\U00013460") > 0
    assert not proven.exact


@pytest.mark.real
async def test_a_tokenizer_that_differs_is_not_believed(
    server_binary: ServerBinary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, facts = tmp_path / "model.gguf", Memory()
    write("llama", model, make_vocabulary("smollm", wild=True, merges=600))
    other = tmp_path / "other.gguf"
    write("llama", other, make_vocabulary("qwen2", wild=True, merges=600))
    wrong = build_local(read_vocabulary(other))
    monkeypatch.setattr(counter_module, "build_local", lambda vocabulary: wrong)
    async with running(server_binary, model, tmp_path, ctx_size=256) as client:
        for _ in range(2):
            counter = await make_counter(client, model, facts)
            assert (counter.source, counter.exact) == ("server", True)
    assert set(facts.facts.values()) == {"differs"}
    assert not (await make_counter(None, model, facts)).exact


@pytest.mark.real
async def test_a_vocabulary_only_the_server_knows(server_binary: ServerBinary, tmp_path: Path) -> None:
    model = tmp_path / "model.gguf"
    write("llama", model, make_vocabulary("deepseek-v3"))
    async with running(server_binary, model, tmp_path, ctx_size=256) as client:
        counter = await make_counter(client, model, None)
        assert (counter.source, counter.exact) == ("server", True)
        assert await counter.count_many(TEXTS) == [len(await client.tokenize(text)) for text in TEXTS]
    without = await make_counter(None, model, None)
    assert (without.source, without.exact) == ("estimate", False)


async def test_without_a_model_there_is_an_estimate_and_no_tokens() -> None:
    counter = await make_counter(None, None, None)
    assert (counter.source, counter.exact) == ("estimate", False)
    assert await counter.count_many(["", "a few words of English"]) == [0, estimate("a few words of English")]
    with pytest.raises(NoModel):
        await counter.encode("text")


async def test_a_model_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(NoModel):
        await make_counter(None, tmp_path / "none.gguf", None)


def test_estimates_grow_with_the_text() -> None:
    assert estimate("") == 0
    assert 1 <= estimate("a") <= estimate("中文") < estimate("中文" * 100)
    assert 150 < estimate("The quick brown fox jumps over it. " * 25) < 350


def test_there_are_enough_probes() -> None:
    assert len(set(PROBES)) == len(PROBES) >= 60
    assert sum(len(probe.encode()) for probe in PROBES) < 8_000
