"""How each part of a document is written: as code, as prose, or on paper."""

from __future__ import annotations

import bisect
from typing import Literal

from tui.documents.kinds import text_kind
from tui.documents.model import Document

Way = Literal["code", "prose", "paper", "records"]
_WAYS: dict[str, Way] = {"code": "code", "pdf": "paper", "table": "records"}


class Written:
    """The way of writing at each place of one document; in a source tree it is the file's."""

    def __init__(self, document: Document) -> None:
        self._all: Way | None = None if document.kind == "tree" else _WAYS.get(document.kind, "prose")
        self._spans = document.spans
        self._starts = [span.start for span in document.spans]
        self._known: dict[str, Way] = {}

    def at(self, place: int) -> Way:
        """The way of writing of what follows `place`."""
        if self._all is not None:
            return self._all
        if not self._spans:
            return "prose"
        span = self._spans[max(0, bisect.bisect_right(self._starts, place) - 1)]
        if span.kind == "page":
            return "paper"
        name = span.file or span.label
        if name not in self._known:
            self._known[name] = "code" if text_kind(name, b"") == "code" else "prose"
        return self._known[name]
