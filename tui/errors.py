"""The errors a user can meet. Each says what happened, to what, and what to do; each knows its exit code."""

from __future__ import annotations

import enum


class ExitCode(enum.IntEnum):
    """Exit codes of the command line."""

    OK = 0
    SOME_FAILED = 1
    USAGE = 2
    NO_MODEL = 3
    DOES_NOT_FIT = 4
    INTERRUPTED = 130


class LongscrollError(Exception):
    """A failure with a sentence for the user.

    `what` says what happened and to which file or flag; `remedy` says what to do about it.
    Neither holds control characters that were not made safe (`tui.text.display_safe` is applied where they are shown).
    """

    exit_code: ExitCode = ExitCode.SOME_FAILED

    def __init__(self, what: str, remedy: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.what} {self.remedy}".strip()


class UsageProblem(LongscrollError):
    """The command was called with options or values that make no sense."""

    exit_code = ExitCode.USAGE


class InputProblem(LongscrollError):
    """A file that was to be read could not be: missing, encrypted, without text, too large, damaged."""


class StorageProblem(LongscrollError):
    """The state folder, the database or a slot file could not be read or written: disk full, read-only, damaged."""


class NoModel(LongscrollError):
    """No llama-server or no model: not found, not startable, not reachable, not a GGUF file."""

    exit_code = ExitCode.NO_MODEL


class DoesNotFit(LongscrollError):
    """A prompt and its reply's reserve are larger than the context. Nothing has been sent.

    `needed` and `available` are tokens: prompt plus reserve, and the slot's context size.
    """

    exit_code = ExitCode.DOES_NOT_FIT

    def __init__(self, needed: int, available: int, remedy: str = "", *, subject: str = "The prompt") -> None:
        super().__init__(
            f"{subject} needs {needed:,} tokens with the room kept for the answer; the context holds {available:,}.",
            remedy,
        )
        self.needed = needed
        self.available = available


class Interrupted(LongscrollError):
    """The user stopped the work (Ctrl-C). What was finished is kept."""

    exit_code = ExitCode.INTERRUPTED
