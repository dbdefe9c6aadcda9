"""The outline of a source file: its functions, classes and methods, each with the offset of its first line."""

from __future__ import annotations

import re

from tui.documents.clean import title_safe
from tui.documents.code.heads import heads
from tui.documents.code.languages import Language, language_of, pattern_of
from tui.documents.code.masks import masked
from tui.documents.model import Heading

_ATTRIBUTE = re.compile(r"[ \t]*+(?:@|#!?\[|\[[\w.: ]+[\](,]|\[\[|template\b|__attribute__)")
_MOST_LINES_ABOVE = 200
_MOST_TITLE = 120


def code_headings(text: str, name: str) -> tuple[Heading, ...]:
    """Functions, classes and methods of the source file `name` with `text`, in order; levels by nesting from 1.

    A heading starts at the line of the first decorator, attribute or comment that stands directly above its
    definition. Empty for languages that are not known and for files that define nothing (configuration, data).
    Patterns over the code without its comments and strings find them: broken code costs no more than the definitions
    it breaks, and the time grows with the text whatever it holds.
    """
    language = language_of(name, text[:200].partition("\n")[0])
    if language is None:
        return ()
    bare = "\n" + masked(text, language.family)
    text = "\n" + text
    found = _definitions(bare, text, language)
    headings: list[Heading] = []
    indents: list[int] = []
    lowest = 0
    for line, title in found:
        indent = _width(bare, line)
        while indents and indents[-1] >= indent:
            indents.pop()
        indents.append(indent)
        start = _first_line(bare, text, line, lowest)
        lowest = line + 1
        headings.append(Heading(start - 1, len(indents), title))
    return tuple(headings)


def _definitions(bare: str, text: str, language: Language) -> list[tuple[int, str]]:
    """Start of the line and title of each definition, in order, one for a line. Offsets are of `bare`."""
    names: dict[int, tuple[int, int]] = {}
    if language.calls:
        names = {head.line: (head.name, head.name_end) for head in heads(bare, language.calls)}
    for match in pattern_of(language).finditer(bare):
        group = match.lastindex or 0
        names[match.start() + 1] = match.span(group)
    return [(line, _title(text[slice(*names[line])], language)) for line in sorted(names)]


def _title(name: str, language: Language) -> str:
    if language.name == "go" and name.startswith("("):
        receiver, _, method = name[1:].partition(")")
        kind = receiver.partition("[")[0].split()[-1:] or [""]
        name = f"{kind[0].lstrip('*')}.{method.strip()}"
    return title_safe(name)[:_MOST_TITLE].rstrip()


def _width(bare: str, line: int) -> int:
    """Width of the indentation, a tab being four."""
    width = 0
    while bare[line : line + 1] in (" ", "\t") and width < 1000:
        width += 4 - width % 4 if bare[line] == "\t" else 1
        line += 1
    return width


def _first_line(bare: str, text: str, line: int, lowest: int) -> int:
    """The first of the lines directly above `line` that are comments, decorators or attributes of it."""
    first = line
    for _ in range(_MOST_LINES_ABOVE):
        above = bare.rfind("\n", 0, first - 1) + 1
        if above < max(lowest, 1) or above == first:
            break
        content = bare[above : first - 1]
        if not content.strip():
            if not text[above : first - 1].strip():
                break  # a blank line; a comment leaves one only in the masked text
        elif not _ATTRIBUTE.match(content):
            opening = _opening(bare, above, first - 1, content, lowest)
            if opening < 0:
                break
            above = opening
        first = above
    return first


def _opening(bare: str, above: int, end: int, content: str, lowest: int) -> int:
    """For a line that closes a decorator of several lines: the line where that begins; -1 when it does not."""
    if content.rstrip()[-1] not in ")]":
        return -1
    depth = 0
    floor = max(lowest, 1, end - 4000)
    for place in range(end - 1, floor - 1, -1):
        if bare[place] in ")]":
            depth += 1
        elif bare[place] in "([":
            depth -= 1
            if depth == 0:
                start = bare.rfind("\n", 0, place) + 1
                return start if start < above and start >= floor and _ATTRIBUTE.match(bare, start) else -1
    return -1
