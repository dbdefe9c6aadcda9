"""Settings of the screen's tests: on a shared machine no example may fail for being slow."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("screen", deadline=None)
settings.load_profile("screen")
