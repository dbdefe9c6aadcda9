"""The messages of each kind of call, from the templates.

What is the same for all calls of a kind stands at the head, in the system message, so that a slot processes it once;
the document's text follows, and a short reminder stands after it, where small models heed it most.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from tui.documents.model import Document
from tui.errors import UsageProblem
from tui.reading.languages import language_of
from tui.reading.results import SummaryOptions
from tui.reading.terms import terms
from tui.server.types import Message, Sampling
from tui.templates import Template, load_template, template_names

Kind = Literal["single", "map", "refine", "reduce", "final"]

KINDS: tuple[Kind, ...] = ("single", "map", "refine", "reduce", "final")
DEFAULT_SET = "summarize"
_NOT_SETS = frozenset({"ask", "extract"})
"""Templates of other commands, whatever their names end in."""
_TOKENS_PER_NOTE = 30
_FEWEST_NOTES, _MOST_NOTES = 3, 12
_WORDS = {"short": 100, "medium": 250, "long": 600}
_WORDS_PER_POINT = 22
_FEWEST_POINTS, _POINTS, _MOST_POINTS = 3, 8, 40
_LANGUAGES = {
    **{"zh": "Chinese", "ja": "Japanese", "de": "German", "fr": "French", "es": "Spanish", "ru": "Russian"},
    **{
        "hangul": "Korean",
        "arabic": "Arabic",
        "hebrew": "Hebrew",
        "greek": "Greek",
        "thai": "Thai",
        "devanagari": "Hindi",
    },
}
"""A model asked in English about a Chinese text may answer in English; so it is told."""
_SAMPLE, _SAMPLES = 4000, 16
_TOKENS_PER_WORD = 2.5
"""Room for a summary of so many words: English takes 1.4 tokens a word, other languages more."""


class SummaryPrompts(msgspec.Struct, frozen=True):
    """The templates of a summary with what the user asked for."""

    templates: dict[Kind, Template]
    options: SummaryOptions
    spoken: str = ""
    """Language of the document, in a word, where it is told to the model; it is answered in when no other is wanted."""

    @property
    def language(self) -> str:
        """Language of the answers, in a word; empty where it goes without saying."""
        return self.options.language.strip() or self.spoken

    @property
    def words(self) -> int:
        """Length of the summary in words, as asked for; 0 leaves it to the template."""
        length = self.options.length
        return _WORDS.get(length, 0) if isinstance(length, str) else length

    @property
    def points(self) -> int:
        """Sentences of a summary that is a list."""
        if not self.words:
            return _POINTS
        return max(_FEWEST_POINTS, min(_MOST_POINTS, round(self.words / _WORDS_PER_POINT)))

    def messages(
        self, kind: Kind, text: str, notes: int = 0, *, as_list: bool = False, known: str = "", ids: bool = True
    ) -> tuple[Message, ...]:
        """The messages that ask for `notes` notes on `text`, or for the summary, which can be a list of its points.

        `known` are the notes so far, for `refine`. With `ids` the answer is asked to name the notes it comes from.
        `text=""` gives the bare instruction.
        """
        template = self.templates[kind]
        body = template.render(
            text=text.strip("\n").rstrip(),
            known=known,
            notes=notes,
            as_list=as_list,
            ids=ids,
            words=self.words,
            points=self.points,
            language=self.language,
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
        """Room for the answer in tokens that the user or the template wants, at most."""
        if self.options.max_tokens:
            return self.options.max_tokens
        if self.words:
            return 64 + round(self.words * _TOKENS_PER_WORD)
        return int(self.templates[kind].number("reply") or 0)

    def instruction(self, kind: Kind, notes: int = 0, *, as_list: bool = False) -> str:
        """The words of a prompt that are not the text, to know an echo by."""
        return "\n".join(message.content for message in self.messages(kind, "", notes, as_list=as_list))


def prompt_sets(user_dir: Path | None) -> list[str]:
    """Names that `--prompt` takes: sets of templates, shipped and the user's own. A set needs no template but one."""
    found = {DEFAULT_SET}
    for name in template_names(user_dir):
        stem, _, kind = name.rpartition("-")
        if kind in KINDS and stem and stem not in _NOT_SETS:
            found.add(stem)
    return sorted(found)


def load_summary_prompts(user_dir: Path | None, options: SummaryOptions, text: str = "") -> SummaryPrompts:
    """The set that `options.prompt` names; what it lacks comes from `summarize`. `text` is what will be summarized.

    Raises UsageProblem when there is no such set, or a template is wrong, or does not put the text anywhere.
    """
    named = options.prompt.strip() or DEFAULT_SET
    sets = prompt_sets(user_dir)
    if named not in sets:
        raise UsageProblem(f"There is no set of prompts `{named}`.", f"There are: {', '.join(sets)}.")
    there = set(template_names(user_dir))
    templates: dict[Kind, Template] = {
        kind: load_template(f"{named if f'{named}-{kind}' in there else DEFAULT_SET}-{kind}", user_dir)
        for kind in KINDS
    }
    prompts = SummaryPrompts(templates, options, _spoken(text))
    mark = "7c0ffee-longscroll"
    for kind, template in prompts.templates.items():
        if not any(mark in message.content for message in prompts.messages(kind, mark, 3)):
            raise UsageProblem(
                f"The prompt template {template.source} leaves the text out.",
                "Put {{ text }} into it where it belongs.",
            )
    return prompts


def _spoken(text: str) -> str:
    """The language of a text as models know it; empty for English, in which they are asked, and where it is unclear."""
    step = max(_SAMPLE, len(text) // _SAMPLES)
    sample = " ".join(text[start : start + _SAMPLE] for start in range(0, len(text), step))
    return _LANGUAGES.get(language_of(Counter(terms(sample))), "")


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
