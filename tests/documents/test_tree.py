"""Source trees: the files that git would count, in an order that helps, with everything left out named."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tui.documents.model import Document
from tui.documents.options import ReadOptions
from tui.documents.refusal import Refusal
from tui.documents.tree.reader import HEAD_LABEL, read_tree
from tui.documents.tree.repository import repository_at, tracked_files
from tui.documents.tree.walk import walk

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is the yardstick here")
posix = pytest.mark.skipif(sys.platform == "win32", reason="made of POSIX things")

TRAPS = {
    ".gitignore": "*.log\n!keep.log\n/only-at-top.txt\ntmp1/*\n!tmp1/b\nbuild/\n"
    "\\#odd\nwith\\ space.txt\n文档*\n**/deep/**\nbroken\\\n",
    "a.log": "ignored",
    "keep.log": "taken back",
    "only-at-top.txt": "ignored",
    "sub/only-at-top.txt": "kept",
    "tmp1/a": "ignored",
    "tmp1/b": "kept",
    "build/out.py": "ignored",
    "sub/build/out.py": "ignored",
    "#odd": "ignored",
    "with space.txt": "ignored",
    "文档一.txt": "ignored",
    "文件.txt": "kept",
    "sub/.gitignore": "!*.log\nkeep.log\n/local.txt\n",
    "sub/b.log": "taken back by the nearer file",
    "sub/keep.log": "ignored by the nearer file",
    "sub/local.txt": "ignored",
    "sub/more/local.txt": "kept",
    "x/deep/y/z.txt": "ignored",
    "excluded.txt": "ignored by info/exclude",
    ".hidden": "kept",
}


@pytest.fixture(autouse=True)
def no_settings_of_the_user(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path_factory.mktemp("home")
    for name in ("HOME", "USERPROFILE", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(home))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    return home


def plant(root: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n", encoding="utf-8")
    return root


def git(root: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=root, check=True, capture_output=True)
    return os.fsdecode(done.stdout)


def as_git_says(root: Path) -> set[str]:
    return {path for path in git(root, "ls-files", "-co", "--exclude-standard", "-z").split("\0") if path}


def walked(root: Path) -> set[str]:
    return {entry.path for entry in walk(root)}


def tree(root: Path) -> Document:
    document = read_tree(root, str(root), root.name)
    place = 0
    for span in document.spans:
        assert span.start == place < span.end
        place = span.end
    assert place == len(document.text)
    return document


def labels(document: Document) -> list[str]:
    return [span.label for span in document.spans]


@needs_git
def test_the_trap_tree_equals_git(tmp_path: Path) -> None:
    plant(tmp_path, TRAPS)
    git(tmp_path, "init", "-q")
    (tmp_path / ".git/info/exclude").write_text("excluded.txt\n!never\n", encoding="utf-8")
    assert walked(tmp_path) == as_git_says(tmp_path)
    assert {"keep.log", "sub/b.log", "tmp1/b", "文件.txt", ".hidden"} <= walked(tmp_path)


@needs_git
def test_a_folder_inside_obeys_the_rules_above_it(tmp_path: Path) -> None:
    plant(tmp_path, TRAPS)
    git(tmp_path, "init", "-q")
    assert walked(tmp_path / "sub") == as_git_says(tmp_path / "sub")


@needs_git
@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_what_is_tracked_is_never_ignored(tmp_path: Path, version: str) -> None:
    plant(tmp_path, TRAPS | {"build/deep/er.txt": "", "build/deep/other.txt": ""})
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-f", "a.log", "build/deep/er.txt", "文档一.txt")
    git(tmp_path, "update-index", "--index-version", version)
    assert walked(tmp_path) == as_git_says(tmp_path)
    assert "build/deep/er.txt" in walked(tmp_path)
    assert "build/deep/other.txt" not in walked(tmp_path)


@needs_git
def test_a_damaged_index_is_as_none(tmp_path: Path) -> None:
    plant(tmp_path, TRAPS)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-f", "a.log", "sub")
    index = tmp_path / ".git/index"
    whole = index.read_bytes()
    repository = repository_at(tmp_path)
    assert repository is not None
    for damaged in (b"", whole[:40], whole[: len(whole) // 2], b"DIRC" + b"\xff" * 40, b"no index"):
        index.write_bytes(damaged)
        assert tracked_files(repository) is None
    assert "a.log" not in walked(tmp_path)


@needs_git
def test_a_linked_working_tree(tmp_path: Path) -> None:
    main = plant(tmp_path / "main", {"a.txt": "", "b.log": ""})
    git(main, "init", "-q")
    git(main, "add", "-f", ".")
    git(main, "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "-m", "x")
    git(main, "worktree", "add", "-q", str(tmp_path / "linked"))
    (main / ".git/info/exclude").write_text("*.log\nnew.txt\n", encoding="utf-8")
    plant(tmp_path / "linked", {"new.txt": "", "new2.txt": ""})
    assert walked(tmp_path / "linked") == as_git_says(tmp_path / "linked")


NAMES = ["a", "b", "ab", "foo", "bar.txt", "b.o", "x y", "文", "#h", "!n", "a.b", "[z]", "foo.d", ".hid"]
PATTERNS = """
a /a a/ /a/ *.o !*.o foo/* !foo/b **/b a/** a/**/b !a/ * !*/ !*.txt x\\ \\#h \\!n 文 [ab] [!a] a? foo* !foo.d/
/foo/bar.txt foo/bar.txt */b ** a/*/b [[z]] \\[z] a.b/ !a.b/b # /* !/foo **/foo/** foo/ !foo/ a/b/ b/**/ a\\b
foo/**/bar.txt a**b [a-b]* .hid !a/b !foo/bar.txt !b */ !a/** !/a/
"""


def random_tree(root: Path, chance: random.Random) -> None:
    folders = [root]
    for _ in range(chance.randint(1, 5)):
        folder = chance.choice(folders) / chance.choice(NAMES)
        if not folder.exists():
            folder.mkdir()
            folders.append(folder)
    for _ in range(chance.randint(3, 20)):
        file = chance.choice(folders) / chance.choice(NAMES)
        if not file.exists():
            file.write_text("x\n", encoding="utf-8")
    for folder in folders:
        if chance.random() < 0.5:
            lines = chance.choices(PATTERNS.split(), k=chance.randint(1, 5))
            (folder / ".gitignore").write_text("\n".join(lines) + chance.choice(["", "\n", "\r\n"]), encoding="utf-8")
    if chance.random() < 0.3:
        exclude = "\n".join(chance.choices(PATTERNS.split(), k=3))
        (root / ".git/info/exclude").write_text(exclude, encoding="utf-8")


@needs_git
@posix
@pytest.mark.filterwarnings("ignore:Possible nested set")
def test_random_trees_equal_git(tmp_path: Path, long_run: bool) -> None:
    for seed in range(400 if long_run else 25):
        root = tmp_path / str(seed)
        root.mkdir()
        git(root, "init", "-q")
        random_tree(root, random.Random(seed))
        assert walked(root) == as_git_says(root), f"seed {seed}"


def test_rules_hold_without_a_repository(tmp_path: Path) -> None:
    plant(tmp_path, {".gitignore": "*.tmp\n", "a.tmp": "", "b.txt": "", "sub/c.tmp": ""})
    assert walked(tmp_path) == {".gitignore", "b.txt"}


def test_the_users_own_excludes(tmp_path: Path, no_settings_of_the_user: Path) -> None:
    excludes = plant(no_settings_of_the_user, {"my-excludes": "*.swp\n"}) / "my-excludes"
    settings = f'[user]\n\tname = x\n[core]\n\texcludesFile = "{excludes.as_posix()}"\n'
    (no_settings_of_the_user / ".gitconfig").write_text(settings, encoding="utf-8")
    plant(tmp_path, {"a.swp": "", "b.txt": ""})
    assert walked(tmp_path) == {"b.txt"}


def test_an_ignored_folder_that_is_named_is_read(tmp_path: Path) -> None:
    plant(tmp_path, {".git/HEAD": "ref: x", ".gitignore": "build/\n", "build/a.txt": "words", "build/b/c.txt": "words"})
    assert walked(tmp_path / "build") == {"a.txt", "b/c.txt"}


def test_a_repository_inside_goes_by_its_own_rules(tmp_path: Path) -> None:
    plant(
        tmp_path,
        {
            ".git/HEAD": "ref: x", ".gitignore": "*.txt\n", "a.txt": "", "b.md": "",
            "inner/.git/HEAD": "ref: x", "inner/.gitignore": "*.md\n", "inner/a.txt": "", "inner/b.md": "",
        },
    )  # fmt: skip
    assert walked(tmp_path) == {".gitignore", "b.md", "inner/.gitignore", "inner/a.txt"}


def test_order_and_headers(tmp_path: Path) -> None:
    plant(
        tmp_path,
        {
            "zeta.py": "z = 1", "alpha.py": "a = 1", "README.md": "# Hello", "pyproject.toml": "[project]",
            "src/b.py": "b = 1", "src/README.md": "inner", "Makefile": "all:",
        },
    )  # fmt: skip
    document = tree(tmp_path)
    assert labels(document) == [
        HEAD_LABEL, "README.md", "Makefile", "pyproject.toml", "alpha.py", "zeta.py", "src/README.md", "src/b.py"
    ]  # fmt: skip
    assert [span.number for span in document.spans] == list(range(1, 9))
    span = document.spans[4]
    assert document.text[span.start : span.end] == "===== alpha.py =====\na = 1\n\n"
    assert document.kind == "tree"
    assert document.pages == 0
    head = document.text[: document.spans[0].end]
    assert head.startswith(f"{tmp_path.name}/\n")
    assert "  src/\n    b.py\n    README.md\n" in head


def test_the_order_of_folders_and_entry_points(tmp_path: Path) -> None:
    wanted = [
        "README.md", "package.json", "setup.cfg", "zebra.py", "core/__init__.py", "core/__main__.py", "core/A.py",
        "core/b.py", "core/io/mod.rs", "core/io/a.rs", "core/tests/test_a.py", "web/index.ts", "web/app.ts",
        ".github/ci.yml", "docs/guide.md", "examples/one.py", "tests/test_core.py",
    ]  # fmt: skip
    plant(tmp_path, dict.fromkeys(reversed(wanted), "x = 1\n"))
    assert labels(tree(tmp_path)) == [HEAD_LABEL, *wanted]


def test_headings_are_the_files_and_what_is_in_them(tmp_path: Path) -> None:
    plant(tmp_path, {"README.md": "# Top\n\n## Use\n\nwords\n", "a.py": "class A:\n    def run(self):\n        pass\n"})
    document = tree(tmp_path)
    found = [(heading.level, heading.title) for heading in document.headings]
    assert found[:3] == [(1, "README.md"), (2, "Top"), (3, "Use")]
    assert found[3] == (1, "a.py")
    assert [level for level, _ in found[4:]] == [2, 3]
    for heading in document.headings:
        line = document.text[heading.start :].splitlines()[0]
        assert heading.title.split("(")[0].split()[-1].strip(":") in line


def test_what_is_left_out_is_named(tmp_path: Path) -> None:
    plant(
        tmp_path,
        {
            "main.py": "print()", "yarn.lock": "lock", "sub/Cargo.lock": "lock", "lib.min.js": "x",
            "bundle.js": "var a=1;" * 500, "empty.py": "", "data.json": '{"a": 1}',
        },
    )  # fmt: skip
    (tmp_path / "empty.py").write_bytes(b"")
    (tmp_path / "logo.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"\x00" * 50)
    (tmp_path / "blob").write_bytes(bytes(range(256)) * 10)
    (tmp_path / "report.pdf").write_bytes(b"%PDF-1.7")
    (tmp_path / "odd.txt").write_bytes(bytes(range(128, 256)) * 20)
    (tmp_path / "old.txt").write_bytes("Größe und Straße, schöne Grüße aus München\n".encode("cp1252") * 5)
    document = tree(tmp_path)
    assert labels(document) == [HEAD_LABEL, "main.py", "data.json", "old.txt"]
    said = "\n".join(document.warnings)
    assert "2 binary files were left out: blob, logo.png" in said
    assert "2 lock files were left out: sub/Cargo.lock, yarn.lock" in said
    assert "2 minified files were left out: bundle.js, lib.min.js" in said
    assert "report.pdf" in said
    assert "odd.txt" in said
    assert "old.txt: It was read as cp1252" in said
    head = document.text[: document.spans[0].end]
    assert "logo.png  (binary, not read)\n" in head
    assert "empty.py  (empty)\n" in head
    assert "Größe" in document.text


def test_drawings_are_left_out(tmp_path: Path) -> None:
    plant(tmp_path, {"a.py": "a = 1", "icon.svg": "<svg xmlns='http://www.w3.org/2000/svg'><path d='M0 0'/></svg>"})
    assert tree(tmp_path).warnings == ("1 drawing (SVG) was left out: icon.svg",)


def test_files_folded_to_many_folders_are_folded_further(tmp_path: Path) -> None:
    plant(tmp_path, {"a.py": "a = 1", **{f"p{n % 3}/q{n}/x.min.js": "x" for n in range(60)}})
    assert tree(tmp_path).warnings == ("60 minified files were left out: p0/ (20), p1/ (20), p2/ (20)",)


GENERATED = {
    "a.go": "// Code generated by protoc-gen-go. DO NOT EDIT.\n// source: a.proto\n\npackage a\n",
    "b.go": "/*\nCopyright.\n\nLicensed …\n*/\n\n// Code generated by deepcopy-gen. DO NOT EDIT.\n\npackage b\n",
    "c.py": "# -*- coding: utf-8 -*-\n# Generated by the protocol buffer compiler.  DO NOT EDIT!\nimport x\n",
    "d.ts": '// @generated by protoc-gen-es v1.0 with parameter "target=ts"\nexport {}\n',
    "e.js": "/**\n * Relay\n *\n * @generated SignedSource<<0123>>\n */\n\nvar a;\n",
    "f.cs": "//------------------\n// <auto-generated>\n//     This code was generated by a tool.\n",
    "g.h": "/* Machine generated file: DO NOT EDIT */\n",
    "h.rs": "// This file is @generated by prost-build.\npub struct A;\n",
    "i.xml": "<?xml version='1.0'?>\n<!-- This file is automatically generated; do not edit. -->\n<a/>\n",
}
WRITTEN = {
    "a.py": '"""Finds files with `@generated` in their head, or "Code generated by x DO NOT EDIT"."""\n',
    "b.py": "# Do not edit this by hand without running the tests.\nx = 1\n",
    "c.py": "x = 1\n# Code generated by me. DO NOT EDIT.\n",
    "d.py": "# The tables below were generated by hand; do not edit them unless you know what you do.\nx = 1\n",
    "e.py": 'MARK = "@generated"\n',
    "f.py": "# When code is generated by the tool, do not edit the result but the template.\n",
    "g.sh": "#!/bin/sh\n# writes files with the mark @generated\n",
    "conf.py": "# Configuration file for the Sphinx documentation builder.\n",
    "README.md": "# Code generated by people. DO NOT EDIT.\n",
    ".gitignore": "# Generated by cargo. Do not edit.\n/target\n",
}


