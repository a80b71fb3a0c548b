"""What a commit cost the local engine, component by component."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
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

    def __init__(self) -> None:
        self.works: Works = {}
        self._sizes: dict[str, int] = {}
        self._started = 0.0

    def start(self) -> None:
        self._started = time.perf_counter()

    def stop(
        self,
        component: tuple[str, ...],
        inputs: Mapping[str, Delta],
        outputs: Mapping[str, Delta],
        built_from: Iterable[Store] = (),
    ) -> None:
        """A component is done. One that was built has read all that was stored."""
        elapsed = time.perf_counter() - self._started
        stored = sum(len(store.counts) for store in built_from)
        self.works[component] = Work(stored + self._rows(inputs), self._rows(outputs), elapsed)

    def _rows(self, deltas: Mapping[str, Delta]) -> int:
        for name, delta in deltas.items():
            if name not in self._sizes:
                self._sizes[name] = sum(totals(delta))
        return sum(self._sizes[name] for name in deltas)


def metrics(works: Works, forests: Mapping[tuple[str, ...], Forest]) -> dict[str, int | float]:
    """The work in a few numbers. Only compiled forests know of dead tuples and of bytes."""
    found: dict[str, int | float] = {"components": len(works)}
    if forests:
        found["dead"] = sum(forest.last_dead for component, forest in forests.items() if component in works)
        found["state_bytes"] = sum(forest.state_bytes for forest in forests.values())
    return found
