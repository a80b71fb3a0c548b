"""What a commit cost the local engine, component by component."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

from whence.engines.local.store import Store
from whence.model.updates import Delta, totals


@dataclass(frozen=True, slots=True)
class Work:
    """How many rows a component was given and how many of its own changed, and the seconds in between."""

    rows_in: int
    rows_out: int
    elapsed: float


# By the relations of a component.
Works: TypeAlias = dict[tuple[str, ...], Work]


@runtime_checkable
class Forest(Protocol):
    """A maintainer that knows what its tuples take up, and how many of them were dead for a moment last time."""

    last_dead: int

    @property
    def state_bytes(self) -> int: ...


class Meter:
    """Writes down the work of one commit. Rows are counted once, however many components read them."""

    def __init__(self, stores: Mapping[str, Store]) -> None:
        self.works: Works = {}
        self._stores = stores
        self._sizes: dict[str, int] = {}

    def start(self) -> float:
        return time.perf_counter()

    def stop(
        self, component: tuple[str, ...], started: float, inputs: Mapping[str, Delta], outputs: Mapping[str, Delta]
    ) -> None:
        elapsed = time.perf_counter() - started
        rows_in, rows_out = (sum(self._size(*each) for each in deltas.items()) for deltas in (inputs, outputs))
        self.works[component] = Work(rows_in, rows_out, elapsed)

    def add_stored(self, component: tuple[str, ...], relations: set[str]) -> None:
        """A component that was built has read all that was there."""
        work = self.works[component]
        stored = sum(len(self._stores[name].counts) for name in relations)
        self.works[component] = Work(work.rows_in + stored, work.rows_out, work.elapsed)

    def _size(self, name: str, delta: Delta) -> int:
        if name not in self._sizes:
            self._sizes[name] = sum(totals(delta))
        return self._sizes[name]


def metrics(works: Works, forests: Mapping[tuple[str, ...], Forest]) -> dict[str, int | float]:
    """The work in a few numbers. Only compiled forests know of dead tuples and of bytes."""
    found: dict[str, int | float] = {"components": len(works)}
    if forests:
        found["dead"] = sum(forest.last_dead for component, forest in forests.items() if component in works)
        found["state_bytes"] = sum(forest.state_bytes for forest in forests.values())
    return found
