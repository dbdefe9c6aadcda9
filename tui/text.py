"""Text that is safe to show: what comes from models, documents, file names and logs is never obeyed by the terminal."""

from __future__ import annotations

import re

_BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
# C0 (but tab and newline), DEL, C1, bidirectional controls, line/paragraph separators, lone surrogates, noncharacters.
_UNSAFE = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufffe\uffff\ud800-\udfff{_BIDI}]")
_UNSAFE_ONE_LINE = re.compile(f"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufffe\uffff\ud800-\udfff{_BIDI}]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def _mark(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    return f"\u27e8U+{code:04X}\u27e9"


def display_safe(text: str) -> str:
    """Replace every character that could steer the terminal by a visible mark; tabs and newlines stay.

    `\\r\\n` becomes `\\n` so that ordinary Windows text carries no marks.
    """
    if text.isascii() and text.isprintable():
        return text
    return _UNSAFE.sub(_mark, text.replace("\r\n", "\n"))


def one_line(text: str, limit: int = 0) -> str:
    """`display_safe` for names, titles and messages: newlines and tabs become marks too.

    With `limit`, text longer than that many characters is cut and ends in `…`.
    """
    safe = _UNSAFE_ONE_LINE.sub(_mark, text)
    if limit and len(safe) > limit:
        return safe[: limit - 1] + "…"
    return safe


def well_formed(text: str) -> str:
    """Text that can be encoded as UTF-8: lone surrogates, which llama-server answers with HTTP 500, become U+FFFD."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return _SURROGATE.sub("\ufffd", text)
    return text
