"""Documents and scripted runtimes for the reading tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.reading.scripted import Model, ScriptedRuntime, sensible
from tests.support.papers import report
from tui.documents.model import Document, Span
from tui.paths import Paths

MakeRuntime = Callable[..., ScriptedRuntime]


@pytest.fixture
def scripted(paths: Paths) -> Iterator[MakeRuntime]:
    """Makes scripted runtimes that share this test's home, as runs one after the other do."""
    made: list[ScriptedRuntime] = []

    def make(model: Model = sensible, *, n_ctx: int = 1024, parallel: int = 2) -> ScriptedRuntime:
        made.append(ScriptedRuntime(paths, model, n_ctx=n_ctx, parallel=parallel))
        return made[-1]

    yield make
    for runtime in made:
        runtime.store.close()


def paged(pages: int, sentences: int = 12, seed: int = 1) -> Document:
    """A document of known pages."""
    texts = [f"{text}\n\n" for text in report(pages, sentences, seed)]
    spans, edge = [], 0
    for number, text in enumerate(texts, 1):
        spans.append(Span("page", str(number), number, edge, edge + len(text)))
        edge += len(text)
    return Document(path="report.pdf", name="report.pdf", kind="pdf", text="".join(texts), spans=tuple(spans))
