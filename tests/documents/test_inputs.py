"""What a user may name: files, folders, patterns; each becomes inputs, and what is wrong with one stops no other."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from threading import Event

import pytest

from tests.documents.pdfs import WORDS, pages
from tui.documents.folder import look_into
from tui.documents.inputs import Expansion, expand
from tui.documents.patterns import matches, natural
from tui.errors import InputProblem

posix = pytest.mark.skipif(sys.platform == "win32", reason="made of POSIX things")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def plant(*paths: str, text: str = "words\n") -> None:
    for path in paths:
        file = Path(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def shown(expansion: Expansion) -> list[str]:
    return [item.shown for item in expansion.inputs]


async def test_files_are_taken_in_order_each_once(here: Path) -> None:
    plant("b.txt", "a.txt")
    expansion = await expand(["b.txt", "a.txt", "./b.txt", str(here / "a.txt")])
    assert shown(expansion) == ["b.txt", "a.txt"]
    (note,) = expansion.notes
    assert "more than once" in note


async def test_a_file_that_is_not_there_is_left_to_the_reader(here: Path) -> None:
    (item,) = (await expand(["nowhere.txt"])).inputs
    assert (item.path, item.problem) == ("nowhere.txt", None)


async def test_a_folder_of_documents_is_its_documents(here: Path) -> None:
    plant("reports/b.md", "reports/a 10.txt", "reports/a 2.txt", "reports/2024/c.csv")
    Path("reports/paper.pdf").write_bytes(pages([WORDS]))
    Path("reports/logo.png").write_bytes(b"\x89PNG\r\n\x1a\n\x00")
    Path("reports/table.xlsx").write_bytes(b"PK\x03\x04\x00")
    Path("reports/blob.dat").write_bytes(bytes(range(256)) * 9)
    Path("reports/empty.txt").write_bytes(b"")
    Path("reports/~$b.docx").write_bytes(b"x")
    expansion = await expand(["reports"])
    assert shown(expansion) == [
        "reports/2024/c.csv", "reports/a 2.txt", "reports/a 10.txt", "reports/b.md", "reports/paper.pdf"
    ]  # fmt: skip
    (note,) = expansion.notes
    assert note.startswith("reports/: 5 documents. Left out: ")
    for name, why in (
        ("logo.png", "a picture"), ("table.xlsx", "a spreadsheet"), ("blob.dat", "binary"), ("empty.txt", "empty"),
        ("~$b.docx", "a lock of a word processor"),
    ):  # fmt: skip
        assert f"{name} ({why})" in note


@pytest.mark.parametrize(
    "paths",
    [["a.py"], ["notes.md", "deep/down/tool.sh"], ["package.json", "readme.md"], [".git/HEAD", "notes.md"]],
    ids=["code", "code below", "manifest", "repository"],
)
async def test_a_source_tree_is_one_input(here: Path, paths: list[str]) -> None:
    plant(*(f"project/{path}" for path in paths))
    (item,) = (await expand(["project"])).inputs
    assert (item.shown, item.folder) == ("project", True)


async def test_markup_data_and_saved_pages_are_no_source_code(here: Path) -> None:
    plant("saved/page.html", text="<!doctype html><html><body>words</body></html>")
    plant("saved/page_files/script.js", "saved/page_files/style.css", "saved/data.json", "saved/requirements.txt")
    expansion = await expand(["saved"])
    assert shown(expansion) == ["saved/data.json", "saved/page.html", "saved/requirements.txt"]
    assert "saved with a page" in expansion.notes[0]


async def test_the_folder_one_is_in(here: Path) -> None:
    plant("a.txt", "sub/b.txt")
    assert shown(await expand(["."])) == ["a.txt", "sub/b.txt"]


async def test_ignored_files_are_not_looked_at(here: Path) -> None:
    plant("docs/a.md", "docs/build/tool.py")
    plant("docs/.gitignore", text="build/\n")
    expansion = await expand(["docs"])
    assert shown(expansion) == ["docs/a.md"]
    assert expansion.notes == ("docs/: 1 document. Left out: .gitignore (hidden).",)


async def test_a_bad_argument_stops_no_other(here: Path) -> None:
    plant("a.txt")
    Path("nothing").mkdir()
    Path("pictures").mkdir()
    Path("pictures/a.png").write_bytes(b"\x89PNG\r\n\x1a\n\x00")
    expansion = await expand(["none*.pdf", "nothing", "pictures", "a.txt"])
    assert shown(expansion) == ["none*.pdf", "nothing", "pictures", "a.txt"]
    problems = [item.problem for item in expansion.inputs]
    assert all(isinstance(problem, InputProblem) and problem.remedy for problem in problems[:3])
    assert problems[3] is None
    assert "matches no file" in str(problems[0])
    assert "a.png (a picture)" in str(problems[2])


async def test_patterns(here: Path) -> None:
    plant("r/part 2.txt", "r/part 10.txt", "r/x/part 1.txt", "r/.hidden.txt", "r/x/y/z.md", "[odd].txt", "o.txt")
    assert shown(await expand(["r/*.txt"])) == ["r/part 2.txt", "r/part 10.txt"]
    assert shown(await expand(["r/**/*.txt"])) == ["r/part 2.txt", "r/part 10.txt", "r/x/part 1.txt"]
    assert shown(await expand(["r/**"])) == ["r/part 2.txt", "r/part 10.txt", "r/x/part 1.txt", "r/x/y/z.md"]
    assert shown(await expand(["r/part ?.txt"])) == ["r/part 2.txt"]
    assert shown(await expand(["r/.*"])) == ["r/.hidden.txt"]
    assert shown(await expand([str(here / "r" / "part [1-3]*")])) == [
        str(here / "r" / "part 2.txt"), str(here / "r" / "part 10.txt")
    ]  # fmt: skip
    # What exists is taken by its name, whatever that holds.
    assert shown(await expand(["[odd].txt"])) == ["[odd].txt"]
    # A pattern without `**` gives folders too, as a shell does.
    assert shown(await expand(["r/x*"])) == ["r/x/part 1.txt", "r/x/y/z.md"]
    overlapping = await expand(["r/*.txt", "r"])
    assert len(shown(overlapping)) == 4
    assert "more than once" in overlapping.notes[-1]


@posix
async def test_links_are_followed_by_name_and_not_by_two_stars(here: Path) -> None:
    plant("real/a.txt")
    Path("link").symlink_to("real")
    Path("real/loop").symlink_to("..")
    assert matches("**/*.txt") == ["real/a.txt"]
    assert matches("link/*.txt") == ["link/a.txt"]
    expansion = await expand(["real/a.txt", "link/a.txt"])
    assert shown(expansion) == ["real/a.txt"]


def test_a_search_that_is_stopped_ends(here: Path) -> None:
    plant("a/b/c.txt")
    stop = Event()
    stop.set()
    assert matches("**/*", stop) == []


@posix
async def test_a_folder_that_may_not_be_listed(here: Path) -> None:
    Path("closed").mkdir(mode=0)
    if os.access("closed", os.R_OK):
        pytest.skip("this user may read everything")
    (item,) = (await expand(["closed"])).inputs
    assert "cannot be listed" in str(item.problem)


def test_natural_order() -> None:
    names = ["b/1", "a/file10", "a/file2", "A/file1", "a", "b"]
    assert sorted(names, key=natural) == ["a", "A/file1", "a/file2", "a/file10", "b", "b/1"]


def test_an_undecidable_text_is_left_to_its_reader(here: Path) -> None:
    plant("d/a.txt")
    Path("d/odd.txt").write_bytes(b"\xf1\xe0\xe5")
    assert look_into(here / "d").files == ("a.txt", "odd.txt")
