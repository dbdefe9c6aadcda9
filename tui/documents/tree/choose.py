"""Which files of a tree are worth reading: what is left out, and why, in words for the user."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Literal

from tui.documents.kinds import DOCUMENT_SUFFIXES, known_format

Left = Literal["binary", "document", "minified", "lock", "large", "encoding", "empty"]

# One text file larger than this is data rather than source.
MAX_BYTES = 16 * 2**20
_HEAD = 8192
_LONG_LINES = 500
_LOCKS = frozenset(
    {"package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml", "bun.lock", "bun.lockb", "deno.lock"}
    | {"cargo.lock", "poetry.lock", "pipfile.lock", "uv.lock", "pdm.lock", "pixi.lock", "conda-lock.yml"}
    | {"composer.lock", "gemfile.lock", "go.sum", "flake.lock", "mix.lock", "pubspec.lock", "podfile.lock"}
    | {"packages.lock.json", "gradle.lockfile", "package.resolved", ".terraform.lock.hcl", "cartfile.resolved"}
)
_MINIFIED_NAME = re.compile(r"[.-]min\.(?:js|mjs|cjs|css|html|json|svg)$", re.I)
_MAY_BE_MINIFIED = frozenset({".js", ".mjs", ".cjs", ".css", ".map", ".json", ".svg", ".html", ".htm", ".wasm"})
_MANIFESTS = frozenset(
    {"pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "package.json", "cargo.toml", "go.mod"}
    | {"cmakelists.txt", "makefile", "meson.build", "configure.ac", "pom.xml", "build.gradle", "build.gradle.kts"}
    | {"gemfile", "composer.json", "mix.exs", "build.sbt", "package.swift", "pubspec.yaml", "deno.json"}
    | {"dockerfile", "compose.yaml", "docker-compose.yml", "justfile", "flake.nix", "stack.yaml"}
)


def by_name(path: str, size: int) -> Left | None:
    """Why a file is left out by its name and size alone, or None."""
    name = PurePosixPath(path).name.lower()
    if size == 0:
        return "empty"
    if name in _LOCKS:
        return "lock"
    if PurePosixPath(name).suffix in DOCUMENT_SUFFIXES:
        return "document"
    if _MINIFIED_NAME.search(name):
        return "minified"
    return "large" if size > MAX_BYTES else None


def by_content(path: str, data: bytes) -> Left | None:
    """Why a file is left out by what it holds, or None. An encoding is not looked at here."""
    if known_format(data[:_HEAD], path) is not None:
        return "binary"
    suffix = PurePosixPath(path).suffix.lower()
    if suffix in _MAY_BE_MINIFIED and len(data) > _LONG_LINES * (data.count(b"\n") + 1):
        return "minified"
    return None


def is_manifest(path: str) -> bool:
    """Whether a file at the top says that this is a project. (`requirements.txt` may be a document.)"""
    name = path.lower()
    return name in _MANIFESTS and not name.endswith("requirements.txt")


def order(path: str) -> tuple[int, str, str]:
    """Sort key: the README of the top, its manifests, then by path without regard to case."""
    name = path.lower()
    if "/" in path:
        return (2, name, path)
    if name.startswith("readme"):
        return (0, name, path)
    return (1 if name in _MANIFESTS else 2, name, path)
