"""What is put at the start of an answer, by the end of the rendered prompt."""

from __future__ import annotations

import pytest

from tui.reading.opening import opening_for

QWEN3 = "{% if enable_thinking is false %}<think>\n\n</think>\n\n{% endif %}"


@pytest.mark.parametrize(
    ("end", "template", "notes", "summary"),
    [
        ("<|im_end|>\n<|im_start|>assistant\n", "plain", "1.", ""),
        ("<|im_end|>\n<|im_start|>assistant\n", QWEN3, "<think>\n\n</think>\n\n1.", "<think>\n\n</think>\n\n"),
        ("<|im_start|>assistant\n<think>\n", QWEN3, "\n</think>\n\n1.", "\n</think>\n\n"),
        ("<|im_start|>assistant\n<think>\n\n</think>\n\n", QWEN3, "1.", ""),
        ("<|start_header_id|>assistant<|end_header_id|>\n\n", "plain", "1.", ""),
        ("<start_of_turn>model\n", "plain", "1.", ""),
        ("what is this [/INST]", "plain", "1.", ""),
        # A channel has to be named first here: nothing of ours may stand before it.
        ("<|start|>assistant", "plain", "", ""),
        ("ASSISTANT:", "plain", "", ""),
    ],
)
def test_opening(end: str, template: str, notes: str, summary: str) -> None:
    assert opening_for(f"some text {end}", template, notes=True) == notes
    assert opening_for(f"some text {end}", template, notes=False) == summary