def test_generated_files_are_told_by_their_own_first_words(tmp_path: Path) -> None:
    plant(tmp_path, GENERATED | {f"written/{name}": text for name, text in WRITTEN.items()})
    document = tree(tmp_path)
    assert {label.removeprefix("written/") for label in labels(document)[1:]} == set(WRITTEN)
    assert document.warnings == (f"9 generated files were left out: {', '.join(sorted(GENERATED))}",)
    assert "a.go  (generated, not read)\n" in document.text


def test_the_encoding_is_for_files_that_are_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes("# 文".encode("gb18030"))
    (tmp_path / "b.py").write_bytes("# 字".encode())
    read = read_tree(tmp_path, "x", "x", ReadOptions(encoding="gb18030"))
    assert "# 文" in read.text
    assert "# 字" in read.text


@needs_git
def test_submodules(tmp_path: Path) -> None:
    plant(
        tmp_path,
        {
            "a.py": "a = 1", "libs/full/b.py": "b = 1", "libs/full/.gitignore": "*.tmp", "libs/full/c.tmp": "x",
            ".gitmodules": '[submodule "full"]\n\tpath = libs/full\n\turl = x\n[submodule "none"]\n\tpath = libs/none\n'
            '[submodule "out"]\n\tpath = ../outside\n[submodule "gone"]\n\tpath = gone\n',
        },
    )  # fmt: skip
    (tmp_path / "libs" / "none").mkdir()
    git(tmp_path, "init", "-q")
    git(tmp_path / "libs" / "full", "init", "-q")
    document = tree(tmp_path)
    assert "libs/full/b.py" in labels(document)
    assert "libs/full/c.tmp" not in labels(document)
    assert document.warnings == ("2 submodules are not checked out: gone/, libs/none/",)
    assert tree(tmp_path / "libs").warnings == ("1 submodule is not checked out: none/",)


