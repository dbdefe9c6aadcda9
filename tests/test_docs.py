"""The documents say what the program does: commands, settings and links are checked."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import msgspec
import pytest

from tui.settings import Settings

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_the_first_screen_has_exactly_the_two_set_up_commands() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    head = readme[: readme.index("## What it promises")]
    assert re.findall(r"^pip .*$", head, re.MULTILINE) == [
        "pip install '.[local]' && longscroll demo",
        "pip install '.[test]' && pytest",
    ]


def test_every_setting_is_documented_with_its_default() -> None:
    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| (.+?) \|", page[page.index("## `settings.toml`") :], re.MULTILINE))
    assert set(rows) == {field.name for field in msgspec.structs.fields(Settings)}
    defaults = Settings()
    for name, shown in rows.items():
        value = getattr(defaults, name)
        if value is None:
            assert shown == "not set"
        else:
            assert tomllib.loads(f"x = {shown.strip('`')}")["x"] == value


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_sample_of_the_session_format_has_the_keys_of_its_schema() -> None:
    schema = msgspec.json.decode((ROOT / "sessions" / "format-1.schema.json").read_bytes())
    sample = msgspec.json.decode((ROOT / "sessions" / "sample-1.json").read_bytes())
    assert set(sample) == set(schema["properties"]) == set(schema["required"])
    message = schema["properties"]["messages"]["items"]
    for entry in sample["messages"]:
        assert set(message["required"]) <= set(entry) <= set(message["properties"])


def test_the_wheel_holds_the_prompts_and_the_session_format() -> None:
    try:
        files = {str(file) for file in distribution("longscroll").files or ()}
    except PackageNotFoundError:
        pytest.skip("longscroll runs from a checkout and is not installed")
    if not any(file.startswith("tui/") for file in files):
        pytest.skip("an editable installation: the checkout's own files are used")
    for kind in ("prompts", "sessions"):
        shipped = {f"tui/_data/{kind}/{path.name}" for path in (ROOT / kind).iterdir()}
        assert shipped <= files
    assert {"tui/py.typed", "tui/assets/sample.md"} <= files
