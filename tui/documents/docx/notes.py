"""Footnotes, endnotes and comments: each stands after the block that refers to it, those left over at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from xml.etree.ElementTree import Element

from tui.documents.blocks import Block, lines, paragraph

_PREFIX = {"footnote": "", "endnote": "e", "comment": "c"}
_NO_NOTES = frozenset({"separator", "continuationSeparator", "continuationNotice"})


class Notes:
    """The notes of a document. `read` turns the element of one into blocks and may meet further references."""

    def __init__(self) -> None:
        self._elements: dict[tuple[str, str], Element] = {}
        self._marks: dict[tuple[str, str], str] = {}
        self._due: list[tuple[str, str]] = []
        self._counts = dict.fromkeys(_PREFIX, 0)
        self.read: Callable[[str, Element], list[Block]] = lambda kind, element: []

    def add(self, kind: str, elements: Iterable[Element]) -> None:
        """Take the notes of one kind; the lines that separate notes from the page are none."""
        for element in elements:
            if element.get("w:type") not in _NO_NOTES:
                self._elements.setdefault((kind, element.get("w:id", "")), element)

    def refer(self, kind: str, number: str) -> str:
        """The mark for a reference; empty when there is no such note."""
        key = (kind, number)
        if key not in self._elements:
            return ""
        if key not in self._marks:
            self._counts[kind] += 1
            self._marks[key] = f"[^{_PREFIX[kind]}{self._counts[kind]}]"
            self._due.append(key)
        return self._marks[key]

    def due(self) -> list[Block]:
        """The notes that were referred to since the last call."""
        found = []
        while self._due:
            key = self._due.pop(0)
            element = self._elements[key]
            text = lines(self.read(key[0], element)).strip()
            if key[0] == "comment":
                author = " ".join(element.get("w:author", "").split())
                text = f"Comment by {author}: {text}" if author else f"Comment: {text}"
            found.append(paragraph(f"{self._marks[key]}: {text}"))
        return found

    def rest(self) -> list[Block]:
        """The notes that nothing refers to."""
        for kind, number in self._elements:
            self.refer(kind, number)
        return self.due()
