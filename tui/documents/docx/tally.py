"""What was met in a Word document and is not in the text: counted here, told as warnings."""

from __future__ import annotations

from collections import Counter

from tui.units import plural


class Tally:
    """Counts while the document is walked."""

    def __init__(self) -> None:
        self.not_read: Counter[str] = Counter()
        """By noun in the singular: `picture without a description`, `embedded object (Excel.Sheet.12)`."""
        self.left_out: Counter[str] = Counter()
        """What is in the file but is not shown to a reader: by noun in the singular."""
        self.unknown_symbols = 0
        self.damaged: dict[str, str] = {}
        """What a part holds, in words, and why it was not read."""

    def warnings(self) -> tuple[str, ...]:
        """One sentence for each kind of thing."""
        found = [f"The {what} could not be read: {why}." for what, why in self.damaged.items()]
        for counts, words in ((self.not_read, "not read"), (self.left_out, "left out")):
            for noun, count in counts.items():
                head, space, rest = noun.partition(" (") if " (" in noun else _split(noun)
                found.append(f"{plural(count, head)}{space}{rest} {'was' if count == 1 else 'were'} {words}.")
        if self.unknown_symbols:
            found.append(f"{plural(self.unknown_symbols, 'character')} of a symbol font stand as \ufffd in the text.")
        return tuple(found)


def _split(noun: str) -> tuple[str, str, str]:
    """The noun that takes the plural, and what comes after it: `picture` and `without a description`."""
    for word in (" without ", " of ", " in "):
        if word in noun:
            head, _, rest = noun.partition(word)
            return head, word, rest
    return noun, "", ""
