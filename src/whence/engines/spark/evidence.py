"""What the Spark engine answers outside of a commit: the rows of relations, and why they are there.

The numbers in the support of a recursive row lead to the few rows from below that it rests on, in one job for each
relation; its proof is then found among those, in this process.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, ItemsView, Iterator, Mapping, Sequence, ValuesView
from functools import cached_property
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING, Literal

import pyarrow as pa
import pyspark.sql.functions as F

from whence.engines.engine import Contents, Evidence, RowsMissingError, T
from whence.engines.spark.fetch import LISTED
from whence.engines.spark.native.columns import literal
from whence.engines.spark.pages import TooLargeError
from whence.engines.spark.registry import readable
from whence.engines.spark.supported import Support, Supported
from whence.engines.spark.tuple_ids import UNKNOWN, UNPROVED, row_ids, tuple_id
from whence.engines.spark.types import rows_from_arrow
from whence.errors import UnsupportedError
from whence.incremental.keyed import key_positions
from whence.incremental.store import Key, Store
from whence.model.program import Functions
from whence.model.rules import Atom, Negation
from whence.model.schema import Relation
from whence.model.types import Row, Value
from whence.planning.statistics import Statistics

if TYPE_CHECKING:
    from whence.analysis.analyze import Analysis
    from whence.analysis.components import Component
    from whence.engines.spark.engine import SparkEngine

# What stands in a support that tells nothing.
_NO_IDS = {UNKNOWN, UNPROVED}


class SparkEvidence(Evidence):
    """Looking is trying: what is missing in memory is fetched together, and then looked at again."""

    def __init__(self, engine: SparkEngine, analysis: Analysis, functions: Functions) -> None:
        self._engine = engine
        self.analysis = analysis
        self.functions = functions
        self._joined = {
            name: joined for each in analysis.components for name in each.relations if (joined := _joined(each))
        }
        self._is_looking = False
        # Whether what is missing is fetched on the spot: what several looks miss together may be too much.
        self._one_by_one = False

    def contents(self, relation: str) -> Contents:
        """What is not in memory seems not to be there until it has been gathered."""
        return readable(self._engine.registry[relation], self._engine.relation(relation))

    def lookup(self, relation: str) -> Literal["index", "scan", "fetch"]:  # noqa: ARG002 - all are on the cluster
        return "fetch"

    @property
    def statistics(self) -> Statistics:
        return self._engine.statistics()

    def bases(self, facts: Sequence[tuple[str, Row]]) -> list[Mapping[str, Store] | None]:
        supports = self.gather(lambda: [self._support(*fact) for fact in facts])
        wanted: dict[str, set[int]] = {}
        for (relation, _), support in zip(facts, supports, strict=True):
            for name in self._joined[relation] if support else ():
                wanted.setdefault(name, set()).update(support)
        numbered = {name: self._with_ids(name, ids) for name, ids in sorted(wanted.items())}
        return [
            {name: Store(_numbered(numbered[name], support)) for name in self._joined[relation]} if support else None
            for (relation, _), support in zip(facts, supports, strict=True)
        ]

    def _support(self, relation: str, row: Row) -> Support:
        """The ids of the rows that a row rests on; none where that is not known, or does not tell."""
        state = self._engine.registry[relation]
        support = state.get(row) if isinstance(state, Supported) and relation in self._joined else None
        return () if support is None or not _NO_IDS.isdisjoint(support) else support

    def gather(self, look: Callable[[], T]) -> T:
        try:
            if self._is_looking and not self._one_by_one:
                return self._looked(look)
            return self._fetched(look)
        except TooLargeError:
            raise UnsupportedError(
                "the answer needs more rows than should be brought to the driver",
                hint="ask about a row of which all columns are given, or about a view that is joined from fewer rows",
            ) from None

    def _looked(self, look: Callable[[], T]) -> T:
        """What a look inside of another one finds."""
        misses = self._misses()
        found = look()
        if self._misses() > misses:
            raise RowsMissingError
        return found

    def _fetched(self, look: Callable[[], T]) -> T:
        is_inside, self._is_looking = self._is_looking, True
        try:
            while True:
                try:
                    found = [look()]
                except RowsMissingError:
                    found = []
                if not self._fetch(is_inside=is_inside) and found:
                    return found[0]
        finally:
            self._is_looking = is_inside
            self._one_by_one = self._one_by_one and is_inside

    def _fetch(self, *, is_inside: bool) -> bool:
        """Bring what was missed; False if that is nothing."""
        try:
            return self._engine.fetch_missing()
        except TooLargeError:
            if is_inside or self._one_by_one:
                raise
        self._one_by_one = True
        self._engine.registry.forget()
        return True

    def _misses(self) -> int:
        """How often something was looked for that is not in memory."""
        registry = self._engine.registry
        return sum(registry[name].base.misses for name in self.analysis.relations)

    def _with_ids(self, name: str, ids: Collection[int]) -> dict[int, list[Row]]:
        """The rows of a relation that have one of the numbers."""
        relation, state = self.analysis.relations[name], self._engine.registry[name]
        number = row_ids(name, relation)
        if state.base.segments is None or state.base.whole() is not None:
            counts = readable(state, relation).matching((), ())
            rows = [row for row, count in counts.items() if count > 0]
        else:
            rows = self._fetch_with_ids(name, ids)
        numbered: dict[int, list[Row]] = {}
        for row in rows:
            identity = number(row)
            if identity in ids:
                numbered.setdefault(identity, []).append(row)
        return numbered

    def _fetch_with_ids(self, name: str, ids: Collection[int]) -> list[Row]:
        relation = self.analysis.relations[name]
        identity = tuple_id(name, [F.col(f"c{position}") for position in range(relation.arity)])
        frame = self._engine.frame(name).where("n > 0")
        if len(ids) <= LISTED:
            found = frame.where(identity.isin(list(ids)))
        else:
            listed = self._engine.spark.createDataFrame(pa.table({"id": pa.array(ids, pa.int64())}))
            found = frame.join(F.broadcast(listed), identity == F.col("id"), "left_semi")
        with self._engine.phase(name, "fetch what proofs rest on"):
            return list(rows_from_arrow(found.toArrow(), relation))


def _joined(component: Component) -> list[str]:
    """The relations from below that a recursive component joins; none if it negates one of them as well."""
    literals = [literal for rule in component.rules for literal in rule.body]
    joined = {literal.relation for literal in literals if isinstance(literal, Atom)} - set(component.relations)
    negated = {literal.atom.relation for literal in literals if isinstance(literal, Negation)}
    return [] if joined & negated else sorted(joined)


def _numbered(rows: Mapping[int, Sequence[Row]], support: Support) -> dict[Row, int]:
    return {row: 1 for identity in support for row in rows.get(identity, ())}


class RelationRows(Mapping[Row, int]):
    """The rows of a relation: looked up one by one, or brought here as a whole."""

    def __init__(self, engine: SparkEngine, name: str) -> None:
        self._engine = engine
        self._name = name

    def __getitem__(self, row: Row) -> int:
        self._engine.expect(self._name, [row])
        return readable(self._engine.registry[self._name], self._engine.relation(self._name)).counts[row]

    def __iter__(self) -> Iterator[Row]:
        return iter(self._all)

    def items(self) -> ItemsView[Row, int]:
        return self._all.items()

    def values(self) -> ValuesView[int]:
        return self._all.values()

    def __len__(self) -> int:
        return len(self._all)

    @property
    def about(self) -> int:
        """How many rows there are; exact until some have changed since the last compaction."""
        return len(self._engine.registry[self._name].counts)

    def page(self, bound: Mapping[int, Value], offset: int, limit: int) -> list[tuple[Row, int]]:
        """Some of the rows that have these values at these positions, in one job or none."""
        state, relation = self._engine.registry[self._name], self._engine.relation(self._name)
        if state.base.segments is None:
            positions = tuple(sorted(bound))
            key = bound[positions[0]] if len(positions) == 1 else tuple([bound[position] for position in positions])
            found = readable(state, relation).matching(positions, key)
            return list(islice(((row, n) for row, n in found.items() if n > 0), offset, offset + limit))
        frame = self._engine.frame(self._name).where("n > 0")
        for position, value in bound.items():
            column = relation.columns[position]
            frame = frame.where(F.col(f"c{position}").eqNullSafe(literal(value, column.type)))
        table = frame.offset(offset).limit(limit).toArrow()
        return list(zip(rows_from_arrow(table, relation), table.column("n").to_pylist(), strict=True))

    @cached_property
    def _all(self) -> Mapping[Row, int]:
        state = self._engine.registry[self._name]
        if state.base.segments is None:
            return dict(readable(state, self._engine.relation(self._name)).counts)
        table = self._engine.frame(self._name).toArrow()
        rows = rows_from_arrow(table, self._engine.relation(self._name))
        return dict(zip(rows, table.column("n").to_pylist(), strict=True))


class RowsByKey(Mapping[Key, Row]):
    """The row of each key of a table, looked up one by one."""

    def __init__(self, engine: SparkEngine, relation: Relation) -> None:
        self._engine = engine
        self._relation = relation
        self._positions = key_positions(relation)

    def __getitem__(self, key: Key) -> Row:
        row = self._engine.holder(self._relation.name, self._positions, key)
        if row is None:
            raise KeyError(key)
        return row

    def __iter__(self) -> Iterator[Key]:
        return map(itemgetter(*self._positions), self._engine.counts(self._relation.name))

    def __len__(self) -> int:
        return len(self._engine.counts(self._relation.name))
