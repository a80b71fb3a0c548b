"""Plays the engine's part for maintainers under test: base deltas in, stores up to date, every commit checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from whence.analysis.analyze import Analysis
from whence.analysis.limits import DEFAULT_LIMITS, RecursionLimits
from whence.engines.reference.evaluate import NO_FUNCTIONS, evaluate
from whence.incremental.maintainer import Maintainer
from whence.incremental.store import Store, table_store
from whence.model.program import Functions
from whence.model.types import Row
from whence.model.updates import Delta

Make = Callable[..., Maintainer]


class Driver:
    """A program whose components are all kept by maintainers of one kind."""

    def __init__(
        self,
        analysis: Analysis,
        make: Make,
        base: Mapping[str, Delta],
        functions: Functions = NO_FUNCTIONS,
        limits: RecursionLimits = DEFAULT_LIMITS,
    ) -> None:
        self.analysis = analysis
        self.functions = functions
        self.limits = limits
        derived = {name for component in analysis.components if component.rules for name in component.relations}
        self.base = [name for name in analysis.relations if name not in derived]
        self.stores = {
            name: table_store(relation) if name in self.base else Store()
            for name, relation in analysis.relations.items()
        }
        for name, rows in base.items():
            self.stores[name].apply(rows)
        self.maintainers: list[tuple[Sequence[str], Maintainer]] = []
        for component in analysis.components:
            if component.rules:
                below = {name: store for name, store in self.stores.items() if name not in component.relations}
                maintainer = make(component, analysis.relations, functions, below, limits)
                built = maintainer.build()
                maintainer.settle()
                for name, delta in built.items():
                    self.stores[name].apply(delta)
                self.maintainers.append((component.relations, maintainer))

    def commit(self, deltas: Mapping[str, Delta], settle: bool = True) -> dict[str, Delta]:
        """The changes of all relations. Raises what a maintainer raises, after all have undone it."""
        all_deltas = dict(deltas)
        involved: list[Maintainer] = []
        try:
            for _, maintainer in self.maintainers:
                involved.append(maintainer)
                all_deltas.update(maintainer.apply(all_deltas))
        except BaseException:
            self._undo(involved)
            raise
        if not settle:
            self._undo(involved)
            return all_deltas
        for maintainer in involved:
            maintainer.settle()
        for name, delta in all_deltas.items():
            self.stores[name].apply(delta)
        return all_deltas

    def counts(self) -> dict[str, Mapping[Row, int]]:
        found: dict[str, Mapping[Row, int]] = {name: self.stores[name].counts for name in self.base}
        for names, maintainer in self.maintainers:
            found.update((name, dict(maintainer.counts(name))) for name in names)
        return found

    def expected(self) -> Mapping[str, Mapping[Row, int]]:
        """Everything computed from the base tables, from nothing."""
        return evaluate(
            self.analysis, {name: self.stores[name].counts for name in self.base}, self.functions, self.limits
        )

    def check(self) -> None:
        """What maintainers have, and what the deltas added up to, is what recomputation gives."""
        expected = self.expected()
        assert self.counts() == expected
        assert {name: self.stores[name].counts for name in self.analysis.relations} == expected

    def _undo(self, involved: Sequence[Maintainer]) -> None:
        for maintainer in involved:
            maintainer.undo()
