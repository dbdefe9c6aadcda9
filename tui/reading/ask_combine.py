"""What parts of documents said, made one answer: as a tree where it does not fit, counted exactly at every step."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec

from tui.context.prompt import Prompt
from tui.documents.places import Range
from tui.reading import answers
from tui.reading.ask_answers import says_nothing
from tui.reading.ask_work import Work
from tui.reading.calls import Caller
from tui.reading.events import Combining, GroupDone
from tui.reading.flow import over_slots
from tui.reading.journal import Entry, Journal
from tui.reading.opening import LONGEST, opened
from tui.reading.passages import Index, question_terms
from tui.reading.plan import pack
from tui.reading.prompts import other_sampling, sampling_of, with_system
from tui.server.errors import ServerAnswer
from tui.server.types import Message, ReasoningDelta, Sampling, StreamEvent, TextDelta
from tui.templates import Template, load_template

Place = tuple[int, Range]
"""Index of the document and a range of its text."""

_ATTEMPTS = 2
_LEAST_REPLY = 64
_HEAD = 4
_BORNE_OUT = 0.5
_MOST_LEVELS = 12


class Finding(msgspec.Struct, frozen=True):
    """What was said, and where it comes from."""

    text: str
    places: tuple[Place, ...]


class Combined(msgspec.Struct, frozen=True, kw_only=True):
    """One answer. `apart`: they could not be made one, and stand better one below the other."""

    text: str = ""
    places: tuple[Place, ...] = ()
    warnings: tuple[str, ...] = ()
    apart: bool = False


async def combine(work: Work, caller: Caller, journal: Journal, question: str, findings: Sequence[Finding]) -> Combined:
    """One answer from all findings, of which there is at least one. Its places are those whose words it uses."""
    template = await asyncio.to_thread(load_template, "ask-combine", work.runtime.paths.prompts)
    combiner = _Combiner(work, caller, journal, template, question)
    level = 0
    left = list(findings)
    while len(left) > 1 and level < _MOST_LEVELS:
        groups = await combiner.groups(left)
        if len(groups) == len(left):
            break
        level += 1
        left = await combiner.level(left, groups, level)
        if combiner.trouble:
            break
    if len(left) == 1 and not combiner.trouble:
        [last] = left
        return Combined(text=last.text, places=last.places)
    trouble = combiner.trouble or "Not even two of them fit the context together."
    return Combined(
        places=tuple(dict.fromkeys(place for finding in findings for place in finding.places)),
        warnings=(f"The parts' answers stand one below the other, because they could not be made one. {trouble}",),
        apart=True,
    )


class _Combiner:
    def __init__(self, work: Work, caller: Caller, journal: Journal, template: Template, question: str) -> None:
        self._work = work
        self._runtime = work.runtime
        self._caller = caller
        self._journal = journal
        self._template = template
        self._question = question.strip()
        self._sampling: Sampling = sampling_of(template, work.temperature)
        self._reply = max(_LEAST_REPLY, min(work.reserve, self._runtime.n_ctx // 4))
        self._done = self._groups = 0
        self.trouble = ""

    def _messages(self, findings: Sequence[Finding]) -> tuple[Message, ...]:
        said = tuple(" ".join(finding.text.split()) for finding in findings)
        return with_system(self._template, self._template.render(findings=said, question=self._question))

    async def groups(self, findings: Sequence[Finding]) -> list[tuple[int, int]]:
        """Neighbours that fit one call, by plan; `_answer` counts them exactly."""
        frame = len((await self._runtime.assembler.assemble(self._messages(()))).ids)
        sizes = await self._runtime.counter.count_many([finding.text for finding in findings])
        room = self._runtime.n_ctx - frame - self._reply - LONGEST - 8
        return pack([size + _HEAD for size in sizes], max(0, room))

    async def level(self, findings: Sequence[Finding], groups: Sequence[tuple[int, int]], level: int) -> list[Finding]:
        """One finding for each group, on all slots."""
        self._done, self._groups = 0, len(groups)

        async def one(slot: int, group: tuple[int, int]) -> list[Finding]:
            made = await self._group(slot, findings[group[0] : group[1]], level)
            self._done += 1
            self._work.emit(GroupDone(level=level, done=self._done, total=len(groups), reused=False))
            return made

        made = await over_slots(groups, self._runtime.parallel, one)
        return [finding for group in made for finding in group]

    async def _group(self, slot: int, findings: Sequence[Finding], level: int) -> list[Finding]:
        if len(findings) == 1:
            return list(findings)
        messages = self._messages(findings)
        prompt, _ = await opened(self._runtime, await self._runtime.assembler.assemble(messages), notes=False)
        if len(prompt.ids) + self._reply > self._runtime.n_ctx:
            middle = len(findings) // 2
            first = await self._group(slot, findings[:middle], level)
            return [*first, *await self._group(slot, findings[middle:], level)]
        key = self._journal.key("ask-combine", level, messages, self._sampling, self._reply)
        known = await self._journal.get(key)
        text = known.text if known is not None else await self._ask(slot, prompt, messages)
        if not text:
            return list(findings)
        if known is None:
            text = (await self._journal.put(key, Entry(text=text))).text
        return [Finding(text, await asyncio.to_thread(_used, text, findings))]

    def _tell(self, event: StreamEvent) -> None:
        if isinstance(event, TextDelta | ReasoningDelta):
            self._work.emit(Combining(done=self._done, total=self._groups))

    async def _ask(self, slot: int, prompt: Prompt, messages: Sequence[Message]) -> str:
        instruction = "\n".join(message.content for message in self._messages(()))
        source = "\n".join(message.content for message in messages)
        for attempt in range(_ATTEMPTS):
            sampling = other_sampling(self._sampling, attempt) if attempt else self._sampling
            try:
                reply = await self._caller.call(
                    prompt, max_tokens=self._reply, sampling=sampling, id_slot=slot, on_event=self._tell
                )
            except ServerAnswer as error:
                self.trouble = str(error)
                continue
            text = answers.tidy(reply.text)
            trouble = answers.problem(text, instruction, source)
            if not reply.exact:
                trouble = f"the server evaluated {reply.evaluated:,} tokens where {reply.planned:,} were planned"
            elif not reply.ended:
                trouble = f"the answer had no end within {self._reply:,} tokens"
            elif says_nothing(text):
                # Something was found, so this is no answer.
                trouble = "the answer denied what the parts say"
            if not trouble:
                self.trouble = ""
                return text
            self.trouble = f"Asked {attempt + 1} times, {trouble}."
        return ""


def _used(answer: str, findings: Sequence[Finding]) -> tuple[Place, ...]:
    """The places of the findings whose words the answer uses; of all of them where its words do not tell."""
    index = Index([finding.text for finding in findings])
    said = set(question_terms(answer))
    used = [at for at, finding in enumerate(findings) if _share(index, finding, said) >= _BORNE_OUT]
    chosen = [findings[at] for at in used] or findings
    return tuple(dict.fromkeys(place for finding in chosen for place in finding.places))


def _share(index: Index, finding: Finding, said: set[str]) -> float:
    """Which share of a finding's words, by their weight, an answer has taken up."""
    words = set(question_terms(finding.text))
    total = sum(index.weight(word) for word in words)
    return sum(index.weight(word) for word in words & said) / total if total else 0.0
