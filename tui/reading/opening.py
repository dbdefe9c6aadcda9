"""The first characters of an answer, put there by the program so that the model goes on from them.

Notes begin with "1.": a small model that has begun a list keeps to it and finds its end (measured on the demo model:
8 of 11 answers were usable instead of 4, with a fifth fewer tokens). And a model that would think aloud first is told
that it has done so, in the words its own template uses for that; thinking about every part of a book takes hours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.context.prompt import Prompt

if TYPE_CHECKING:
    from tui.context.runtime import Runtime

_THINKS = ("<think>\n", "<think>")
_END_OF_THINKING = "\n</think>\n\n"
_NO_THINKING = "<think>\n\n</think>\n\n"
# After these an answer's own first characters follow, whatever they are. Not so where a channel has to be named first.
_PLAIN = (
    *("assistant\n", "assistant|>\n", "<|end_header_id|>\n\n", "model\n", "[/INST]", "<｜Assistant｜>"),
    *("</think>\n\n", "</think>\n", "</think>"),
)
LIST = "1."


def opening_for(prompt_text: str, chat_template: str, *, notes: bool) -> str:
    """What to put at the start of the answer to a rendered prompt; "" where its template is not one of those known."""
    if prompt_text.endswith(_THINKS):
        thought = _END_OF_THINKING
    elif "enable_thinking" in chat_template and _THINKS[1] in chat_template and prompt_text.endswith("assistant\n"):
        thought = _NO_THINKING
    else:
        thought = ""
    begun = LIST if notes and (thought or prompt_text.endswith(_PLAIN)) else ""
    return thought + begun


async def opened(runtime: Runtime, prompt: Prompt, *, notes: bool) -> tuple[Prompt, str]:
    """The prompt with the answer's opening, and the part of the opening that belongs to the answer's text."""
    opening = opening_for(prompt.text, runtime.props.chat_template, notes=notes)
    if not opening:
        return prompt, ""
    ids = (*prompt.ids, *await runtime.counter.encode(opening))
    longer = Prompt(ids=ids, text=prompt.text + opening, messages=prompt.messages, as_ids=True)
    return longer, LIST if opening.endswith(LIST) else ""


LONGEST = 16
"""Tokens an opening takes at most."""
