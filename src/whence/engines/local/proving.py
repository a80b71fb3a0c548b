"""What the local engine knows about why: its stores, its maintainers, and the proofs that these keep."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING

from whence.analysis.analyze import Analysis
from whence.analysis.components import Component
from whence.engines.engine import Functions
from whence.engines.evidence import Contents, Dependents, Derivation, Rows, T
from whence.engines.local.maintainer import Maintainer
from whence.engines.local.recursive.absorption import Absorption
from whence.engines.local.store import Key, Store
from whence.model.rules import Rule
from whence.model.types import Row

if TYPE_CHECKING:
    from whence.engines.local.forest.reading import Reader, Use

# For the planner, which only has to tell a table that is probed from one that is read through.
_SIZE_OF_A_VIEW = 1_000_000


class ProofForest(Maintainer, ABC):
    """A maintainer whose tuples and derivations are integers, as those see it who read single rows."""

    # Whether each row has a live derivation, and to follow these ends.
    keeps_proofs = True

    @property
    @abstractmethod
    def successor(self) -> Maintainer | None:
        """Who keeps the rows, where the kernels could not go on."""

    @property
    @abstractmethod
    def rules(self) -> tuple[Rule, ...]:
        """By the numbers that derivations have."""

    @abstractmethod
    def node(self, relation: str, row: Row) -> int | None:
        """The node of a row that is there."""

    @abstractmethod
    def reader(self) -> Reader:
        """For those who read single rows, and ask what they rest on; until the next commit."""

    @abstractmethod
    def dependents(self, below: Mapping[str, Rows]) -> Dependents:
        """The rows with a derivation in which one of these takes part, of what the component reads."""


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
        return MaintainedContents(self._maintainers[relation], relation) if store is None else _StoredContents(store)

    def size(self, relation: str) -> int:
        return _SIZE_OF_A_VIEW if relation in self._maintainers else self._stores[relation].size

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
        self.matching = store.matching
        self._store = store

    def count(self, row: Row) -> int:
        return self._store.counts.get(row, 0)


class MaintainedContents:
    """A view that no other reads has no index: single rows are looked up, and everything else is read through."""

    def __init__(self, maintainer: Maintainer, relation: str) -> None:
        self._maintainer = maintainer
        self._relation = relation

    def matching(self, positions: tuple[int, ...], key: Key) -> Mapping[Row, int]:
        counts = self._maintainer.counts(self._relation)
        if not positions:
            return counts
        value_of = itemgetter(*positions)
        return {row: count for row, count in counts.items() if value_of(row) == key}

    def count(self, row: Row) -> int:
        return self._maintainer.counts(self._relation).get(row, 0)


class _ForestContents:
    """A forest looks rows up by the columns that its joins use, and goes through its integers for others."""

    def __init__(self, forest: ProofForest, relation: str) -> None:
        self._forest = forest
        self._relation = relation

    def matching(self, positions: tuple[int, ...], key: Key) -> Mapping[Row, int]:
        if not positions:
            return self._forest.counts(self._relation)
        values = key if len(positions) > 1 else (key,)
        assert isinstance(values, tuple)
        return dict.fromkeys(self._forest.reader().matching(self._relation, positions, values), 1)

    def count(self, row: Row) -> int:
        return 0 if self._forest.node(self._relation, row) is None else 1
