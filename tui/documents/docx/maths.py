"""Formulas of a Word document in one line: `x = (-b ± √(b^2 - 4ac))/(2a)`."""

from __future__ import annotations

import re
from collections.abc import Callable
from xml.etree.ElementTree import Element

from tui.documents.docx.xml import inside, value

_ATOM = re.compile(r"\w+|[^\W\d_]\u0300?|.", re.S)
# Function application, times, separator and plus, which nobody sees; the first is seen as a space.
_INVISIBLE = {0x2061: " ", 0x2062: None, 0x2063: None, 0x2064: None}
_CLOSED = {"(": ")", "[": "]", "{": "}", "|": "|"}
_NO_TEXT = frozenset({"w:del", "w:moveFrom", "m:ctrlPr", "w:rPr", "m:rPr"})


def formula(element: Element) -> str:
    """The readable form of `m:oMath`, `m:oMathPara` or any part of one; formulas of a group stand on lines."""
    if element.tag == "m:oMathPara":
        return "\n".join(text for child in element if child.tag == "m:oMath" and (text := formula(child)))
    return " ".join(_of(element).split())


def _of(element: Element | None) -> str:
    if element is None:
        return ""
    if element.tag in _NO_TEXT or element.tag.endswith("Pr"):
        return ""
    if element.tag in ("m:t", "w:t"):
        return (element.text or "").translate(_INVISIBLE)
    write = _FORMS.get(element.tag)
    if write is not None:
        return write(element)
    return "".join(_of(child) for child in element)


def _part(element: Element, name: str) -> str:
    return _of(element.find(name)).strip()


def _group(text: str) -> str:
    """In brackets, unless it is one number, word or letter, or is in brackets already."""
    if _ATOM.fullmatch(text) or not text:
        return text
    if text[0] in _CLOSED and _closes_last(text):
        return text
    return f"({text})"


def _closes_last(text: str) -> bool:
    opening, closing = text[0], _CLOSED[text[0]]
    depth = 0
    for place, character in enumerate(text):
        if character == closing and (opening != closing or place):
            depth -= 1
        elif character == opening:
            depth += 1
        if depth == 0:
            return place == len(text) - 1
    return False


def _fraction(element: Element) -> str:
    above, below = _part(element, "m:num"), _part(element, "m:den")
    if value(inside(element, "m:fPr", "m:type"), "m:val") == "noBar":
        return f"{above} ¦ {below}"
    return f"{_group(above)}/{_group(below)}"


def _scripts(element: Element) -> str:
    below, above = _part(element, "m:sub"), _part(element, "m:sup")
    scripts = (f"_{_group(below)}" if below else "") + (f"^{_group(above)}" if above else "")
    base = _group(_part(element, "m:e"))
    return f"{scripts} {base}" if element.tag == "m:sPre" else base + scripts


def _root(element: Element) -> str:
    degree = "" if switched_m(inside(element, "m:radPr", "m:degHide")) else _part(element, "m:deg")
    return f"{'√' if degree in ('', '2') else f'root[{degree}]'}({_part(element, 'm:e')})"


def _big_operator(element: Element) -> str:
    sign = inside(element, "m:naryPr", "m:chr")
    below, above = _part(element, "m:sub"), _part(element, "m:sup")
    limits = (f"_{_group(below)}" if below else "") + (f"^{_group(above)}" if above else "")
    return f"{'∫' if sign is None else value(sign, 'm:val')}{limits} {_part(element, 'm:e')}"


def _bracketed(element: Element) -> str:
    properties = element.find("m:dPr")
    signs = []
    for name, default in (("m:begChr", "("), ("m:sepChr", "|"), ("m:endChr", ")")):
        sign = properties.find(name) if properties is not None else None
        signs.append(default if sign is None else value(sign, "m:val"))
    return signs[0] + signs[1].join(_of(child).strip() for child in element.findall("m:e")) + signs[2]


def _matrix(element: Element) -> str:
    rows = (", ".join(_of(cell).strip() for cell in row.findall("m:e")) for row in element.findall("m:mr"))
    return f"[{'; '.join(rows)}]"


def _equations(element: Element) -> str:
    return "; ".join(_of(line).strip() for line in element.findall("m:e"))


def _function(element: Element) -> str:
    return f"{_part(element, 'm:fName')} {_part(element, 'm:e')}"


def _limit(element: Element) -> str:
    mark = "_" if element.tag == "m:limLow" else "^"
    return f"{_part(element, 'm:e')}{mark}{_group(_part(element, 'm:lim'))}"


def _accent(element: Element) -> str:
    sign = inside(element, "m:accPr", "m:chr")
    mark = "\u0302" if sign is None else value(sign, "m:val")
    base = _part(element, "m:e")
    return base + mark if len(base) == 1 else f"{_group(base)}{mark}"


def _bar(element: Element) -> str:
    mark = "\u0305" if value(inside(element, "m:barPr", "m:pos"), "m:val") == "top" else "\u0332"
    base = _part(element, "m:e")
    return base + mark if len(base) == 1 else f"{_group(base)}{mark}"


def switched_m(element: Element | None) -> bool:
    """Whether a property of a formula is there and not turned off."""
    return element is not None and element.get("m:val", "1") not in ("0", "off", "false")


_FORMS: dict[str, Callable[[Element], str]] = {
    "m:f": _fraction,
    "m:sSup": _scripts,
    "m:sSub": _scripts,
    "m:sSubSup": _scripts,
    "m:sPre": _scripts,
    "m:rad": _root,
    "m:nary": _big_operator,
    "m:d": _bracketed,
    "m:m": _matrix,
    "m:eqArr": _equations,
    "m:func": _function,
    "m:limLow": _limit,
    "m:limUpp": _limit,
    "m:acc": _accent,
    "m:bar": _bar,
}
