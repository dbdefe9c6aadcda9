"""What can go wrong between longscroll and llama-server, each as an error with a sentence and a remedy."""

from __future__ import annotations

from tui.errors import DoesNotFit, LongscrollError, NoModel
from tui.text import one_line

MESSAGE_LIMIT = 400
"""Longest piece of a server's own text that goes into a message, in characters."""


class ServerGone(NoModel):
    """The server does not answer: it is not there, it died, or the connection broke before an answer came."""


class StreamBroken(ServerGone):
    """A stream ended before its proper end (no `[DONE]`). The text that came so far was delivered as events."""


class StreamCancelled(StreamBroken):
    """A stream was ended by longscroll itself, because the server is being stopped."""


class ServerDied(ServerGone):
    """A server that longscroll started ended unasked.

    `kind` names the cause (see `tui.server.diagnose`), `returncode` is the exit status, negative for a signal.
    """

    def __init__(self, what: str, remedy: str = "", *, kind: str = "unknown", returncode: int | None = None) -> None:
        super().__init__(what, remedy)
        self.kind = kind
        self.returncode = returncode


def hung() -> ServerDied:
    """The end of a server that answered nobody any more and was killed for it."""
    return ServerDied(
        "llama-server stopped answering and was ended.",
        "If it happens again: other programs may take all of the memory or the processor.",
        kind="hung",
    )


class StartFailed(NoModel):
    """A server could not be started. `kind` names the cause (see `tui.server.diagnose`)."""

    def __init__(self, what: str, remedy: str = "", *, kind: str = "unknown", returncode: int | None = None) -> None:
        super().__init__(what, remedy)
        self.kind = kind
        self.returncode = returncode


class StartStopped(NoModel):
    """`stop` was called while the server was still starting."""


class StillLoading(ServerGone):
    """The server is up and loads its model; it answers 503 until then."""


class WrongKey(NoModel):
    """The server wants another API key."""


class ServerAnswer(LongscrollError):
    """The server answered with an error. `code` is its HTTP-like code, `type` its error type, both as it sent them."""

    def __init__(self, message: str, *, code: int, type: str, request: str = "") -> None:  # noqa: A002
        place = f" to {request}" if request else ""
        super().__init__(
            f"llama-server answered{place} with an error ({code} {one_line(type, 60)}): "
            f"{one_line(message, MESSAGE_LIMIT)}",
            "The server's log may say more.",
        )
        self.message = message
        self.code = code
        self.type = type


class ContextOverflow(DoesNotFit):
    """The server refused a prompt as larger than its context; nothing was processed.

    `needed` is the prompt alone in tokens, as the server counted it; `available` is the slot's context.
    """

    def __init__(self, needed: int, available: int) -> None:
        super().__init__(needed, available, "Shorten the input or start with a larger `--ctx-size`.")
        what = f"The prompt alone has {needed:,} tokens; the context holds {available:,}."
        self.what = what
        self.args = (what,)
