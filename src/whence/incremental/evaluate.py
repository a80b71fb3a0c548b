"""The answer to a program that is asked once: the plans of maintained views, over rows that are there anyway."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol, runtime_checkable

from whence.analysis.analyze import Analysis
from whence.analysis.components import Component
from whence.analysis.limits import RecursionLimits, is_bag_recursion
from whence.incremental.array_elements import Unnesting
from whence.incremental.counting.counting import Counting
from whence.incremental.maintainer import Maintainer
from whence.incremental.recursive.levels import Levels
from whence.incremental.recursive.recompute import Recompute
from whence.incremental.store import Holder, Key, Store
from whence.incremental.windows.maintainer import Windows
from whence.model.program import Functions
from whence.model.schema import Relation
from whence.model.types import Row
from whence.model.updates import Delta, totals


class InRows:
    """How a question keeps what it computes on the way: row by row."""

    def store(self, relation: Relation, rows: Delta) -> Store:  # noqa: ARG002 - columns have types
        """For those that read a relation of the question."""
        return Store(rows)

    def counting(
        self,
        component: Component,
        relations: Mapping[str, Relation],
        functions: Functions,
        stores: Mapping[str, Store],
        limits: RecursionLimits,
    ) -> Maintainer:
        """For a component without recursion."""
        return Counting(component, relations, functions, stores, limits)


def evaluate(
    analysis: Analysis,
    functions: Functions,
    limits: RecursionLimits,
    contents: Callable[[str], Store],
    relation: str,
    kept: InRows | None = None,
) -> Mapping[Row, int]:
    """The rows of a relation, and how often each is there. `contents` are those of relations without rules."""
    kept = kept or InRows()
    outputs: dict[str, Delta] = {}
    stores: dict[str, Store] = {}
    for component in analysis.components:
        if not component.rules:
            stores.update((name, contents(name)) for name in component.relations)
            continue
        for name in component.reads:
            if name not in stores:
                stores[name] = kept.store(analysis.relations[name], outputs.get(name, {}))
        made: Callable[..., Maintainer] = Recompute if component.recursive else kept.counting
        if component.windowed:
            made = Windows
        elif component.unnested:
            made = Unnesting
        elif is_bag_recursion(component, analysis.relations):
            made = Levels
        below = {name: stores[name] for name in component.reads}
        outputs.update(made(component, analysis.relations, functions, below, limits).build())
    rows = outputs.get(relation, {})
    return rows if not totals(rows)[1] else {row: count for row, count in rows.items() if count > 0}


def lent(store: Store) -> Store:
    """The rows of a store for the time of one question, while they do not change."""
    return store.lent() if isinstance(store, LendsRows) else Borrowed(store.contents(), store)


@runtime_checkable
class LendsRows(Protocol):
    """A store that can be read by others beside its owner: indexes that they make are theirs."""

    def lent(self) -> Store: ...


class Borrowed(Store):
    """Rows of another owner, and its store if it has one, whose indexes are used; others are made and go with this."""

    def __init__(self, counts: Mapping[Row, int], owner: Store | None = None) -> None:
        super().__init__()
        self._lent = counts
        self._owner = owner
        self._theirs = frozenset(() if owner is None else owner.indexes)

    @property
    def counts(self) -> Mapping[Row, int]:
        return self._lent

    @property
    def indexes(self) -> Collection[tuple[int, ...]]:
        return self._theirs

    def matching(self, positions: tuple[int, ...], key: Key) -> Mapping[Row, int]:
        if self._owner is not None and positions in self._theirs:
            return self._owner.matching(positions, key)
        return super().matching(positions, key)

    def matching_all(self, positions: tuple[int, ...], keys: Sequence[Key]) -> list[Collection[Row]]:
        if self._owner is not None and positions in self._theirs:
            return self._owner.matching_all(positions, keys)
        return super().matching_all(positions, keys)

    def holder(self, positions: tuple[int, ...]) -> Holder | None:
        return None if self._owner is None else self._owner.holder(positions)
