"""The headings of a Markdown text, with the offsets at which they start. The text itself is not changed."""

from __future__ import annotations

import itertools
import re

from markdown_it import MarkdownIt
from markdown_it.token import Token

from tui.documents.clean import title_safe
from tui.documents.model import Heading

_LINE_END = re.compile(r"\r\n?|\n")
_FRONT_MATTER = re.compile(r"\A---[ \t]*\r?\n.*?^(?:---|\.\.\.)[ \t]*\r?$", re.S | re.M)


def markdown_headings(text: str) -> tuple[Heading, ...]:
    """ATX and setext headings as CommonMark sees them, in order; none from code blocks or the YAML front matter."""
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
            title = _plain(inline, content)
            found.append(Heading(offset + starts[opening.map[0]], int(opening.tag[1]), title))
    return tuple(found)


def _plain(parser: MarkdownIt, heading: Token) -> str:
    """A heading's words without marks: links, emphasis and code as their text."""
    children = (child for token in parser.parseInline(heading.content) for child in token.children or [])
    breaks = ("softbreak", "hardbreak")
    return title_safe("".join(child.content or (" " if child.type in breaks else "") for child in children))
