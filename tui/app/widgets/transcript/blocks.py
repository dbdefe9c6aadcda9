"""Markdown in blocks: what of a growing text is finished, so that it is drawn once, and what is still open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tui.app.widgets.transcript.inline import DEEPEST, parser

if TYPE_CHECKING:
    from markdown_it.token import Token

_APART = frozenset({"heading", "fence", "code_block", "blockquote", "table", "hr"})
"""Blocks with a blank row on both sides, whatever the source has."""


class Carry(NamedTuple):
    """What a block needs to know of the text before it."""

    kind: str = ""
    """Kind of the block before; empty at the start of a message."""
    list_key: str = ""
    """For a list item before: the list's type and marker."""
    ordinal: int = 0
    """For a list item before in the same list: the next item's number."""
    blank: bool = False
    """Whether a blank line stands before."""


class Unit(NamedTuple):
    """A block of the outermost level, or one item of an outermost list."""

    kind: str
    tokens: Sequence[Token]
    first_line: int
    """0-based, in the text that was split."""
    gap: bool
    """Whether a blank row is drawn before it."""
    ordinal: int
    """Of an ordered list's item; -1 for a bullet."""
    before: Carry
    """What `split` needs to split again from this unit's first line on."""


def close_of(tokens: Sequence[Token], at: int) -> int:
    """Index of the token that closes the one at `at`; `at` itself when it opens nothing."""
    if tokens[at].nesting != 1:
        return at
    level = tokens[at].level
    end = at + 1
    while tokens[end].level != level or tokens[end].nesting != -1:
        end += 1
    return end


def kind_of(token: Token) -> str:
    """`paragraph` of `paragraph_open`."""
    return token.type.removesuffix("_open")


def needs_gap(before: str, kind: str, blank: bool) -> bool:
    """Whether a blank row stands between two neighbours; `blank` is whether the source has one."""
    if not before:
        return False
    return blank or before in _APART or kind in _APART


def split(source: str, carry: Carry, env: dict[str, Any]) -> list[Unit]:
    """The units of `source`, which goes on after `carry`. Link definitions are gathered in `env`."""
    tokens = parser().parse(source, env)
    if any(token.level >= DEEPEST - 2 for token in tokens):
        # The parser drops what is nested deeper than its limit; the source as it is loses nothing.
        return [Unit("raw", [_raw(source)], 0, needs_gap(carry.kind, "raw", carry.blank), -1, carry)]
    lines = source.split("\n")
    units: list[Unit] = []

    def blank_before(line: int) -> bool:
        return not lines[line - 1].strip() if line else carry.blank

    at = 0
    while at < len(tokens):
        token = tokens[at]
        end = close_of(tokens, at)
        kind = kind_of(token)
        if kind in ("bullet_list", "ordered_list"):
            key = kind + token.markup
            continues = not units and carry.list_key == key
            ordinal = carry.ordinal if continues else int(token.attrs.get("start", 1))
            item = at + 1
            while item < end:
                item_end = close_of(tokens, item)
                line = _line(tokens[item])
                first = item == at + 1 and not continues
                blank = blank_before(line)
                gap = needs_gap(carry.kind, "list", blank) if first else blank
                number = ordinal if kind == "ordered_list" else -1
                before = Carry(carry.kind, "" if first else key, ordinal, blank)
                units.append(Unit("item", tokens[item : item_end + 1], line, gap, number, before))
                ordinal += 1
                carry = Carry("item", key, ordinal)
                item = item_end + 1
        else:
            line = _line(token)
            blank = blank_before(line)
            before = Carry(carry.kind, "", 0, blank)
            units.append(Unit(kind, tokens[at : end + 1], line, needs_gap(carry.kind, kind, blank), -1, before))
            carry = Carry(kind)
        at = end + 1
    return units


def _raw(source: str) -> Token:
    from markdown_it.token import Token

    return Token("raw", "", 0, content=source)


def _line(token: Token) -> int:
    return token.map[0] if token.map else 0


def offset_of_line(source: str, line: int) -> int:
    """Where line `line` (0-based) of `source` starts."""
    at = 0
    for _ in range(line):
        at = source.index("\n", at) + 1
    return at
