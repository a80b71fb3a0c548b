"""What a database keeps in columns: its tables, and components without recursion."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from whence.analysis.components import Component
from whence.analysis.limits import RecursionLimits
from whence.columns import NotInColumnsError
from whence.columns.delta import ColumnDelta
from whence.columns.encoding import Encodings
from whence.columns.table import ColumnTable
from whence.incremental.columnar.counting import ColumnCounting
from whence.incremental.columnar.store import ColumnStore, column_table_store, mirror
from whence.incremental.evaluate import InRows
from whence.incremental.maintainer import Maintainer
from whence.incremental.store import Store
from whence.model.program import Functions
from whence.model.rules import Atom
from whence.model.schema import Relation
from whence.model.updates import Delta, Update

# After a change of so many rows, memory that is free goes back to the system.
MANY_ROWS = 1 << 17


@dataclass(frozen=True)
class Columns:
    """The encodings of a database, and tables for readers of columns where a relation is kept row by row."""

    encodings: Encodings = field(default_factory=Encodings)
    mirrors: dict[str, ColumnStore] = field(default_factory=dict)
    # Bags in which differential rules may take away more than there is.
    owing: set[str] = field(default_factory=set)

    def table_store(self, relation: Relation) -> Store:
        """An empty store for a base table."""
        return column_table_store(relation, self.encodings)

    @staticmethod
    def is_large(update: Update) -> bool:
        """Whether a change leaves so much memory behind that it is worth giving back."""
        return sum(map(len, update.deltas.values())) >= MANY_ROWS

    @staticmethod
    def give_memory_back() -> None:
        """The C library keeps what arrays of some megabytes leave behind, which can be half of all."""
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)

    def without(self, gone: frozenset[str]) -> Columns:
        mirrors = {name: each for name, each in self.mirrors.items() if name not in gone}
        return Columns(self.encodings, mirrors, self.owing - gone)

    def counting(
        self,
        component: Component,
        relations: Mapping[str, Relation],
        functions: Functions,
        stores: Mapping[str, Store],
        *,
        is_followed: bool = True,
    ) -> ColumnCounting:
        """What keeps a component without recursion. Raises NotInColumnsError where it has to be kept row by row.

        Unless it `is_followed`, it is built once and no change is.
        """
        if self._is_owing(component):
            if component.aggregated:
                raise NotInColumnsError("an aggregate of rows whose count may be negative")
            self.owing.update(name for name in component.relations if not relations[name].distinct)
        below: dict[str, ColumnStore] = {}
        made: dict[str, ColumnStore] = {}
        for name in component.reads:
            store = stores[name]
            if isinstance(store, ColumnStore):
                below[name] = store
            elif name in self.mirrors:
                below[name] = self.mirrors[name]
            else:
                below[name] = made[name] = mirror(relations[name], store, self.encodings)
        maintainer = ColumnCounting(component, relations, functions, below, self.encodings, is_followed=is_followed)
        self.mirrors.update(made)
        return maintainer

    def _is_owing(self, component: Component) -> bool:
        return any(
            rule.sign < 0 or any(isinstance(each, Atom) and each.relation in self.owing for each in rule.body)
            for rule in component.rules
        )


class InColumns(InRows):
    """How a question keeps what it computes on the way: in columns where it reads nothing but columns."""

    def __init__(self, columns: Columns) -> None:
        self._columns = Columns(columns.encodings, owing=set(columns.owing))

    def store(self, relation: Relation, rows: Delta) -> Store:
        if not isinstance(rows, ColumnDelta):
            return super().store(relation, rows)
        made = ColumnStore(ColumnTable(rows.encodings, is_set=relation.distinct))
        made.apply(rows)
        return made

    def counting(
        self,
        component: Component,
        relations: Mapping[str, Relation],
        functions: Functions,
        stores: Mapping[str, Store],
        limits: RecursionLimits,
    ) -> Maintainer:
        if all(isinstance(stores[name], ColumnStore) for name in component.reads):
            with suppress(NotInColumnsError):
                return self._columns.counting(component, relations, functions, stores, is_followed=False)
        return super().counting(component, relations, functions, stores, limits)
