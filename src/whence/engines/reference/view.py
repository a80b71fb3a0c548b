"""A view's rows from its rules, computed afresh.

A row counts once for every way to satisfy the body of a rule, times the rule's sign; in a set, once if that sum is
positive. An aggregated view has one row per group.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from whence.analysis.wording import relation_named
from whence.engines.engine import Functions
from whence.engines.reference.body import Body
from whence.engines.reference.groups import Fold, Groups
from whence.engines.reference.tables import Table
from whence.engines.reference.terms import Binding, Scope
from whence.errors import ConvergenceError
from whence.model.rules import Rule
from whence.model.schema import Relation
from whence.model.terms import Aggregate
from whence.model.types import Row


class ViewRule:
    """A rule, ready to be evaluated."""

    def __init__(self, rule: Rule, relations: Mapping[str, Relation], functions: Functions) -> None:
        self.rule = rule
        self.scope = Scope(rule, relations, functions)
        self.body = Body(rule, self.scope)
        self.plain = [
            self.scope.compute(term, column.type)
            for term, column in zip(rule.head.terms, relations[rule.head.relation].columns, strict=True)
            if not isinstance(term, Aggregate)
        ]

    def bindings(self, tables: Mapping[str, Table]) -> Iterator[tuple[Row, Binding]]:
        """The head's plain terms for every way to satisfy the body, whose count has the rule's sign."""
        for environment, count in self.body.bindings(tables):
            yield tuple([value(environment) for value in self.plain]), (environment, self.rule.sign * count)


class View:
    """A relation and all its rules."""

    def __init__(self, relation: Relation, rules: Sequence[ViewRule]) -> None:
        self.name = relation.name
        self.relation = relation
        self.rules = rules
        self.folds = [
            Fold(
                [(term, rule.scope) for rule in rules if isinstance(term := rule.rule.head.terms[position], Aggregate)],
                relation.columns[position].type,
            )
            for position in rules[0].rule.aggregates
        ]

    def counts(self, tables: Mapping[str, Table], most: int | None = None) -> dict[Row, int]:
        """The view over these tables; with more than `most` rows it counts as endless."""
        return self._grouped(tables) if self.folds else self._summed(tables, most)

    def _summed(self, tables: Mapping[str, Table], most: int | None) -> dict[Row, int]:
        sums: dict[Row, int] = {}
        for rule in self.rules:
            for row, (_, count) in rule.bindings(tables):
                sums[row] = sums.get(row, 0) + count
                if most is not None and len(sums) > most:
                    raise ConvergenceError(
                        f"{relation_named(self.name)} grows without end: it has more than {most:,} rows",
                        span=rule.rule.span,
                        hint="stop the recursion with a condition on the value that grows",
                    )
        if self.relation.distinct:
            return {row: 1 for row, count in sums.items() if count > 0}
        return {row: count for row, count in sums.items() if count}

    def _grouped(self, tables: Mapping[str, Table]) -> dict[Row, int]:
        groups = Groups(self.folds, self.rules[0].rule.aggregates, self.relation.arity)
        for number, rule in enumerate(self.rules):
            for group, binding in rule.bindings(tables):
                groups.add(group, number, binding)
        return dict.fromkeys(groups.rows(), 1)
