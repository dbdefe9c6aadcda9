"""XHTML made ready for a parser of HTML, to which `<script/>` is a script that never ends."""

from __future__ import annotations

import html
import re

_HEAD = 2048
_IS_XHTML = re.compile(r"\A\s*<\?xml\b|\bxmlns\s*=\s*[\"']http://www\.w3\.org/1999/xhtml", re.I)
_NAME = re.compile(r"(/?)(?:(?:x?html|h|svg|m|mml|math):)?([A-Za-z][^\s/>]*)")
_TO_QUOTE = re.compile(r"[^>\"']*")
_RAW = frozenset({"script", "style"})
_VOID = frozenset(
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"]
)


def is_xhtml(page: str) -> bool:
    """Whether the page says that it is XML."""
    return _IS_XHTML.search(page[:_HEAD]) is not None


def as_html(page: str) -> str:
    """The same page with `<x/>` written as `<x></x>`, CDATA as text, the usual prefixes and an internal DTD away.

    Linear in the page's length, whatever it holds. An unfinished tag or comment ends the work: the rest stays as
    it is, for the parser to mend.
    """
    parts: list[str] = []
    at = 0
    while (start := page.find("<", at)) >= 0:
        parts.append(page[at:start])
        done, at = _mark_up(page, start)
        if at < 0:
            parts.append(page[start:])
            return "".join(parts)
        parts.append(done)
    parts.append(page[at:])
    return "".join(parts)


def _mark_up(page: str, start: int) -> tuple[str, int]:
    """What begins with the `<` at `start` as HTML, and where it ends; -1 when it does not end."""
    if page.startswith("<!--", start):
        return _until(page, start, "-->")
    if page.startswith("<![CDATA[", start):
        text, end = _until(page, start, "]]>")
        return html.escape(text[9:-3], quote=False), end
    if page.startswith("<?", start):
        _, end = _until(page, start, ">")
        return "", end
    if page.startswith("<!", start):
        return _doctype(page, start)
    name = _NAME.match(page, start + 1)
    if name is None:
        return "<", start + 1
    end = _tag_end(page, name.end())
    if end < 0:
        return "", -1
    closing, word = name[1], name[2]
    inside = page[name.end() : end - 1]
    if closing or not inside.endswith("/"):
        tag = f"<{closing}{word}{inside}>"
        if not closing and word.lower() in _RAW:
            return _with_raw(page, tag, word, end)
        return tag, end
    opened = f"<{word}{inside[:-1]}>"
    return (opened if word.lower() in _VOID else f"{opened}</{word}>"), end


def _until(page: str, start: int, mark: str) -> tuple[str, int]:
    end = page.find(mark, start)
    return ("", -1) if end < 0 else (page[start : end + len(mark)], end + len(mark))


def _tag_end(page: str, at: int) -> int:
    """After the `>` of a tag; what stands in quotes does not end it. -1 when there is none."""
    while True:
        found = _TO_QUOTE.match(page, at)
        assert found is not None
        at = found.end()
        if at >= len(page):
            return -1
        if page[at] == ">":
            return at + 1
        at = page.find(page[at], at + 1) + 1
        if at == 0:
            return -1


def _with_raw(page: str, tag: str, word: str, end: int) -> tuple[str, int]:
    close = re.compile(rf"</(?:\w+:)?{word}\s*>", re.I).search(page, end)
    return ("", -1) if close is None else (f"{tag}{page[end : close.start()]}</{word}>", close.end())


def _doctype(page: str, start: int) -> tuple[str, int]:
    """A document type; entities that the page defines for itself are not expanded."""
    bracket, end = page.find("[", start), page.find(">", start)
    if 0 <= bracket < end:
        _, inner = _until(page, bracket, "]")
        end = page.find(">", inner) if inner >= 0 else -1
        return "<!DOCTYPE html>", end + 1 if end >= 0 else -1
    return (page[start : end + 1], end + 1) if end >= 0 else ("", -1)
