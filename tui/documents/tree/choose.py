"""Which files of a tree are worth reading: what is left out, and why, in words for the user."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Literal

from tui.documents.kinds import DOCUMENT_SUFFIXES, file_format, known_format

Left = Literal["binary", "document", "drawing", "generated", "minified", "lock", "large", "encoding", "empty", "late"]

# One text file larger than this is data rather than source.
MAX_BYTES = 16 * 2**20
MAX_DOCUMENT_BYTES = 256 * 2**20
_HEAD = 8192
_LONG_LINES = 500
_LOCKS = frozenset(
    {"package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "bun.lockb", "deno.lock"}
    | {"cargo.lock", "poetry.lock", "pipfile.lock", "uv.lock", "pdm.lock", "pixi.lock", "conda-lock.yml"}
    | {"composer.lock", "gemfile.lock", "go.sum", "flake.lock", "mix.lock", "pubspec.lock", "podfile.lock"}
    | {"packages.lock.json", "gradle.lockfile", "package.resolved", ".terraform.lock.hcl", "cartfile.resolved"}
)
_MINIFIED_NAME = re.compile(r"[.-]min\.(?:js|mjs|cjs|css|html|json|svg)$", re.I)
_MAY_BE_MINIFIED = frozenset({".js", ".mjs", ".cjs", ".css", ".map", ".json", ".html", ".htm", ".wasm"})
MANIFESTS = frozenset(
    {"pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "package.json", "cargo.toml", "go.mod"}
    | {"cmakelists.txt", "makefile", "meson.build", "configure.ac", "pom.xml", "build.gradle", "build.gradle.kts"}
    | {"gemfile", "composer.json", "mix.exs", "build.sbt", "package.swift", "pubspec.yaml", "deno.json"}
    | {"dockerfile", "compose.yaml", "docker-compose.yml", "justfile", "flake.nix", "stack.yaml"}
)


def by_name(path: str, size: int) -> Left | None:
    """Why a file is left out by its name and size alone, or None."""
    name = PurePosixPath(path).name.lower()
    suffix = PurePosixPath(name).suffix
    if size == 0:
        return "empty"
    if name in _LOCKS:
        return "lock"
    if suffix == ".svg":
        return "drawing"
    if _MINIFIED_NAME.search(name):
        return "minified"
    return "large" if size > (MAX_DOCUMENT_BYTES if suffix in DOCUMENT_SUFFIXES else MAX_BYTES) else None


def is_document(data: bytes, path: str, *, pages: bool) -> bool:
    """Whether a file belongs to a document reader; `pages` says whether HTML does, or is source code."""
    form = file_format(data, path)
    if form == "plain":
        return PurePosixPath(path).suffix.lower() in DOCUMENT_SUFFIXES
    return pages if form == "html" else True


def by_content(path: str, data: bytes) -> Left | None:
    """Why a file that is no document is left out by what it holds, or None. An encoding is not looked at here."""
    if known_format(data[:_HEAD], path) is not None:
        return "binary"
    suffix = PurePosixPath(path).suffix.lower()
    if suffix in _MAY_BE_MINIFIED and len(data) > _LONG_LINES * (data.count(b"\n") + 1):
        return "minified"
    return None


def is_manifest(path: str) -> bool:
    """Whether a file at the top says that this is a project. (`requirements.txt` may be a document.)"""
    name = path.lower()
    return name in MANIFESTS and not name.endswith("requirements.txt")
