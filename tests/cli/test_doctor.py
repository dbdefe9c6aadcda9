"""`doctor` says what it found, really asks the model something, and leaves nothing running."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.processes import lines, longscroll
from tests.support.tiny_models import build
from tui.cli.checks import Examination
from tui.cli.common import Shared
from tui.documents.tesseract import Recognizer
from tui.paths import Paths

NAMES = "python settings folders disk memory database logs ocr bundled_engine llama-server model server_start".replace(
    "_", " "
)


def checks(home: Path, *args: str, **more: str) -> tuple[int, dict[str, dict[str, Any]]]:
    done = longscroll(home, "doctor", "--json", *args, **more)
    (report,) = lines(done)
    assert list(report) == ["checks"]
    for check in report["checks"]:
        assert list(check) == ["name", "status", "detail", "remedy"]
        assert check["status"] in ("ok", "warn", "fail")
        assert check["detail"]
        assert check["remedy"] or check["status"] == "ok" or check["name"] == "server start"
    return done.returncode, {check["name"]: check for check in report["checks"]}


@pytest.mark.real
def test_all_is_well(own_home: Path, tiny_models: Path) -> None:
    model = build("llama", tiny_models)
    code, found = checks(own_home, "--model", str(model))
    assert code == 0, found
    assert " ".join(found) == NAMES
    assert {check["status"] for check in found.values()} <= {"ok", "warn"}
    assert model.stem in found["server start"]["detail"]
    assert "proved equal" in found["server start"]["detail"]
    assert "build" in found["llama-server"]["detail"]
    assert "tesseract" in found["ocr"]["detail"]

    text = longscroll(own_home, "doctor", "--model", str(model))
    assert text.returncode == 0
    assert "OK    server start: " in text.stdout


def test_a_fresh_machine_without_a_model(own_home: Path) -> None:
    code, found = checks(own_home)
    assert code == 3
    assert found["model"]["status"] == found["server start"]["status"] == "fail"
    assert "longscroll demo" in found["model"]["remedy"]
    assert found["database"]["status"] == "ok"


@pytest.mark.parametrize(
    ("known", "there", "status", "words"),
    [
        ([], False, "warn", "is not installed"),
        ([], True, "warn", "does not start"),
        ([Recognizer(program="t", version="5.3", languages=frozenset({"osd"}))], True, "warn", "languages none"),
        ([Recognizer(program="t", version="5.3", languages=frozenset({"eng", "osd", "deu"}))], True, "ok", "deu, eng"),
    ],
)
async def test_the_reader_of_scanned_pages(
    paths: Paths, monkeypatch: pytest.MonkeyPatch, known: list[Recognizer], there: bool, status: str, words: str
) -> None:
    monkeypatch.setattr("tui.documents.tesseract.recognizers", lambda: known)
    monkeypatch.setattr("tui.documents.tesseract.is_there", lambda: there)
    check = await Examination(Shared(), paths)._ocr()
    assert (check.name, check.status) == ("ocr", status)
    assert words in check.detail
    assert bool(check.remedy) == (status == "warn")


def test_a_server_that_is_not_there(own_home: Path) -> None:
    code, found = checks(own_home, LONGSCROLL_LLAMA_SERVER="/nowhere/llama-server")
    assert code == 3
    assert found["llama-server"]["status"] == "fail"
    assert "/nowhere/llama-server" in found["llama-server"]["detail"]


def test_a_program_that_is_no_server(own_home: Path, tmp_path: Path) -> None:
    code, found = checks(own_home, "--server", "/bin/echo")
    assert code == 3
    assert found["llama-server"]["status"] == "fail"


def test_an_address_where_nobody_answers(own_home: Path) -> None:
    code, found = checks(own_home, "--server-url", "http://127.0.0.1:9")
    assert code == 3
    assert found["server at --server-url"]["status"] == "fail"
    assert "model" not in found


def test_settings_that_make_no_sense_do_not_stop_it(own_home: Path) -> None:
    (own_home / "config").mkdir(parents=True)
    (own_home / "config" / "settings.toml").write_text("ctx_size = -1\n", encoding="utf-8")
    code, found = checks(own_home)
    assert code == 3
    assert found["settings"]["status"] == "fail"
    assert "ctx_size" in found["settings"]["detail"]
    assert found["python"]["status"] == "ok"
