"""The context meter: what fills the context, part by part, in exact tokens."""

from __future__ import annotations

from collections.abc import Set
from typing import Final, Protocol

from rich.cells import cell_len
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from tui.units import tokens


class Plan(Protocol):
    """What the meter draws: the fields of `tui.context.plan.ContextPlan`. All are tokens."""

    @property
    def context(self) -> int: ...
    @property
    def system(self) -> int: ...
    @property
    def document_tokens(self) -> int: ...
    @property
    def history(self) -> int: ...
    @property
    def draft(self) -> int: ...
    @property
    def reserve(self) -> int: ...
    @property
    def free(self) -> int: ...
    @property
    def exact(self) -> bool: ...


NOTHING: Final[frozenset[str]] = frozenset()
TYPED: Final = frozenset({"draft"})
GROWING: Final = frozenset({"history"})

_PARTS = (
    # field, name, short name, colour
    ("system", "system", "sys", "$text-secondary"),
    ("document_tokens", "documents", "docs", "$text-primary"),
    ("history", "history", "hist", "$text-success"),
    ("draft", "draft", "draft", "$text-warning"),
    ("reserve", "reserve", "res", "$foreground 45%"),
)


class ContextMeter(Widget):
    """Two rows: a stacked bar, and the numbers. Without a plan it says so."""

    DEFAULT_CSS = "ContextMeter { height: 2; padding: 0 2; }"

    plan: reactive[Plan | None] = reactive(None)
    estimated: reactive[frozenset[str]] = reactive(NOTHING)
    """Figures that are not exact now and wear a ≈: `draft` while it is typed, `history` while an answer grows."""

    note: reactive[str] = reactive("the context is counted when the model is ready")
    """What stands there instead of figures that are not known."""

    def show(self, plan: Plan | None, estimated: frozenset[str] = NOTHING) -> None:
        self.plan = plan
        self.estimated = estimated

    def render(self) -> Content:
        if self.plan is None:
            line = Content.styled("─" * self.size.width, "$surface-lighten-1")
            return line.append("\n").append(Content.styled(self.note, "$foreground 60%"))
        return meter_content(self.plan, self.size.width, estimated=self.estimated)


def shares(plan: Plan, cells: int) -> list[int]:
    """Cells of the bar for system, documents, history, draft, reserve and free; together `cells`.

    Every part that has a token has a cell, as long as there are cells; what does not fit fills the bar to its end.
    """
    amounts = [int(getattr(plan, field)) for field, *_rest in _PARTS] + [max(0, plan.free)]
    total = sum(amounts)
    if not total:
        return [0] * len(_PARTS) + [cells]
    exact = [amount * cells / total for amount in amounts]
    given = [max(int(share), 1 if amount else 0) for share, amount in zip(exact, amounts, strict=True)]
    while sum(given) > cells:
        given[max(range(len(given)), key=lambda at: given[at] - exact[at] + (given[at] > 1) * 10)] -= 1
    while sum(given) < cells:
        given[max(range(len(given)), key=lambda at: exact[at] - given[at])] += 1
    return given


def meter_content(plan: Plan, width: int, *, estimated: Set[str] = NOTHING) -> Content:
    """Bar and numbers at `width` cells."""
    over = plan.free < 0
    given = shares(plan, width)
    bar: list[tuple[str, str]] = []
    for (_field, _name, _short, colour), cells in zip(_PARTS, given, strict=False):
        bar.append(("━" * cells, "$error" if over else colour))
    bar.append(("─" * given[-1], "$foreground 20%"))
    return Content.assemble(*bar, ("\n", ""), *_numbers(plan, width, estimated=estimated))


def _numbers(plan: Plan, width: int, *, estimated: Set[str]) -> list[tuple[str, str]]:
    exact = plan.exact and not estimated
    amounts = [(short, name, colour, int(getattr(plan, field))) for field, name, short, colour in _PARTS]

    def figure(name: str, amount: int) -> str:
        return tokens(amount, exact=exact or (plan.exact and name != "free" and name not in estimated))

    if plan.free < 0:
        last = [("over by " + tokens(-plan.free, exact=exact), "bold $text-error")]
    else:
        last = [("free ", "$foreground 60%"), (figure("free", plan.free), "$foreground")]
    # Where there is least room the context's size stays, and what has no token goes.
    rows = ((True, "   ", 3, True), (True, "  ", 2, True), (True, "  ", 0, True), (False, "  ", 2, True))
    for long_names, between, before_total, empty in (*rows, (False, " ", 1, True), (False, " ", 1, False)):
        parts: list[tuple[str, str]] = []
        for short, name, colour, amount in amounts:
            if not amount and not empty:
                continue
            # The name in the colour of its part of the bar.
            parts.append((f"{name if long_names else short} ", colour))
            parts.append((figure(name, amount), "$foreground"))
            parts.append((between, ""))
        parts += last
        if before_total:
            parts.append((f"{' ' * before_total}of {plan.context:,}", "$foreground 60%"))
        if sum(cell_len(text) for text, _style in parts) <= width:
            return parts
    used = f"{tokens(plan.context - plan.free, exact=exact)} used"
    for parts in (
        [(f"{used}, ", "$foreground 60%"), *last, (f" of {plan.context:,}", "$foreground 60%")],
        [(f"{used}, ", "$foreground 60%"), *last],
    ):
        if sum(cell_len(text) for text, _style in parts) <= width:
            return parts
    return last
