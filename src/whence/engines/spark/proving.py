"""What the Spark engine knows about why: rows that are fetched by key, and the input that each recursive row carries.

The numbers in a row's support lead to the few rows from below that it rests on, in one job for each relation; its proof
is then found among those, in this process.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
import pyspark.sql.functions as F

from whence.engines.engine import Functions
from whence.engines.evidence import Derivation, Rows, RowsMissingError, T
from whence.engines.local.store import Key, Store
from whence.engines.spark.fetching import LISTED
from whence.engines.spark.paging import TooLargeError
from whence.engines.spark.registry import readable
from whence.engines.spark.supported import Support, Supported
from whence.engines.spark.tuple_ids import UNKNOWN, UNPROVED, row_ids, tuple_id
from whence.engines.spark.types import rows_from_arrow
from whence.errors import UnsupportedError
from whence.model.rules import Atom, Negation
from whence.model.types import Row

if TYPE_CHECKING:
    from whence.analysis.analyze import Analysis
    from whence.analysis.components import Component
    from whence.engines.spark.engine import SparkEngine

# What stands in a support that tells nothing.
_NO_IDS = {UNKNOWN, UNPROVED}


class SparkEvidence:
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

    def contents(self, relation: str) -> SparkContents:
        return SparkContents(self._engine, relation)

    def size(self, relation: str) -> int:
        return len(self._engine.registry[relation].counts)

    def live(self, relation: str, row: Row) -> Sequence[Derivation]:  # noqa: ARG002 - supports are flat here
        return ()

    def stored(self, relation: str, row: Row) -> None:  # noqa: ARG002 - derivations are not kept
        return None

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

    def dependents_within(self, component: Component, below: Mapping[str, Rows]) -> None:  # noqa: ARG002 - by rows
        return None

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


class SparkContents:
    """A relation on the cluster. What is not in memory seems not to be there until it has been gathered."""

    def __init__(self, engine: SparkEngine, name: str) -> None:
        self._state = readable(engine.registry[name], engine.relation(name))

    def matching(self, positions: tuple[int, ...], key: Key) -> Mapping[Row, int]:
        return self._state.matching(positions, key)

    def count(self, row: Row) -> int:
        return self._state.counts.get(row, 0)
