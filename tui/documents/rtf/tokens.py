"""RTF as tokens. Nothing is nested here, so no depth of braces can hurt."""

from __future__ import annotations

import re
from collections.abc import Iterator

_TOKEN = re.compile(
    rb"\\([A-Za-z]{1,40})(-?[0-9]{1,10})?[ ]?"  # a control word, its number and the space that ends it
    rb"|\\'([0-9A-Fa-f]{2})"
    rb"|\\([^A-Za-z])"
    rb"|([{}])"
    rb"|([^\\{}\r\n\x00]+)",
    re.S,
)

Token = tuple[str, bytes, int | None]
"""Kind and content: `word` (name, number), `byte`, `symbol`, `open`, `close`, `text`."""


def tokens(data: bytes) -> Iterator[Token]:
    """The tokens in order, without line ends. Binary data (`\\bin`) is stepped over.

    A `torn` token at the end says how many bytes of binary data are missing.
    """
    place = 0
    scan = _TOKEN.search
    while (match := scan(data, place)) is not None:
        place = match.end()
        kind = match.lastindex or 1
        if kind <= 2:
            name, number = match[1], int(match[2]) if match[2] is not None else None
            if name == b"bin":
                place += max(0, number or 0)
                if place > len(data):
                    yield "torn", b"", place - len(data)
                    return
                continue
            yield "word", name, number
        elif kind == 3:
            yield "byte", bytes([int(match[3], 16)]), None
        elif kind == 4:
            yield "symbol", match[4], None
        elif kind == 5:
            yield ("open" if match[5] == b"{" else "close"), b"", None
        else:
            yield "text", match[6], None
