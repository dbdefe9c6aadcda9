"""A store of its own for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tui.paths import Paths
from tui.store.database import Store


@pytest.fixture
def store(paths: Paths) -> Iterator[Store]:
    with Store(paths) as opened:
        yield opened
