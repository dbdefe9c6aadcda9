"""The terminal's input where it is not as it should be: not UTF-8, or key reports that are none."""

from __future__ import annotations

import codecs
import functools
from collections.abc import Callable, Iterable

from textual import events
from textual._xterm_parser import XTermParser
from textual.drivers import linux_driver
from textual.keys import Keys


def _replacing(encoding: str) -> Callable[[], codecs.IncrementalDecoder]:
    return functools.partial(codecs.getincrementaldecoder(encoding), errors="replace")


class PatientParser(XTermParser):
    """Textual's parser, except that a report of a key with impossible numbers in it is no key."""

    def _sequence_to_key_events(self, sequence: str, alt: bool = False) -> Iterable[events.Key]:
        try:
            return list(super()._sequence_to_key_events(sequence, alt))
        except (ValueError, OverflowError):
            return [events.Key(Keys.Ignore, sequence)]


class ReplacingDriver(linux_driver.LinuxDriver):
    """Textual's driver, except that a byte that is not UTF-8 (an old paste, an old mouse) becomes U+FFFD."""

    def run_input_thread(self) -> None:
        # The driver makes its decoder, a strict one, and its parser here from these names of its module.
        vars(linux_driver).update(getincrementaldecoder=_replacing, XTermParser=PatientParser)
        super().run_input_thread()
