"""What one server leaves to the next: its log, and what has to be the same when it is started again."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import IO

from tui.paths import cannot_write, ensure
from tui.server.types import Props


def version_of(model: Path) -> tuple[int, int] | None:
    """Size and time of change of the model's file; None where it is not there, which the server will say."""
    try:
        found = model.stat()
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns


def alike(before: Props, after: Props) -> bool:
    """Whether prompts and counts made for the one are right for the other."""
    names = ("n_ctx", "total_slots", "model_path", "build_info", "chat_template", "bos_token", "eos_token")
    return all(getattr(before, name) == getattr(after, name) for name in names)


def keep_log(path: Path) -> None:
    """Put the log of a server that died aside; the new one begins an empty one."""
    try:
        path.replace(path.with_name(f"{path.stem}-died-{time.time_ns() // 1_000_000}{path.suffix}"))
    except FileNotFoundError:
        return
    except OSError as error:
        raise cannot_write(path, error) from error


def open_log(path: Path) -> IO[bytes]:
    """An empty log that its owner alone can read: it may hold pieces of what is read and said."""
    ensure(path.parent)
    try:
        path.unlink(missing_ok=True)
        return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_EXCL, 0o600), "wb", buffering=0)
    except OSError as error:
        raise cannot_write(path, error) from error
