"""What a commit cost the local engine, component by component."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable

from whence.model.updates import Delta, totals


class Work(NamedTuple):
    """What a component was given and what it made of it, and the seconds in between."""

    inputs: Mapping[str, Delta]
    outputs: Mapping[str, Delta]
    elapsed: float
    # How many rows it was built from, where it was new.
    stored: int = 0

    @property
    def rows_in(self) -> int:
        return self.stored + sum(sum(totals(delta)) for delta in self.inputs.values())

    @property
    def rows_out(self) -> int:
        return sum(sum(totals(delta)) for delta in self.outputs.values())


# By the relations of a component.
Works: TypeAlias = dict[tuple[str, ...], Work]


@runtime_checkable
class Forest(Protocol):
    """A maintainer that knows what its tuples take up, and how many of them were dead for a moment last time."""

    last_dead: int

    @property
    def state_bytes(self) -> int: ...

    def retrace(self, deltas: Mapping[str, Delta]) -> None:
        """Take the last `apply` of these back, which did not raise, in the time that it took."""

    def everything(self, relation: str) -> Delta:
        """All rows of a relation after a commit, as a change from nothing."""


def metrics(works: Works, forests: Mapping[tuple[str, ...], Forest]) -> dict[str, int | float]:
    """The work in a few numbers. Only compiled forests know of dead tuples and of bytes."""
    found: dict[str, int | float] = {"components": len(works)}
    if forests:
        dead = state_bytes = 0
        for component, forest in forests.items():
            state_bytes += forest.state_bytes
            if component in works:
                dead += forest.last_dead
        found["dead"], found["state_bytes"] = dead, state_bytes
    return found
