"""The tables at the head of an RTF file: fonts with their code pages, styles that are headings."""

from __future__ import annotations

import msgspec

from tui.documents.heading_styles import outline_by_name
from tui.documents.rtf.words import CHARSETS, CODE_PAGES


class Font(msgspec.Struct):
    """A font of the font table, filled while the table is read."""

    name: str = ""
    code_page: int | None = None
    """None: the document's own."""


class Tables:
    """Fonts and styles by number."""

    def __init__(self) -> None:
        self.fonts: dict[int, Font] = {}
        self.outlines: dict[int, int] = {}
        self.unknown_pages: set[int] = set()
        self._font = Font()
        self._style: int | None = None
        self._style_name = ""

    def font_word(self, name: str, number: int | None) -> None:
        """A control word inside the font table."""
        if name == "f" and number is not None:
            self._font = self.fonts.setdefault(number, Font())
        elif name == "fcharset":
            self._font.code_page = CHARSETS.get(number or 0)
        elif name == "cpg" and number:
            self._font.code_page = number

    def font_text(self, text: str) -> None:
        """Text inside the font table: names, each ended by a semicolon."""
        self._font.name = (self._font.name + text).partition(";")[0].strip() if not self._font.name else self._font.name

    def style_word(self, name: str, number: int | None) -> None:
        """A control word inside the style sheet."""
        if name == "s":
            self._style, self._style_name = number or 0, ""
        elif name in ("cs", "ds", "ts"):
            self._style = None
        elif name == "outlinelevel" and self._style is not None:
            self.outlines[self._style] = number or 0

    def style_text(self, text: str) -> None:
        """Text inside the style sheet: a style's name, ended by a semicolon."""
        self._style_name += text
        if ";" in self._style_name:
            name = self._style_name.partition(";")[0].strip()
            outline = outline_by_name(name)
            if self._style is not None and outline is not None:
                self.outlines.setdefault(self._style, outline)
            self._style_name, self._style = "", None

    def new_style(self) -> None:
        """A group of the style sheet begins: without a number it is style 0."""
        self._style, self._style_name = 0, ""

    def codec(self, font: int | None, document_page: int) -> str:
        """The codec for bytes that are set in a font."""
        known = self.fonts.get(font) if font is not None else None
        page = known.code_page if known is not None and known.code_page is not None else document_page
        codec = CODE_PAGES.get(page)
        if codec is None:
            self.unknown_pages.add(page)
            return "cp1252"
        return codec

    def symbol_font(self, font: int | None) -> str:
        """The font's name, to look symbols up by."""
        known = self.fonts.get(font) if font is not None else None
        return known.name if known is not None else ""
