"""Why a file was not read: raised inside a reader, turned into an InputProblem by the loader."""

from __future__ import annotations

from typing import Literal

from tui.errors import InputProblem

RefusalKind = Literal["input", "password", "wrong-password"]


class Refusal(Exception):
    """A reader gives up. `reason` reads on from the file's name: `is empty.`; `remedy` says what to do."""

    def __init__(self, reason: str, remedy: str, kind: RefusalKind = "input") -> None:
        super().__init__(reason)
        self.reason = reason
        self.remedy = remedy
        self.kind: RefusalKind = kind


class NotText(Refusal):
    """The bytes are no text in any encoding: a binary file."""

    def __init__(self) -> None:
        super().__init__(
            "is a binary file, not text.",
            "Give a PDF, a text file, Markdown, source code or a folder of such files.",
        )


class PasswordNeeded(InputProblem):
    """A PDF asks for a password; `wrong` when one was given and did not open it."""

    def __init__(self, what: str, remedy: str, *, wrong: bool = False) -> None:
        super().__init__(what, remedy)
        self.wrong = wrong
