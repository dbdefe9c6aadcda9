"""Functions that no keyword announces: C, C++, Java, C# and the methods of JavaScript classes."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec


class Head(msgspec.Struct, frozen=True):
    """The head of a function: where its line begins, and where its name stands, in the masked text."""

    line: int
    name: int
    name_end: int


# A line up to its first bracket; no keyword of control stands before a definition.
_CANDIDATE = re.compile(
    r"\n(?P<indent>[ \t]*+)"
    r"(?!(?:if|else|for|while|switch|return|do|case|goto|throw|new|delete|typedef|using|await|yield|assert|sizeof|catch"
    r"|try|default|import|package|lock|foreach|fixed|with|const|let|var|function|#|@)\b)"
    r"(?P<before>[A-Za-z_~$#*\[][^\n(){};=]*+)\("
)
_NAME = re.compile(r"(?P<name>~?[A-Za-z_$#][\w$]*+)[ \t]*(?:<[^<>\n]*>)?[ \t]*\Z")
_QUALIFIED = re.compile(r"(?:[A-Za-z_]\w*+(?:<[^<>\n]*>)?::)*~?[A-Za-z_]\w*+[ \t]*\Z")
_CONTROL = frozenset({"if", "for", "while", "switch", "return", "sizeof", "catch", "function", "super", "with", "else"})
_BRACKET = re.compile(r"[()]")
_LONGEST = 4000
# What may stand between the parameters and the body.
_TAILS = {
    "c": re.compile(
        r"\s*+(?:(?:const|volatile|noexcept|override|final|mutable|try|&&?|[A-Z_][A-Z_0-9]*+|__\w++)\s*+"
        r"|->[^{};()]{1,200}+|\[\[[^\]]*+\]\]\s*+)*+"
    ),
    "java": re.compile(r"\s*+(?:(?:throws|async\*?|sync\*|where|nothrow|pure|const|override)\b[^{};()=]*+)*+"),
    "csharp": re.compile(r"\s*+(?:where\b[^{};()]*+(?:\(\)[^{};()]*+)*+)*+"),
    "script": re.compile(r"\s*+(?::[^\n;]*?(?=\{[^\n{}]*(?:\n|\Z)))?"),
}
_PARAMETERS = re.compile(r"(?:\s*+[A-Za-z_][\w\s*,\[\]]*+;){1,20}\s*+\{")
_TYPE_LINE = re.compile(r"[ \t]*+[A-Za-z_][\w \t*&:<>,]*+[\w*&>][ \t]*+\Z")
_TEMPLATE_LINE = re.compile(r"[ \t]*+template\b[^;{}]*+\Z")


def heads(masked: str, grammar: str) -> Iterator[Head]:
    """Heads of functions with a body in `masked`, which begins with a newline; `grammar` is `Language.calls`."""
    tail = _TAILS[grammar]
    after = 0
    for match in _CANDIDATE.finditer(masked):
        if match.start() < after:
            continue  # inside the parameters of a head that was taken
        found = _head(masked, match, grammar, tail)
        if found is not None:
            head, after = found
            yield head


def _head(masked: str, match: re.Match[str], grammar: str, tail: re.Pattern[str]) -> tuple[Head, int] | None:
    before, opening = match["before"], match.end() - 1
    start = match.start("before")
    close = _closing(masked, opening)
    if close < 0:
        return None
    if grammar == "c":
        # `PyAPI_FUNC(int) name(…)`: what stood in the first brackets was no parameter.
        second = re.compile(r"[ \t*&]*+([A-Za-z_][\w:~ \t*&]*+)\(").match(masked, close + 1)
        if second and second[1].strip().isidentifier() and before.strip().isidentifier():
            before, start, opening = second[1], second.start(1), second.end() - 1
            close = _closing(masked, opening)
            if close < 0:
                return None
    named = _NAME.search(before)
    if named is None or named["name"] in _CONTROL:
        return None
    body = _body(masked, close + 1, grammar, tail)
    if body < 0:
        return None
    line = match.start() + 1
    lone = not before[: named.start("name")].strip()
    indented = bool(match["indent"])
    if lone and indented and grammar in ("c", "java", "csharp") and not _in_class(masked, line, named["name"]):
        return None
    if grammar == "script" and (not indented or not _script_head(before[: named.start("name")])):
        return None
    qualified = _QUALIFIED.search(before) if grammar == "c" else None
    name = start + (qualified.start() if qualified else named.start("name"))
    if grammar == "c":
        line = _line_of_type(masked, line, only=lone)
    return Head(line, name, start + named.end("name")), body


def _closing(masked: str, opening: int) -> int:
    """Where the bracket at `opening` is closed; -1 when that is not within reach."""
    depth = 0
    for match in _BRACKET.finditer(masked, opening, opening + _LONGEST):
        depth += 1 if match[0] == "(" else -1
        if depth == 0:
            return match.start()
    return -1


def _body(masked: str, place: int, grammar: str, tail: re.Pattern[str]) -> int:
    """Where the body opens, looking from the end of the parameters; -1 when there is none."""
    for _ in range(4):
        match = tail.match(masked, place)
        place = match.end() if match else place
        following = masked[place : place + 1]
        if following == "{":
            return place
        if following == "(" and grammar == "c":  # noexcept(…), __attribute__((…))
            place = _closing(masked, place) + 1
            if place <= 0:
                return -1
            continue
        if grammar == "c":
            if following == ":" and masked[place + 1 : place + 2] != ":":
                return place
            known = _PARAMETERS.match(masked, place, place + _LONGEST)
            return known.end() - 1 if known else -1
        if masked.startswith("=>", place) and grammar in ("csharp", "java"):
            return place
        if following == ":" and grammar == "csharp":
            return place
        return -1
    return -1


def _in_class(masked: str, line: int, name: str) -> bool:
    """Whether a class of that name is opened not far above: then the head is its constructor's."""
    return re.compile(rf"\b(?:class|struct|enum|record)[ \t]+(?:\w+[ \t]+)?{re.escape(name.lstrip('~'))}\b").search(
        masked, max(0, line - 60_000), line
    ) is not None


_SCRIPT_BEFORE = re.compile(
    r"(?:(?:public|private|protected|static|async|override|readonly|get|set|abstract|declare)[ \t]+)*\*?[ \t]*\Z"
)


def _script_head(before: str) -> bool:
    return _SCRIPT_BEFORE.match(before) is not None


def _line_of_type(masked: str, line: int, *, only: bool) -> int:
    """The line where a C or C++ head begins: its return type or `template` may stand on lines of their own."""
    for _ in range(3):
        above = masked.rfind("\n", 0, line - 1) + 1
        content = masked[above : line - 1]
        typed = only and _TYPE_LINE.match(content)
        if above == 0 or not (typed or _TEMPLATE_LINE.match(content)):
            return line
        line, only = above, False
    return line
