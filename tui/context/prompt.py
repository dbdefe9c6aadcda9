"""The prompt as it is sent: messages made into exactly the token ids that the server evaluates.

Text is not structure: what looks like a control token inside a message stays text. The template is rendered by the
server itself; its control tokens are found in the template's own characters only, and each stretch between two of them
is tokenized as plain text and remembered, so that typing one more letter costs the last stretch, not the conversation.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from tui.context.counter import TokenCounter
from tui.context.lru import SizedCache
from tui.context.rendering import Frame, Markers, align
from tui.context.specials import C_SPACE
from tui.context.tokenkinds import KnownKinds, LearnedKinds, TokenKinds
from tui.models.vocabulary import Vocabulary
from tui.server.client import LlamaClient
from tui.server.types import Message, Props
from tui.text import well_formed

_REMEMBERED_TOKENS = 2_000_000

# Beginnings of a next question that join differently with what stands before it: letter, digit, sign, line.
_OPENINGS = ("Why is that so?", "7 of them?", "(and this?)", "\n\n\nNext?", " And then?")


_BREAK = re.compile(r"\n(?=\S)")
_NEAR_THE_END = 600
"""Characters: a break further back would cost more tokens than it is worth."""

_Stretch = tuple[str, bool]
"""Text between two control tokens, and whether further control tokens in it count."""


class Prompt(msgspec.Struct, frozen=True):
    """A prompt ready to be sent. `len(prompt.ids)` is the server's `prompt_tokens`."""

    ids: tuple[int, ...]
    text: str
    """The rendered prompt, without the beginning token."""
    messages: tuple[Message, ...]
    as_ids: bool
    """A content holds the text of a control token, so the ids must be sent, not the messages."""


class _Layout(NamedTuple):
    """A rendered prompt before it is tokenized."""

    text: str
    contents: list[tuple[int, int]]
    """Ranges of the messages' own text, when `as_ids`."""
    as_ids: bool


