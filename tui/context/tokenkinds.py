"""What is known of a model's special tokens: from its vocabulary, or, where that is out of reach, from the server."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable

from tui.context.lru import SizedCache
from tui.context.rendering import Frame
from tui.context.specials import SpecialTokens
from tui.models.vocabulary import Vocabulary
from tui.server.client import LlamaClient

# Token texts that are never ordinary prose.
_STRUCTURAL = re.compile(r"<\|[^|<>\s]{1,60}\|>")
_REMEMBERED_CHARACTERS = 8_000_000

FrameMaker = Callable[[], Awaitable[Frame]]


class TokenKinds(ABC):
    """`special` are the tokens matched in a template and not in contents."""

    special: SpecialTokens
    may_miss: bool
    """Whether a template may hold control tokens that are not in `special`."""

    def __init__(self, client: LlamaClient) -> None:
        self._client = client
        self._structural = SpecialTokens({})

    @abstractmethod
    async def learn_from(self, frame: FrameMaker) -> None:
        """Called before a prompt is taken apart, with a way to get its frame."""

    @abstractmethod
    async def imitated_in(self, content: str) -> bool:
        """Whether `content` holds text that the chat endpoint would take for a control token."""

    def breaks(self, text: str, start: int, end: int) -> list[int]:
        """Where a content, `text[start:end]`, must be cut so that no structural token is matched in it.

        User-defined tokens are matched in plain text too. Most are words (`<think>`), but where they make the message
        frame, as in the harmony format, they are kept apart by tokenizing their first character on its own.
        """
        return [start + match.start + 1 for match in self._structural.find(text[start:end])]

    async def _is_control(self, text: str) -> int | None:
        """The id of `text` when it is one token, but only where control tokens count."""
        ids = await self._client.tokenize(text, parse_special=True)
        plain = await self._client.tokenize(text)
        return ids[0] if len(ids) == 1 and ids != plain else None


class KnownKinds(TokenKinds):
    """From the vocabulary; only names over which builds differ are asked of the server, once."""

    may_miss = False

    def __init__(self, client: LlamaClient, vocabulary: Vocabulary) -> None:
        super().__init__(client)
        self._strips_after = vocabulary.strips_after
        self._doubtful = dict(vocabulary.doubtful)
        self.special = SpecialTokens(vocabulary.specials, vocabulary.strips_after)
        structural = {text: i for text, i in vocabulary.user_defined.items() if _STRUCTURAL.fullmatch(text)}
        self._structural = SpecialTokens(structural)

    async def learn_from(self, frame: FrameMaker) -> None:
        if not self._doubtful:
            return
        found = {text: token for text in self._doubtful if (token := await self._is_control(text)) is not None}
        self._doubtful = {}
        if found:
            self.special = SpecialTokens({**self.special.ids, **found}, self._strips_after)

    async def imitated_in(self, content: str) -> bool:
        return self.special.occur_in(content) or self._structural.occur_in(content)


class LearnedKinds(TokenKinds):
    """For a server whose model file is elsewhere: the control tokens are those that it sees in the template's text.

    A content imitates a control token when its tokens differ with and without them; that costs two requests a content.
    """

    may_miss = True

    def __init__(self, client: LlamaClient) -> None:
        super().__init__(client)
        self.special = SpecialTokens({})
        self._asked: set[str] = set()
        self._judged: SizedCache[str, bool] = SizedCache(_REMEMBERED_CHARACTERS)

    async def learn_from(self, frame: FrameMaker) -> None:
        found: dict[str, int] = {}
        for piece in (await frame()).pieces:
            if piece in self._asked:
                continue
            self._asked.add(piece)
            plain = set(await self._client.tokenize(piece))
            for token in set(await self._client.tokenize(piece, parse_special=True)) - plain:
                text = await self._client.detokenize([token])
                if text in piece and await self._is_control(text) == token:
                    found[text] = token
        if found:
            self.special = SpecialTokens({**self.special.ids, **found})

    async def imitated_in(self, content: str) -> bool:
        verdict = self._judged.get(content)
        if verdict is None:
            verdict = await self._judge(content)
            self._judged.put(content, verdict, len(content))
        return verdict

    async def _judge(self, content: str) -> bool:
        if await self._client.tokenize(content, parse_special=True) != await self._client.tokenize(content):
            return True
        structural = {
            text: ids[0]
            for text in sorted(set(_STRUCTURAL.findall(content)))
            if len(ids := await self._client.tokenize(text)) == 1
        }
        self._structural = SpecialTokens({**self._structural.ids, **structural})
        return bool(structural)
