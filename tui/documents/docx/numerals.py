"""Numbers as lists print them: letters, Roman, Chinese and other forms."""

from __future__ import annotations

_ROMAN = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"),
    (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip
_LATIN = "abcdefghijklmnopqrstuvwxyz"
_RUSSIAN = "абвгдежзиклмнопрстуфхцчшщыэюя"
_AIUEO = "アイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワヲン"
_GANADA = "가나다라마바사아자차카타파하"
_CIRCLED = "①②③④⑤⑥⑦⑧⑨⑩⑪⑫⑬⑭⑮⑯⑰⑱⑲⑳"
_HAN = "〇一二三四五六七八九"
_STEMS = "甲乙丙丁戊己庚辛壬癸"
_CHINESE = frozenset(
    {"chineseCounting", "chineseCountingThousand", "taiwaneseCounting", "taiwaneseCountingThousand"}
    | {"japaneseCounting", "chineseLegalSimplified", "ideographLegalTraditional", "japaneseLegal"}
)
_LETTERS = {
    "lowerLetter": _LATIN,
    "upperLetter": _LATIN.upper(),
    "russianLower": _RUSSIAN,
    "russianUpper": _RUSSIAN.upper(),
}
_CYCLES = {
    "aiueo": _AIUEO,
    "aiueoFullWidth": _AIUEO,
    "ganada": _GANADA,
    "ideographTraditional": _STEMS,
    "decimalEnclosedCircle": _CIRCLED,
    "decimalEnclosedCircleChinese": _CIRCLED,
}
_FULL_WIDTH = str.maketrans("0123456789", "０１２３４５６７８９")


def numeral(count: int, form: str) -> str:
    """`count` in one of Word's number forms; forms that are not known are written 1, 2, 3."""
    if form in ("bullet", "none"):
        return ""
    if count < 1:
        return str(count)
    if form in ("lowerRoman", "upperRoman"):
        roman = _roman(count)
        return roman.upper() if form == "upperRoman" else roman
    if form in _LETTERS:
        # Word goes on after z with aa, bb, cc.
        letters = _LETTERS[form]
        repeats, index = divmod(count - 1, len(letters))
        return letters[index] * (repeats + 1) if repeats < 30 else str(count)
    if form in _CYCLES and count <= len(_CYCLES[form]):
        return _CYCLES[form][count - 1]
    if form in _CHINESE:
        return _chinese(count)
    if form in ("ideographDigital", "japaneseDigitalTenThousand", "taiwaneseDigital", "koreanDigital2"):
        return "".join(_HAN[int(digit)] for digit in str(count))
    if form == "decimalZero":
        return f"{count:02d}"
    if form in ("decimalFullWidth", "decimalFullWidth2"):
        return str(count).translate(_FULL_WIDTH)
    if form == "ordinal":
        return str(count) + _ordinal_end(count)
    return str(count)


def _ordinal_end(count: int) -> str:
    if count % 100 in (11, 12, 13):
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(count % 10, "th")


def _roman(count: int) -> str:
    if count >= 32768:
        return str(count)
    written = ""
    for amount, letters in _ROMAN:
        written += letters * (count // amount)
        count %= amount
    return written


def _chinese(count: int) -> str:
    if count >= 10000:
        return str(count)
    written = ""
    digits = str(count)
    for place, digit in enumerate(digits):
        power = len(digits) - 1 - place
        if digit == "0":
            written = written if written.endswith("〇") else written + "〇"
        else:
            written += _HAN[int(digit)] + ("", "十", "百", "千")[power]
    written = written.rstrip("〇")
    # Ten to nineteen have no one before the ten.
    return written.removeprefix("一") if 10 <= count < 20 else written
