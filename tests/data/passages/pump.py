"""A pump and its log."""

from dataclasses import dataclass, field

LIMIT = 400


@dataclass
class Pump:
    """One pump of the station."""

    name: str
    level: int = 0
    log: list[str] = field(default_factory=list)

    def start(self, wanted: int) -> bool:
        """Run until `wanted` is reached."""
        if wanted > LIMIT:
            self.log.append(f"{self.name}: refused {wanted}")
            return False

        while self.level < wanted:
            self.level += 1

        self.log.append(f"{self.name}: reached {wanted}")
        return True

    # The gate must be closed before.
    def drain(self) -> int:
        """Let the water out; how much there was."""
        before = self.level

        self.level = 0
        self.log.append(f"{self.name}: drained {before}")
        return before

    @property
    def dry(self) -> bool:
        """Whether nothing is left."""
        return self.level == 0


def busiest(pumps: list[Pump]) -> Pump:
    """The pump with the longest log."""
    best = pumps[0]

    for pump in pumps:
        if len(pump.log) > len(best.log):
            best = pump

    return best


def report(pumps: list[Pump]) -> str:
    """All logs, one entry a line."""
    lines = []

    for pump in pumps:
        lines.extend(pump.log)

    return "\n".join(lines)
