"""The meter, the status line and the title bar, drawn from plain data."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tui.app.activity import Activity, of_answer, of_prompt, of_row, of_server
from tui.app.widgets.meter import GROWING, NOTHING, TYPED, meter_content, shares
from tui.app.widgets.status import status_content
from tui.context.plan import ContextPlan
from tui.context.runtime import FetchProgress
from tui.server.state import ServerState
from tui.server.types import PromptProgress

amounts = st.integers(0, 300_000)
plans = st.builds(
    lambda system, documents, history, draft, reserve, context: ContextPlan(
        context=context,
        system=system,
        documents=(("a", documents),),
        history=history,
        draft=draft,
        reserve=reserve,
    ),
    amounts,
    amounts,
    amounts,
    amounts,
    amounts,
    st.integers(256, 1_000_000),
)


@given(plans, st.integers(6, 200))
def test_the_bar_is_as_wide_as_the_screen_and_shows_every_part(plan: ContextPlan, cells: int) -> None:
    given_cells = shares(plan, cells)
    parts = (plan.system, plan.document_tokens, plan.history, plan.draft, plan.reserve, max(0, plan.free))
    assert sum(given_cells) == cells
    assert all((share > 0) == (amount > 0) for share, amount in zip(given_cells, parts, strict=True)) or not any(parts)


@given(plans, st.integers(30, 200), st.sampled_from((NOTHING, TYPED, GROWING)))
def test_the_meter_fits_the_screen(plan: ContextPlan, width: int, estimated: frozenset[str]) -> None:
    bar, numbers = meter_content(plan, width, estimated=estimated).plain.split("\n")
    assert cell_len(bar) == width
    assert cell_len(numbers) <= width


PLAN = ContextPlan(context=8192, system=41, documents=(("a", 1203), ("b", 7)), history=2000, draft=12, reserve=1024)


@pytest.mark.parametrize(
    ("width", "expected"),
    [
        (120, "system 41   documents 1,210   history 2,000   draft 12   reserve 1,024   free 3,905   of 8,192"),
        (84, "system 41  documents 1,210  history 2,000  draft 12  reserve 1,024  free 3,905"),
        (76, "sys 41  docs 1,210  hist 2,000  draft 12  res 1,024  free 3,905  of 8,192"),
        (68, "sys 41 docs 1,210 hist 2,000 draft 12 res 1,024 free 3,905 of 8,192"),
        (56, "4,287 used, free 3,905 of 8,192"),
        (30, "4,287 used, free 3,905"),
    ],
)
def test_numbers_are_exact_at_every_width(width: int, expected: str) -> None:
    assert meter_content(PLAN, width).plain.split("\n")[1] == expected


def test_what_is_empty_gives_way_to_the_size_of_the_context() -> None:
    plan = ContextPlan(context=8192, system=24, reserve=1024)
    assert meter_content(plan, 56).plain.split("\n")[1] == "sys 24 res 1,024 free 7,144 of 8,192"


def test_what_is_being_counted_again_is_marked() -> None:
    numbers = meter_content(PLAN, 120, estimated=TYPED).plain.split("\n")[1]
    assert "draft ≈12" in numbers
    assert "free ≈3,905" in numbers
    assert "history 2,000" in numbers


def test_an_overflow_says_by_how_much() -> None:
    plan = ContextPlan(context=1000, system=10, history=900, draft=200, reserve=250)
    assert "over by 360" in meter_content(plan, 80).plain


def test_prefill_says_how_long_it_will_take() -> None:
    state = of_prompt(PromptProgress(total=4100, cached=1000, processed=2100, time_ms=10_000))
    assert state.fraction == pytest.approx(2100 / 4100)
    assert state.detail == "2,100 of 4,100 tokens · ≈18 s left · 110 tokens/s · 1,000 reused"


def test_what_the_status_line_says() -> None:
    assert of_server(FetchProgress(49 << 20, 98 << 20)).detail == "49.0 MiB of 98.0 MiB"
    assert of_server(ServerState("loading", fraction=0.5)).fraction == 0.5
    assert of_server(ServerState("failed")).tone == "bad"
    assert of_answer(100, 5.0, 0.8).detail == "≈100 tokens · ≈20.0 tokens/s · first after 0.8 s"


def test_the_figures_under_an_answer() -> None:
    from tests.app.fake_engine import row

    done = row(
        1,
        "assistant",
        "x",
        completion_tokens=212,
        predicted_ms=8480.0,
        ttft_ms=800.0,
        prompt_tokens=900,
        cached_tokens=850,
    )
    assert of_row(done) == "212 tokens · 25.0 tokens/s · first after 0.8 s · 850 of 900 prompt tokens reused"
    assert of_row(row(1, "assistant", "x", state="stopped")) == "stopped"
    assert of_row(row(1, "assistant", "x", finish_reason="context")).startswith("cut off")


@given(
    st.builds(
        Activity,
        label=st.text(max_size=40),
        fraction=st.none() | st.floats(-1, 2),
        detail=st.text(max_size=120),
        hint=st.text(max_size=30),
    ),
    st.integers(60, 160),
)
def test_the_status_line_stays_in_its_row(state: Activity, width: int) -> None:
    line = status_content(state, width).plain
    assert "\n" not in line
    assert cell_len(line) <= max(width, cell_len(state.label) + 30)
