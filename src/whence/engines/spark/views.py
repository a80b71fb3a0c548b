"""A view without recursion from nothing, on the cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import mul

import pyspark.sql.functions as F
from pyspark.sql import Column, DataFrame

from whence.analysis.components import Component
from whence.engines.engine import Functions
from whence.engines.spark.bodies import Bindings, bindings
from whence.engines.spark.grouping import Grouping
from whence.engines.spark.types import column_names
from whence.incremental.body import Body
from whence.model.rules import Atom, Negation
from whence.model.schema import Relation


@dataclass(frozen=True, slots=True)
class Derived:
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
) -> Derived:
    """The one view of a component over the frames of what it reads, which have c0, c1, ..., and a bag's also `n`.

    A set's frame has the rows that are there; a bag's has those with a negative count, too.
    """
    (name,) = component.relations
    signatures = {each: function.signature for each, function in functions.items()}
    bodies = [Body(rule, relations, signatures) for rule in component.rules]
    found = [_bindings(body, functions, frames) for body in bodies]
    if component.aggregated:
        return _grouped(Grouping(relations[name], bodies), bodies, found)
    return Derived(_tallied(relations[name], bodies, found))


def _bindings(body: Body, functions: Functions, frames: Mapping[str, DataFrame]) -> Bindings:
    atoms: dict[int, DataFrame] = {}
    negations: dict[int, DataFrame] = {}
    for number, literal in enumerate(body.rule.body):
        match literal:
            case Atom(relation=name):
                atoms[number] = frames[name]
            case Negation(atom=Atom(relation=name)):
                # A row whose count went below zero is owed, not there.
                negations[number] = frames[name] if body.relations[name].distinct else frames[name].where("n > 0")
    return bindings(body, atoms, negations, functions)


def _copies(body: Body) -> Column:
    """How often a binding counts. A row of a set counts once, however often it is derived."""
    counts = [
        F.col(f"a{number}_n")
        for number, literal in enumerate(body.rule.body)
        if isinstance(literal, Atom) and not body.relations[literal.relation].distinct
    ]
    return reduce(mul, counts, F.lit(body.rule.sign).cast("bigint"))


def _tallied(relation: Relation, bodies: list[Body], found: list[Bindings]) -> DataFrame:
    names = column_names(relation.arity)
    rows = [
        each.frame.select(
            *(
                each.column(term, column.type).alias(name)
                for name, term, column in zip(names, body.rule.head.terms, relation.columns, strict=True)
            ),
            _copies(body).alias("n"),
        )
        for body, each in zip(bodies, found, strict=True)
    ]
    return reduce(DataFrame.unionAll, rows).groupBy(*names).agg(F.sum("n").alias("n")).where("n != 0")


def _grouped(grouping: Grouping, bodies: list[Body], found: list[Bindings]) -> Derived:
    taken = [grouping.bindings(rule, each, _copies(bodies[rule])) for rule, each in enumerate(found)]
    together = reduce(DataFrame.unionAll, taken)
    members = grouping.members(together)
    whole = grouping.whole(together, members)
    return Derived(grouping.rows(whole), grouping.groups(whole), members, (together, whole))