def test_many_left_out_files_are_folded_to_their_folders(tmp_path: Path) -> None:
    plant(tmp_path, {"a.txt": "words"})
    for number in range(60):
        file = tmp_path / ("img" if number % 2 else "img/small") / f"{number}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"\x89PNG\r\n\x1a\n" + b"\x00" * 50)
    document = tree(tmp_path)
    assert document.warnings == ("60 binary files were left out: img/ (30), img/small/ (30)",)
    assert "59.png  (binary, not read)" in document.text


@posix
def test_links_and_special_files_are_named_and_not_followed(tmp_path: Path) -> None:
    outside = plant(tmp_path / "outside", {"secret.txt": "do not read"})
    root = plant(tmp_path / "root", {"a.txt": "words"})
    (root / "link.txt").symlink_to(outside / "secret.txt")
    (root / "loop").symlink_to(root)
    (root / "gone").symlink_to(root / "nowhere")
    os.mkfifo(root / "pipe")
    document = tree(root)
    assert "do not read" not in document.text
    said = "\n".join(document.warnings)
    assert "3 links were not followed: gone, link.txt, loop" in said
    assert "pipe" in said
    assert f"link.txt -> {outside / 'secret.txt'}" in document.text


@posix
def test_what_may_not_be_read_is_named(tmp_path: Path) -> None:
    plant(tmp_path, {"a.txt": "words", "mine.txt": "x", "closed/b.txt": "x"})
    (tmp_path / "mine.txt").chmod(0)
    (tmp_path / "closed").chmod(0)
    if os.access(tmp_path / "mine.txt", os.R_OK):
        pytest.skip("this user may read everything")
    said = "\n".join(tree(tmp_path).warnings)
    (tmp_path / "closed").chmod(0o700)
    assert "mine.txt" in said
    assert "closed" in said


