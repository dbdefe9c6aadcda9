"""The client against the real server."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from pathlib import Path

import psutil
import pytest

from tests.server_real.conftest import Ask
from tui.server.binary import ServerBinary
from tui.server.client import LlamaClient
from tui.server.errors import ContextOverflow, ServerAnswer, ServerGone, StreamBroken, WrongKey
from tui.server.flags import ServerFlags
from tui.server.process import ServerProcess
from tui.server.types import (
    Message,
    PromptProgress,
    Sampling,
    SlotState,
    StreamEvent,
    StreamFinished,
    TextDelta,
    Timings,
)

pytestmark = pytest.mark.real

GREEDY = Sampling(temperature=0.0)
STORY = [Message("system", "You tell stories."), Message("user", "Tell me a long story about a pump.")]


def last(events: list[StreamEvent]) -> StreamFinished:
    assert isinstance(events[-1], StreamFinished)
    assert not [event for event in events[:-1] if isinstance(event, StreamFinished)]
    return events[-1]


async def idle(client: LlamaClient) -> list[SlotState]:
    while True:
        slots = await client.slots()
        if not any(slot.is_processing for slot in slots):
            return slots
        await asyncio.sleep(0.02)


async def test_text_to_ids_and_back(server: ServerProcess) -> None:
    text = "Grüße, 世界! 🦙 def f(x):\n\treturn x\u2028 <|im_end|>"
    ids = await server.client.tokenize(text)
    assert await server.client.detokenize(ids) == text
    assert len(await server.client.tokenize(text, parse_special=True)) < len(ids)


async def test_lone_surrogates_are_sent_as_replacement(server: ServerProcess) -> None:
    assert await server.client.tokenize("a\ud800b") == await server.client.tokenize("a\ufffdb")


async def test_a_count_is_what_an_answer_says(server: ServerProcess) -> None:
    count = await server.client.count_chat(STORY)
    events = [event async for event in server.client.chat(STORY, max_tokens=3)]
    assert last(events).prompt_tokens == count
    text = await server.client.apply_template(STORY)
    assert "a pump" in text
    assert len(await server.client.tokenize(text, add_special=True, parse_special=True)) == count


async def test_a_chat_answer_streams(server: ServerProcess) -> None:
    events = [event async for event in server.client.chat(STORY, max_tokens=12, sampling=GREEDY)]
    finished = last(events)
    progress = [event for event in events if isinstance(event, PromptProgress)]
    text = "".join(event.text for event in events if isinstance(event, TextDelta))
    assert progress[-1].processed == progress[-1].total == finished.prompt_tokens
    assert finished.finish_reason == "length"
    assert finished.completion_tokens == 12
    assert text
    assert finished.timings.cache_n + finished.timings.prompt_n == finished.prompt_tokens
    again = [event async for event in server.client.chat(STORY, max_tokens=12, sampling=GREEDY)]
    assert last(again).cached_tokens == finished.prompt_tokens - 1


async def test_ids_go_as_they_are(server: ServerProcess) -> None:
    ids = await server.client.tokenize("<|im_end|> is text here. " * 10)
    events = [event async for event in server.client.complete(ids, max_tokens=5, sampling=GREEDY)]
    assert last(events).prompt_tokens == len(ids)
    assert last(events).finish_reason == "length"
    assert "".join(event.text for event in events if isinstance(event, TextDelta))


async def test_stop_words_end_with_stop(server: ServerProcess) -> None:
    ids = await server.client.tokenize("hello world " * 10)
    events = [event async for event in server.client.complete(ids, max_tokens=40, sampling=GREEDY)]
    text = "".join(event.text for event in events if isinstance(event, TextDelta))
    stop = text[8:10]
    sampling = Sampling(temperature=0.0, stop=(stop,))
    for stream in (
        server.client.complete(ids, max_tokens=40, sampling=sampling),
        server.client.chat([Message("user", "x")], max_tokens=400, sampling=Sampling(temperature=0.0, stop=("e",))),
    ):
        events = [event async for event in stream]
        assert last(events).finish_reason == "stop"


@pytest.mark.parametrize("way", ["chat", "complete"])
async def test_a_full_context_is_told_from_a_full_answer(
    way: str, server_binary: ServerBinary, server_flags: ServerFlags, ask: Ask
) -> None:
    async with ServerProcess() as server:
        await server.start(server_binary, ask(ctx_size=256), server_flags)
        client = server.client
        ids = await client.tokenize("hello world " * 20)
        for limit in (100_000, -1):
            stream = (
                client.chat(STORY, max_tokens=limit, sampling=GREEDY)
                if way == "chat"
                else client.complete(ids, max_tokens=limit, sampling=GREEDY)
            )
            finished = last([event async for event in stream])
            assert finished.finish_reason == "context"
            assert finished.prompt_tokens + finished.completion_tokens == 256


async def test_a_prompt_that_is_too_long_names_both_numbers(server: ServerProcess) -> None:
    ids = (await server.client.tokenize("hello world " * 10)) * 400
    count = len(ids)
    for stream in (
        server.client.complete(ids, max_tokens=4),
        server.client.chat([Message("user", "hello world " * 3000)], max_tokens=4),
    ):
        with pytest.raises(ContextOverflow) as caught:
            async for _ in stream:
                pass
        assert caught.value.available == 4096
        assert caught.value.needed > 4096
        assert caught.value.exit_code == 4
    with pytest.raises(ContextOverflow) as caught:
        await server.client.prefill(ids, id_slot=0)
    assert caught.value.needed == count


async def test_ending_early_frees_the_slot(server: ServerProcess) -> None:
    stream = server.client.chat(STORY, max_tokens=4000)
    async for event in stream:
        if isinstance(event, TextDelta):
            break
    assert any(slot.is_processing for slot in await server.client.slots())
    await stream.aclose()
    await idle(server.client)


async def test_a_cancelled_reader_frees_the_slot(server: ServerProcess) -> None:
    started = asyncio.Event()

    async def read() -> None:
        async for event in server.client.chat(STORY, max_tokens=4000):
            if isinstance(event, TextDelta):
                started.set()

    task = asyncio.create_task(read())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await idle(server.client)


async def test_a_prefill_ends_exactly_at_the_prompt(server: ServerProcess) -> None:
    client = server.client
    ids = await client.tokenize("one two three four five six seven eight nine ten " * 60)
    assert len(ids) > 1024
    seen: list[PromptProgress] = []
    timings = await client.prefill(ids, id_slot=1, on_progress=seen.append)
    assert (timings.cache_n, timings.prompt_n) == (0, len(ids))
    assert [progress.processed for progress in seen] == sorted(progress.processed for progress in seen)
    assert len(seen) >= 3
    assert {slot.id: slot.n_prompt_tokens for slot in await client.slots()} == {0: 0, 1: len(ids)}
    saved = await client.save_slot(1, "head.bin")
    assert saved.n_saved == len(ids)
    assert saved.n_written > 0


async def test_a_slot_saved_restored_and_erased(server: ServerProcess, tmp_path: Path) -> None:
    client = server.client
    ids = await client.tokenize("one two three four five six seven eight nine ten " * 30)
    await client.prefill(ids, id_slot=0)
    saved = await client.save_slot(0, "head.bin")
    assert (tmp_path / "slots" / "head.bin").stat().st_size == saved.n_written
    assert await client.erase_slot(0) == len(ids)
    restored = await client.restore_slot(1, "head.bin")
    assert restored.n_restored == len(ids)
    more = [*ids, *await client.tokenize(" and eleven")]
    finished = last([event async for event in client.complete(more, max_tokens=2, id_slot=1)])
    assert finished.cached_tokens == len(ids)
    with pytest.raises(ServerAnswer) as caught:
        await client.restore_slot(0, "not-there.bin")
    assert caught.value.code == 400


async def test_a_slot_can_be_chosen_for_a_chat(server: ServerProcess) -> None:
    for chosen in (1, 0):
        await server.client.erase_slot(0)
        await server.client.erase_slot(1)
        async for _ in server.client.chat(STORY, max_tokens=2, id_slot=chosen):
            pass
        used = [slot.id for slot in await idle(server.client) if slot.n_prompt_tokens]
        assert used == [chosen]


async def test_two_answers_at_once(server: ServerProcess) -> None:
    async def answer(slot: int) -> StreamFinished:
        return last([event async for event in server.client.chat(STORY, max_tokens=50, id_slot=slot)])

    first, second = await asyncio.gather(answer(0), answer(1))
    assert first.completion_tokens == second.completion_tokens == 50


async def test_a_probe_gives_the_same_twice(server: ServerProcess) -> None:
    ids = await server.client.tokenize("hello world " * 10)
    await server.client.probe(ids, 4, id_slot=0)
    first = await server.client.probe(ids, 4, id_slot=0)
    second = await server.client.probe(ids, 4, id_slot=0)
    assert len(first) == 4
    assert first == second
    assert all(logprob <= 0 for _, logprob in first)


async def test_more_requests_than_a_connection_takes(server: ServerProcess) -> None:
    """The server closes a connection after 100 requests; nobody may notice."""
    for number in range(250):
        assert await server.client.tokenize(f"word {number}")


async def test_a_wrong_key_is_said(server: ServerProcess) -> None:
    async with LlamaClient(server.client.base_url, "not the key") as client:
        assert await client.health() == "ok"
        with pytest.raises(WrongKey):
            await client.props()
        with pytest.raises(WrongKey):
            async for _ in client.chat(STORY, max_tokens=2):
                pass


async def test_an_error_of_the_server_is_told(server: ServerProcess) -> None:
    with pytest.raises(ServerAnswer) as caught:
        async for _ in server.client.complete([10**8], max_tokens=1):
            pass
    assert caught.value.code == 400
    assert "invalid tokens" in str(caught.value)
    with pytest.raises(ServerAnswer):
        await server.client.save_slot(0, "../outside.bin")


async def test_a_server_that_dies_in_the_middle_of_an_answer(server: ServerProcess) -> None:
    stream = server.client.chat(STORY, max_tokens=4000)
    text, pid = "", server.pid
    with pytest.raises(StreamBroken):
        async for event in stream:
            if isinstance(event, TextDelta):
                text += event.text
                if len(text) > 10:
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(pid, signal.SIGKILL)
    assert text
    assert (await server.wait_failed()).kind == "killed"
    assert server.phase == "failed"


async def test_nobody_there() -> None:
    async with LlamaClient("http://127.0.0.1:9") as client:
        assert await client.health() == "unreachable"
        with pytest.raises(ServerGone):
            await client.props()
        with pytest.raises(ServerGone):
            async for _ in client.chat(STORY, max_tokens=2):
                pass
    with pytest.raises(ServerGone):
        await client.props()


async def test_proxies_are_not_asked_for_the_own_machine(
    server: ServerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with LlamaClient(server.client.base_url) as client:
        assert await client.health() == "ok"


@pytest.mark.demo
async def test_the_demo_model_speaks_and_ends_by_itself(
    server_binary: ServerBinary, server_flags: ServerFlags, ask: Ask, demo_model: Path
) -> None:
    async with ServerProcess() as server:
        await server.start(server_binary, ask(model=demo_model, ctx_size=2048), server_flags)
        question = [Message("user", "What is the capital of France? Answer in one sentence.")]
        events = [event async for event in server.client.chat(question, max_tokens=200, sampling=GREEDY)]
        assert "Paris" in "".join(event.text for event in events if isinstance(event, TextDelta))
        assert last(events).finish_reason == "stop"
        assert last(events).timings != Timings()


async def test_closing_twice(server: ServerProcess) -> None:
    client = LlamaClient(server.client.base_url)
    await client.aclose()
    await client.aclose()


async def test_streams_leave_no_connection_behind(server: ServerProcess) -> None:
    """However they end: an overnight run makes thousands of them."""
    client = server.client
    ids = await client.tokenize("The pump at the harbour was checked before noon.")
    for number in range(12):
        async with contextlib.aclosing(client.chat(STORY, max_tokens=200 if number % 2 else 2)) as stream:
            async for event in stream:
                if isinstance(event, TextDelta) and number % 2:
                    break
        await client.prefill(ids, id_slot=0)
        async with contextlib.aclosing(client.complete(ids, max_tokens=2)) as stream:
            async for _ in stream:
                pass
    open_ones = [
        connection
        for connection in psutil.Process().net_connections("tcp")
        if connection.raddr and str(connection.raddr.port) == client.base_url.rsplit(":", 1)[-1]
    ]
    assert len(open_ones) <= 1, open_ones
