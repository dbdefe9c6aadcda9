"""How likely bytes are text in each encoding: the characters that they would be, weighed by how common those are.

charset-normalizer, measured on texts of 4 to 250 characters, took French in cp1252 for mac_latin2 (250 of 250
characters, every time), KOI8-R for half-width Japanese, and short Chinese for Korean; what it finds is still asked
for encodings that are not in the list here. With this, on pieces of the translations of Linux programs (not those it
was tuned on): at 60 characters 98-100 % right and none wrong for Chinese, Japanese, Korean, Cyrillic, Greek and the
West, at 1,000 characters all right; at 60 characters up to half of Croatian and Romanian in cp1250 are taken for
cp1252, which differs in two letters there. The older ones of each script (DOS, Macintosh, ISO 8859, KOI8-U) come far
behind beforehand, so that they are found in texts of a few hundred characters and cost the common ones next to none.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

_COMMON_HAN = (
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事成方多经"
    "么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日军者意无力它与长把机十民第公此已工使情明性知全三"
    "又关点正业外将两高间由问很最重并物手应战向头文体政美相见被利什二等产或新己制身果加西斯月话合回特代内信表化老给世位次度门任常先"
    "海通教儿原东声提立及比员解水名真论处走义各入几口认条平系气题活尔更别打女变四神总何电数安少报才结反受目太量再感建务做接必场件计"
    "管期市直德资命山金指克许统区保至队形社便空决治展马科司五基眼书非则听白却界达光放强即像难且权思王象完设式色路记南品住告类求据程"
)
_COMMON_TRADITIONAL = _COMMON_HAN + (
    "這個們來為國時會對說過發後裡裏無當學經麼沒動還進開現與長機從實見問義東聲員題應戰關點業將兩間體產話電數報結給門處條氣統區許隊"
    "場計務調認論變總觀師運讓識帶導達難權傳術領規張類據邊設記聽馬書萬買賣車網資訊灣臺請號並"
)
_COMMON_KANJI = (
    "日一国人年大十二本中長出三時行見月後前生五間上東四今金九入学高円子外八六下来気小七山話女北午百書先名千水半男西電校語土木聞食車"
    "何南万毎白天火右読友左会同事自社発者地業方新場員立開手力問代明動京目通言理体田主題意不作用度強公持野以思家世多正安院心界教文元"
    "重近考画海売知道集別物使品計死特私始朝運終台広住無真有口少料工建空急止送切転研足究着店成部政経性的要法定回内報当全数予算合対期"
    "関議治平表現実"
)
_COMMON_HANGUL = (
    "이다는에의을가고하지한로은를도사기서나자있인대어니리들시라아수일그전정해게부만면제스보주으요했과것안성원장여상오구국우때공세소무"
    "습던간관식동러며었와적까거더내비생신려진위문선용미경연년유조발분야중개실계물모히마방번차치래민회통화당단입예임터교명할된될저르없말"
    "같않음본체양학남각날두결복권든형태행업영불최약재심속집작품데바크드트"
)
_HAN_MARKS = "，。、；：？！“”‘’（）《》〈〉【】「」『』—…·～％－／　"
_KANA_MARKS = "。、「」『』ー・（）？！…　〜：％－"

_CONTROL = -25.0
_ODD = -14.0
_FOREIGN = -9.0
# The letters beyond ASCII of each language, the most frequent first. Each language is judged by itself: the letters
# that Hungarian has in cp1250 are all used somewhere in the West too, but never together.
_WESTERN = (
    "éèàêçôâîûùïëœ", "üäößé", "óáíéñú¿¡üºª", "èàùòéì", "ãçáéíóêõâúôàü", "ëéïèóü", "äåöé", "øåæéö", "áðíéþúóöæý",
    "àéèíóòçúü·ï", "éïë",
)  # fmt: skip
_CENTRAL = ("łóążęśćńź", "íáěéřčžýšůúóťďň", "áíéčžýšťúľôňóäďŕĺ", "áéöőíóüűú", "ăîâşţ", "čšžćđ")
_TURKISH = ("ıüşçğöâî",)
_QUOTES = "’“”–"
_SIGNS = "„‚‘—…«»‹›°§€£©®·•¿¡²³½±×µ™\xa0"
_CYRILLIC = "оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфъёіїєґўђјљњћџ"
_GREEK = "αοιετσνηυρπκμλωςδχγθάίόέφήβξύζώψϊΐϋΰ"
_HEBREW = "ויהלאתרמבשנכדחקפעגזטצסםןךףץ"
_ARABIC = "الينمرتوبعدهفسكقحجشطخصذضءئغزثظأإةىآؤ"
_MARKS = "«»–—’“”„…№·،؟؛°\xa0"


@functools.cache
def _zone(codec: str, first: int, last: int, low: int = 0xA1) -> frozenset[str]:
    """Characters of two bytes whose first byte is from `first` to `last`."""
    trails = [*range(0x40, 0x7F), *range(0x80, 0xFD)] if low == 0x40 else range(low, 0xFF)
    found = set()
    for lead in range(first, last + 1):
        for trail in trails:
            try:
                found.add(bytes((lead, trail)).decode(codec))
            except UnicodeDecodeError:
                continue  # no character has these bytes
    return frozenset(found)


def _tiers(*tiers: tuple[float, Iterable[str]]) -> dict[str, float]:
    costs: dict[str, float] = {}
    for cost, letters in tiers:
        for letter in letters:
            costs.setdefault(letter, cost)
    return costs


def _ranked(letters: str, upper: float) -> dict[str, float]:
    """Lower-case letters by rank, capitals at `upper` below them, marks of print."""
    costs = {letter: -2.2 - 0.13 * rank for rank, letter in enumerate(letters)}
    return _tiers(
        (-6.0, _MARKS),
        *((cost, letter) for letter, cost in costs.items()),
        *((cost - upper, letter.upper()) for letter, cost in costs.items() if len(letter.upper()) == 1),
    )


@functools.cache
def _chinese() -> Mapping[str, float]:
    return _tiers((-5.1, _HAN_MARKS), (-6.3, _COMMON_HAN), (-9.3, _zone("gb2312", 0xB0, 0xD7)))


@functools.cache
def _traditional() -> Mapping[str, float]:
    return _tiers((-5.1, _HAN_MARKS), (-6.5, _COMMON_TRADITIONAL), (-9.5, _zone("big5", 0xA4, 0xC6, 0x40)))


@functools.cache
def _japanese() -> Mapping[str, float]:
    hiragana = map(chr, range(0x3041, 0x3094))
    katakana = map(chr, range(0x30A1, 0x30F7))
    level_1 = _zone("euc_jp", 0xB0, 0xCF)
    return _tiers((-4.8, _KANA_MARKS), (-5.0, hiragana), (-6.7, katakana), (-7.3, _COMMON_KANJI), (-10.0, level_1))


@functools.cache
def _korean() -> Mapping[str, float]:
    return _tiers((-5.4, _COMMON_HANGUL), (-9.6, _zone("euc_kr", 0xB0, 0xC8)), (-9.0, _HAN_MARKS))


@functools.cache
def _latin(letters: str, capital_i: str = "I") -> Mapping[str, float]:
    costs = {letter: -1.4 - 0.3 * rank for rank, letter in enumerate(letters)}
    capitals = ((cost - 3.0, capital_i if letter == "ı" else letter.upper()) for letter, cost in costs.items())
    return _tiers(*((cost, letter) for letter, cost in costs.items()), *capitals, (-4.5, _QUOTES), (-6.5, _SIGNS))


_ALSO_WESTERN = (("iso8859_15", -7.0), ("mac_roman", -10.0), ("cp850", -11.0))


@functools.cache
def _profiles() -> tuple[tuple[str, float, Mapping[str, float]], ...]:
    """Codec, how likely it is beforehand, and what its characters cost (logarithms of probabilities)."""
    cyrillic = _ranked(_CYRILLIC, 3.0)
    western = [_latin(letters) for letters in _WESTERN]
    wide = (*western, _chinese(), _traditional(), _japanese(), _korean(), cyrillic)
    return (
        *(("cp1252", 0.0, costs) for costs in western),
        ("gb18030", 0.0, _chinese()),
        ("big5", -1.0, _traditional()),
        ("cp932", -0.5, _japanese()),
        ("euc_jp", -2.0, _japanese()),
        ("cp949", -1.0, _korean()),
        ("cp1251", -1.0, cyrillic),
        ("koi8_r", -3.0, cyrillic),
        ("koi8_u", -3.5, cyrillic),
        ("iso8859_5", -6.0, cyrillic),
        ("cp866", -6.0, cyrillic),
        ("mac_cyrillic", -9.0, cyrillic),
        *((name, prior, costs) for name, prior in _ALSO_WESTERN for costs in western),
        *(("cp1250", -3.5, _latin(letters)) for letters in _CENTRAL),
        *(("iso8859_2", -6.5, _latin(letters)) for letters in _CENTRAL),
        ("cp1253", -2.5, _ranked(_GREEK, 3.0)),
        *(("cp1254", -3.5, _latin(letters, "İ")) for letters in _TURKISH),
        ("cp1255", -2.5, _ranked(_HEBREW, 0.0)),
        ("cp1256", -2.5, _ranked(_ARABIC, 0.0)),
        ("iso8859_6", -4.0, _ranked(_ARABIC, 0.0)),
        ("cp874", -4.0, _tiers((-4.0, map(chr, range(0x0E01, 0x0E5C))))),
        *((name, -6.0, costs) for name in ("utf-16-le", "utf-16-be") for costs in wide),
    )


_WORD_SCRIPTS = frozenset(
    {"cp1251", "koi8_r", "koi8_u", "iso8859_5", "cp866", "mac_cyrillic"}
    | {"cp1253", "cp1255", "cp1256", "iso8859_6", "cp874"}
)
LATIN = frozenset({"cp1252", "iso8859_15", "mac_roman", "cp850", "cp1250", "iso8859_2", "cp1254"})


# The rare encodings, each with the common one beside it: where both give the same text, it is the common one.
_OLDER = {
    "koi8_u": "koi8_r",
    "iso8859_5": "cp1251",
    "cp866": "cp1251",
    "mac_cyrillic": "cp1251",
    "iso8859_6": "cp1256",
    "iso8859_2": "cp1250",
    "iso8859_15": "cp1252",
    "mac_roman": "cp1252",
    "cp850": "cp1252",
}
_QUOTED = frozenset({"mac_roman", "cp850", "iso8859_2"})
# Most of them have a character for every byte, so that anything could be taken for them.
_OLD_STRANGE = 0.1
_MULTIBYTE = frozenset({"gb18030", "big5", "cp932", "euc_jp", "cp949", "utf-16-le", "utf-16-be"})
_MARGIN = 4.0
_LATIN_MARGIN = 3.0
_TORN = -14.0
_MIXED = -5.0
_MOSTLY = 4
SOUND_TO_DAMAGED = 50
"""So many characters beyond ASCII must stand in a file to each damaged one, or it may as well be something else."""
# Quotes, dashes and the ellipsis of the Macintosh are capitals elsewhere, which do not stand after a small letter,
# nor alone between spaces.
_MAC_MARKS = re.compile(rb"[\xc7-\xc9\xd0-\xd5]")
_NOT_MAC = re.compile(rb"[\x80-\xc6\xca-\xcf\xd6-\xff]|[\x80-\xff]{2}")
_NO_CAPITAL = re.compile(rb"(?<=[a-z])[\xc7-\xc9\xd0-\xd5]|(?<= )[\xd0\xd1](?= )")
_DAMAGED = re.compile("\ufffd+")
_BETWEEN = frozenset(_MARKS + _HAN_MARKS + _KANA_MARKS)


class Likely(msgspec.Struct, frozen=True):
    """An encoding that a sample could be in. Scores are logarithms: a difference of 5 is odds of 150 to 1."""

    score: float
    codec: str
    text: str
    strange: float
    """Share (0-1) of the characters beyond ASCII that its languages do not use."""


def likelihoods(sample: bytes) -> list[Likely]:
    """The encodings that `sample` could be in, best first. It may end inside a character."""
    if _of_the_mac(sample):
        return [Likely(0.0, "mac_roman", sample.decode("mac_roman"), 0.0)]
    found: dict[str, Likely] = {}
    texts = {codec: _text(sample, codec) for codec in {codec for codec, _, _ in _profiles()}}
    western = texts["cp1252"][0]
    # Typographic quotes and dashes of cp1252 are accented letters of these.
    never = _QUOTED if western is not None and _is_western(western) else frozenset()
    for codec, prior, costs in _profiles():
        if codec in never:
            continue
        text, torn = texts[codec]
        if text is None or (
            codec in _OLDER and (text == texts[_OLDER[codec]][0] or _strange(text, costs, codec) > _OLD_STRANGE)
        ):
            continue
        score = prior + _score(text, costs, codec) + _TORN * torn
        if codec not in found or score > found[codec].score:
            found[codec] = Likely(score, codec, text, _strange(text, costs, codec))
    return sorted(found.values(), key=lambda one: -one.score)


def clear_winner(found: Sequence[Likely], more: float = 0.0) -> Likely | None:
    """The best one, when it is far enough (and `more`) ahead of every one that gives another text."""
    if not found:
        return None
    best = found[0]
    for other in found[1:]:
        # Between two Latin encodings the West is likelier, and what is wrong then is a letter's accent.
        margin = _LATIN_MARGIN if best.codec in LATIN and other.codec in LATIN else _MARGIN
        if other.text != best.text and best.score - other.score < margin + more:
            return None
    return best


def _text(sample: bytes, codec: str) -> tuple[str | None, int]:
    """The sample in that encoding, or None; and how many of its characters are damaged or torn at its end."""
    try:
        return sample.decode(codec), 0
    except UnicodeDecodeError as error:
        if codec not in _MULTIBYTE or error.start == 0:
            return None, 0
        if error.start >= len(sample) - 3:
            return sample[: error.start].decode(codec), 1
    # Encodings of one byte take every damaged file of Chinese for text of theirs, so it has to stand beside them.
    text = sample.decode(codec, errors="replace")
    damaged = len(_DAMAGED.findall(text))
    return (text, damaged) if damaged * SOUND_TO_DAMAGED <= len(text) else (None, 0)


def _of_the_mac(sample: bytes) -> bool:
    """Whether all that is not ASCII is typographic marks of Mac Roman, and could hardly be letters."""
    if _NOT_MAC.search(sample):
        return False
    marks = len(_MAC_MARKS.findall(sample))
    return marks > 0 and 3 * len(_NO_CAPITAL.findall(sample)) >= marks


def _is_western(text: str) -> bool:
    """Whether some language of the West uses next to all characters beyond ASCII of a text in cp1252."""
    return any(_strange(text, _latin(letters), "cp1252", _FOREIGN) <= _OLD_STRANGE for letters in _WESTERN)


def _strange(text: str, costs: Mapping[str, float], codec: str, most: float = _ODD) -> float:
    """Share (0-1) of the characters beyond ASCII that this language does not use, at a cost of `most` or worse."""
    beyond = Counter(text)
    total = odd = 0
    for letter, count in beyond.items():
        if letter > "\x7f":
            total += count
            if _cost(letter, costs, codec) <= most:
                odd += count
    return odd / max(1, total)


def _score(text: str, costs: Mapping[str, float], codec: str) -> float:
    words = codec in _WORD_SCRIPTS
    latin = codec in LATIN
    total = 0.0
    before = " "
    for letter in text:
        if letter < "\x80":
            total += _ascii(letter)
            mixed = before > "\x7f" and letter.isalpha() and before not in _BETWEEN
        else:
            total += _cost(letter, costs, codec)
            mixed = before < "\x80" and before.isalpha() and letter not in _BETWEEN
            if latin and before > "\x7f" and before.isalpha() and letter.isalpha():
                total -= 3.0  # hardly ever two in a row
            if letter.isupper() and before.islower():
                total -= 5.0
        if mixed and not latin:
            # Two alphabets in one word; Chinese and a Latin word without a space between them are less rare.
            total += _MIXED if words else _MIXED / 2
        before = letter
    if not latin and sum(map(str.isalpha, filter(str.isascii, text))) > _MOSTLY * sum(
        letter > "\x7f" for letter in text
    ):
        total += _MIXED  # a word here and there of another alphabet: rarer than an accent here and there
    return total


def _cost(letter: str, costs: Mapping[str, float], codec: str) -> float:
    known = costs.get(letter)
    if known is not None:
        return known
    if codec in LATIN and letter.isalpha() and letter < "\u0250":
        return _FOREIGN
    return _ODD if letter.isprintable() else _CONTROL


def _ascii(letter: str) -> float:
    if letter.isalnum() or letter in " \n\r\t":
        return -3.0
    if letter in ".,;:!?'\"()-/":
        return -4.5
    return -7.0 if letter.isprintable() else _CONTROL
