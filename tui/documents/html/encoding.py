"""Which encoding a page is in: its mark, what it says of itself if that holds, else as any text file."""

from __future__ import annotations

import codecs
import re

from tui.documents.clean import control_share
from tui.documents.encodings import Decoded, decode
from tui.documents.refusal import Refusal
from tui.units import plural

_HEAD = 16384
_COMMENT = re.compile(rb"<!--.*?-->", re.S)
_XML = re.compile(rb"\A\s*<\?xml[^>]{0,200}?\bencoding\s*=\s*[\"']([\w.:-]+)[\"']")
_META = re.compile(rb"<meta\b[^>]{0,1000}", re.I)
_CHARSET = re.compile(rb"charset\s*=\s*[\"']?\s*([^\s\"';,/>]+)", re.I)
_WITHOUT_MARK = ((b"<\x00", "utf-16-le"), (b"\x00<", "utf-16-be"))
_ESCAPES = re.compile(rb"\x1b[$(]")
_BOMS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)

# What pages call an encoding and what browsers then use: mostly the larger set that was meant
# (the labels of the WHATWG Encoding Standard).
_MEANT = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "latin-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "ksc5601": "cp949",
    "johab": "cp949",
    "utf-16": "utf-8",
    "utf-16-le": "utf-8",
    "utf-16-be": "utf-8",
    "utf-32": "utf-8",
    "utf-7": "",
    "hz": "hz",
}
_OTHER_NAMES = {
    "x-sjis": "cp932",
    "x-gbk": "gb18030",
    "x-x-big5": "big5hkscs",
    "unicode": "utf-8",
    "x-cp1250": "cp1250",
    "x-cp1251": "cp1251",
    "x-cp1252": "cp1252",
    "windows-874": "cp874",
    "windows-949": "cp949",
    "ks_c_5601-1987": "cp949",
    "windows-31j": "cp932",
    "macintosh": "mac-roman",
    "x-mac-cyrillic": "mac-cyrillic",
}
# A few damaged bytes leave an encoding standing that the page itself names.
_MOST_DAMAGE = 0.01
_MAX_CONTROL = 0.02


def decode_page(data: bytes, encoding: str = "") -> Decoded:
    """The page as text and the codec that was decided on.

    In this order: `encoding` when given; the byte order mark; UTF-16 by its first two bytes; UTF-8 when the bytes
    are that beyond doubt; the first encoding in `<?xml …?>` or `<meta>` that is known and fits, a few damaged bytes
    allowed, which are counted in a warning; at last as `encodings.decode` finds it. Raises what that raises.
    """
    if encoding:
        return decode(data, encoding)
    if data.startswith(_BOMS):
        return _quiet(decode(data))
    for start, name in _WITHOUT_MARK:
        if data.startswith(start):
            return _quiet(decode(data, name))
    named = declared(data)
    text = None if _ESCAPES.search(data) or "hz" in named else _strict(data, "utf-8")
    if text is not None and control_share(text) <= _MAX_CONTROL:
        found = decode(data)
        if not data.isascii() and named and named[0] != "utf-8":
            note = f"It says that it is {named[0]}, but it is UTF-8 and was read so."
            return Decoded(found.text, found.encoding, (*found.warnings, note))
        return found
    for name in named:
        if name != "utf-8" and _strict(data, name) is not None:
            return _quiet(decode(data, name))
    for name in named:
        if name != "utf-8" and (found_damaged := _damaged(data, name)) is not None:
            return found_damaged
    return _told_wrong(data) if "utf-8" in named else decode(data)


def _told_wrong(data: bytes) -> Decoded:
    """A page that says UTF-8 and is not quite that: another program's Latin letters, or a few damaged bytes."""
    told = _damaged(data, "utf-8")
    if told is None:
        return decode(data)
    try:
        found = decode(data)
    except Refusal:
        return told
    return found if found.encoding in ("utf-8", "cp1252") else told


def declared(data: bytes) -> list[str]:
    """Codecs that the page's head names, in order, each once; labels that mean nothing are left out."""
    head = _COMMENT.sub(b"", data[:_HEAD])
    labels = [match[1] for match in [_XML.match(head)] if match]
    for meta in _META.findall(head):
        labels.extend(match[1] for match in [_CHARSET.search(meta)] if match)
    return list(dict.fromkeys(name for label in labels if (name := _codec(label))))


def _codec(label: bytes) -> str:
    """The codec that a label means; empty when it means none."""
    name = label.decode("ascii", "replace").strip().lower()
    if name in _OTHER_NAMES:
        return _OTHER_NAMES[name]
    try:
        found = codecs.lookup(name).name
    except (LookupError, ValueError):
        return ""
    # Python also has codecs that are no text encodings (`rot13`, `base64`, `punycode`, `undefined`).
    if found not in _MEANT and not _is_charset(found):
        return ""
    return _MEANT.get(found, found)


def _is_charset(name: str) -> bool:
    try:
        return b"<".decode(name) == "<" and name not in ("punycode", "idna", "unicode_escape", "raw_unicode_escape")
    except (LookupError, ValueError):
        return False


def _strict(data: bytes, name: str) -> str | None:
    try:
        return data.decode(name)
    except UnicodeDecodeError:
        return None


def _damaged(data: bytes, name: str) -> Decoded | None:
    text = data.decode(name, errors="replace")
    damaged = text.count("\ufffd")
    if damaged > _MOST_DAMAGE * len(text) + 1:
        return None
    try:
        sound = decode(text.encode("utf-8"))
    except Refusal:
        return None
    note = f"{plural(damaged, 'damaged place')} stand as \ufffd in the text."
    return Decoded(sound.text, name.replace("_", "-"), (*sound.warnings, note))


def _quiet(decoded: Decoded) -> Decoded:
    """A page that names its encoding, or has a mark, needs no word about what was decided."""
    return Decoded(
        decoded.text,
        decoded.encoding,
        tuple(note for note in decoded.warnings if not note.startswith("It was read as")),
    )
