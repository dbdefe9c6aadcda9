"""Sets of templates: chosen by name, the user's own first, what a set lacks from `summarize`; lengths in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.reading.conftest import MakeRuntime, paged
from tests.reading.running import run
from tui.errors import UsageProblem
from tui.reading.foreign import SENTENCES
from tui.reading.prompts import KINDS, load_summary_prompts, prompt_sets
from tui.reading.results import SummaryOptions


def test_the_shipped_sets() -> None:
    assert {"summarize", "facts", "minutes"} <= set(prompt_sets(None))
    assert not {"ask", "extract"} & set(prompt_sets(None))
    for name in prompt_sets(None):
        prompts = load_summary_prompts(None, SummaryOptions(prompt=name, language="German", focus="pumps", length=80))
        for kind in KINDS:
            for as_list in (False, True):
                said = prompts.instruction(kind, 5, as_list=as_list)
                assert "German" in said
                assert "pumps" in said
                assert "  " not in said.replace("\n", " \n").replace(" \n", "")


def test_a_set_of_the_users_own_needs_one_template_only(tmp_path: Path) -> None:
    (tmp_path / "mine-final.md").write_text("{{ text }}\n\nSing of it.", encoding="utf-8")
    assert "mine" in prompt_sets(tmp_path)
    prompts = load_summary_prompts(tmp_path, SummaryOptions(prompt="mine"))
    assert "Sing" in prompts.instruction("final")
    assert prompts.templates["map"].name == "summarize-map"
    with pytest.raises(UsageProblem) as caught:
        load_summary_prompts(tmp_path, SummaryOptions(prompt="yours"))
    assert "mine" in caught.value.remedy


def test_lengths() -> None:
    words = {length: load_summary_prompts(None, SummaryOptions(length=length)) for length in ("", "short", "long", 40)}
    assert [prompts.words for prompts in words.values()] == [0, 100, 600, 40]
    assert words["short"].points < words[""].points < words["long"].points
    assert words["short"].reply("final") < words["long"].reply("final")
    assert "about 40 words" in words[40].instruction("final")
    assert load_summary_prompts(None, SummaryOptions(length="long", max_tokens=50)).reply("final") == 50


async def test_the_set_and_the_length_reach_the_model(scripted: MakeRuntime) -> None:
    runtime = scripted()
    await run(runtime, paged(10), SummaryOptions(prompt="facts", length=66))
    assert all("facts" in call.text for call in runtime.calls)
    [final] = [call for call in runtime.calls if "End of the notes" in call.text]
    assert "List the 3 most important facts" in final.text


def test_a_text_in_another_language_is_answered_in_it() -> None:
    chinese = "".join(SENTENCES["zh"])
    assert "in Chinese" in load_summary_prompts(None, SummaryOptions(), chinese).instruction("map", 5)
    assert "in German" in load_summary_prompts(None, SummaryOptions(language="German"), chinese).instruction("map", 5)
    english = load_summary_prompts(None, SummaryOptions(), " ".join(SENTENCES["en"]))
    assert english.language == ""
