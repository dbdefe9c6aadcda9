"""Prompt templates under which the tiny models' answers end: at the first of a few common letters."""

from __future__ import annotations

from tui.paths import Paths

KINDS = ("single", "map", "refine", "reduce", "final")
_ENDS = """+++
temperature = 1.0
stop = ["e", "a", "t", "o", "n"]
+++
Kind: {kind}
{{{{ text }}}}

Notes: {{{{ notes }}}}
"""


def answers_that_end(paths: Paths) -> None:
    """Write the templates into this home."""
    paths.prompts.mkdir(parents=True)
    for kind in KINDS:
        (paths.prompts / f"summarize-{kind}.md").write_text(_ENDS.format(kind=kind), encoding="utf-8")
