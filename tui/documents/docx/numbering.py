"""Lists of a Word document: the label that Word would print before each paragraph."""

from __future__ import annotations

import re
from collections.abc import Callable
from xml.etree.ElementTree import Element

import msgspec

from tui.documents.docx.numerals import numeral
from tui.documents.docx.styles import Styles, number
from tui.documents.docx.xml import switched_on, value

BULLET = "-"
_LEVELS = 9
_PLACE = re.compile(r"%([1-9])")


class Level(msgspec.Struct, frozen=True):
    """One level of a list."""

    form: str = "decimal"
    text: str = ""
    start: int = 1
    restart: int | None = None
    """The level (1-based) after which this one begins anew; 0 never; None after any higher one."""
    legal: bool = False
    """All numbers in the label are written as 1, 2, 3."""
    style: str = ""


class _List(msgspec.Struct, frozen=True):
    abstract: str
    levels: tuple[Level, ...]
    starts: dict[int, int]
    """Levels that this list begins anew, with their first number."""


class Numbering:
    """Counts list paragraphs in the order of the text."""

    def __init__(self, root: Element | None, styles: Styles) -> None:
        self._styles = styles
        self._abstract: dict[str, Element] = {}
        self._numbers: dict[str, Element] = {}
        if root is not None:
            for element in root.iter("w:abstractNum"):
                self._abstract.setdefault(element.get("w:abstractNumId", ""), element)
            for element in root.iter("w:num"):
                self._numbers.setdefault(element.get("w:numId", ""), element)
        self._lists: dict[str, _List | None] = {}
        self._counters: dict[str, list[int | None]] = {}
        self._begun: set[tuple[str, int]] = set()

    def depth_of_style(self, list_id: str, style: str) -> int | None:
        """The level of a list that belongs to a style."""
        found = self._list(list_id)
        levels = found.levels if found else ()
        return next((depth for depth, level in enumerate(levels) if level.style == style and style), None)

    def label(self, list_id: str, depth: int) -> str | None:
        """Count one paragraph on a level; its label (`-` for any bullet, empty for none), None without such a list."""
        found = self._list(list_id)
        if found is None or not 0 <= depth < _LEVELS:
            return None
        level = found.levels[depth]
        counters = self._counters.setdefault(found.abstract, [None] * _LEVELS)
        self._begin(list_id, found, depth, counters)
        before = counters[depth]
        counters[depth] = level.start if before is None else before + 1
        for deeper in range(depth + 1, _LEVELS):
            after = found.levels[deeper].restart
            if after is None or 0 < depth + 1 <= after:
                counters[deeper] = None
        if level.form == "bullet":
            return BULLET
        if level.form == "none":
            return _PLACE.sub("", level.text).strip()
        label = _PLACE.sub(self._written(found, counters, level), level.text).strip()
        # A star or a square without a number is a bullet, whatever its form is called.
        return label if not label or any(map(str.isalnum, label)) else BULLET

    def _written(self, found: _List, counters: list[int | None], level: Level) -> Callable[[re.Match[str]], str]:
        def write(match: re.Match[str]) -> str:
            index = int(match[1]) - 1
            other = found.levels[index]
            count = counters[index]
            return numeral(other.start if count is None else count, "decimal" if level.legal else other.form)

        return write

    def _begin(self, list_id: str, found: _List, depth: int, counters: list[int | None]) -> None:
        """Lists of one abstract list count on, unless a list says that it begins anew."""
        for level in range(depth + 1):
            if level in found.starts and (list_id, level) not in self._begun:
                if level == depth:
                    self._begun.add((list_id, level))
                counters[level] = None if level < depth else found.starts[level] - 1

    def _list(self, list_id: str) -> _List | None:
        if list_id not in self._lists:
            self._lists[list_id] = self._made(list_id)
        return self._lists[list_id]

    def _made(self, list_id: str) -> _List | None:
        element = self._numbers.get(list_id)
        if element is None:
            return None
        abstract_id, abstract = self._abstract_of(element, 0)
        if abstract is None:
            return None
        levels = [Level(text=f"%{depth + 1}.") for depth in range(_LEVELS)]
        starts: dict[int, int] = {}
        for source in abstract.iter("w:lvl"):
            depth = number(source.get("w:ilvl", ""))
            if depth is not None and 0 <= depth < _LEVELS:
                levels[depth] = _level(source)
        for override in element.iter("w:lvlOverride"):
            depth = number(override.get("w:ilvl", ""))
            if depth is None or not 0 <= depth < _LEVELS:
                continue
            own = override.find("w:lvl")
            if own is not None:
                levels[depth] = _level(own)
            start = number(value(override.find("w:startOverride")))
            if start is not None:
                starts[depth] = start
        return _List(abstract_id, tuple(levels), starts)

    def _abstract_of(self, element: Element, hops: int) -> tuple[str, Element | None]:
        """The abstract list of a list, through the list styles that it may be defined by."""
        abstract_id = value(element.find("w:abstractNumId"))
        abstract = self._abstract.get(abstract_id)
        if abstract is None or abstract.find("w:lvl") is not None or hops > 8:
            return abstract_id, abstract
        style = value(abstract.find("w:numStyleLink"))
        other = self._numbers.get(self._styles.run(style).numbering) if style else None
        return self._abstract_of(other, hops + 1) if other is not None else (abstract_id, abstract)


def _level(element: Element) -> Level:
    form = element.find("w:numFmt")
    if form is None:
        # Newer forms stand in an alternative, as does their replacement.
        form = next(iter(element.iter("w:numFmt")), None)
    return Level(
        form=value(form) or "decimal",
        text=value(element.find("w:lvlText")),
        start=_or(number(value(element.find("w:start"))), 0),
        restart=number(value(element.find("w:lvlRestart"))),
        legal=switched_on(element.find("w:isLgl")),
        style=value(element.find("w:pStyle")),
    )


def _or(found: int | None, default: int) -> int:
    return default if found is None else found
