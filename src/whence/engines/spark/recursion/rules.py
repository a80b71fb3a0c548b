"""A rule of a recursive component: the rows that it derives, each with what it rests on."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import pyspark.sql.functions as F
from pyspark.sql import Column, DataFrame

from whence.engines.engine import Functions
from whence.engines.spark.bodies import ANYWHERE, Bindings, Start, bindings
from whence.engines.spark.tuple_ids import absence_id
from whence.incremental.body import Body
from whence.incremental.plan import Missing, Pattern
from whence.incremental.planner import make_plan
from whence.model.rules import Atom, Negation, Rule
from whence.model.schema import Relation
from whence.model.terms import Aggregate, Variable


class RecursiveRule:
    """`own` and `inputs` are the positive atoms of the component and of relations below, `negated` the negated ones:
    relations by the number of the literal. `patterns` are what the negated ones ask for.

    Candidates are the head's columns and, where the rule is `proved`, the `support`.
    """

    def __init__(
        self,
        rule: Rule,
        relations: Mapping[str, Relation],
        functions: Functions,
        component: Collection[str],
        *,
        proved: bool,
    ) -> None:
        self.rule = rule
        self.relation = rule.head.relation
        self._columns = relations[self.relation].columns
        self._functions = functions
        self._proved = proved
        signatures = {name: function.signature for name, function in functions.items()}
        self._body = Body(rule, relations, signatures)
        positive = {at: literal.relation for at, literal in enumerate(rule.body) if isinstance(literal, Atom)}
        self.own = {at: name for at, name in positive.items() if name in component}
        self.inputs = {at: name for at, name in positive.items() if name not in component}
        self.negated = {
            at: literal.atom.relation for at, literal in enumerate(rule.body) if isinstance(literal, Negation)
        }
        steps = make_plan(self._body, lambda _: 1).steps
        self._missing = [step for step in steps if isinstance(step, Missing)]
        self.patterns: dict[int, Pattern] = {step.literal: step.pattern for step in self._missing}
        # The columns of the head by which derivations of a row can be looked up: variables, whose values they hold as
        # they are.
        self._keys: dict[str, str] = {}
        for at, term in enumerate(rule.head.terms):
            if isinstance(term, Variable) and self._body.types[term.name].type == self._columns[at].type:
                self._keys.setdefault(term.name, f"c{at}")

    def candidates(
        self, atoms: Mapping[int, DataFrame], negations: Mapping[int, DataFrame], start: Start = ANYWHERE
    ) -> DataFrame:
        """What follows where literals read these frames.

        A frame of the component has `support`, one of a relation below has the number of each row as `id`.
        """
        return self._heads(bindings(self._body, atoms, negations, self._functions, start))

    def candidates_for(
        self, heads: DataFrame, atoms: Mapping[int, DataFrame], negations: Mapping[int, DataFrame], start: Start
    ) -> DataFrame:
        """The same beginning with heads, where that leaves out some of what is beside them."""
        if self._keys:
            given = heads.select(*self._keys.values())
            # Without all columns that tell them apart, several heads can look the same.
            is_unique = len(self._keys) == len(self._columns) - len(self.rule.aggregates)
            start = replace(start, bound=tuple(self._keys), given=given if is_unique else given.distinct())
        return self.candidates(atoms, negations, start)

    def _heads(self, found: Bindings) -> DataFrame:
        values = [
            found.column(
                term.argument if isinstance(term, Aggregate) and term.argument is not None else term, column.type
            )
            for term, column in zip(self.rule.head.terms, self._columns, strict=True)
        ]
        named = [value.alias(f"c{number}") for number, value in enumerate(values)]
        return found.frame.select(*named, *([self._support(found).alias("support")] if self._proved else []))

    def _support(self, found: Bindings) -> Column:
        """Not a set yet: most candidates are dropped, and sorting costs more than that."""
        numbers = [F.col(f"a{at}_id") for at in self.inputs]
        for step in self._missing:
            relation = self._body.relations[step.pattern.relation]
            numbers.append(absence_id(step.pattern, relation, [found.column(key) for key in step.keys]))
        own = [F.col(f"a{at}_support") for at in self.own]
        return F.concat(*own, F.array(*numbers).cast("array<bigint>"))