def test_the_hash_knows_names_and_contents(tmp_path: Path) -> None:
    first = tree(plant(tmp_path / "one", {"a.txt": "words", "b.txt": "more"})).sha256
    assert tree(plant(tmp_path / "two", {"a.txt": "words", "b.txt": "more"})).sha256 == first
    assert tree(plant(tmp_path / "three", {"a.txt": "words", "c.txt": "more"})).sha256 != first
    assert tree(plant(tmp_path / "four", {"a.txt": "words!", "b.txt": "more"})).sha256 != first


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({}, "without files"),
        ({"a.png": b"\x89PNG\r\n\x1a\n\x00"}, "without readable text"),
        ({"a.pdf": b"%PDF"}, "a.pdf"),
    ],
)
def test_a_folder_without_text(tmp_path: Path, files: dict[str, bytes], words: str) -> None:
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    with pytest.raises(Refusal) as caught:
        read_tree(tmp_path, "folder", "folder")
    assert words in caught.value.reason + caught.value.remedy


async def test_a_folder_through_the_loader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tui.documents.loader import read_document

    plant(tmp_path, {"a.txt": "words"})
    monkeypatch.chdir(tmp_path)
    document = await read_document(".")
    assert (document.path, document.name, document.kind) == (".", tmp_path.name, "tree")


