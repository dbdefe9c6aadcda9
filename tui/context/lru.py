"""A cache that forgets what was used longest ago once it grows beyond a size."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class SizedCache(Generic[K, V]):
    """Keeps values up to a total size of `limit`, in whatever unit `put` is told. Not thread-safe."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._size = 0
        self._items: OrderedDict[K, tuple[V, int]] = OrderedDict()

    def get(self, key: K) -> V | None:
        item = self._items.get(key)
        if item is None:
            return None
        self._items.move_to_end(key)
        return item[0]

    def put(self, key: K, value: V, size: int) -> None:
        """Keep `value`; one larger than the whole cache is not kept."""
        old = self._items.pop(key, None)
        if old is not None:
            self._size -= old[1]
        if size > self._limit:
            return
        self._items[key] = (value, size)
        self._size += size
        while self._size > self._limit:
            _, (_, dropped) = self._items.popitem(last=False)
            self._size -= dropped

    def __len__(self) -> int:
        return len(self._items)
