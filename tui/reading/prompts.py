"""The messages of each kind of call, from the templates. The document's text always stands before the instruction."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from tui.documents.model import Document
from tui.errors import UsageProblem
from tui.reading.results import SummaryOptions
from tui.server.types import Message, Sampling
from tui.templates import Template, load_template

Kind = Literal["single", "map", "reduce", "final"]

_TOKENS_PER_NOTE = 35
_FEWEST_NOTES, _MOST_NOTES = 3, 8


class SummaryPrompts(msgspec.Struct, frozen=True):
    """The four templates of a summary with what the user asked for."""

    templates: dict[Kind, Template]
    options: SummaryOptions

    def messages(self, kind: Kind, text: str, notes: int = 0, *, as_list: bool = False) -> tuple[Message, ...]:
        """The messages that ask for `notes` notes on `text`, or for the summary, which can be a list of its points.

        `text=""` gives the bare instruction.
        """
        template = self.templates[kind]
        body = template.render(
            text=text.strip("\n").rstrip(),
            notes=notes,
            as_list=as_list,
            language=self.options.language.strip(),
            focus=self.options.focus.strip(),
        )
        return with_system(template, body)

    def sampling(self, kind: Kind, temperature: float | None, notes: int = 0) -> Sampling:
        """Sampling of the first attempt. A list of notes ends before the one that is too many."""
        sampling = sampling_of(self.templates[kind], temperature)
        if not notes:
            return sampling
        return msgspec.structs.replace(sampling, stop=(*sampling.stop, f"\n{notes + 1}."))

    def reply(self, kind: Kind) -> int:
        """Room for the answer in tokens that the template wants, at most."""
        return self.options.max_tokens or int(self.templates[kind].number("reply") or 0)

    def instruction(self, kind: Kind, notes: int = 0, *, as_list: bool = False) -> str:
        """The words of a prompt that are not the text, to know an echo by."""
        return "\n".join(message.content for message in self.messages(kind, "", notes, as_list=as_list))


def load_summary_prompts(user_dir: Path | None, options: SummaryOptions) -> SummaryPrompts:
    """Raises UsageProblem when a template is missing, wrong, or does not put the text anywhere."""
    kinds: tuple[Kind, ...] = ("single", "map", "reduce", "final")
    prompts = SummaryPrompts({kind: load_template(f"summarize-{kind}", user_dir) for kind in kinds}, options)
    mark = "7c0ffee-longscroll"
    for kind, template in prompts.templates.items():
        if not any(mark in message.content for message in prompts.messages(kind, mark, 3)):
            raise UsageProblem(
                f"The prompt template {template.source} leaves the text out.",
                "Put {{ text }} into it where it belongs.",
            )
    return prompts


def notes_for(tokens: int) -> int:
    """How many notes to ask for when they have that many tokens together."""
    return max(_FEWEST_NOTES, min(_MOST_NOTES, tokens // _TOKENS_PER_NOTE))


def ask_messages(template: Template, documents: Sequence[Document], question: str) -> tuple[Message, ...]:
    """System message, then one user message: the documents first, the question last."""
    body = template.render(documents=tuple(documents), question=question.strip())
    return with_system(template, body)


def with_system(template: Template, body: str) -> tuple[Message, ...]:
    """The template's system message, when it has one, and `body` as the user's."""
    system = template.text("system").strip()
    user = Message("user", body)
    return (Message("system", system), user) if system else (user,)


def sampling_of(template: Template, temperature: float | None) -> Sampling:
    """Sampling from a template's head; `temperature` wins over it."""
    top_k = template.number("top_k")
    return Sampling(
        temperature=temperature if temperature is not None else template.number("temperature"),
        top_p=template.number("top_p"),
        top_k=int(top_k) if top_k is not None else None,
        min_p=template.number("min_p"),
        repeat_penalty=template.number("repeat_penalty"),
        seed=1,
        stop=template.texts("stop"),
    )


def other_sampling(first: Sampling, attempt: int) -> Sampling:
    """Sampling of a further attempt (1, 2, …): a little warmer each time, and repeating is made dearer."""
    warmer = max(first.temperature if first.temperature is not None else 0.8, 0.2 * attempt)
    penalty = max(first.repeat_penalty or 1.0, 1.07 + 0.05 * attempt)
    return msgspec.structs.replace(first, temperature=warmer, repeat_penalty=penalty, top_p=0.9, seed=1 + attempt)
