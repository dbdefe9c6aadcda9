"""What is foreseen is what happens, and no model is asked for it."""

from __future__ import annotations

import pytest

from tests.reading.conftest import MakeRuntime, paged
from tests.reading.running import run
from tests.reading.scripted import Call, Say, sensible
from tui.errors import DoesNotFit
from tui.reading.foreseeing import foresee
from tui.reading.results import SummaryOptions
from tui.reading.speeds import Speed, known_speed, remember_speed, speed_of
from tui.server.types import Timings


@pytest.mark.parametrize("n_ctx", [1024, 8192])
@pytest.mark.parametrize("strategy", ["auto", "map-reduce", "refine"])
async def test_the_plan_is_kept(scripted: MakeRuntime, n_ctx: int, strategy: str) -> None:
    runtime = scripted(sensible, n_ctx=n_ctx)
    document = paged(90)
    options = SummaryOptions(strategy=strategy)  # type: ignore[arg-type]  # one of the names
    foreseen = await foresee(runtime.runtime, document, options)
    assert not runtime.calls
    assert (foreseen.reused, foreseen.seconds) == (0, None)
    finished, _ = await run(runtime, document, options)
    result = finished.result
    assert (result.strategy, result.chunks, result.tokens, result.why) == (
        foreseen.strategy,
        foreseen.chunks,
        foreseen.tokens,
        foreseen.why,
    )
    assert result.levels <= foreseen.levels or strategy == "refine"
    assert 0.7 * result.prompt_tokens < foreseen.prompt_tokens < 1.5 * result.prompt_tokens
    again = await foresee(runtime.runtime, document, options)
    assert again.reused == result.chunks
    assert again.prompt_tokens < foreseen.prompt_tokens / 2


async def test_what_fits_and_what_does_not(scripted: MakeRuntime) -> None:
    runtime = scripted(n_ctx=2048)
    assert (await foresee(runtime.runtime, paged(2))).strategy == "single"
    await run(runtime, paged(2))
    assert (await foresee(runtime.runtime, paged(2))).reused == 1
    with pytest.raises(DoesNotFit):
        await foresee(runtime.runtime, paged(40), SummaryOptions(strategy="single"))


async def test_time_comes_from_the_speed_of_earlier_runs(scripted: MakeRuntime) -> None:
    runtime = scripted(n_ctx=1024, parallel=2)
    # Two calls side by side, ten seconds each, within ten seconds.
    timings = Timings(prompt_n=2000, prompt_ms=10_000, predicted_n=200, predicted_ms=10_000)
    speed = speed_of(timings, 10.0, 2)
    assert speed == Speed(prompt=400.0, written=40.0)
    assert speed is not None
    assert speed.seconds(2000, 200) == 10.0
    await remember_speed(runtime.runtime, timings, 10.0, 2)
    assert await known_speed(runtime.runtime, 2) == speed
    assert await known_speed(runtime.runtime, 1) == speed, "better than none"
    foreseen = await foresee(runtime.runtime, paged(20))
    assert foreseen.seconds == round(foreseen.prompt_tokens / 400 + foreseen.completion_tokens / 40, 1)
    assert speed_of(Timings(prompt_n=10, prompt_ms=1), 1.0, 1) is None


async def test_what_has_failed_in_one_pass_is_foreseen_in_parts(scripted: MakeRuntime) -> None:
    def model(call: Call) -> Say:
        return Say("") if call.kind == "single" else sensible(call)

    runtime = scripted(model, n_ctx=2048)
    document = paged(6)
    assert (await foresee(runtime.runtime, document)).strategy == "single"
    finished, _ = await run(runtime, document)
    assert finished.result.strategy == "map-reduce"
    again = await foresee(runtime.runtime, document)
    assert (again.strategy, again.why) == ("map-reduce", finished.result.why)
    assert (again.chunks, again.reused) == (finished.result.chunks, finished.result.chunks)
