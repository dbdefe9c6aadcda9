"""What a form shows: values, choices and ticks."""

from __future__ import annotations

from selectolax.lexbor import LexborNode

from tui.documents.html.nodes import SKIP, Attributes, Leave, Skip, hides, walk

_BUTTONS = {"submit": "Submit", "reset": "Reset", "button": ""}
_TICKS = ("checkbox", "radio")
_SILENT = ("hidden", "password", "file", "color", "range")


def control_text(attributes: Attributes) -> str:
    """An `<input>` as text: `[value]`, `[x]`, `[ ]`, or nothing."""
    kind = (attributes.get("type") or "text").strip().lower()
    if kind in _SILENT:
        return ""
    if kind in _TICKS:
        return "[x]" if "checked" in attributes else "[ ]"
    if kind == "image":
        shown = attributes.get("alt")
    elif kind in _BUTTONS:
        shown = attributes.get("value") or _BUTTONS[kind]
    else:
        shown = attributes.get("value") or attributes.get("placeholder")
    return f"[{shown.strip()}]" if shown and shown.strip() else ""


class _Choices:
    """The options of a `<select>`, groups named, chosen ones ticked."""

    def __init__(self) -> None:
        self.groups: list[tuple[str, list[str]]] = [("", [])]
        self._open: list[str] | None = None

    def text(self, text: str) -> None:
        if self._open is not None:
            self._open.append(text)

    def enter(self, node: LexborNode, tag: str) -> Leave | Skip | None:
        attributes = node.attributes
        if hides(tag, attributes):
            return SKIP
        if tag == "optgroup":
            self.groups.append((attributes.get("label") or "", []))
            return self._group_end
        if tag == "option":
            self._open = ["[x] "] if "selected" in attributes else [""]
            return lambda: self._option_end(attributes)
        return None

    def _group_end(self) -> None:
        self.groups.append(("", []))

    def _option_end(self, attributes: Attributes) -> None:
        if self._open is not None:
            tick, *words = self._open
            shown = " ".join("".join(words).split()) or (attributes.get("label") or "").strip()
            if shown:
                self.groups[-1][1].append(tick + shown)
        self._open = None


def select_text(node: LexborNode) -> str:
    """A `<select>` as text: its options with commas between them."""
    choices = _Choices()
    walk(node, choices)
    parts = [f"{label}: {', '.join(options)}" if label else ", ".join(options) for label, options in choices.groups]
    return "; ".join(part for part in parts if part)
