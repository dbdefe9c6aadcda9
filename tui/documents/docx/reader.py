"""Word documents (DOCX, DOCM): all text of the package, in the manner of Markdown."""

from __future__ import annotations

import sys
from xml.etree.ElementTree import Element

from tui.documents.blocks import Block, lines, paragraph, write
from tui.documents.docx.fields import Fields
from tui.documents.docx.notes import Notes
from tui.documents.docx.numbering import Numbering
from tui.documents.docx.package import DamagedPart, Package, Relation
from tui.documents.docx.story import Story, Tools
from tui.documents.docx.styles import Styles
from tui.documents.docx.tally import Tally
from tui.documents.docx.xml import MAX_DEPTH
from tui.documents.kinds import OLE, is_encrypted_office, known_format
from tui.documents.model import Document, Span
from tui.documents.refusal import Refusal

_ANEW = "Open it in Word or LibreOffice, save it anew and read that."
_NOTES = {
    "footnotes": ("footnote", "w:footnote"),
    "endnotes": ("endnote", "w:endnote"),
    "comments": ("comment", "w:comment"),
}


def read_docx(data: bytes, path: str, name: str) -> Document:
    """The document's text: headings, lists with their numbers, tables, text boxes, notes, comments, headers, footers.

    There are no pages in such a file: it is one span. Raises Refusal for an encrypted or damaged one, a zip bomb,
    and one without text.
    """
    if data.startswith(OLE):
        raise _old_container(data, name)
    # The walk takes up to four calls for each level of elements, whose number has a limit.
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, 6 * MAX_DEPTH + 1000))
    try:
        blocks, tally = _Word(Package(data)).read()
    finally:
        sys.setrecursionlimit(before)
    written = write(blocks)
    warnings = tally.warnings()
    if not written.text.strip():
        said = " ".join(warnings)
        raise Refusal(f"holds no text. {said}".rstrip(), "Save it as PDF; `--ocr` reads the pictures in that.")
    return Document(
        path=path,
        name=name,
        kind="docx",
        text=written.text,
        spans=(Span("file", name, 1, 0, len(written.text)),),
        headings=written.headings,
        tables=written.tables,
        warnings=warnings,
    )


def _old_container(data: bytes, name: str) -> Refusal:
    if is_encrypted_office(data):
        return Refusal(
            "is an encrypted Office document.", "Open it with its password, save it without one and read that."
        )
    return Refusal(f"is {known_format(data, name)}, not text.", "Save it as DOCX, PDF or plain text and read that.")


class _Word:
    """One document on its way from the package to blocks."""

    def __init__(self, package: Package) -> None:
        self._package = package
        self._tally = Tally()
        try:
            self._root = package.part(package.main)
        except DamagedPart as error:
            raise Refusal(f"is a Word document whose main part ({package.main}) {error}.", _ANEW) from error
        self._relations: dict[str, Relation] = {}
        try:
            self._relations = package.relations(package.main)
        except DamagedPart as error:
            self._tally.damaged["notes, page headers, styles and list numbers"] = f"(its list of parts) {error}"
        styles = Styles(self._linked("styles", "styles (so headings and lists may be missing)"))
        numbering = Numbering(self._linked("numbering", "numbers of the lists"), styles)
        self._notes = Notes()
        self._tools = Tools(package, styles, numbering, self._tally, self._notes.refer)
        self._note_relations: dict[str, dict[str, Relation]] = {}

    def read(self) -> tuple[list[Block], Tally]:
        """All blocks in the order of the document, and what could not be read."""
        body = self._root.find("w:body")
        if body is None:
            raise Refusal(f"is a Word document whose main part ({self._package.main}) has no body.", _ANEW)
        for kind, (noun, tag) in _NOTES.items():
            root = self._linked(kind, kind)
            if root is not None:
                self._notes.add(noun, root.iter(tag))
                self._note_relations[noun] = self._relations_of(kind)
        self._notes.read = lambda kind, element: self._story(element, self._note_relations.get(kind, {}), notes=False)
        heads, feet = self._page_stories("header"), self._page_stories("footer")
        blocks = self._story(body, self._relations, notes=True)
        return [*heads, *blocks, *self._notes.due(), *self._notes.rest(), *feet], self._tally

    def _story(self, element: Element, relations: dict[str, Relation], *, notes: bool) -> list[Block]:
        fields = None if _torn(element) else Fields()
        story = Story(self._tools, relations, fields, headings=notes)
        if notes:
            story.after_block = self._notes.due
        return story.blocks(element)

    def _page_stories(self, kind: str) -> list[Block]:
        """What is printed above or below the pages, each distinct text once, in the order of the sections."""
        found: dict[str, None] = {}
        links = [self._relations.get(mark.get("r:id", "")) for mark in self._root.iter(f"w:{kind}Reference")]
        for link in dict.fromkeys(links):
            if link is None or link.external:
                continue
            try:
                root = self._package.part(link.target)
                relations = self._package.relations(link.target)
            except DamagedPart as error:
                self._tally.damaged[f"page {kind}s"] = f"({link.target}) {error}"
                continue
            text = lines(self._story(root, relations, notes=False)).strip()
            if text:
                found.setdefault(text)
        return [paragraph(f"[page {kind}]\n{text}") for text in found]

    def _linked(self, kind: str, what: str) -> Element | None:
        """The tree of the part of a kind; None when there is none or it is damaged, which is noted."""
        for link in self._relations.values():
            if link.kind == kind and not link.external:
                try:
                    return self._package.part(link.target)
                except DamagedPart as error:
                    self._tally.damaged[what] = f"({link.target}) {error}"
        return None

    def _relations_of(self, kind: str) -> dict[str, Relation]:
        for link in self._relations.values():
            if link.kind == kind and not link.external:
                try:
                    return self._package.relations(link.target)
                except DamagedPart as error:
                    self._tally.damaged[f"links of the {kind}"] = f"({link.target}) {error}"
        return {}


def _torn(element: Element) -> bool:
    """Whether a story has a field without an end, so that its instruction cannot be told from text."""
    fields = Fields()
    waiting = [element]
    while waiting:
        here = waiting.pop()
        if here.tag == "w:fldChar":
            fields.mark(here)
        if here.tag not in ("w:del", "w:moveFrom", "mc:Fallback"):
            waiting.extend(reversed(here))
    fields.finish()
    return fields.torn
