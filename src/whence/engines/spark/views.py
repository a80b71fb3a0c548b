"""Views derived on the cluster: their rows, and with aggregates their groups and the values that some folds keep."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from operator import mul, or_

import pyspark.sql.functions as F
from pyspark.sql import Column, DataFrame

from whence.analysis.components import Component
from whence.analysis.typed_rules import TypedRule
from whence.engines.spark.bodies import ANYWHERE, Bindings, JoinStart, bindings
from whence.engines.spark.exact_sums import double_totals, exact_total, finished, total_type
from whence.engines.spark.expressions import ColumnTerms
from whence.engines.spark.payloads import fold_columns
from whence.engines.spark.types import column_names, spark_type
from whence.functions.types import Typed
from whence.incremental.counting.folds import ByValue, Collected, Extreme, LinearFold
from whence.incremental.counting.groups import HeadAggregate, can_be_negative
from whence.model.program import Functions
from whence.model.rules import Atom, Negation, Rule
from whence.model.schema import Relation
from whence.model.terms import Variable
from whence.model.types import DOUBLE, Type


@dataclass(frozen=True, slots=True)
class DerivedView:
    """A view, and the state from which it can be maintained.

    `frame` has c0, c1, ... and `n`: the number of derivations, or 1 for a row that stands for a group. With aggregates
    there are `groups`, and per fold that keeps them its values, `members`. Several of these frames are computed from
    each one in `shared`, which is worth keeping while they are read.
    """

    frame: DataFrame
    groups: DataFrame | None = None
    members: Mapping[int, DataFrame] = field(default_factory=dict)
    shared: tuple[DataFrame, ...] = ()


def derive(
    component: Component,
    relations: Mapping[str, Relation],
    functions: Functions,
    frames: Mapping[str, DataFrame],
    start: Callable[[Rule], JoinStart] = lambda _: ANYWHERE,
    owing: Collection[str] | None = None,
) -> DerivedView:
    """The one view of a component over the frames of what it reads, which have c0, c1, ..., and a bag's also `n`.

    A set's frame has the rows that are there; a bag's has those with a negative count, too: those that are `owing`,
    if that is known. Joins of a rule go as `start` says.
    """
    (name,) = component.relations
    rules = component.typed
    found = [_bindings(typed, functions, frames, start(typed.rule)) for typed in rules]
    if component.aggregated:
        return _grouped(_Groups(relations[name], rules, owing), rules, found)
    return DerivedView(_tallied(relations[name], rules, found))


def tally(
    relation: Relation,
    rules: Sequence[TypedRule],
    functions: Functions,
    frames: Mapping[str, DataFrame],
    start: JoinStart = ANYWHERE,
) -> DataFrame:
    """What rules without aggregates give, signs and all: c0, c1, ... and `n`, each row once."""
    return _tallied(relation, rules, [_bindings(typed, functions, frames, start) for typed in rules])


def _bindings(typed: TypedRule, functions: Functions, frames: Mapping[str, DataFrame], start: JoinStart) -> Bindings:
    atoms: dict[int, DataFrame] = {}
    negations: dict[int, DataFrame] = {}
    for number, part in enumerate(typed.rule.body):
        match part:
            case Atom(relation=name):
                atoms[number] = frames[name]
            case Negation(atom=Atom(relation=name)):
                # A row whose count went below zero is owed, not there.
                negations[number] = frames[name] if typed.relations[name].distinct else frames[name].where("n > 0")
    return bindings(typed, atoms, negations, functions, start)


def _copies(typed: TypedRule) -> Column:
    """How often a binding counts. A row of a set counts once, however often it is derived."""
    counts = [
        F.col(f"a{number}_n")
        for number, literal in enumerate(typed.rule.body)
        if isinstance(literal, Atom) and not typed.relations[literal.relation].distinct
    ]
    return reduce(mul, counts, F.lit(typed.rule.sign).cast("bigint"))


def _tallied(relation: Relation, rules: Sequence[TypedRule], found: list[Bindings]) -> DataFrame:
    names = column_names(relation.arity)
    rows = [
        each.frame.select(
            *(
                each.column(term, column.type).alias(name)
                for name, term, column in zip(names, typed.rule.head.terms, relation.columns, strict=True)
            ),
            _copies(typed).alias("n"),
        )
        for typed, each in zip(rules, found, strict=True)
    ]
    return reduce(DataFrame.unionAll, rows).groupBy(*names).agg(F.sum("n").alias("n")).where("n != 0")


def _grouped(groups: _Groups, rules: Sequence[TypedRule], found: list[Bindings]) -> DerivedView:
    taken = [groups.bindings(rule, each, _copies(rules[rule])) for rule, each in enumerate(found)]
    together = reduce(DataFrame.unionAll, taken)
    members = groups.members(together)
    whole = groups.whole(together, members)
    # To keep the bindings takes longer than to find them once.
    shared = (together, *members.values(), whole) if members or groups.adds_doubles else (whole,)
    return DerivedView(groups.rows(whole), groups.groups(whole), members, shared)


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


class _Groups:
    """The groups of a view over the bindings of its rules.

    In every frame the group terms are k0, k1, ...; in that of the bindings the argument of fold i is x{i}, and how
    often the binding counts is `copies`.
    """

    def __init__(self, relation: Relation, rules: Sequence[TypedRule], owing: Collection[str] | None) -> None:
        positions = rules[0].rule.aggregates
        self._relation = relation
        self._rules = rules
        self._signed = any(can_be_negative(rule, owing) for rule in rules)
        self._counts_copies = any(not each.distinct for rule in rules for each in rule.relations.values())
        self._plain = [position for position in range(relation.arity) if position not in positions]
        self._keys = [f"k{number}" for number in range(len(self._plain))]
        self._counts = []
        self._folds: list[_Fold] = []
        for position in positions:
            head = HeadAggregate(position, rules, relation.columns[position].type, self._signed)
            if head.input is None:
                self._counts.append(position)
            else:
                self._folds.append(_Fold(len(self._folds), head, head.input))

    @property
    def adds_doubles(self) -> bool:
        """Whether the bindings are looked at a second time for a sum."""
        return any(fold.adds_doubles for fold in self._folds)

    def bindings(self, rule: int, found: Bindings, copies: Column) -> DataFrame:
        """What the groups need to know of a rule's bindings."""
        head, columns = self._rules[rule].rule.head.terms, self._relation.columns
        return found.frame.select(
            *(
                found.column(head[position], columns[position].type).alias(key)
                for key, position in zip(self._keys, self._plain, strict=True)
            ),
            *(self._argument(fold, rule, found).alias(f"x{fold.number}") for fold in self._folds),
            copies.alias("copies"),
        )

    def _argument(self, fold: _Fold, rule: int, found: Bindings) -> Column:
        argument = fold.head.arguments[rule]
        return F.lit(None).cast(spark_type(fold.kind)) if argument is None else found.column(argument, fold.kind)

    def members(self, bindings: DataFrame) -> dict[int, DataFrame]:
        """For each fold that keeps them, its values."""
        return {
            fold.number: bindings.where(F.col(f"x{fold.number}").isNotNull())
            .groupBy(*self._keys, F.col(f"x{fold.number}").alias("value"))
            .agg(F.sum("copies").alias("copies"))
            .where(F.col("copies") != 0)
            for fold in self._folds
            if isinstance(fold.head.fold, ByValue | Collected | Extreme)
        }

    def whole(self, bindings: DataFrame, members: Mapping[int, DataFrame]) -> DataFrame:
        """Per group all there is to know: `bindings`, and of fold i the number of values, their total, the result."""
        aggregates = [F.coalesce(F.sum("copies"), F.lit(0)).alias("bindings")]
        for fold in self._folds:
            aggregates += self._direct(fold)
        parts = [bindings.groupBy(*self._keys).agg(*aggregates)]
        for fold in self._folds:
            named = {name: f"f{fold.number}_{name}" for name in PARTS}
            parts += [part.withColumnsRenamed(named) for part in self._parts(fold, bindings, members)]
        if len(parts) == 1:
            return parts[0]
        # A join would do as well, but for each of them; here each column is in one part, and NULL in the others.
        together = reduce(partial(DataFrame.unionByName, allowMissingColumns=True), parts)
        found = [F.max(name).alias(name) for name in together.columns if name not in self._keys]
        return together.groupBy(*self._keys).agg(*found)

    def _direct(self, fold: _Fold) -> Iterator[Column]:
        """What one look at the bindings tells about a fold."""
        value, number = F.col(f"x{fold.number}"), fold.number
        match fold.head.fold:
            case LinearFold():
                present = F.when(value.isNotNull(), F.col("copies"))
                yield F.coalesce(F.sum(present), F.lit(0)).alias(f"f{number}_count")
                if fold.head.function != "count" and not fold.adds_doubles:
                    # A row of a set is one binding; of a bag it can be several.
                    copies = F.col("copies") if self._counts_copies else None
                    yield exact_total(value, fold.kind, copies).alias(f"f{number}_total")

    def _parts(self, fold: _Fold, bindings: DataFrame, members: Mapping[int, DataFrame]) -> Iterator[DataFrame]:
        """What takes a second look: frames with the group terms."""
        number = fold.number
        match fold.head.fold:
            case LinearFold() if fold.adds_doubles:
                copies = F.col("copies") if self._counts_copies else None
                yield double_totals(bindings, self._keys, F.col(f"x{number}"), copies)
            case Extreme():
                best = (F.min if fold.head.function == "min" else F.max)(F.when(F.col("copies") > 0, F.col("value")))
                yield members[number].groupBy(*self._keys).agg(best.alias("best"), F.count("*").alias("held"))
            case Collected():
                # As often as it is there, once where only different values count.
                copies = F.lit(1) if fold.head.distinct else F.col("copies").cast("int")
                repeated = F.when(F.col("copies") > 0, F.array_repeat(F.col("value"), copies))
                listed = F.sort_array(F.flatten(F.collect_list(repeated)))
                yield members[number].groupBy(*self._keys).agg(listed.alias("best"), F.count("*").alias("held"))
            case ByValue():
                yield self._by_value(fold, members[number])
                if fold.adds_doubles:
                    weight = _weight(fold)
                    counting = members[number].where(weight != 0)
                    yield double_totals(counting, self._keys, F.col("value"), weight)

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
        return members.groupBy(*self._keys).agg(*aggregates)

    def groups(self, whole: DataFrame) -> DataFrame:
        """The groups that are there: k0, k1, ..., `bindings`, and what is kept of each fold."""
        columns = [F.col(name) for name in (*self._keys, "bindings")]
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
                columns.append(value.alias(column.name))
            there.append(F.coalesce(F.col(f"f{fold.number}_{kept.parts[0]}"), F.lit(0)) != 0)
        return whole.where(reduce(or_, there)).select(*columns) if self._keys else whole.select(*columns)

    def rows(self, whole: DataFrame) -> DataFrame:
        """The rows of the view: a group has one while it has bindings, and without group terms there is one always."""
        if self._keys:
            whole = whole.where(F.col("bindings") > 0)
        whole = whole.withColumns({f"r{fold.number}": self._result(fold) for fold in self._folds})
        columns: dict[int, Column] = {
            position: F.col(key) for key, position in zip(self._keys, self._plain, strict=True)
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
