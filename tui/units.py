"""Numbers as people read them. An exact number stands bare; an estimate wears a ≈."""

from __future__ import annotations


def tokens(count: int, *, exact: bool = True) -> str:
    """`12,345` or `≈12,345`."""
    return f"{'' if exact else '≈'}{count:,}"


def size(n_bytes: float) -> str:
    """Bytes in binary units: `512 B`, `93.8 MiB`."""
    value = float(n_bytes)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(value) < 1024:
            return f"{value:.0f} B" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} TiB"


def duration(seconds: float) -> str:
    """`0.4 s`, `12 s`, `3 min 20 s`, `1 h 05 min`."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def plural(count: int, one: str, many: str = "") -> str:
    """`1 page`, `2 pages`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"
