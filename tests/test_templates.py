"""Prompt templates: shipped, overridden, wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from tui.errors import UsageProblem
from tui.templates import load_template, template_names


def write(folder: Path, name: str, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.md").write_text(text, encoding="utf-8")


def test_every_shipped_template_can_be_read() -> None:
    names = template_names(None)
    assert {"system", "ask", "summarize-single", "summarize-map", "summarize-reduce", "summarize-final"} <= set(names)
    for name in names:
        assert load_template(name, None).text("description")


def test_a_users_own_file_wins_and_has_another_digest(tmp_path: Path) -> None:
    write(tmp_path, "ask", "+++\ntemperature = 0.5\nstop = ['x']\n+++\n{{ question }}!\n")
    own, shipped = load_template("ask", tmp_path), load_template("ask", None)
    assert own.render(question="Why") == "Why!"
    assert own.number("temperature") == 0.5
    assert own.number("top_k") is None
    assert own.texts("stop") == ("x",)
    assert own.digest != shipped.digest
    assert load_template("system", tmp_path).source == load_template("system", None).source


def test_a_template_without_head_and_with_windows_lines(tmp_path: Path) -> None:
    write(tmp_path, "plain", "One\r\n{{ what }}\r\n")
    template = load_template("plain", tmp_path)
    assert template.render(what="two") == "One\ntwo"
    assert template.meta == {}


def test_rendered_text_is_not_rendered_again() -> None:
    rendered = load_template("summarize-map", None).render(text="{{ notes }} {% x %}", notes=3, language="", focus="")
    assert "{{ notes }} {% x %}" in rendered


def test_head_and_body_each_change_the_digest(tmp_path: Path) -> None:
    digests = set()
    for text in ("+++\na = 1\n+++\nbody", "+++\na = 2\n+++\nbody", "+++\na = 1\n+++\nBody"):
        write(tmp_path, "t", text)
        digests.add(load_template("t", tmp_path).digest)
    assert len(digests) == 3


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("+++\na = \n+++\nx", "TOML"),
        ("+++\na = 1\nx", "no end"),
        ("+++\na = 1\n+++\nx\n{% if %}", "line 5"),
        ("{{ open", "line 1"),
    ],
)
def test_what_is_wrong_is_said_with_the_file(tmp_path: Path, text: str, says: str) -> None:
    write(tmp_path, "bad", text)
    with pytest.raises(UsageProblem, match=says) as caught:
        load_template("bad", tmp_path)
    assert "bad.md" in caught.value.what


@pytest.mark.parametrize("body", ["{{ missing }}", "{{ 1 / 0 }}", "{{ x.y.z }}", "{{ ''.__class__.__mro__ }}"])
def test_a_body_that_fails_is_a_users_error(tmp_path: Path, body: str) -> None:
    write(tmp_path, "bad", body)
    with pytest.raises(UsageProblem, match=r"bad\.md"):
        load_template("bad", tmp_path).render(x=1)


@pytest.mark.parametrize("head", ["temperature = 'hot'", "temperature = true", "temperature = -1", "temperature = nan"])
def test_a_number_must_be_one(tmp_path: Path, head: str) -> None:
    write(tmp_path, "bad", f"+++\n{head}\n+++\nx")
    with pytest.raises(UsageProblem, match="temperature"):
        load_template("bad", tmp_path).number("temperature")


@pytest.mark.parametrize("name", ["../system", "no-such", "A", "", "x/y"])
def test_unknown_and_impossible_names(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageProblem):
        load_template(name, tmp_path)


def test_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "bad.md").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageProblem, match=r"bad\.md"):
        load_template("bad", tmp_path)
