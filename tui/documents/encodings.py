"""Bytes to text: which encoding a file has, decided step by step, never by throwing bytes away."""

from __future__ import annotations

import codecs
import itertools
import re

import msgspec

from tui.documents.clean import control_share, number_list, unreadable_share, without_forbidden
from tui.documents.likely import LATIN, SOUND_TO_DAMAGED, Likely, clear_winner, likelihoods
from tui.documents.refusal import NotText, Refusal
from tui.errors import UsageProblem
from tui.units import plural

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# The escapes of ISO-2022 are plain ASCII, so they must be looked for before UTF-8 is tried.
_ISO_2022_JP = re.compile(rb"\x1b\$[@B]|\x1b\(I|\x1b\$\([DQ]")
_BEYOND_ASCII = re.compile("[^\x00-\x7f\ufffd]")
_LINE_END = re.compile(r"\r\n?|\n")
_ISO_2022_KR = re.compile(rb"\x1b\$\)C")
_JAPANESE = ("iso2022_jp", "iso2022_jp_ext", "iso2022_jp_2", "iso2022_jp_2004")
# A guessed subset is tried as its superset when the subset cannot hold the whole file.
_WIDER = {
    "ascii": "cp1252",
    "big5": "big5hkscs",
    "euc_jp": "euc_jis_2004",
    "euc_kr": "cp949",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "iso8859_1": "cp1252",
    "latin_1": "cp1252",
    "shift_jis": "cp932",
}
# Larger files are judged by a sample; the whole file is then decoded strictly, so a wrong guess cannot pass unseen.
_SAMPLE = 256 * 1024
_JUDGED = 8192
_GLANCE = 400
_SURER = 12.0
_BY_LOOK = "judged by its look"
_MAX_STRANGE = 0.3
_TINY = 64
_MAX_CONTROL = 0.02
_MOSTLY_CONTROL = 0.3
_MAX_UNREADABLE = 0.05
_MAX_DAMAGED = 0.05


class Decoded(msgspec.Struct, frozen=True):
    """Text, the codec that was decided on, and sentences for the user about what was not certain."""

    text: str
    encoding: str
    warnings: tuple[str, ...] = ()


def check_encoding(encoding: str) -> None:
    """Raises UsageProblem unless Python knows this text encoding."""
    try:
        b" ".decode(encoding)
    except UnicodeDecodeError:
        return  # two bytes or more make a character
    except (LookupError, ValueError) as error:
        raise UsageProblem(
            f"There is no text encoding {encoding!r}.", "Name one such as utf-8, gb18030 or cp1252."
        ) from error


def decode(data: bytes, encoding: str | None = None) -> Decoded:
    """The text of `data`: by its mark, by ISO-2022 escapes, as strict UTF-8, else by how likely its characters are.

    A file that is UTF-8 but for a few bytes keeps them as U+FFFD, counted and located in a warning. `encoding` is
    taken instead of a decision when given; Python must know it. Raises NotText for a binary file, Refusal when no
    encoding fits with certainty.
    """
    if encoding is not None:
        return _by_order(data, encoding)
    for mark, name in _MARKS:
        if data.startswith(mark):
            return _by_mark(data[len(mark) :], name)
    for pattern, names in ((_ISO_2022_JP, _JAPANESE), (_ISO_2022_KR, ("iso2022_kr",))):
        if pattern.search(data):
            for name in names:
                if (text := _strict(data, name)) is not None:
                    return _settled(text, name, "by its escape sequences")
    text = _strict(data, "utf-8")
    if text is None:
        return _nearly_utf8(data) or _guessed(data)
    if _few_controls(text):
        return _settled(text, "utf-8", "")
    # UTF-16 without a mark is valid UTF-8 full of NULs when it holds ASCII only.
    if "\x00" in text:
        return _guessed(data)
    raise NotText()


def _by_order(data: bytes, encoding: str) -> Decoded:
    codec = codecs.lookup(encoding)
    for mark, name in _MARKS:
        if codec.name == name and data.startswith(mark):
            data = data[len(mark) :]
    text = _strict(data, codec.name)
    if text is not None:
        return _settled(text, codec.name, None)
    damaged = _with_damage(data, codec.name)
    if damaged is None:
        raise Refusal(f"holds bytes that are not {codec.name}.", "Name another encoding, or none to let it be found.")
    text, note = damaged
    return _settled(text, codec.name, None, note)


def _by_mark(data: bytes, name: str) -> Decoded:
    text = _strict(data, name)
    if text is not None:
        return _settled(text, name, "by its byte order mark")
    text = data.decode(name, errors="replace")
    if unreadable_share(text) > _MAX_UNREADABLE:
        raise NotText()
    damaged = text.count("\ufffd")
    return _settled(
        text, name, "by its byte order mark", f"{plural(damaged, 'damaged place')} stand as \ufffd in the text."
    )


def _with_damage(data: bytes, name: str) -> tuple[str, str] | None:
    """The text of a file with a few bytes that its encoding does not have, and a sentence that says where they are.

    None when they are so many that it may be another encoding: less than 50 characters beyond ASCII to each.
    """
    try:
        text = data.decode(name, errors="replace")
    except (UnicodeDecodeError, LookupError):
        return None  # a codec that cannot go on after damage
    spots = [match.start() for match in re.finditer("\ufffd+", text)]
    if len(spots) * SOUND_TO_DAMAGED > len(_BEYOND_ASCII.findall(text)):
        return None
    return text, f"It holds damaged bytes in {_lines_of(text, spots)}; they stand as \ufffd in the text."


