"""Which paragraph styles are headings, by their names in the languages that word processors write them in."""

from __future__ import annotations

import re

# Word writes the English name of its own styles whatever its language; other programs write their own.
_HEADING = re.compile(
    r"(?:heading|überschrift|titre|título|titulo|titolo|kop|rubrik|overskrift|otsikko|nagłówek|заголовок|"
    r"nadpis|címsor|başlık|επικεφαλίδα|标题|標題|見出し|제목|encabezado|cabeçalho|intestazione)\s*([1-9])",
    re.I,
)
_TITLES = frozenset({"title", "titel", "titre", "titolo", "标题", "標題", "表題", "제목", "название", "tytuł"})


def outline_by_name(name: str) -> int | None:
    """The outline level (0 is the highest) of a style with this name; None when it is no heading's name."""
    match = _HEADING.fullmatch(name.strip())
    if match:
        return int(match[1]) - 1
    return 0 if name.strip().casefold() in _TITLES else None
