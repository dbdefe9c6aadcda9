"""Paths, settings, units, errors."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from tui.errors import DoesNotFit, ExitCode, StorageProblem, UsageProblem
from tui.paths import ensure, get_paths, shipped
from tui.settings import Settings, default_reserve, load_settings
from tui.units import duration, plural, size, tokens


def test_home_moves_everything_into_one_folder(tmp_path: Path) -> None:
    paths = get_paths({"LONGSCROLL_HOME": str(tmp_path)})
    for place in (paths.settings_file, paths.prompts, paths.database, paths.slots, paths.logs, paths.models):
        assert place.is_relative_to(tmp_path)


def test_without_home_the_platform_decides() -> None:
    assert get_paths({}).settings_file.name == "settings.toml"
    assert "longscroll" in str(get_paths({}).state)


def test_a_new_folder_is_its_owners_alone(tmp_path: Path) -> None:
    folder = ensure(tmp_path / "a" / "b")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_home_below_a_file_is_said_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageProblem) as caught:
        ensure(tmp_path / "file" / "below")
    assert "LONGSCROLL_HOME" in caught.value.remedy
    assert caught.value.exit_code == ExitCode.SOME_FAILED


@pytest.mark.parametrize("kind", ["prompts", "sessions"])
def test_shipped_files_are_found_from_a_checkout(kind: str) -> None:
    assert shipped(kind).is_dir()


def test_settings_are_defaults_without_a_file(tmp_path: Path) -> None:
    assert load_settings(tmp_path / "none.toml") == Settings()


def test_settings_are_read(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('model = "demo"\nctx_size = 4096\nserver_args = ["-ngl", "99"]\n')
    assert load_settings(file) == Settings(model="demo", ctx_size=4096, server_args=["-ngl", "99"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ctx_size = -1", "`ctx_size` is -1. It may be 0 or a whole number from 256 to 16,777,216."),
        ("ctx_size = 255", "`ctx_size` is 255. It may be 0 or a whole number from 256 to 16,777,216."),
        ("ctx_size = 16777217", "`ctx_size` is 16777217. It may be 0 or a whole number from 256 to 16,777,216."),
        ('ctx_size = "big"', '`ctx_size` is "big". It may be 0 or a whole number from 256 to 16,777,216.'),
        ("ctx_size = 512.5", "`ctx_size` is 512.5. It may be 0 or"),
        ("parallel = 257", "`parallel` is 257. It may be a whole number from 0 to 256."),
        ("parallel = true", "`parallel` is true. It may be a whole number from 0 to 256."),
        ("reserve = -3", "`reserve` is -3. It may be a whole number from 0 to 16,777,216."),
        ("temperature = nan", "`temperature` is nan. It may be a number from 0 to 5."),
        ("temperature = 5.1", "`temperature` is 5.1. It may be a number from 0 to 5."),
        ("model = 7", "`model` is 7. It may be a text in quotes."),
        ("[theme]", "`theme` is a table. It may be a text in quotes."),
        ('server_args = ["-ngl", 99]', "It may be a list of texts, such as "),
        ("read_timeout_s = 0", "`read_timeout_s` is 0. It may be a whole number from 1 to 86,400."),
        ("read_memory_mib = 63", "`read_memory_mib` is 63. It may be a whole number from 64 to 1,048,576."),
        ("ctx_sise = 1", "has a field `ctx_sise`, which there is not. Did you mean `ctx_size`?"),
        ("zzz = 1", "has a field `zzz`, which there is not. The fields are model, "),
        ("model = ", "is not TOML: Invalid value"),
    ],
)
def test_a_wrong_setting_is_named_with_what_it_may_be(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(text)
    with pytest.raises(UsageProblem) as caught:
        load_settings(file)
    assert said in str(caught.value)
    assert str(file) in caught.value.what


@pytest.mark.parametrize(
    "text",
    [
        "", "ctx_size = 0", "ctx_size = 256", "ctx_size = 16777216", "parallel = 0", "parallel = 256", "reserve = 0",
        "temperature = 0", "temperature = 0.7", "temperature = 5", 'theme = "any name"', "server_args = []",
        "read_memory_mib = 64", "\ufeffctx_size = 512",
    ],
)  # fmt: skip
def test_what_is_allowed_is_taken(tmp_path: Path, text: str) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(text, encoding="utf-8")
    load_settings(file)


def test_settings_that_are_not_text_are_said(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageProblem, match=r"settings\.toml"):
        load_settings(file)


@pytest.mark.parametrize(
    ("context", "setting", "reserve"),
    [(8192, 0, 1024), (2048, 0, 512), (4096, 0, 1024), (512, 0, 128), (2, 0, 1), (8192, 300, 300), (256, 300, 255)],
)
def test_the_reserve_is_a_quarter_of_a_small_context(context: int, setting: int, reserve: int) -> None:
    assert default_reserve(context, setting) == reserve


def test_units() -> None:
    assert tokens(12345) == "12,345"
    assert tokens(12345, exact=False) == "≈12,345"
    assert [size(n) for n in (0, 1023, 1024, 98_362_432, 3 << 30)] == [
        "0 B",
        "1023 B",
        "1.0 KiB",
        "93.8 MiB",
        "3.0 GiB",
    ]
    assert [duration(s) for s in (0.44, 9.96, 12.4, 59.6, 200, 3900)] == [
        "0.4 s", "10.0 s", "12 s", "1 min 00 s", "3 min 20 s", "1 h 05 min",
    ]  # fmt: skip
    assert plural(1, "page") == "1 page"
    assert plural(2, "page") == "2 pages"


def test_what_does_not_fit_names_both_numbers() -> None:
    error = DoesNotFit(9000, 8192, "Use a larger --ctx-size.")
    assert "9,000" in str(error)
    assert "8,192" in str(error)
    assert error.exit_code == ExitCode.DOES_NOT_FIT
