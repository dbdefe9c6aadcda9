"""What reading returns, with exactly the keys that `--json` prints, and the options it can be asked with."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from tui.errors import LongscrollError

Strategy = Literal["single", "map-reduce", "refine"]
AskStrategy = Literal["whole", "passages", "map-reduce"]
Status = Literal["done", "partial", "failed"]
AT_LIMIT = "The summary reached the limit of its room before its end."
"""How the warning begins that tells of a summary without an end."""


class Coverage(msgspec.Struct, frozen=True, kw_only=True):
    """Which share of the document's characters was read, from the ledger."""

    characters_total: int
    characters_read: int
    fraction: float
    """1.0 only when every character was read."""


class Citation(msgspec.Struct, frozen=True, kw_only=True):
    """Where something stands in a document."""

    path: str
    """As the user named it; inside a folder, with the file's own path."""
    pages: tuple[int, ...] = ()
    """Page numbers in the file; empty for a document without pages."""
    lines: tuple[int, int] | None = None
    """First and last line of the file, for texts and code."""
    heading: str = ""


class Statement(msgspec.Struct, frozen=True, kw_only=True):
    """One statement of a summary with the places that the program traced it to."""

    text: str
    """As it stands in the summary, without the brackets."""
    cite: str
    """What stands in its brackets, such as `pp. 12-14`; empty when it has no source."""
    citations: tuple[Citation, ...] = ()
    supported: bool | None = None
    """Whether the words of its places bear it out; None where that cannot be told."""
    strange: tuple[str, ...] = ()
    """Numbers and names in it that its places do not hold."""


class Content(msgspec.Struct, frozen=True, kw_only=True):
    """Content coverage: what the summary speaks of, as far as words tell."""

    sections: int
    covered: int
    """Sections that at least one statement speaks of."""
    unsupported: int
    """Statements that no place of the document bears out."""
    statements: int = 0
    strange: int = 0
    """Numbers and names in statements that their places do not hold."""


class SummaryOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the user asked for; 0, "" and None leave it to the templates and the context."""

    strategy: Literal["auto", "single", "map-reduce", "refine"] = "auto"
    max_tokens: int = 0
    """Room for the final summary in tokens."""
    chunk_tokens: int = 0
    """Largest part of the document in one call, in tokens; never more than fits."""
    temperature: float | None = None
    language: str = ""
    """Language of the summary, as a word for the model (`German`)."""
    focus: str = ""
    """What the summary should pay attention to."""
    length: Literal["", "short", "medium", "long"] | int = ""
    """Length of the summary: a word or a number of words; empty leaves it to the template."""
    prompt: str = ""
    """Name of a set of prompt templates, `NAME-map` and so on, the user's or ours; empty for `summarize`."""
    cache_prompt: bool = True
    """False: every call is processed from its first token. With one slot the same calls then give the same answers."""


class SummaryResult(msgspec.Struct, frozen=True, kw_only=True):
    """One summarized document: the object that `summarize --json` prints."""

    path: str
    status: Status
    """`partial`: a summary is there, but not every part was read, or the answer has no proper end; see `warnings`."""
    summary: str
    strategy: Strategy | None
    pages: int
    """Number of pages; 0 for a document without pages."""
    characters: int
    tokens: int
    """Of the document's text."""
    chunks: int
    levels: int
    """How often notes were merged, the last time into the summary; 0 when the document was read in one pass."""
    coverage: Coverage
    prompt_tokens: int
    """Over all calls of this run, as the server counted them; what the journal spared is not in it."""
    completion_tokens: int
    reused_chunks: int
    """Parts of the document whose notes came from the journal of an earlier run."""
    seconds: float
    warnings: tuple[str, ...]
    error: str | None
    why: str = ""
    """Why this strategy was chosen."""
    content: Content | None = None
    """None where there is no summary."""
    statements: tuple[Statement, ...] = ()
    retry_tokens: int = 0
    """Prompt tokens of calls that were made again because an answer was no good; not part of `prompt_tokens`."""

    @property
    def cut_off(self) -> bool:
        """The summary ends at its limit. In one pass the ledger then counts nothing as read, though all was sent."""
        return self.status == "partial" and any(warning.startswith(AT_LIMIT) for warning in self.warnings)


def failed(path: str, error: LongscrollError, seconds: float = 0.0) -> SummaryResult:
    """The result for a document that could not be read or summarized at all."""
    return SummaryResult(
        path=path,
        status="failed",
        summary="",
        strategy=None,
        pages=0,
        characters=0,
        tokens=0,
        chunks=0,
        levels=0,
        coverage=Coverage(characters_total=0, characters_read=0, fraction=0.0),
        prompt_tokens=0,
        completion_tokens=0,
        reused_chunks=0,
        seconds=seconds,
        warnings=(),
        error=str(error),
    )


class AskOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the user asked for; 0 and None leave it to the template and the settings."""

    max_tokens: int = 0
    """Room for the answer in tokens."""
    temperature: float | None = None
    on_overflow: Literal["passages", "refuse"] = "passages"
    """What to do with documents that do not fit."""
    strategy: Literal["auto", "whole", "passages", "map-reduce"] = "auto"
    """`auto`: whole when it fits, else what `on_overflow` says."""


class AskResult(msgspec.Struct, frozen=True, kw_only=True):
    """One answered question: the object that `ask --json` prints."""

    answer: str
    strategy: AskStrategy
    """`whole`: the documents stood in the prompt from the first character to the last; `passages`: parts of them did;
    `map-reduce`: every part was asked."""
    prompt_tokens: int
    cached_tokens: int
    """Prompt tokens that were not processed in this run, because the slot held them already or they were restored."""
    restored_tokens: int
    """Tokens brought back from a slot file."""
    completion_tokens: int
    ttft_s: float
    """Seconds from the beginning of the work on the request, restoring or processing included, to the first token."""
    tokens_per_second: float
    """Speed of the answer, 0 when it is too short to tell."""
    warnings: tuple[str, ...]
    question: str = ""
    citations: tuple[Citation, ...] = ()
    """Whole: what the answer cites; passages: those that stood in the prompt; map-reduce: parts that said something."""
    error: str | None = None
    """Why the answer ends where it does, or why there is none; None when it came to its end."""


class ExtractOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the user asked for; 0, "" and None leave it to the template and the context."""

    instruction: str = ""
    """What a record is and which are wanted, in words for the model."""
    chunk_tokens: int = 0
    """Largest part of the document in one call, in tokens; never more than fits."""
    temperature: float | None = None
    key: tuple[str, ...] = ()
    """Fields by which two records are known to be about the same thing; empty for the schema's first field."""


class ExtractedRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One record with the places that the program found it at: the object that `extract` prints."""

    record: dict[str, Any]
    path: str
    pages: tuple[int, ...] = ()
    lines: tuple[int, int] | None = None
    heading: str = ""
    cite: str = ""
    """All its places as they are cited, such as `pp. 3, 12`."""
    unsupported: tuple[str, ...] = ()
    """Fields whose value does not stand in the part of the document that the record came from."""


class ExtractResult(msgspec.Struct, frozen=True, kw_only=True):
    """The records of one document, and how it was read."""

    path: str
    records: tuple[ExtractedRecord, ...]
    found: int
    """Records before doubles were joined."""
    chunks: int
    reused_chunks: int
    coverage: Coverage
    prompt_tokens: int
    completion_tokens: int
    seconds: float
    warnings: tuple[str, ...]
