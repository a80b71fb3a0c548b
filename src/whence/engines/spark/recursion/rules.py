"""A rule of a recursive component: the rows that it derives, each with what it rests on."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pyspark.sql.functions as F
from pyspark.sql import Column, DataFrame

from whence.engines.engine import Functions
from whence.engines.spark.bodies import Bindings, bindings
from whence.engines.spark.tuple_ids import absence_id
from whence.incremental.body import Body
from whence.incremental.plan import Missing
from whence.incremental.planner import make_plan
from whence.model.rules import Atom, Negation, Rule
from whence.model.schema import Relation
from whence.model.terms import Aggregate


class RecursiveRule:
    """`own` and `inputs` are the positive atoms of the component and of relations below, `negated` the negated ones:
    relations by the number of the literal.
    """

    def __init__(
        self, rule: Rule, relations: Mapping[str, Relation], functions: Functions, component: Collection[str]
    ) -> None:
        self.rule = rule
        self.relation = rule.head.relation
        self._columns = relations[self.relation].columns
        self._functions = functions
        self._body = Body(rule, relations, {name: function.signature for name, function in functions.items()})
        positive = {at: literal.relation for at, literal in enumerate(rule.body) if isinstance(literal, Atom)}
        self.own = {at: name for at, name in positive.items() if name in component}
        self.inputs = {at: name for at, name in positive.items() if name not in component}
        self.negated = {
            at: literal.atom.relation for at, literal in enumerate(rule.body) if isinstance(literal, Negation)
        }
        steps = make_plan(self._body, lambda _: 1).steps
        self._missing = [step for step in steps if isinstance(step, Missing)]

    def candidates(
        self, atoms: Mapping[int, DataFrame], negations: Mapping[int, DataFrame], first: int | None = None
    ) -> DataFrame:
        """The head's columns and `support`, where literals read these frames and joins begin with literal `first`.

        A frame of the component has `support`, one of a relation below has the number of each row as `id`.
        """
        found = bindings(self._body, atoms, negations, self._functions, first)
        values = [
            found.column(
                term.argument if isinstance(term, Aggregate) and term.argument is not None else term, column.type
            )
            for term, column in zip(self.rule.head.terms, self._columns, strict=True)
        ]
        named = [value.alias(f"c{number}") for number, value in enumerate(values)]
        return found.frame.select(*named, self._support(found).alias("support"))

    def _support(self, found: Bindings) -> Column:
        """Not a set yet: most candidates are dropped, and sorting costs more than that."""
        numbers = [F.col(f"a{at}_id") for at in self.inputs]
        for step in self._missing:
            relation = self._body.relations[step.pattern.relation]
            numbers.append(absence_id(step.pattern, relation, [found.column(key) for key in step.keys]))
        own = [F.col(f"a{at}_support") for at in self.own]
        return F.concat(*own, F.array(*numbers).cast("array<bigint>"))
