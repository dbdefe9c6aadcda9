"""Characters of the symbol fonts, which have places in the font instead of Unicode numbers."""

from __future__ import annotations

# The font's own encoding, from Adobe's table; U+FFFD where it has no character or only a piece of one.
_SYMBOL = (
    " !∀#∃%&∋()∗+,−./0123456789:;<=>?"
    "≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_"
    "\u203eαβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼\ufffd" + "\ufffd" * 32 +
    "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…\ufffd\ufffd↵"
    "ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓"
    "◊〈®©™∑\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd〉∫⌠\ufffd⌡" + "\ufffd" * 10
)  # fmt: skip
_WINGDINGS = {
    0x21: "✏", 0x22: "✂", 0x28: "☎", 0x2A: "✉", 0x36: "⌛", 0x3F: "✍", 0x41: "✌", 0x43: "👍", 0x44: "👎",
    0x45: "☜", 0x46: "☞", 0x47: "☝", 0x48: "☟", 0x4A: "☺", 0x4B: "😐", 0x4C: "☹", 0x4E: "☠", 0x52: "☼",
    0x58: "✠", 0x59: "✡", 0x5A: "☪", 0x6C: "●", 0x6D: "❍", 0x6E: "■", 0x6F: "□", 0x70: "□", 0x71: "❑", 0x72: "❒",
    0x73: "⬧", 0x74: "⧫", 0x75: "◆", 0x76: "❖", 0x77: "⬥", 0x78: "⌧", 0x7A: "⌘", 0x80: "⓪", 0x9F: "•", 0xA0: "▪",
    0xA1: "○", 0xA4: "◉", 0xA7: "▪", 0xA8: "◻", 0xAB: "★", 0xAC: "✶", 0xAD: "✴", 0xD5: "⌫", 0xD8: "➢", 0xDC: "➲",
    0xDF: "←", 0xE0: "→", 0xE1: "↑", 0xE2: "↓", 0xE7: "←", 0xE8: "→", 0xE9: "↑", 0xEA: "↓", 0xEF: "⇦", 0xF0: "⇨",
    0xF1: "⇧", 0xF2: "⇩", 0xF3: "⬄", 0xF4: "⇳", 0xFB: "✗", 0xFC: "✓", 0xFD: "☒", 0xFE: "☑",
    **{0x81 + index: character for index, character in enumerate("①②③④⑤⑥⑦⑧⑨⑩")},
    **{0x8C + index: character for index, character in enumerate("❶❷❸❹❺❻❼❽❾❿")},
}  # fmt: skip
_WINGDINGS_2 = {0x4F: "✗", 0x50: "✓", 0x51: "☒", 0x52: "☑", 0x53: "☒", 0x54: "☒", 0x97: "●", 0xA3: "□"}
_WINGDINGS_3 = {0x7D: "▶", 0x74: "◀", 0x22: "↔"}
_PRIVATE = 0xF000


def is_symbol_font(font: str) -> bool:
    """Whether a font has its own places for its characters."""
    return font.casefold() in _FONTS


def symbol(font: str, code: int) -> str | None:
    """The character at `code` (0x20-0xFF, or the same plus 0xF000) of a symbol font; None when it is not known."""
    code = code - _PRIVATE if _PRIVATE <= code <= _PRIVATE + 0xFF else code
    table = _FONTS.get(font.casefold())
    if table is None:
        # An ordinary font: the number is a Unicode number.
        return chr(code) if 0x20 <= code < 0xD800 or 0xFB00 <= code < 0xFFFE else None
    return table.get(code)


def from_font(text: str, font: str) -> tuple[str, int]:
    """`text` that is set in a symbol font as Unicode, and how many characters are not known (they are U+FFFD)."""
    if not is_symbol_font(font):
        return text, 0
    found = [character if character.isspace() else symbol(font, ord(character)) for character in text]
    return "".join(character or "\ufffd" for character in found), sum(1 for character in found if not character)


_FONTS: dict[str, dict[int, str]] = {
    "symbol": {0x20 + index: character for index, character in enumerate(_SYMBOL) if character != "\ufffd"},
    "wingdings": _WINGDINGS,
    "wingdings 2": _WINGDINGS_2,
    "wingdings 3": _WINGDINGS_3,
}
