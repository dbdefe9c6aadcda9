"""Code with colours: the finished lines of a block are lexed once, and the lexer goes on where it stood."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pygments.lexer import Lexer
    from pygments.token import _TokenType

MAX_LINE = 2_000
"""Characters; a longer line is shown without colours (the lexer's patterns are not made for such lines)."""
MAX_BLOCK = 200_000
"""Characters; a longer block keeps the colours it got line by line."""

_STYLES = {
    "Comment": "code-comment",
    "Comment.Preproc": "code-keyword",
    "Keyword": "code-keyword",
    "Keyword.Constant": "code-builtin",
    "Keyword.Type": "code-class",
    "Name.Attribute": "code-tag",
    "Name.Builtin": "code-builtin",
    "Name.Class": "code-class",
    "Name.Constant": "code-builtin",
    "Name.Decorator": "code-function",
    "Name.Exception": "code-class",
    "Name.Function": "code-function",
    "Name.Label": "code-tag",
    "Name.Namespace": "code-class",
    "Name.Tag": "code-tag",
    "Literal.Number": "code-number",
    "Literal.String": "code-string",
    "Literal.Date": "code-number",
    "Operator.Word": "code-keyword",
    "Operator": "code-operator",
    "Generic.Deleted": "code-deleted",
    "Generic.Error": "code-error",
    "Generic.Heading": "code-keyword",
    "Generic.Inserted": "code-inserted",
    "Generic.Prompt": "code-comment",
    "Generic.Subheading": "code-function",
}


class Colored(NamedTuple):
    """A stretch of a line and the palette's name for it."""

    text: str
    style: str


ColoredLine = list[Colored]


@lru_cache(512)
def _style_name(token: _TokenType) -> str:
    names = list(token)
    while names:
        style = _STYLES.get(".".join(names))
        if style is not None:
            return style
        names.pop()
    return "code"


@cache
def _lexer(language: str) -> Lexer | None:
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(language)
    except ClassNotFound:
        return None


def language_of(info: str) -> str:
    """The language named by a fence's info string: `python` of `python title="x"` or `{.python}`."""
    words = info.replace("{", " ").replace("}", " ").replace(",", " ").split()
    return words[0].lstrip(".").lower() if words else ""


class Highlighter:
    """Colours for code that grows at its end."""

    def __init__(self, language: str) -> None:
        self._lexer = _lexer(language) if language else None
        self._stack = ["root"]
        self._resumable = self._lexer is not None and _is_plain(self._lexer)

    def feed(self, text: str, *, keep: bool) -> list[ColoredLine]:
        """The lines of `text`, which ends in a newline; with `keep` the next text goes on where this one ended."""
        lexer = self._lexer
        if lexer is None or any(len(line) > MAX_LINE for line in text.split("\n")):
            return _plain_lines(text)
        if not self._resumable:
            return _to_lines(lexer.get_tokens_unprocessed(text))
        stack = self._stack if keep else list(self._stack)
        return _to_lines(_resume(lexer, text, stack))

    def whole(self, text: str) -> list[ColoredLine]:
        """The lines of a block that is complete, lexed in one go as the lexer's author meant it."""
        lexer = self._lexer
        if lexer is None or len(text) > MAX_BLOCK or any(len(line) > MAX_LINE for line in text.split("\n")):
            self._stack = ["root"]
            return self.feed(text, keep=True)
        return _to_lines(lexer.get_tokens_unprocessed(text))


def _is_plain(lexer: Lexer) -> bool:
    """Whether the lexer's whole state between two lines is its stack of state names."""
    from pygments.lexer import RegexLexer

    return (
        isinstance(lexer, RegexLexer)
        and type(lexer).get_tokens_unprocessed is RegexLexer.get_tokens_unprocessed
        and hasattr(lexer, "_tokens")
    )


def _resume(lexer: Any, text: str, stack: list[str]) -> Iterator[tuple[int, _TokenType, str]]:
    """`RegexLexer.get_tokens_unprocessed`, but `stack` is the caller's and holds the state afterwards."""
    from pygments.token import Error, Whitespace, _TokenType

    tables = lexer._tokens
    at, end = 0, len(text)
    while at < end:
        for match_at, action, new_state in tables[stack[-1]]:
            match = match_at(text, at)
            if match is None:
                continue
            if action is not None:
                if type(action) is _TokenType:
                    yield at, action, match.group()
                else:
                    yield from action(lexer, match)
            at = match.end()
            if new_state is not None:
                _turn(stack, new_state)
            break
        else:
            if text[at] == "\n":
                stack[:] = ["root"]
                yield at, Whitespace, "\n"
            else:
                yield at, Error, text[at]
            at += 1


def _turn(stack: list[str], new_state: Any) -> None:
    if isinstance(new_state, tuple):
        for state in new_state:
            _turn(stack, state)
    elif isinstance(new_state, int):
        del stack[max(1, len(stack) + new_state) if new_state < 0 else max(1, new_state) :]
    elif new_state == "#pop":
        del stack[max(1, len(stack) - 1) :]
    elif new_state == "#push":
        stack.append(stack[-1])
    else:
        stack.append(new_state)


def _plain_lines(text: str) -> list[ColoredLine]:
    return [[Colored(line, "code")] if line else [] for line in text.split("\n")[:-1]]


def _to_lines(tokens: Iterable[tuple[int, _TokenType, str]]) -> list[ColoredLine]:
    lines: list[ColoredLine] = []
    line: ColoredLine = []
    for _at, token, value in tokens:
        style = _style_name(token)
        first, *others = value.split("\n")
        if first:
            _append(line, first, style)
        for text in others:
            lines.append(line)
            line = [Colored(text, style)] if text else []
    if line:
        lines.append(line)
    return lines


def _append(line: ColoredLine, text: str, style: str) -> None:
    if line and line[-1].style == style:
        line[-1] = Colored(line[-1].text + text, style)
    else:
        line.append(Colored(text, style))
