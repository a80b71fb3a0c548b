"""Views derived on the cluster: their rows, and with aggregates their groups and the values that some folds keep."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

import pyspark.sql.functions as F
from pyspark.sql import Column, DataFrame

from whence.analysis.components import Component
from whence.analysis.typed_rules import TypedRule
from whence.engines.spark.bodies import ANYWHERE, Bindings, CountedBindings, JoinStart, bindings, product_of_counts
from whence.engines.spark.group_frames import GroupFrames
from whence.engines.spark.types import column_names
from whence.model.program import Functions
from whence.model.rules import Atom, Negation, Rule
from whence.model.schema import Relation


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
    found = _counted(rules, functions, frames, start)
    if component.aggregated:
        return _grouped(GroupFrames(relations[name], rules, owing), found)
    return DerivedView(tallied(relations[name], rules, found))


def tally(
    relation: Relation,
    rules: Sequence[TypedRule],
    functions: Functions,
    frames: Mapping[str, DataFrame],
    start: JoinStart = ANYWHERE,
) -> DataFrame:
    """What rules without aggregates give, signs and all: c0, c1, ... and `n`, each row once."""
    return tallied(relation, rules, _counted(rules, functions, frames, lambda _: start))


def _counted(
    rules: Sequence[TypedRule],
    functions: Functions,
    frames: Mapping[str, DataFrame],
    start: Callable[[Rule], JoinStart],
) -> list[CountedBindings]:
    return [
        CountedBindings(number, _bindings(typed, functions, frames, start(typed.rule)), _copies(typed))
        for number, typed in enumerate(rules)
    ]


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
    bags = [
        number
        for number, literal in enumerate(typed.rule.body)
        if isinstance(literal, Atom) and not typed.relations[literal.relation].distinct
    ]
    return product_of_counts(bags, typed.rule.sign)


def tallied(relation: Relation, rules: Sequence[TypedRule], found: Sequence[CountedBindings]) -> DataFrame:
    """The rows of a view without aggregates, each with what its derivations count together."""
    names = column_names(relation.arity)
    rows = [
        each.found.frame.select(
            *(
                each.found.column(term, column.type).alias(name)
                for name, term, column in zip(names, rules[each.rule].rule.head.terms, relation.columns, strict=True)
            ),
            each.copies.alias("n"),
        )
        for each in found
    ]
    return reduce(DataFrame.unionAll, rows).groupBy(*names).agg(F.sum("n").alias("n")).where("n != 0")


def _grouped(groups: GroupFrames, found: Sequence[CountedBindings]) -> DerivedView:
    together = groups.bindings(found)
    members = groups.members(together)
    whole = groups.whole(together, members)
    # To keep the bindings takes longer than to find them once.
    shared = (together, *members.values(), whole) if groups.looks_twice else (whole,)
    return DerivedView(groups.rows(whole), groups.groups(whole), members, shared)
