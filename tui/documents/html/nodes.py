"""The tree of a page, walked without recursion: pages nest tens of thousands of elements deep."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, Protocol

from selectolax.lexbor import LexborHTMLParser, LexborNode

Attributes = dict[str, str | None]
Leave = Callable[[], None]


class Skip:
    """Answer of a visitor that does not want an element's children."""


SKIP: Final = Skip()

# Never shown, whatever they hold. `noscript` is shown to a reader that runs no scripts, as we are.
UNSEEN = frozenset(
    [
        "script",
        "style",
        "template",
        "head",
        "title",
        "meta",
        "link",
        "base",
        "datalist",
        "iframe",
        "noframes",
        "noembed",
        "area",
        "param",
        "source",
        "track",
        "rp",
        "rt",
        "rtc",
    ]
)
_NOT_TEXT = frozenset({"script", "style", "template", "rp", "rt", "rtc"})
_HIDING = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse))", re.I)
_BLOCK_STYLE = re.compile(r"(?:^|;)\s*display\s*:\s*(?:block|flex|grid|list-item|table(?:-row)?)\s*(?:;|!|$)", re.I)

_NESTING = re.compile(
    "<(/?)(?:div|section|article|header|footer|nav|aside|main|blockquote|ul|ol|dl|details|summary|center|pre|figure|"
    r"fieldset|address|dir|menu|search|hgroup|figcaption|listing)\b[^<>]*>?",
    re.I,
)
_DEEPEST = 1000


class Visitor(Protocol):
    """Sees a subtree in reading order."""

    def text(self, text: str) -> None:
        """A text node."""

    def enter(self, node: LexborNode, tag: str) -> Leave | Skip | None:
        """An element; answers what is to be done after its children, SKIP to leave them out, or None."""


def parse(page: str) -> LexborHTMLParser:
    """The page's tree. Broken mark-up is mended as browsers mend it; blocks nest as deep as `_DEEPEST`."""
    return LexborHTMLParser(_flattened(page))


def _flattened(page: str) -> str:
    """The page without the tags of blocks inside more than `_DEEPEST` others. What they hold stays.

    The parser looks through all open blocks at each new one: 50,000 inside each other took it up to 18 s.
    """
    depth = 0
    kept = []
    at = 0
    for tag in _NESTING.finditer(page):
        depth = max(0, depth - 1) if tag[1] else depth + 1
        if depth > _DEEPEST or (tag[1] and depth == _DEEPEST):
            kept.append(page[at : tag.start()])
            at = tag.end()
    return "".join([*kept, page[at:]]) if kept else page


def walk(root: LexborNode, visitor: Visitor) -> None:
    """Show everything below `root` to the visitor, in reading order; comments are left out."""
    open_: list[tuple[LexborNode, Leave | None]] = []
    node: LexborNode | None = root.child
    while True:
        if node is None:
            if not open_:
                return
            parent, leave = open_.pop()
            if leave is not None:
                leave()
            node = parent.next
            continue
        if node.is_text_node:
            visitor.text(node.text_content or "")
        elif node.is_element_node:
            answer = visitor.enter(node, node.tag or "")
            if not isinstance(answer, Skip):
                child = node.child
                if child is not None:
                    open_.append((node, answer))
                    node = child
                    continue
                if answer is not None:
                    answer()
        node = node.next


def hides(tag: str, attributes: Attributes) -> bool:
    """Whether the element itself says that it is not shown. Style sheets are not read: what they hide is kept."""
    if not attributes:
        return tag == "dialog"
    if "hidden" in attributes and (attributes["hidden"] or "").lower() != "until-found":
        return True
    style = attributes.get("style")
    return (style is not None and _HIDING.search(style) is not None) or (tag == "dialog" and "open" not in attributes)


def styled_as_block(attributes: Attributes) -> bool:
    """Whether the element's own style makes a block of it."""
    style = attributes.get("style")
    return style is not None and _BLOCK_STYLE.search(style) is not None


class _Counting:
    def __init__(self) -> None:
        self.characters = 0

    def text(self, text: str) -> None:
        self.characters += sum(1 for character in text if not character.isspace())

    def enter(self, node: LexborNode, tag: str) -> Leave | Skip | None:
        return SKIP if tag in _NOT_TEXT else None


def characters_below(node: LexborNode) -> int:
    """Characters of text below `node`, without white space, scripts and styles."""
    counting = _Counting()
    walk(node, counting)
    return counting.characters