class PromptAssembler:
    """Turns messages into prompts for one server and one model.

    Without a `vocabulary` (a server elsewhere) the server itself is asked which tokens are special, at the cost of a
    few requests for each new text. What a server says of itself (`props`) is not needed today.
    """

    def __init__(
        self, client: LlamaClient, counter: TokenCounter, vocabulary: Vocabulary | None, props: Props | None = None
    ) -> None:
        self._client = client
        self._counter = counter
        self._markers = Markers()
        self._kinds: TokenKinds = KnownKinds(client, vocabulary) if vocabulary else LearnedKinds(client)
        self._around: tuple[tuple[int, ...], tuple[int, ...]] | None = None
        self._stretches: SizedCache[_Stretch, tuple[int, ...]] = SizedCache(_REMEMBERED_TOKENS)
        self._prompts: SizedCache[tuple[tuple[str, str], ...], Prompt] = SizedCache(_REMEMBERED_TOKENS)
        self._frames: SizedCache[tuple[tuple[str, bool], ...], Frame] = SizedCache(200)

    async def assemble(self, messages: Sequence[Message]) -> Prompt:
        """The prompt of `messages`, ready for the answer. The errors are the client's."""
        clean = tuple(Message(message.role, _clean(message.content)) for message in messages)
        key = tuple((message.role, message.content) for message in clean)
        known = self._prompts.get(key)
        if known is not None:
            return known
        prompt = await self._assemble(clean)
        self._prompts.put(key, prompt, len(prompt.ids) + 1)
        return prompt

    async def boundary(
        self, before: Sequence[Message], next_user: Callable[[str], Sequence[Message]]
    ) -> tuple[int, ...]:
        """The token ids with which every prompt of `before` and a next question begins, whatever the question.

        `next_user(question)` gives the messages that follow `before` for a question. A slot that ends at these ids can
        be extended by any next turn without rolling back (DESIGN §4).
        """
        common: tuple[int, ...] | None = None
        fixed = ""
        for opening in _OPENINGS:
            prompt = await self.assemble((*before, *next_user(opening)))
            first = common is None
            common = prompt.ids if common is None else common[: _common_length(common, prompt.ids)]
            fixed = prompt.text if first else prompt.text[: _common_length(fixed, prompt.text)]
        safe = await self._up_to_a_break((*before, *next_user(_OPENINGS[0])), fixed, common or ())
        return safe or common or ()

    async def _up_to_a_break(
        self, messages: Sequence[Message], fixed: str, common: tuple[int, ...]
    ) -> tuple[int, ...] | None:
        """The ids up to the last line break of `fixed`, the text that all next prompts begin with.

        A question's first word may join with what stands right before it, in ways that a few openings do not show;
        nothing joins over a line break with text behind it. None when there is no such break near the end.
        """
        layout = await self._layout(tuple(Message(message.role, _clean(message.content)) for message in messages))
        for found in reversed(list(_BREAK.finditer(fixed, max(0, len(fixed) - _NEAR_THE_END)))):
            end = found.end()
            contents = [(first, min(last, end)) for first, last in layout.contents if first < end]
            ids = await self._encode(layout.text[:end], contents, layout.as_ids, ended=False)
            if ids and common[: len(ids)] == ids:
                return ids
        return None

    # One prompt

    async def _assemble(self, messages: tuple[Message, ...]) -> Prompt:
        layout = await self._layout(messages)
        ids = await self._encode(layout.text, layout.contents, layout.as_ids)
        return Prompt(ids, layout.text, messages, layout.as_ids)

    async def _layout(self, messages: tuple[Message, ...]) -> _Layout:
        text = await self._client.apply_template(messages)
        contents = [message.content for message in messages]
        await self._kinds.learn_from(lambda: self._frame(messages))
        as_ids = False
        for content in contents:
            as_ids = as_ids or await self._kinds.imitated_in(content)
        if as_ids:
            frame = await self._frame(messages)
            ranges = align(text, frame, contents)
            if ranges is None:  # the template rewrote a content beyond recognition: give it as it is
                text, ranges = frame.fill(contents)
        else:
            ranges = []
        return _Layout(text, ranges, as_ids)

    async def _frame(self, messages: tuple[Message, ...]) -> Frame:
        shape = tuple((message.role, bool(message.content)) for message in messages)
        frame = self._frames.get(shape)
        if frame is None:
            frame = self._markers.split(await self._client.apply_template(self._markers.mark(messages)))
            self._frames.put(shape, frame, 1)
        return frame

    async def _encode(
        self, text: str, contents: list[tuple[int, int]], as_ids: bool, *, ended: bool = True
    ) -> tuple[int, ...]:
        before, after = await self._begin_and_end()
        parts: list[_Stretch | int] = []
        special = self._kinds.special
        start, strip = 0, False

        def stretch(end: int) -> None:
            piece = text[start:end].lstrip(C_SPACE) if strip else text[start:end]
            if piece:
                parts.append((piece, not as_ids and self._kinds.may_miss))

        cuts: list[tuple[int, int, int | None]] = []
        edge = 0
        for first, last in [*contents, (len(text), len(text))]:
            cuts += [(edge + match.start, edge + match.end, match.id) for match in special.find(text[edge:first])]
            cuts += [(at, at, None) for at in self._kinds.breaks(text, first, last)]
            edge = last
        for first, last, token in cuts:
            stretch(first)
            start, strip = last, token in special.strips_after
            if token is not None:
                parts.append(token)
        stretch(len(text))
        await self._tokenize_missing([part for part in parts if not isinstance(part, int)])
        ids = [*before]
        for part in parts:
            if isinstance(part, int):
                ids.append(part)
            else:
                ids.extend(await self._stretch(part))
        return (*ids, *after) if ended else tuple(ids)

    async def _tokenize_missing(self, stretches: list[_Stretch]) -> None:
        """Tokenize those not remembered, side by side where the server does it."""
        missing = {part for part in stretches if self._stretches.get(part) is None}
        await asyncio.gather(*(self._stretch(part) for part in missing))

    async def _stretch(self, part: _Stretch) -> tuple[int, ...]:
        ids = self._stretches.get(part)
        if ids is None:
            text, parse_special = part
            if parse_special:
                ids = tuple(await self._client.tokenize(text, parse_special=True))
            else:
                ids = tuple(await self._counter.encode(text))
            self._stretches.put(part, ids, len(ids) + 1)
        return ids

    async def _begin_and_end(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The tokens the server puts before and after every prompt (the beginning token, mostly), asked once."""
        if self._around is None:
            bare = await self._client.tokenize("x")
            dressed = await self._client.tokenize("x", add_special=True)
            for at in range(len(dressed) - len(bare) + 1):
                if dressed[at : at + len(bare)] == bare:
                    self._around = tuple(dressed[:at]), tuple(dressed[at + len(bare) :])
                    break
            else:
                self._around = (), ()
        return self._around


def _clean(text: str) -> str:
    try:
        text.encode()  # much faster than searching for what cannot be encoded
    except UnicodeEncodeError:
        return well_formed(text)
    return text


def _common_length(a: Sequence[int] | str, b: Sequence[int] | str) -> int:
    """How many elements two sequences begin with in common."""
    low, high = 0, min(len(a), len(b))
    while low < high:  # comparing slices is much faster than comparing one by one
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
