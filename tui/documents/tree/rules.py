"""The ignore rules of git: one set for each folder, the deepest has the last word."""

from __future__ import annotations

import os
import re
import warnings
from pathlib import Path

import msgspec
from pathspec import GitIgnoreSpec

from tui.documents.tree.repository import Repository

# A pattern such as `[[a]` is one that git takes as it stands; nobody needs to hear of it.
warnings.filterwarnings("ignore", "Possible ", FutureWarning, r"pathspec\.")

# The name of the group by which pathspec marks what follows a matched folder.
_PARENT = "ps_d"
_EXCLUDES_FILE = re.compile(r"^\s*excludesfile\s*=\s*(.*?)\s*$", re.I)
_CLASS = re.compile(r"\[:([a-z]+):\]")
_CLASSES = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": " \t",
    "digit": "0-9",
    "lower": "a-z",
    "space": " \t\r\f\v",
    "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}
_SECTION = re.compile(r"^\s*\[\s*([\w.-]+)\s*(?:\"[^\"]*\")?\s*\]")


class RuleSet(msgspec.Struct, frozen=True):
    """The patterns of one file; `prefix` is the folder they hold for, relative to the base, with its `/`, bytewise."""

    prefix: str
    spec: GitIgnoreSpec
    folders_only: tuple[bool, ...]
    """For each pattern of `spec`, whether it ends in a slash."""

    def verdict(self, inside: str) -> bool | None:
        """True when ignored, False when taken back, None when no pattern speaks of the path itself.

        `GitIgnoreSpec.check_file` also counts a match of a parent, which would overrule a weaker file's patterns;
        parents were judged before their folder was entered, so only the path itself counts here.
        """
        folder = inside.endswith("/")
        for pattern, folders_only in zip(reversed(self.spec.patterns), reversed(self.folders_only), strict=True):
            if pattern.include is None or (folders_only and not folder):
                continue
            found = pattern.match_file(inside)
            if found is None:
                continue
            match = found.match
            if _PARENT in match.re.groupindex and 0 <= match.start(_PARENT) < len(inside) - 1:
                continue
            return bool(pattern.include)
        return None


class Rules(msgspec.Struct, frozen=True):
    """All rule sets that hold in a folder, weakest first. Paths are relative to the base, with `/`."""

    sets: tuple[RuleSet, ...] = ()

    def ignored(self, path: str, *, folder: bool) -> bool:
        """Whether git would ignore `path`; its parents are taken to be not ignored."""
        packed = _bytewise(os.fsencode(path))
        for rules in reversed(self.sets):
            inside = packed[len(rules.prefix) :] + ("/" if folder else "")
            verdict = rules.verdict(inside)
            if verdict is not None:
                return verdict
        return False

    def with_file(self, file: Path, prefix: str) -> Rules:
        """These rules and those of `file`, if there is one. Raises OSError when it cannot be read."""
        lines = [line for line in _patterns(file) if _valid(line)]
        if not lines:
            return self
        folders_only = tuple(line.rstrip(" ").endswith("/") for line in lines)
        rules = RuleSet(_bytewise(os.fsencode(prefix)), GitIgnoreSpec.from_lines(lines), folders_only)
        return Rules((*self.sets, rules))


def _valid(line: str) -> bool:
    """Whether a pattern can be understood; to git, those that cannot (`x\\`, `[z-a]`) match next to nothing."""
    try:
        GitIgnoreSpec.from_lines([line])
    except (ValueError, re.error):
        return False
    return True


def _patterns(file: Path) -> list[str]:
    """The patterns of an ignore file; none when there is no such file. Raises OSError."""
    # Git does not follow a link at the place of a .gitignore.
    if file.is_symlink() or not file.is_file():
        return []
    text = _bytewise(file.read_bytes().removeprefix(b"\xef\xbb\xbf"))
    lines = (line.removesuffix("\r") for line in text.split("\n"))
    wanted = (line for line in lines if line.strip() and not line.startswith("#") and line not in ("!", "/", "!/"))
    return [_as_git_means(line) for line in wanted]


def _as_git_means(line: str) -> str:
    """Four forms that pathspec reads otherwise, said in a way that both understand alike.

    To git `a/**` and `a/**/` mean what is below `a`, not `a` itself, `*/` means a folder at any depth, and a name such
    as `[:digit:]` inside brackets means its characters.
    """
    if "[:" in line:
        line = _CLASS.sub(lambda match: _CLASSES.get(match[1], match[0]), line)
    if line.endswith(("/**", "/**/")):
        return line.removesuffix("/") + ("/*/" if line.endswith("/") else "/*")
    return line.replace("*/", "?*/") if line in ("*/", "!*/") else line


def _bytewise(data: bytes) -> str:
    """One character for each byte: to git, `?` and `[!a]` stand for a byte, not for a character."""
    return data.decode("latin-1")


def global_rules(prefix: str = "") -> Rules:
    """The user's own excludes: `core.excludesFile` of the user's git settings, else git's default place."""
    home = Path(os.path.expanduser("~"))
    config = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "git"
    file = config / "ignore"
    for settings in (config / "config", home / ".gitconfig"):
        named = _excludes_file(settings)
        if named:
            file = Path(named).expanduser()
    try:
        return Rules().with_file(file, prefix)
    except OSError:
        # Another user's or an unreadable settings folder must not keep a tree from being read.
        return Rules()


def repository_rules(repository: Repository, prefix: str) -> Rules:
    """The user's excludes and the repository's own `info/exclude`, both from the repository's top."""
    rules = global_rules(prefix)
    try:
        return rules.with_file(repository.exclude_file, prefix)
    except OSError:
        return rules


def _excludes_file(settings: Path) -> str:
    try:
        text = settings.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    section = ""
    found = ""
    for line in text.splitlines():
        heading = _SECTION.match(line)
        if heading:
            section = heading[1].lower()
        elif section == "core" and (match := _EXCLUDES_FILE.match(line)):
            found = match[1].strip('"')
    return found
