"""What reading tells its listeners while it works. Small frozen structs; figures in tokens unless said."""

from __future__ import annotations

import msgspec

from tui.reading.ledger import LedgerEntry, State
from tui.reading.results import AskResult, ExtractResult, Strategy, SummaryResult
from tui.server.types import PromptProgress, ReasoningDelta, StreamFinished, TextDelta


class PlanMade(msgspec.Struct, frozen=True, kw_only=True):
    """How a document will be read."""

    strategy: Strategy
    why: str
    """In a sentence."""
    chunks: int
    tokens: int
    """Of the document."""
    levels: int
    """At most so many merges, the last one into the summary, if every note is as long as it may be."""
    reserve: int
    """Kept for the final answer."""
    reused: int
    """Chunks that are finished already, from an earlier run."""


class ChunkStarted(msgspec.Struct, frozen=True):
    """A slot begins with a chunk."""

    index: int
    slot: int
    pages: tuple[int, int] | None


class ChunkProgress(msgspec.Struct, frozen=True, kw_only=True):
    """Prompt tokens of a chunk that are processed, and tokens that came back so far (about; one for each piece)."""

    index: int
    processed: int
    total: int
    generated: int


class ChunkAgain(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a chunk cannot be used; it is asked again."""

    index: int
    reason: str


class ChunkDone(msgspec.Struct, frozen=True, kw_only=True):
    """A chunk is finished, and its notes are in the journal unless it failed."""

    index: int
    state: State
    reused: bool
    done: int
    """Chunks finished so far."""
    total: int
    reason: str = ""
    """Why it failed or how its notes were made otherwise than planned."""


class GroupDone(msgspec.Struct, frozen=True, kw_only=True):
    """A group of notes was merged into one note."""

    level: int
    done: int
    total: int
    reused: bool


class Combining(msgspec.Struct, frozen=True, kw_only=True):
    """What parts said is being made one answer: calls that are done, and a further token that came."""

    done: int
    total: int


class LevelDone(msgspec.Struct, frozen=True, kw_only=True):
    """All notes of one level are merged."""

    level: int
    notes_before: int
    notes_after: int


class SummaryDelta(msgspec.Struct, frozen=True):
    """A piece of the summary."""

    text: str


class SummaryRestarted(msgspec.Struct, frozen=True):
    """What has come of the summary is not good; it is asked for again. Forget the pieces so far."""

    reason: str


class SummaryReplaced(msgspec.Struct, frozen=True):
    """The summary as it stands, instead of the pieces so far: an earlier attempt was better, or it was put in order."""

    text: str


class Finished(msgspec.Struct, frozen=True, kw_only=True):
    """The last event of a summary."""

    result: SummaryResult
    ledger: tuple[LedgerEntry, ...]
    """Where every character of the document went, in its order."""


ReadingEvent = (
    PlanMade
    | ChunkStarted
    | ChunkProgress
    | ChunkDone
    | GroupDone
    | LevelDone
    | SummaryDelta
    | SummaryRestarted
    | SummaryReplaced
    | Finished
)


class Restored(msgspec.Struct, frozen=True, kw_only=True):
    """The documents' tokens were brought back from a slot file."""

    tokens: int
    seconds: float
    instead_of_s: float
    """About how long processing them would have taken; 0 when not known."""


class Overflow(msgspec.Struct, frozen=True):
    """Prompt and reserve are larger than the context; that prompt was not sent. Passages follow, or DoesNotFit."""

    needed: int
    available: int


class AskStarted(msgspec.Struct, frozen=True, kw_only=True):
    """What follows belongs to this question."""

    question: str
    index: int
    total: int


class PassagesChosen(msgspec.Struct, frozen=True, kw_only=True):
    """Parts of the documents stand in the prompt instead of the whole."""

    passages: int
    """Neighbours count as one."""
    parts: int
    """Parts that were taken, of `of_parts`."""
    of_parts: int
    cite: str
    """Their places."""
    said: tuple[str, ...] = ()
    """What the user should know before it is sent; among the result's warnings too."""


class Answered(msgspec.Struct, frozen=True):
    """The last event of a question. With `result.error` the error is raised next."""

    result: AskResult
    complete: bool = True
    """False when parts of the documents that were to be asked could not be."""


AskEvent = (
    PromptProgress
    | TextDelta
    | ReasoningDelta
    | StreamFinished
    | Restored
    | Overflow
    | AskStarted
    | PassagesChosen
    | PlanMade
    | ChunkStarted
    | ChunkProgress
    | ChunkAgain
    | ChunkDone
    | Combining
    | GroupDone
    | Answered
)


class Extracted(msgspec.Struct, frozen=True, kw_only=True):
    """The last event of an extraction."""

    result: ExtractResult
    unfinished: int = 0
    """Characters that were read, but the answer to them was cut off or not all of it can be used."""


ExtractEvent = PlanMade | ChunkStarted | ChunkProgress | ChunkAgain | ChunkDone | Extracted
