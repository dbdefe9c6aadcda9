"""`extract` as a user runs it: JSON lines, CSV, a file written whole, a schema that is wrong."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from tests.support.papers import report
from tests.support.processes import lines, longscroll
from tests.support.tiny_models import build

pytestmark = pytest.mark.real

KEYS = ["record", "path", "pages", "lines", "heading", "cite", "unsupported"]
SCHEMA = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"device": {"enum": ["pump", "valve"]}, "broken": {"type": "boolean"}},
        "required": ["device", "broken"],
    },
}


@pytest.fixture
def options(tiny_models: Path, tmp_path: Path) -> tuple[str, ...]:
    """A model with random weights whose grammar leaves it little choice."""
    schema = tmp_path / "fields.json"
    schema.write_text(json.dumps(SCHEMA), encoding="utf-8")
    model = build("qwen35moe", tiny_models)
    return ("extract", "--schema", str(schema), "--model", str(model), "--ctx-size", "1536", "--chunk-tokens", "150")


def write(folder: Path, name: str, pages: int) -> Path:
    paper = folder / name
    paper.write_text("\n\n".join(report(pages, 6)), encoding="utf-8")
    return paper


def test_json_lines_csv_and_a_file(own_home: Path, tmp_path: Path, options: tuple[str, ...]) -> None:
    paper = write(tmp_path, "report.txt", 2)
    done = longscroll(own_home, *options, str(paper))
    assert done.returncode in (0, 1), done.stderr
    records = lines(done)
    for record in records:
        assert list(record) == KEYS
        assert record["path"] == str(paper)
        assert record["record"]["device"] in ("pump", "valve")
        assert record["lines"][0] >= 1
    assert f"{paper}: {len(records)} record" in done.stderr
    # Again: everything comes from the journal, with --json as without.
    again = longscroll(own_home, *options, str(paper), "--json")
    if done.returncode == 0:
        assert again.stdout == done.stdout
        assert "of them read earlier, 100 % read" in again.stderr
    file = tmp_path / "out" / "records.csv"
    table = longscroll(own_home, *options, str(paper), "--out", str(file))
    assert table.stdout == ""
    assert f"Wrote {file}." in table.stderr
    rows = list(csv.DictReader(io.StringIO(file.read_text(encoding="utf-8"))))
    assert [path.name for path in file.parent.iterdir()] == ["records.csv"]
    if done.returncode == 0:
        assert [row["device"] for row in rows] == [record["record"]["device"] for record in records]
        assert [row["cite"] for row in rows] == [record["cite"] for record in records]
        assert all(set(row) == {"device", "broken", *KEYS[1:]} for row in rows)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("{", "not JSON"),
        ('{"type": "object"}', "no `properties`"),
        (None, "cannot be read"),
    ],
)
def test_a_bad_schema_is_told_before_anything_starts(
    own_home: Path, tmp_path: Path, options: tuple[str, ...], given: str | None, words: str
) -> None:
    bad = tmp_path / "bad.json"
    if given is not None:
        bad.write_text(given, encoding="utf-8")
    done = longscroll(own_home, *options, "--schema", str(bad), str(write(tmp_path, "report.txt", 1)))
    assert done.returncode == 2
    assert done.stdout == ""
    [line] = done.stderr.splitlines()
    assert line.startswith("longscroll: The schema ")
    assert str(bad) in line
    assert words in line


def test_wrong_usage(own_home: Path, tmp_path: Path, options: tuple[str, ...]) -> None:
    paper = str(write(tmp_path, "report.txt", 1))
    for more, words in (
        (("--json", "--format", "csv"), "--format csv"),
        (("--key", "colour"), "`colour` is no field"),
        (("--key", "colour", "--model", "no-such-model"), "`colour` is no field"),
        (("--format", "jsonl", "--out", "recs.csv"), "--format jsonl does not go with --out recs.csv"),
        (("--format", "csv", "--out", "recs.JSONL"), "--format csv does not go with"),
        (("--json", "--out", "recs.csv"), "--json does not go with"),
        (("--out", str(tmp_path)), "is a folder"),
    ):
        done = longscroll(own_home, *options, paper, *more)
        assert done.returncode == 2, done.stderr
        assert done.stdout == ""
        assert words in done.stderr.splitlines()[-1]


def test_a_bad_file_does_not_stop_the_others(own_home: Path, tmp_path: Path, options: tuple[str, ...]) -> None:
    paper, missing = write(tmp_path, "report.txt", 1), tmp_path / "missing.txt"
    done = longscroll(own_home, *options, str(missing), str(paper))
    assert done.returncode == 1
    assert f"longscroll: {missing}" in done.stderr or "missing.txt" in done.stderr
    assert f"{paper}: " in done.stderr
    alone = longscroll(own_home, *options, str(missing))
    assert alone.returncode == 1
    assert alone.stdout == ""
