"""The terminal's input where it is not UTF-8: shown as what it is, not the end of the program."""

from __future__ import annotations

import codecs
import functools
from collections.abc import Callable

from textual.drivers import linux_driver


def _replacing(encoding: str) -> Callable[[], codecs.IncrementalDecoder]:
    return functools.partial(codecs.getincrementaldecoder(encoding), errors="replace")


class ReplacingDriver(linux_driver.LinuxDriver):
    """Textual's driver, except that a byte that is not UTF-8 (an old paste, an old mouse) becomes U+FFFD."""

    def run_input_thread(self) -> None:
        # The driver makes its decoder here, strict, from this name of its module.
        vars(linux_driver)["getincrementaldecoder"] = _replacing
        super().run_input_thread()
