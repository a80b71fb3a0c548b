"""What the local engine knows about why: its stores, its maintainers, and the proofs that these keep."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Literal

from whence.analysis.analyze import Analysis
from whence.analysis.components import Component
from whence.engines.engine import Contents, Dependents, Derivation, Rows, T
from whence.incremental.maintainer import KeepsStore, Maintainer
from whence.incremental.recursive.absorption import Absorption
from whence.incremental.store import Key, Store, StoreStatistics
from whence.model.program import Functions
from whence.model.rules import Rule
from whence.model.types import Row
from whence.model.updates import Delta
from whence.planning.statistics import Statistics

if TYPE_CHECKING:
    from whence.engines.local.forest.read import ForestReader, Use


class LocalStatistics:
    """Of relations in stores, and of views that no other view reads."""

    def __init__(self, stores: Mapping[str, Store], maintainers: Mapping[str, Maintainer]) -> None:
        self._stored = StoreStatistics(stores)
        self._stores = stores
        self._maintainers = maintainers

    def size(self, relation: str) -> int:
        if relation in self._stores:
            return self._stored.size(relation)
        return len(self._maintainers[relation].counts(relation))

    def distinct(self, relation: str, columns: tuple[int, ...]) -> int | None:
        if relation in self._stores:
            return self._stored.distinct(relation, columns)
        maintainer = self._maintainers[relation]
        return maintainer.own_store().distinct(columns) if isinstance(maintainer, KeepsStore) else None


class ProofForest(Maintainer, ABC):
    """A maintainer whose tuples and derivations are integers, as readers of single rows see it."""

    # Whether each row has a live derivation, and to follow these ends.
    keeps_proofs = True
    # The maintainer that keeps the rows, where the kernels could not go on.
    successor: Maintainer | None
    # By the numbers that derivations have.
    rules: tuple[Rule, ...]
    # How many tuples were dead for a moment in the last change.
    last_dead: int

    @property
    @abstractmethod
    def state_bytes(self) -> int:
        """What its tuples and derivations take up."""

    @abstractmethod
    def retrace(self, deltas: Mapping[str, Delta]) -> None:
        """Take the last `apply` of these back, which did not raise, in the time that it took."""

    @abstractmethod
    def everything(self, relation: str) -> Delta:
        """All rows of a relation after a commit, as a change from nothing."""

    @abstractmethod
    def node(self, relation: str, row: Row) -> int | None:
        """The node of a row that is there."""

    @abstractmethod
    def reader(self) -> ForestReader:
        """Reads single rows, and what they rest on; until the next commit."""

    @abstractmethod
    def dependents(self, below: Mapping[str, Rows]) -> Dependents | None:
        """The rows with a derivation in which one of these takes part, of what the component reads; None if unknown."""


class LocalEvidence:
    """Tables are in stores. Views of forests are looked up there, since their stores may have to be filled first."""

    def __init__(
        self,
        analysis: Analysis,
        functions: Functions,
        stores: Mapping[str, Store],
        maintainers: Mapping[str, Maintainer],
    ) -> None:
        self.analysis = analysis
        self.functions = functions
        self._stores = stores
        self._maintainers = maintainers
        self._forests = {name: each for name, each in maintainers.items() if isinstance(each, ProofForest)}

    def contents(self, relation: str) -> Contents:
        forest = self._forest(relation)
        if forest is not None:
            return _ForestContents(forest, relation)
        store = self._stores.get(relation)
        return _MaintainedContents(self._maintainers[relation], relation) if store is None else _StoredContents(store)

    def lookup(self, relation: str) -> Literal["index", "scan", "fetch"]:
        return "index" if relation in self._stores or self._forest(relation) is not None else "scan"

    @property
    def statistics(self) -> Statistics:
        return LocalStatistics(self._stores, self._maintainers)

    def live(self, relation: str, row: Row) -> Sequence[Derivation]:
        forest = self._forest(relation)
        if forest is not None:
            node = forest.node(relation, row) if forest.keeps_proofs else None
            return () if node is None else (_derivation(forest, forest.reader().live(node)),)
        maintainer = self._maintainers.get(relation)
        if relation in self._forests:
            maintainer = self._forests[relation].successor
        return (
            [Derivation(*use) for use in maintainer.proof(relation, row)] if isinstance(maintainer, Absorption) else ()
        )

    def stored(self, relation: str, row: Row) -> Sequence[Derivation] | None:
        forest = self._forest(relation)
        node = None if forest is None else forest.node(relation, row)
        if forest is None or node is None:
            return None
        uses = forest.reader().derivations(node)
        return None if uses is None else [_derivation(forest, use) for use in uses]

    def bases(self, facts: Sequence[tuple[str, Row]]) -> Sequence[None]:
        # Rows have derivations here.
        return [None] * len(facts)

    def dependents_within(self, component: Component, below: Mapping[str, Rows]) -> Dependents | None:
        forest = self._forest(component.relations[0])
        return None if forest is None else forest.dependents(below)

    def gather(self, look: Callable[[], T]) -> T:
        return look()

    def _forest(self, relation: str) -> ProofForest | None:
        """The forest that keeps a view, unless another maintainer had to take over."""
        forest = self._forests.get(relation)
        return None if forest is None or forest.successor is not None else forest


def _derivation(forest: ProofForest, use: Use) -> Derivation:
    return Derivation(forest.rules[use.rule], use.body)


class _StoredContents:
    """A store looks rows up by any columns."""

    def __init__(self, store: Store) -> None:
        self.matching, self.matching_all = store.matching, store.matching_all
        self._store = store

    def count(self, row: Row) -> int:
        return self._store.counts.get(row, 0)


@dataclass(frozen=True, slots=True)
class _MaintainedContents(Contents):
    """A view that no other reads has no index: single rows are looked up, and everything else is read through."""

    maintainer: Maintainer
    relation: str

    def matching(self, positions: tuple[int, ...], key: Key) -> Mapping[Row, int]:
        counts = self.maintainer.counts(self.relation)
        if not positions:
            return counts
        value_of = itemgetter(*positions)
        return {row: count for row, count in counts.items() if value_of(row) == key}

    def count(self, row: Row) -> int:
        return self.maintainer.counts(self.relation).get(row, 0)


@dataclass(frozen=True, slots=True)
class _ForestContents(Contents):
    """A forest looks rows up by the columns that its joins use, and goes through its integers for others."""

    forest: ProofForest
    relation: str

    def matching(self, positions: tuple[int, ...], key: Key) -> Mapping[Row, int]:
        if not positions:
            return self.forest.counts(self.relation)
        values = key if len(positions) > 1 else (key,)
        assert isinstance(values, tuple)
        return dict.fromkeys(self.forest.reader().matching(self.relation, positions, values), 1)

    def count(self, row: Row) -> int:
        return 0 if self.forest.node(self.relation, row) is None else 1
