"""Records from all parts made one list: the same thing once, with all its places, and nothing that was said lost."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from tui.documents.places import Range
from tui.reading.extract_evidence import plain, word_ends
from tui.reading.terms import terms

_SAME = 0.6
_DIGIT = re.compile(r"\d")
_PARAPHRASE = 5
"""Terms: shorter texts that differ in a word speak of two things, as `north pump house` and `south pump house`."""


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A record with its places and the fields that its text does not bear out."""

    record: dict[str, Any]
    ranges: tuple[Range, ...]
    unsupported: tuple[str, ...] = ()
    sure: bool = True
    """What the record is known by stands at its places."""


def merge(found: Iterable[Found], key: Sequence[str]) -> list[Found]:
    """Records in the order of their first place. Two are one when all of their `key` fields are equal and no other
    field contradicts: it is equal, or missing in one, or one text says what the other says and more.

    Where records of one key contradict each other, the key names no single thing: then none of them fills in what
    another one lacks. Of two values the one that its text bears out stays, then the longer one. Records that
    contradict stay apart. Of the places those stay that hold what the record is known by, if there are any.
    """
    known = [(one, _known_by(one, key)) for one in found]
    by_key: dict[tuple[Any, ...], list[Found]] = {}
    for one, values in known:
        by_key.setdefault(values, []).append(one)
    weak = {values for values, group in by_key.items() if _contradict(group, key)}
    kept: list[Found] = []
    places: dict[tuple[Any, ...], list[int]] = {}
    for one, values in known:
        alike = (*values, _filled(one.record)) if values in weak else values
        same = next((at for at in places.get(alike, []) if _agree(kept[at].record, one.record, key)), None)
        if same is None:
            places.setdefault(alike, []).append(len(kept))
            kept.append(one)
        else:
            kept[same] = _joined(kept[same], one)
    return kept


def _known_by(one: Found, key: Sequence[str]) -> tuple[Any, ...]:
    values = tuple(_comparable(one.record.get(name)) for name in key)
    if not values or any(value in (None, "", ()) for value in values):
        return ("whole", _comparable(one.record))  # nothing to know it by: only its exact double is the same
    return values


def _filled(record: dict[str, Any]) -> frozenset[str]:
    return frozenset(name for name, value in record.items() if not _blank(value))


def _contradict(group: Sequence[Found], key: Sequence[str]) -> bool:
    """Whether some field has values in these records that cannot both be right."""
    for name in dict.fromkeys(name for one in group for name in one.record if name not in key):
        different = {_comparable(value): value for one in group if not _blank(value := one.record.get(name))}
        values = list(different.values())
        if any(not _compatible(a, b) for at, a in enumerate(values) for b in values[:at]):
            return True
    return False


def is_empty(record: dict[str, Any]) -> bool:
    """Whether a record says nothing."""
    return all(_blank(value) for value in record.values())


def _blank(value: Any) -> bool:
    if isinstance(value, str):
        return not plain(value).strip(" -–—.")
    if isinstance(value, dict):
        return is_empty(value)
    return value is None or value == []


def _comparable(value: Any) -> Any:
    if isinstance(value, str):
        return plain(value).strip(" .,;:!?\"'“”。，；：")
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, list):
        return tuple(sorted((_comparable(inner) for inner in value), key=repr))
    return tuple(sorted((name, _comparable(inner)) for name, inner in value.items() if not _blank(inner)))


def _agree(a: dict[str, Any], b: dict[str, Any], key: Sequence[str]) -> bool:
    return all(_compatible(a.get(name), b.get(name)) for name in dict.fromkeys((*a, *b)) if name not in key)


def _compatible(a: Any, b: Any) -> bool:
    if _blank(a) or _blank(b):
        return True
    if isinstance(a, str) and isinstance(b, str):
        short, long = sorted((_comparable(a), _comparable(b)), key=len)
        if short == long:
            return True
        # `5` says nothing of `5000`, nor `p1` of `p10`.
        if short in long and not short.isdigit():
            return word_ends(long, long.index(short), short) or word_ends(long, long.rindex(short), short)
        few, many = sorted((set(terms(a)), set(terms(b))), key=len)
        numbered = any(_DIGIT.search(term) for term in few ^ many)
        return not numbered and len(few) >= _PARAPHRASE and len(few & many) >= _SAME * len(few)
    return bool(_comparable(a) == _comparable(b))


def _joined(first: Found, second: Found) -> Found:
    record: dict[str, Any] = {}
    unsupported: list[str] = []
    for name in dict.fromkeys((*first.record, *second.record)):
        source = _better(name, first, second)
        record[name] = source.record.get(name)
        unsupported += [field for field in source.unsupported if field.partition(".")[0] == name]
    sources = [one for one in (first, second) if one.sure] or [first, second]
    return Found(
        record=record,
        ranges=tuple(dict.fromkeys(place for one in sources for place in one.ranges)),
        unsupported=tuple(unsupported),
        sure=sources[0].sure,
    )


def _better(name: str, first: Found, second: Found) -> Found:
    """The record whose value of a field stays."""
    a, b = first.record.get(name), second.record.get(name)
    if _blank(a) or _blank(b):
        return second if _blank(a) else first
    doubted = [any(field.partition(".")[0] == name for field in one.unsupported) for one in (first, second)]
    if doubted[0] != doubted[1]:
        return second if doubted[0] else first
    return second if isinstance(a, str) and isinstance(b, str) and len(_comparable(b)) > len(_comparable(a)) else first
