"""Source code with its comments and strings painted over, character for character, so that patterns see code alone."""

from __future__ import annotations

import functools
import re

# All of these run on to the end of the text when their end is missing, and none ever goes back: the work is linear in
# the text whatever it holds. A string ends with its line, so that one wrong quote spoils one line.
_SLASHES = r"//[^\n]*+"
_HASH = r"\#[^\n]*+"
_DASHES = r"--[^\n]*+"
_SEMICOLON = r";[^\n]*+"
_PERCENT = r"%[^\n]*+"
_BLOCK = r"/\*(?:[^*]++|\*(?!/))*+(?:\*/|\Z)"
_DOUBLE = r'"(?:[^"\\\n]++|\\.)*+"?'
_SINGLE = r"'(?:[^'\\\n]++|\\.)*+'?"
_CHARACTER = r"'(?:[^'\\\n]|\\[^'\n]{1,9}+|\\')'"
_TRIPLE = r'"""(?:[^"\\]++|\\.|"(?!""))*+(?:"""|\Z)'
_TRIPLE_SINGLE = r"'''(?:[^'\\]++|\\.|'(?!''))*+(?:'''|\Z)"
_BACKTICK = r"`(?:[^`\\]++|\\.)*+(?:`|\Z)"
_RAW_BACKTICK = r"`[^`]*+(?:`|\Z)"
_REGEX = r"(?<=[=(,:\[!&|?{};+\s])/(?![/*\s=])(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.){0,100}+\]){1,300}+/[a-z]*+"
_RUST_RAW = r'\bb?r(?P<r>\#{0,9})"(?:[^"]++|"(?!(?P=r)))*+(?:"|\Z)'
_RUST_STRING = r'"(?:[^"\\]++|\\.)*+(?:"|\Z)'
_CPP_RAW = r'R"(?P<d>[^()\\\s]{0,16})\((?:[^)]++|\)(?!(?P=d)"))*+(?:\)|\Z)'
_VERBATIM = r'\$?@\$?"(?:[^"]++|"")*+(?:"|\Z)'
_DIRECTIVE = r"(?<=\n)[ \t]*+\#(?:[^\n\\]++|\\.|\\)*+"
_POD = r"(?<=\n)=[a-z]\w*+(?:[^\n]++|\n(?!=cut))*+(?:\n=cut)?"
_RUBY_BEGIN = r"(?<=\n)=begin\b(?:[^\n]++|\n(?!=end))*+(?:\n=end)?"
_HASKELL_BLOCK = r"\{-(?:[^-]++|-(?!\}))*+(?:-\}|\Z)"
_LUA_BLOCK = r"--\[\[(?:[^\]]++|\](?!\]))*+(?:\]\]|\Z)"
_LUA_STRING = r"\[\[(?:[^\]]++|\](?!\]))*+(?:\]\]|\Z)"
_JULIA_BLOCK = r"\#=(?:[^=]++|=(?!\#))*+(?:=\#|\Z)"
_ML_BLOCK = r"\(\*(?:[^*]++|\*(?!\)))*+(?:\*\)|\Z)"
_POWER_BLOCK = r"<\#(?:[^\#]++|\#(?!>))*+(?:\#>|\Z)"

# Family of languages: what is a comment, what is a string, what is a line for the preprocessor.
_FAMILIES: dict[str, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {
    "python": ((_HASH,), (_TRIPLE, _TRIPLE_SINGLE, _DOUBLE, _SINGLE), ()),
    "script": ((_SLASHES, _BLOCK), (_DOUBLE, _SINGLE, _BACKTICK, _REGEX), ()),
    "c": ((_SLASHES, _BLOCK), (_CPP_RAW, _DOUBLE, _CHARACTER), (_DIRECTIVE,)),
    "java": ((_SLASHES, _BLOCK), (_TRIPLE, _DOUBLE, _CHARACTER), ()),
    "csharp": ((_SLASHES, _BLOCK), (_TRIPLE, _VERBATIM, _DOUBLE, _CHARACTER), (_DIRECTIVE,)),
    "rust": ((_SLASHES, _BLOCK), (_RUST_RAW, _RUST_STRING, _CHARACTER), ()),
    "go": ((_SLASHES, _BLOCK), (_DOUBLE, _RAW_BACKTICK, _CHARACTER), ()),
    "php": ((_SLASHES, _BLOCK, r"\#(?!\[)[^\n]*+"), (_DOUBLE, _SINGLE), ()),
    "hash": ((_HASH,), (_DOUBLE, _SINGLE), ()),
    "shell": ((r"(?<![^\s;])\#[^\n]*+",), (r"\\.", _DOUBLE, r"'[^'\n]*+'?"), ()),
    "ruby": ((_RUBY_BEGIN, r"(?<![$?])\#(?!\{)[^\n]*+"), (_DOUBLE, _SINGLE), ()),
    "perl": ((_POD, r"(?<![$\\@%&{])\#[^\n]*+"), (_DOUBLE,), ()),
    "sql": ((_DASHES, _BLOCK), (r"'[^'\n]*+'?",), ()),
    "lua": ((_LUA_BLOCK, _DASHES), (_LUA_STRING, _DOUBLE, _SINGLE), ()),
    "haskell": ((_HASKELL_BLOCK, r"--+(?![!#$%&*+./<=>?@\\^|~])[^\n]*+"), (_DOUBLE, _CHARACTER), ()),
    "julia": ((_JULIA_BLOCK, _HASH), (_TRIPLE, _DOUBLE, _CHARACTER), ()),
    "ml": ((_ML_BLOCK, _SLASHES), (_TRIPLE, _DOUBLE, _CHARACTER), ()),
    "lisp": ((_SEMICOLON,), (_RUST_STRING,), ()),
    "power": ((_POWER_BLOCK, _HASH), (_DOUBLE, _SINGLE), ()),
    "elixir": ((_HASH,), (_TRIPLE, _DOUBLE), ()),
    "percent": ((_PERCENT,), (_DOUBLE,), ()),
    "fortran": ((r"![^\n]*+",), (_DOUBLE, _SINGLE), ()),
    "pascal": ((r"\{[^}]*+(?:\}|\Z)", _ML_BLOCK, _SLASHES), (_SINGLE,), ()),
}
FAMILIES = frozenset(_FAMILIES)
_VISIBLE = re.compile(r"[^\n]")


@functools.cache
def _pattern(family: str) -> re.Pattern[str]:
    comments, strings, directives = _FAMILIES[family]
    # Lines of the preprocessor come first, since a quote in them is no string; comments before strings and regexes.
    groups = [("directive", directives), ("comment", comments), ("string", strings)]
    return re.compile("|".join(f"(?P<{name}>{'|'.join(parts)})" for name, parts in groups if parts), re.S)


def masked(text: str, family: str) -> str:
    """`text`, as long as before: comments are spaces, strings `_`, preprocessor lines spaces and a last `;`.

    Line ends stay; a carriage return is a space before a newline and a newline elsewhere.
    """
    if "\r" in text:
        text = text.replace("\r\n", " \n").replace("\r", "\n")
    return _pattern(family).sub(_paint, text)


def _paint(match: re.Match[str]) -> str:
    found = match[0]
    if match["comment"] is not None:
        fill = " "
    elif match.re.groupindex.get("directive") and match["directive"] is not None:
        return _VISIBLE.sub(" ", found[:-1]) + ";" if "\n" in found else " " * (len(found) - 1) + ";"
    else:
        fill = "_"
    return _VISIBLE.sub(fill, found) if "\n" in found else fill * len(found)
