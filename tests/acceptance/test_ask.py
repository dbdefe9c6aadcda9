"""The second question on a document, from another process, does not pay for the document again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.papers import report
from tests.support.processes import lines, longscroll
from tests.support.tiny_models import build

pytestmark = pytest.mark.real


def write(tmp_path: Path, name: str, pages: int) -> Path:
    paper = tmp_path / name
    paper.write_text("\n\n".join(report(pages, 20)), encoding="utf-8")
    return paper


@pytest.mark.demo
@pytest.mark.usefixtures("demo_in_home")
def test_the_demo_model(own_home: Path, tmp_path: Path) -> None:
    paper = write(tmp_path, "report.txt", 9)
    options = (str(paper), "--model", "demo", "--ctx-size", "8192", "--json")
    tokens = lines(longscroll(own_home, "count", *options))[0]["tokens"]
    assert tokens >= 3000

    first = asked(own_home, "Which pump failed?", options)
    assert first["cached_tokens"] < tokens * 0.05
    second = asked(own_home, "What did the inspector do?", options)
    assert second["cached_tokens"] >= tokens * 0.95
    assert second["restored_tokens"] >= tokens * 0.95
    # Ten times sooner: demanded of the program, and far from both figures (a restore takes a hundredth).
    assert second["ttft_s"] <= first["ttft_s"] / 10


@pytest.mark.parametrize("kind", ["llama", "qwen35moe", "qwen3next", "mamba"])
def test_every_kind_of_memory(own_home: Path, tmp_path: Path, tiny_models: Path, kind: str) -> None:
    paper = write(tmp_path, "report.txt", 9)
    model = build(kind, tiny_models)
    options = (str(paper), "--model", str(model), "--ctx-size", "16384", "--json")
    tokens = lines(longscroll(own_home, "count", *options))[0]["tokens"]
    first = asked(own_home, "Which pump failed?", options)
    assert first["restored_tokens"] == 0
    second = asked(own_home, "What did the inspector do?", options)
    assert second["cached_tokens"] >= tokens * 0.95
    assert second["restored_tokens"] >= tokens * 0.95
    assert not [warning for warning in second["warnings"] if not warning.startswith("The answer reached its room")]


def test_a_sliding_window_is_reused_or_said(own_home: Path, tmp_path: Path, tiny_models: Path) -> None:
    paper = write(tmp_path, "report.txt", 9)
    model = build("gemma3", tiny_models)
    options = (str(paper), "--model", str(model), "--ctx-size", "16384", "--json")
    tokens = lines(longscroll(own_home, "count", *options))[0]["tokens"]
    asked(own_home, "Which pump failed?", options)
    second = asked(own_home, "What did the inspector do?", options)
    if second["restored_tokens"]:
        assert second["cached_tokens"] >= tokens * 0.95
    else:
        assert second["cached_tokens"] < tokens * 0.05
        assert any("sliding" in warning for warning in second["warnings"])


@pytest.mark.demo
@pytest.mark.usefixtures("demo_in_home")
def test_what_does_not_fit_is_refused_with_both_numbers(own_home: Path, tmp_path: Path) -> None:
    paper = write(tmp_path, "report.txt", 9)
    options = (str(paper), "--model", "demo", "--ctx-size", "2048")
    for extra in (("--strategy", "whole"), ("--on-overflow", "refuse")):
        done = longscroll(own_home, "ask", "-q", "Which pump failed?", *options, "--json", *extra)
        assert done.returncode == 4
        assert "2,048" in done.stderr or "2048" in done.stderr
        assert not done.stdout.strip() or lines(done)[0].get("answer") in (None, "")


@pytest.mark.demo
@pytest.mark.usefixtures("demo_in_home")
def test_what_does_not_fit_is_answered_from_passages_with_their_places(own_home: Path, tmp_path: Path) -> None:
    """The demo model finds what stands on one line of a document three times as long as its context."""
    parts = report(12, 12)
    parts[6] += "\nThe old lighthouse was painted green by Ada Quill in the year 1931.\n"
    text = "\n\n".join(parts)
    paper = tmp_path / "report.txt"
    paper.write_text(text, encoding="utf-8")
    [line] = [number for number, said in enumerate(text.splitlines(), 1) if "lighthouse" in said]
    options = (str(paper), "--model", "demo", "--ctx-size", "1024", "--json")
    result = asked(own_home, "In which year was the lighthouse painted green?", options)
    assert result["strategy"] == "passages"
    warnings = result["warnings"]
    assert isinstance(warnings, list)
    assert any("1,024" in warning for warning in warnings)
    citations = result["citations"]
    assert isinstance(citations, list)
    assert any(citation["lines"][0] <= line <= citation["lines"][1] for citation in citations)
    answer = result["answer"]
    assert isinstance(answer, str)
    assert "1931" in answer
    assert answer.endswith(f"[line {line}]")


def asked(home: Path, question: str, options: tuple[str, ...]) -> dict[str, object]:
    done = longscroll(home, "ask", "-q", question, "--max-tokens", "24", *options)
    assert done.returncode == 0, done.stderr
    [result] = lines(done)
    return result
