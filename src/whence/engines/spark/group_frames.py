"""The groups of a view on the cluster: what bindings tell about each, what is stored of it, the row that it makes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import or_

import pyspark.sql.functions as F
from pyspark.sql import Column, DataFrame

from whence.analysis.typed_rules import TypedRule
from whence.engines.spark.bodies import CountedBindings
from whence.engines.spark.exact_sums import double_totals, exact_total, finished, text_total, total_type
from whence.engines.spark.expressions import ColumnTerms
from whence.engines.spark.payloads import COUNT, TOTAL, fold_columns
from whence.engines.spark.types import spark_type
from whence.functions.types import Typed
from whence.incremental.counting.folds import ByValue, Collected, Extreme, LinearFold
from whence.incremental.counting.groups import HeadAggregate, can_be_negative
from whence.model.schema import Relation
from whence.model.terms import Variable
from whence.model.types import DOUBLE, Type

# What a second look at the values tells about a fold.
PARTS = ("total", "best", "held", "count", "kinds")


@dataclass(frozen=True, slots=True)
class _Fold:
    """One aggregate that looks at values: those of rule `r` are what `head.arguments[r]` says, as `kind`."""

    number: int
    head: HeadAggregate
    kind: Type

    @property
    def adds_doubles(self) -> bool:
        return self.kind == DOUBLE and self.head.function in ("sum", "avg")


class GroupFrames:
    """The groups of a view over bindings of its rules: all of them, or those that come and go with a change.

    In every frame the group terms are k0, k1, ...; in that of the bindings the argument of fold i is x{i}, and how
    often the binding counts is `copies`.
    """

    def __init__(
        self,
        relation: Relation,
        rules: Sequence[TypedRule],
        owing: Collection[str] | None,
        *,
        is_change: bool = False,
    ) -> None:
        positions = rules[0].rule.aggregates
        self._relation = relation
        self._rules = rules
        self._signed = any(can_be_negative(rule, owing) for rule in rules)
        self._counts_copies = is_change or any(not each.distinct for rule in rules for each in rule.relations.values())
        self._plain = [position for position in range(relation.arity) if position not in positions]
        self.keys = [f"k{number}" for number in range(len(self._plain))]
        self._counts = []
        self._folds: list[_Fold] = []
        for position in positions:
            head = HeadAggregate(position, rules, relation.columns[position].type, self._signed)
            if head.input is None:
                self._counts.append(position)
            else:
                self._folds.append(_Fold(len(self._folds), head, head.input))

    @property
    def looks_twice(self) -> bool:
        """Whether the bindings are looked at a second time."""
        return any(fold.adds_doubles or not isinstance(fold.head.fold, LinearFold) for fold in self._folds)

    def with_keys(self, rows: DataFrame) -> DataFrame:
        """Rows of the view with their group terms beside them."""
        keys = {key: F.col(f"c{position}") for key, position in zip(self.keys, self._plain, strict=True)}
        return rows.withColumns(keys) if keys else rows

    def bindings(self, found: Sequence[CountedBindings]) -> DataFrame:
        """What the groups need to know of the bindings of rules."""
        return reduce(DataFrame.unionAll, map(self._taken, found))

    def _taken(self, each: CountedBindings) -> DataFrame:
        head, columns = self._rules[each.rule].rule.head.terms, self._relation.columns
        return each.found.frame.select(
            *(
                each.found.column(head[position], columns[position].type).alias(key)
                for key, position in zip(self.keys, self._plain, strict=True)
            ),
            *(self._argument(fold, each).alias(f"x{fold.number}") for fold in self._folds),
            each.copies.alias("copies"),
        )

    def _argument(self, fold: _Fold, each: CountedBindings) -> Column:
        argument = fold.head.arguments[each.rule]
        return F.lit(None).cast(spark_type(fold.kind)) if argument is None else each.found.column(argument, fold.kind)

    def members(self, bindings: DataFrame) -> dict[int, DataFrame]:
        """For each fold that keeps them, its values."""
        return {
            fold.number: self.copies(
                bindings.where(F.col(f"x{fold.number}").isNotNull()).withColumnRenamed(f"x{fold.number}", "value")
            )
            for fold in self._folds
            if isinstance(fold.head.fold, ByValue | Collected | Extreme)
        }

    def copies(self, values: DataFrame) -> DataFrame:
        """Values of groups, each once with its number of copies."""
        counted = values.groupBy(*self.keys, "value").agg(F.sum("copies").alias("copies"))
        return counted.where(F.col("copies") != 0)

    def whole(self, bindings: DataFrame, members: Mapping[int, DataFrame]) -> DataFrame:
        """Per group all there is to know: `bindings`, and of fold i the number of values, their total, the result."""
        return self._put_together([*self._counted(bindings), *self._valued(members)], F.max)

    def difference(self, bindings: DataFrame) -> DataFrame:
        """Per group what bindings add to what adds up: `bindings`, and the number of values and their total."""
        return self._put_together([*self._counted(bindings)], F.max)

    def changed(self, difference: DataFrame, stored: DataFrame, members: Mapping[int, DataFrame]) -> DataFrame:
        """The same as `whole` for groups that change, by what was stored of them and all values that they have now."""
        totals = [fold for fold in self._linear if fold.head.function != "count"]
        texts = {f"f{fold.number}_{TOTAL}" for fold in totals if fold.adds_doubles}
        added = ["bindings", *(f"f{fold.number}_{COUNT}" for fold in self._linear)]
        added += [f"f{fold.number}_{TOTAL}" for fold in totals]

        def together(name: str) -> Column:
            if name in texts:
                return text_total(F.collect_list(name))
            return F.sum(name) if name in added else F.max(name)

        return self._put_together([difference, stored.select(*self.keys, *added), *self._valued(members)], together)

    @property
    def _linear(self) -> list[_Fold]:
        return [fold for fold in self._folds if isinstance(fold.head.fold, LinearFold)]

    def _put_together(self, parts: Sequence[DataFrame], of_column: Callable[[str], Column]) -> DataFrame:
        if len(parts) == 1:
            return parts[0]
        # A join would do as well, but for each of them; here a part has NULL in the columns of others.
        together = reduce(partial(DataFrame.unionByName, allowMissingColumns=True), parts)
        found = [of_column(name).alias(name) for name in together.columns if name not in self.keys]
        return together.groupBy(*self.keys).agg(*found)

    def _counted(self, bindings: DataFrame) -> Iterator[DataFrame]:
        """What adds up: frames with the group terms."""
        aggregates = [F.coalesce(F.sum("copies"), F.lit(0)).alias("bindings")]
        copies = F.col("copies") if self._counts_copies else None
        for fold in self._linear:
            value, number = F.col(f"x{fold.number}"), fold.number
            present = F.when(value.isNotNull(), F.col("copies"))
            aggregates.append(F.coalesce(F.sum(present), F.lit(0)).alias(f"f{number}_count"))
            if fold.head.function != "count" and not fold.adds_doubles:
                # A row of a set is one binding; of a bag it can be several.
                aggregates.append(exact_total(value, fold.kind, copies).alias(f"f{number}_total"))
        yield bindings.groupBy(*self.keys).agg(*aggregates)
        for fold in self._linear:
            if fold.adds_doubles:
                totals = double_totals(bindings, self.keys, F.col(f"x{fold.number}"), copies)
                yield totals.withColumnRenamed(TOTAL, f"f{fold.number}_{TOTAL}")

    def _valued(self, members: Mapping[int, DataFrame]) -> Iterator[DataFrame]:
        """What folds know of the values that they keep: frames with the group terms."""
        for number, values in members.items():
            named = {name: f"f{number}_{name}" for name in PARTS}
            for part in self._parts(self._folds[number], values):
                yield part.withColumnsRenamed(named)

    def _parts(self, fold: _Fold, values: DataFrame) -> Iterator[DataFrame]:
        match fold.head.fold:
            case Extreme():
                best = (F.min if fold.head.function == "min" else F.max)(F.when(F.col("copies") > 0, F.col("value")))
                yield values.groupBy(*self.keys).agg(best.alias("best"), F.count("*").alias("held"))
            case Collected():
                # As often as it is there, once where only different values count.
                copies = F.lit(1) if fold.head.distinct else F.col("copies").cast("int")
                repeated = F.when(F.col("copies") > 0, F.array_repeat(F.col("value"), copies))
                listed = F.sort_array(F.flatten(F.collect_list(repeated)))
                yield values.groupBy(*self.keys).agg(listed.alias("best"), F.count("*").alias("held"))
            case ByValue():
                yield self._by_value(fold, values)
                if fold.adds_doubles:
                    weight = _weight(fold)
                    yield double_totals(values.where(weight != 0), self.keys, F.col("value"), weight)

    def _by_value(self, fold: _Fold, members: DataFrame) -> DataFrame:
        weight = _weight(fold)
        aggregates = [
            F.coalesce(F.sum(weight), F.lit(0)).alias("count"),
            F.count_if(weight != 0).alias("kinds"),
            F.count("*").alias("held"),
        ]
        if fold.head.function != "count" and not fold.adds_doubles:
            value = F.when(weight != 0, F.col("value"))
            aggregates.append(exact_total(value, fold.kind, None if fold.head.distinct else weight).alias("total"))
        return members.groupBy(*self.keys).agg(*aggregates)

    def groups(self, whole: DataFrame) -> DataFrame:
        """The groups that are there: k0, k1, ..., `bindings`, and what is kept of each fold."""
        columns, is_there = self._stored()
        named = [column.alias(name) for name, column in columns.items()]
        return whole.where(is_there).select(*self.keys, *named)

    def known(self, whole: DataFrame) -> DataFrame:
        """The same for all groups, with NULL where one is gone."""
        columns, is_there = self._stored()
        return whole.select(*self.keys, *(F.when(is_there, column).alias(name) for name, column in columns.items()))

    def _stored(self) -> tuple[dict[str, Column], Column]:
        """What is stored of a group, by column, and whether it is there."""
        columns = {"bindings": F.col("bindings")}
        there = [F.col("bindings") != 0]
        for kept in fold_columns([(fold.head.fold, fold.kind) for fold in self._folds if fold.head.fold is not None]):
            fold = self._folds[kept.number]
            for part, column in zip(kept.parts, kept.columns(), strict=True):
                match part:
                    case "total":
                        value = self._total(fold)
                    case "best":
                        value = F.col(column.name)
                    case _:
                        value = F.coalesce(F.col(column.name), F.lit(0).cast("bigint"))
                columns[column.name] = value
            there.append(F.coalesce(F.col(f"f{fold.number}_{kept.parts[0]}"), F.lit(0)) != 0)
        return columns, reduce(or_, there) if self.keys else F.lit(True)

    def rows(self, whole: DataFrame) -> DataFrame:
        """The rows of the view: a group has one while it has bindings, and without group terms there is one always."""
        if self.keys:
            whole = whole.where(F.col("bindings") > 0)
        whole = whole.withColumns({f"r{fold.number}": self._result(fold) for fold in self._folds})
        columns: dict[int, Column] = {
            position: F.col(key) for key, position in zip(self.keys, self._plain, strict=True)
        }
        columns |= {position: F.col("bindings") for position in self._counts}
        for fold in self._folds:
            result = ColumnTerms({"result": f"r{fold.number}"}, {"result": Typed(fold.head.output, True)}, {})
            columns[fold.head.position] = result.column(
                Variable("result"), self._relation.columns[fold.head.position].type
            )
        return whole.select(
            *(columns[position].alias(f"c{position}") for position in range(self._relation.arity)),
            F.lit(1).cast("bigint").alias("n"),
        )

    def _total(self, fold: _Fold) -> Column:
        """The stored total. A count has none, and stores 0."""
        kind = spark_type(total_type(fold.kind))
        if fold.head.function == "count":
            return F.lit("0").cast(kind)
        return F.coalesce(F.col(f"f{fold.number}_total"), F.lit("0").cast(kind))

    def _result(self, fold: _Fold) -> Column:
        number = fold.number
        if isinstance(fold.head.fold, Extreme):
            return F.col(f"f{number}_best")
        if isinstance(fold.head.fold, Collected):
            return F.coalesce(F.col(f"f{number}_best"), F.array().cast(spark_type(fold.head.output)))
        count = F.coalesce(F.col(f"f{number}_count"), F.lit(0).cast("bigint"))
        if fold.head.function == "count":
            return count
        there = F.col(f"f{number}_count" if isinstance(fold.head.fold, LinearFold) else f"f{number}_kinds") != 0
        result = finished(fold.head.function, fold.kind, fold.head.output, count, self._total(fold))
        return F.when(there, result)


def _weight(fold: _Fold) -> Column:
    """How often a value counts."""
    copies = F.col("copies")
    return F.when(copies > 0, 1).otherwise(0).cast("bigint") if fold.head.distinct else copies