def _lines_of(text: str, spots: list[int]) -> str:
    lines = number_list(len(_LINE_END.findall(text, 0, spot)) + 1 for spot in spots[:20])
    return f"{'line' if len(spots) == 1 else 'lines'} {lines}{' and further ones' if len(spots) > 20 else ''}"


def _nearly_utf8(data: bytes) -> Decoded | None:
    """UTF-8 with a few damaged bytes, or None when it is no such thing.

    At least ten sound multi-byte characters must stand against each damaged place: other encodings hold none.
    """
    if _damaged_share(data[:_SAMPLE]) > _MAX_DAMAGED:
        return None  # decoded, a large binary file takes several times its size
    text = data.decode("utf-8", errors="replace")
    sound = len(_BEYOND_ASCII.findall(text))
    spots = [match.start() for match in re.finditer("\ufffd+", text)]
    if not spots or sound < 10 * len(spots) or not _few_controls(text):
        return None
    if text.count("\ufffd") > _MAX_DAMAGED * len(text):
        return None
    where = _lines_of(text, spots)
    return _settled(text, "utf-8", "", f"It is UTF-8 with damaged bytes in {where}; they stand as \ufffd in the text.")


def _damaged_share(data: bytes) -> float:
    text = data.decode("utf-8", errors="replace")
    return text.count("\ufffd") / len(text)


def _few_controls(text: str) -> bool:
    # Its head first: of a large file of NULs, each one is an object in the list of them.
    return control_share(text[:_SAMPLE]) <= _MOSTLY_CONTROL and control_share(text) <= _MAX_CONTROL


def _guessed(data: bytes) -> Decoded:
    for name in _candidates(data):
        text = _strict(data, name)
        note = ""
        if text is None:
            text, note = _torn_end(data, name)
        if text is None:
            text, note = _with_damage(data, name) or (None, "")
        if text is not None and _few_controls(text) and unreadable_share(text) <= _MAX_UNREADABLE:
            return _settled(text, name, _BY_LOOK, *([note] if note else []))
    if b"\x00" in data or _binary_looking(data):
        raise NotText()
    raise Refusal(
        "is text in an encoding that could not be decided.",
        "Name it with --encoding (such as gb18030, big5, shift_jis or cp1252), or save the file as UTF-8.",
    )


def _candidates(data: bytes) -> list[str]:
    """Codec names worth trying, best first; none when nothing is ahead of the rest."""
    sample = _telling(data)
    if len(sample) > _GLANCE:
        # Next to all are decided so, which counts in a tree of thousands of files; but a letter further on may tell
        # one Latin encoding from another.
        best = clear_winner(likelihoods(sample[:_GLANCE]), _SURER)
        if best and best.codec not in LATIN and best.strange <= _MAX_STRANGE and _strict(data, best.codec) is not None:
            return [best.codec]
    found = likelihoods(sample)
    best = clear_winner(found)
    if best is not None and best.strange <= _MAX_STRANGE:
        first = best.codec
    else:
        from charset_normalizer import from_bytes

        match = from_bytes(_sample(data)).best()
        if match is None:
            return []
        first = match.encoding
        known = {one.codec: one for one in found}
        # It is believed where the other knows no better, and where the two agree.
        if found and found[0].strange <= _MAX_STRANGE and not _alike(known.get(first), found[0]):
            return []
        if len(data) < _TINY:
            return []
    return list(dict.fromkeys((first, _WIDER.get(first, first))))


def _alike(one: Likely | None, other: Likely) -> bool:
    return one is not None and one.text == other.text


def _telling(data: bytes) -> bytes:
    """What the encoding is judged by: the head of a file; of a mostly ASCII one, its lines that are not ASCII."""
    head = data[:_JUDGED]
    if len(data) <= _JUDGED or b"\x00" in head or sum(byte > 127 for byte in head) > 0.2 * len(head):
        return head
    lines = (line for line in data[:_SAMPLE].splitlines(keepends=True) if not line.isascii())
    return b"".join(itertools.islice(lines, _JUDGED))[:_JUDGED] or head


def _torn_end(data: bytes, name: str) -> tuple[str | None, str]:
    """A file that was cut inside its last character: the text before it, and a sentence that says so."""
    try:
        data.decode(name)
    except UnicodeDecodeError as error:
        if error.start >= len(data) - 4:
            return data[: error.start].decode(name) + "\ufffd", "It ends inside a character, which stands as \ufffd."
    return None, ""


def _sample(data: bytes) -> bytes:
    """What the guess is made from: whole lines, for a torn character at the end spoils it."""
    head = data[:_SAMPLE]
    if b"\x00" in head:
        return head
    cut = head.rfind(b"\n", len(head) // 2)
    return head[: cut + 1] if cut >= 0 else head


def _strict(data: bytes, name: str) -> str | None:
    try:
        return data.decode(name)
    except (UnicodeDecodeError, LookupError):
        return None


def _binary_looking(data: bytes) -> bool:
    head = data[:65536]
    odd = sum(1 for byte in head if byte < 32 and byte not in b"\t\n\r\f\x1b")
    return odd > 0.02 * len(head)


def _settled(text: str, encoding: str, how: str | None, *warnings: str) -> Decoded:
    """The decision in words; `how` it was made is None where the user made it."""
    text, forbidden = without_forbidden(text)
    encoding = encoding.replace("_", "-")
    notes = list(warnings)
    if encoding != "utf-8" and how is not None:
        doubt = " If it reads wrong, name another with --encoding." if how == _BY_LOOK else ""
        notes.insert(0, f"It was read as {encoding}, {how}.{doubt}")
    if forbidden:
        notes.append(f"{plural(forbidden, 'character')} that no text may hold (such as NUL) stand as \ufffd.")
    return Decoded(text, encoding, tuple(notes))
