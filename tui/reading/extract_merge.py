"""Records from all parts made one list: the same thing once, with all its places, and nothing that was said lost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from tui.documents.places import Range
from tui.reading.extract_evidence import plain
from tui.reading.terms import terms

_SAME = 0.6


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """A record with its places and the fields that its text does not bear out."""

    record: dict[str, Any]
    ranges: tuple[Range, ...]
    unsupported: tuple[str, ...] = ()


def merge(found: Iterable[Found], key: Sequence[str]) -> list[Found]:
    """Records in the order of their first place. Two are one when all of their `key` fields are equal and no other
    field contradicts: it is equal, or missing in one, or one text says what the other says and more.

    Of two values the one that its text bears out stays, then the longer one. Records that contradict stay apart.
    """
    kept: list[Found] = []
    by_key: dict[tuple[Any, ...], list[int]] = {}
    for one in found:
        values = tuple(_comparable(one.record.get(name)) for name in key)
        if any(value in (None, "", ()) for value in values):
            values = ("whole", _comparable(one.record))  # nothing to know it by: only its exact double is the same
        same = next((at for at in by_key.get(values, []) if _agree(kept[at].record, one.record, key)), None)
        if same is None:
            by_key.setdefault(values, []).append(len(kept))
            kept.append(one)
        else:
            kept[same] = _joined(kept[same], one)
    return kept


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
        if short in long:
            # `5` says nothing of `5000`.
            return short == long or not short.isdigit()
        few, many = sorted((set(terms(a)), set(terms(b))), key=len)
        numbers = {term for term in few ^ many if term[:1].isdigit()}
        return not numbers and len(few) > 1 and len(few & many) >= _SAME * len(few)
    return bool(_comparable(a) == _comparable(b))


def _joined(first: Found, second: Found) -> Found:
    record: dict[str, Any] = {}
    unsupported: list[str] = []
    for name in dict.fromkeys((*first.record, *second.record)):
        source = _better(name, first, second)
        record[name] = source.record.get(name)
        unsupported += [field for field in source.unsupported if field.partition(".")[0] == name]
    return Found(
        record=record,
        ranges=tuple(dict.fromkeys((*first.ranges, *second.ranges))),
        unsupported=tuple(unsupported),
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
