"""Fixtures of this folder."""

from __future__ import annotations

from tests.server.scripted import serve

__all__ = ["serve"]
