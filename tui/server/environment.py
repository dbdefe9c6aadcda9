"""The environment a server is run in: the caller's, without what would configure the server behind our back."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from tui.server.binary import ServerBinary

_DROPPED = {"LLAMA_API_KEY", "LLAMA_SERVER_SLOTS_DEBUG"}
"""Besides `LLAMA_ARG_*`: another key, and the switch that shows prompts in `/slots`."""


def child_environment(binary: ServerBinary, key: str = "", env: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment for `binary`. The key goes here and not into the arguments, which everybody can read."""
    child = {name: value for name, value in env.items() if name not in _DROPPED and not name.startswith("LLAMA_ARG_")}
    child["GGML_NO_BACKTRACE"] = "1"  # a debugger attached to a dying server takes seconds and tells users nothing
    if key:
        child["LLAMA_API_KEY"] = key
    if binary.library_path and sys.platform == "linux":
        earlier = child.get("LD_LIBRARY_PATH", "")
        child["LD_LIBRARY_PATH"] = f"{binary.library_path}:{earlier}" if earlier else binary.library_path
    return child
