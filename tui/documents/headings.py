"""The headings of a Markdown text, with the offsets at which they start. The text itself is not changed."""

from __future__ import annotations

import bisect
import itertools
import re

from markdown_it import MarkdownIt

from tui.documents.clean import title_safe
from tui.documents.fences import fences
from tui.documents.model import Heading

_LINE_END = re.compile(r"\r\n?|\n")
_FRONT_MATTER = re.compile(r"\A---[ \t]*\r?\n.*?^(?:---|\.\.\.)[ \t]*\r?$", re.S | re.M)
# Measured: the parser takes up to 2.2 s for a megabyte of list items and headings, and a file has 20 s.
_LARGE = 2 << 20
_COMMENT = re.compile(r"^ {0,3}<!--.*?(?:-->|\Z)", re.S | re.M)
_ATX = re.compile(r"^ {0,3}(#{1,6})(?=[ \t\r\n]|\Z)([^\r\n]*)", re.M)
_SETEXT = re.compile(r"(?:\A|(?<=\n\n)|(?<=\n\r\n)) {0,3}([^\s#>|*+-][^\r\n]*)\r?\n {0,3}(=+|-+)[ \t]*\r?$", re.M)
_MARKS = re.compile(r"[*_`\[\]<>&\\]")


def markdown_headings(text: str) -> tuple[Heading, ...]:
    """ATX and setext headings as CommonMark sees them, in order; none from code blocks or the YAML front matter.

    In texts of more than 2 million characters only those outside lists and quotations, and setext headings of one
    line after a blank one.
    """
    if len(text) > _LARGE:
        return _of_large(text)
    front = _FRONT_MATTER.match(text)
    offset = front.end() if front else 0
    body = text[offset:]
    starts = [0, *(match.end() for match in _LINE_END.finditer(body))]
    # Blocks only: the inline pass over a whole book costs ten times as much and is not needed.
    blocks = MarkdownIt("commonmark").disable(["inline"])
    inline = MarkdownIt("commonmark")
    tokens = blocks.parse(body)
    found = []
    for opening, content in itertools.pairwise(tokens):
        if opening.type == "heading_open" and opening.map is not None:
            title = _plain(inline, content.content)
            found.append(Heading(offset + starts[opening.map[0]], int(opening.tag[1]), title))
    return tuple(found)


def _of_large(text: str) -> tuple[Heading, ...]:
    front = _FRONT_MATTER.match(text)
    offset = front.end() if front else 0
    hidden = sorted([*fences(text), *(match.span() for match in _COMMENT.finditer(text))])
    starts = [start for start, _ in hidden]
    ends = list(itertools.accumulate((end for _, end in hidden), max))
    inline = MarkdownIt("commonmark")
    found: list[Heading] = []
    for match in itertools.chain(_ATX.finditer(text, offset), _SETEXT.finditer(text, offset)):
        before = bisect.bisect_right(starts, match.start()) - 1
        if before >= 0 and match.start() < ends[before]:
            continue
        if match.re is _ATX:
            level, title = len(match[1]), _without_closing(match[2].strip())
        else:
            level, title = 1 if match[2][0] == "=" else 2, match[1]
        if _MARKS.search(title):
            title = _plain(inline, title)
        found.append(Heading(match.start(), level, title_safe(title)))
    return tuple(sorted(found, key=lambda heading: heading.start))


def _without_closing(title: str) -> str:
    """`title` without the `#` signs that may close it."""
    bare = title.rstrip("#")
    return bare.rstrip() if not bare or bare[-1] in " \t" else title


def _plain(parser: MarkdownIt, heading: str) -> str:
    """A heading's words without marks: links, emphasis and code as their text."""
    children = (child for token in parser.parseInline(heading) for child in token.children or [])
    breaks = ("softbreak", "hardbreak")
    return title_safe("".join(child.content or (" " if child.type in breaks else "") for child in children))
