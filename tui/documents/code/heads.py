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


# A line up to its first bracket; what controls or calls is told apart by its first word.
_CANDIDATE = re.compile(
    r"\n(?P<indent>[ \t]*+)(?P<before>[A-Za-z_~$#*\[][^\n(){};=]*+(?:(?<=operator)[=!<>]?=[ \t]*+)?)\("
)
_FIRST_WORD = re.compile(r"[A-Za-z]++")
_NO_DEFINITION = frozenset(
    {"if", "else", "for", "while", "switch", "return", "do", "case", "goto", "throw", "new", "typedef", "using"}
    | {"await", "yield", "assert", "sizeof", "catch", "try"}
)
_NO_DEFINITION_IN = {
    "c": frozenset({"delete", "default"}),
    "java": frozenset({"import", "package", "super", "this"}),
    "csharp": frozenset({"lock", "foreach", "fixed", "base", "this"}),
    "script": frozenset({"const", "let", "var", "function", "import", "export", "super", "with"}),
}
_NAME = re.compile(r"(?P<name>operator[ \t]*[^\w\s(]{1,3}|~?[A-Za-z_$#][\w$]*+)[ \t]*(?:<[^<>\n]*>)?[ \t]*\Z")
_QUALIFIED = re.compile(r"(?:[A-Za-z_]\w*+(?:<[^<>\n]*>)?::)+(?:~?[A-Za-z_]\w*+|operator\W{1,3})[ \t]*\Z")
_CONTROL = frozenset({"if", "for", "while", "switch", "return", "sizeof", "catch", "function", "super", "with", "else"})
_CLASS = re.compile(r"\b(?:class|struct|enum|record)[ \t]+(?:[A-Z_]+[ \t]+)?(\w+)")
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
_SECOND = re.compile(r"[ \t*&]*+([A-Za-z_][\w:~ \t*&]*+)\(")
_PARAMETERS = re.compile(r"(?:\s*+[A-Za-z_][\w\s*,\[\]]*+;){1,20}\s*+\{")
_TYPE_LINE = re.compile(r"[ \t]*+[A-Za-z_](?:[\w \t*&:<>,]*[\w*&>])?[ \t]*+\Z")
_TEMPLATE_LINE = re.compile(r"[ \t]*+template\b[^;{}]*+\Z")


def heads(masked: str, grammar: str) -> Iterator[Head]:
    """Heads of functions with a body in `masked`, which begins with a newline; `grammar` is `Language.calls`."""
    pairs = _pairs(masked)
    classes = set(_CLASS.findall(masked))
    after = 0
    for match in _CANDIDATE.finditer(masked):
        if match.start() < after:
            continue  # inside the parameters of a head that was taken
        found = _head(masked, match, grammar, pairs, classes)
        if found is not None:
            head, after = found
            yield head


def _head(
    masked: str, match: re.Match[str], grammar: str, pairs: dict[int, int], classes: set[str]
) -> tuple[Head, int] | None:
    before, opening = match["before"], match.end() - 1
    word = _FIRST_WORD.match(before)
    if word and not before[word.end() : word.end() + 1].isalnum() and not before.startswith("_", word.end()):
        if word[0] in _NO_DEFINITION:
            return None
        if word[0] in _NO_DEFINITION_IN[grammar] and (grammar != "script" or before.strip() != word[0]):
            return None
    start = match.start("before")
    close = pairs.get(opening, -1)
    if close < 0:
        return None
    if grammar == "c":
        # `PyAPI_FUNC(int) name(…)`: what stood in the first brackets was no parameter.
        second = _SECOND.match(masked, close + 1)
        if second and second[1].strip().isidentifier() and before.strip().isidentifier():
            before, start, opening = second[1], second.start(1), second.end() - 1
            close = pairs.get(opening, -1)
            if close < 0:
                return None
    named = _NAME.search(before)
    if named is None or named["name"] in _CONTROL:
        return None
    body = _body(masked, close + 1, grammar, pairs)
    if body < 0:
        return None
    line = match.start() + 1
    lone = not before[: named.start("name")].strip()
    indented = bool(match["indent"])
    if lone and indented and grammar in ("c", "java", "csharp") and named["name"].lstrip("~") not in classes:
        return None
    if grammar == "script" and (not indented or not _script_head(before[: named.start("name")])):
        return None
    qualified = _QUALIFIED.search(before) if grammar == "c" else None
    name = start + (qualified.start() if qualified else named.start("name"))
    if grammar == "c":
        line = _line_of_type(masked, line, only=lone)
    return Head(line, name, start + named.end("name")), body


def _pairs(masked: str) -> dict[int, int]:
    """For each bracket that is closed within reach, where. One pass, whatever the nesting."""
    found: dict[int, int] = {}
    opened: list[int] = []
    for match in _BRACKET.finditer(masked):
        if match[0] == "(":
            opened.append(match.start())
        elif opened:
            opening = opened.pop()
            if match.start() - opening <= _LONGEST:
                found[opening] = match.start()
    return found


def _body(masked: str, place: int, grammar: str, pairs: dict[int, int]) -> int:
    """Where the body opens, looking from the end of the parameters; -1 when there is none."""
    for _ in range(4):
        match = _TAILS[grammar].match(masked, place)
        place = match.end() if match else place
        following = masked[place : place + 1]
        if following == "{":
            return place
        if following == "(" and grammar == "c":  # noexcept(…), __attribute__((…))
            place = pairs.get(place, -1) + 1
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