def test_installed_packages_outside_a_repository_are_left_out_and_named(tmp_path: Path) -> None:
    plant(tmp_path, {"a.js": "x()", "node_modules/b/index.js": "y()", "sub/__pycache__/c.txt": "z"})
    document = tree(tmp_path)
    assert labels(document) == [HEAD_LABEL, "a.js"]
    said = "\n".join(document.warnings)
    assert "2 folders of installed packages or caches were left out: node_modules/, sub/__pycache__/" in said


@posix
def test_odd_names_stay_on_their_line(tmp_path: Path) -> None:
    plant(tmp_path, {"two  spaces.txt": "words", "a\nb.txt": "words"})
    document = tree(tmp_path)
    assert set(labels(document)[1:]) == {"two  spaces.txt", "a\ufffdb.txt"}
    assert "===== a\ufffdb.txt =====\n" in document.text


@pytest.mark.filterwarnings("ignore:Possible ")
def test_brackets_that_python_finds_odd(tmp_path: Path) -> None:
    names = ["a[b", "c d", "1x", "b", "m", "k.py", "q-r"]
    rules = "a[[b]\n*[[:space:]]*\n[[:digit:]]x\n[z-a]\n[a--b]x\n[m||n]\nq[a-\\d]r\n"
    plant(tmp_path, {".gitignore": rules, **dict.fromkeys(names, "x")})
    git(tmp_path, "init", "-q")
    assert walked(tmp_path) == as_git_says(tmp_path)
    assert "c d" not in walked(tmp_path)
    code = (
        "import sys, pathlib as p; from tui.documents.tree.walk import walk; print(len([*walk(p.Path(sys.argv[1]))]))"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert (int(done.stdout), done.stderr) == (len(walked(tmp_path)), "")
