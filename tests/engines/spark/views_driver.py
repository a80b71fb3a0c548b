"""Views computed by Spark, and what they have to be: the same by the reference engine and the local one."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from whence.analysis.analyze import Analysis
from whence.analysis.components import Component
from whence.engines.reference.evaluate import NO_FUNCTIONS, evaluate
from whence.engines.spark.payloads import TotalsPayload, fold_columns
from whence.engines.spark.types import arrow_frame, rows_from_arrow, rows_to_arrow
from whence.engines.spark.views import DerivedView, derive
from whence.incremental.counting.counting import RuleDeltas
from whence.incremental.counting.folds import ByValue, Extreme, Fold, LinearFold
from whence.incremental.counting.groups import BINDINGS, Groups
from whence.incremental.store import Store
from whence.model.program import Functions
from whence.model.schema import Column, Relation
from whence.model.types import BIGINT, Row, Type

Counts = Mapping[Row, int]


def frame_of(spark: SparkSession, relation: Relation, counts: Counts) -> DataFrame:
    """The rows with their counts, as the engine would give them to a component."""
    counted = Relation(relation.name, (*relation.columns, Column("n", BIGINT, nullable=False)))
    rows = arrow_frame(spark, rows_to_arrow([(*row, count) for row, count in counts.items()], counted))
    return rows.withColumnRenamed(f"c{relation.arity}", "n")


def counts_of(relation: Relation, frame: DataFrame, count: str = "n") -> dict[Row, int]:
    """The rows of a frame; none of them is there twice."""
    table = frame.toArrow()
    rows = rows_from_arrow(table, relation)
    assert len(set(rows)) == len(rows)
    return dict(zip(rows, table.column(count).to_pylist(), strict=True))


class Kept(Groups):
    """The state of a view with aggregates as the local engine keeps it."""

    def groups(self) -> dict[Row, tuple[Any, ...]]:
        """Per group its bindings, and what is known of each fold."""
        return {
            key: (state[BINDINGS], *(self._parts(fold, state[at]) for at, fold in self._placed))
            for key, state in self._groups.items()
        }

    def _parts(self, fold: Fold, state: Any) -> tuple[Any, ...]:
        match fold:
            case ByValue():
                return (len(state.copies), state.kinds, state.count, state.total)
            case Extreme():
                return (len(state.copies), fold.result(fold.begin(state)))
        return tuple(state)

    def payload(self) -> TotalsPayload:
        folds = [(each.fold, each.input) for each in self._aggregates if each.fold is not None]
        return TotalsPayload(fold_columns(folds))

    def kind(self, number: int) -> Type:
        """The type of the values that a fold looks at."""
        kind = [each.input for each in self._aggregates if each.fold is not None][number]
        assert kind is not None
        return kind

    def members(self) -> dict[int, dict[Row, int]]:
        return {
            number: {
                (*key, value): copies
                for key, state in self._groups.items()
                for value, copies in state[at].copies.items()
            }
            for number, (at, fold) in enumerate(self._placed)
            if not isinstance(fold, LinearFold)
        }


def kept(component: Component, analysis: Analysis, tables: Mapping[str, Counts], functions: Functions) -> Kept:
    view = Kept(analysis.relations[component.relations[0]], component.typed)
    stores = {name: Store(counts) for name, counts in tables.items()}
    view.begin()
    for number, rule in enumerate(component.typed):
        RuleDeltas(rule, functions, stores, partial(view.taker, number)).build()
    view.change()
    view.settle()
    return view


def check_views(
    spark: SparkSession,
    analysis: Analysis,
    base: Mapping[str, Counts],
    functions: Functions = NO_FUNCTIONS,
) -> None:
    """Every view is what the reference engine makes of the program, and so is the state beside it."""
    tables = evaluate(analysis, base, functions)
    frames = {name: frame_of(spark, analysis.relations[name], counts) for name, counts in tables.items()}
    for component in analysis.components:
        if component.rules:
            derived = derive(component, analysis.relations, functions, frames)
            for frame in derived.shared:
                frame.persist()
            check_view(analysis, component, derived, tables, functions)
            for frame in derived.shared:
                frame.unpersist()


def check_view(
    analysis: Analysis, component: Component, derived: DerivedView, tables: Mapping[str, Counts], functions: Functions
) -> None:
    (name,) = component.relations
    relation = analysis.relations[name]
    rows = counts_of(relation, derived.frame)
    if relation.distinct:
        rows = {row: 1 for row, count in rows.items() if count > 0}
    assert shown(rows) == shown(tables[name]), (name, shown(rows), shown(tables[name]))
    if not component.aggregated:
        return
    expected = kept(component, analysis, tables, functions)
    keys = tuple(c for position, c in enumerate(relation.columns) if position not in component.rules[0].aggregates)
    assert derived.groups is not None
    assert shown(groups_of(keys, derived.groups, expected.payload())) == shown(expected.groups())
    for number, members in expected.members().items():
        value = Column("value", expected.kind(number))
        found = derived.members[number].withColumnsRenamed(positional(len(keys)) | {"value": f"c{len(keys)}"})
        assert shown(counts_of(Relation("", (*keys, value)), found, "copies")) == shown(members)


def shown(counts: Mapping[Row, Any]) -> dict[str, Any]:
    """Rows as text, which tells 1 from 1.0 and 1.5 from 1.50."""
    return {repr(row): count for row, count in counts.items()}


def positional(count: int) -> dict[str, str]:
    return {f"k{number}": f"c{number}" for number in range(count)}


def groups_of(keys: tuple[Column, ...], groups: DataFrame, payload: TotalsPayload) -> dict[Row, tuple[Any, ...]]:
    table = groups.withColumnsRenamed(positional(len(keys))).toArrow()
    known = [(bindings, *parts) for bindings, parts in payload.decode(table)]
    return dict(zip(rows_from_arrow(table, Relation("", keys)), known, strict=True))
