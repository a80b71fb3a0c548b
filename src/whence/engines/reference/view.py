"""A view over tables: the heads of its rules for all bindings of their bodies, counted or aggregated by group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from whence.analysis.limits import too_large, too_much_work
from whence.analysis.typed_rules import Binding, Computed, Scope, TypedRule, conversion
from whence.engines.reference.body import Body, Table, Tally
from whence.functions.aggregates import aggregate_type, count_rows, fold
from whence.functions.types import common_type
from whence.model.program import Functions
from whence.model.rules import Rule
from whence.model.schema import Relation
from whence.model.terms import Aggregate
from whence.model.types import Row, Type, Value


class NaiveFold:
    """One aggregate of a view, whose argument every rule writes in its own terms."""

    def __init__(self, arguments: Sequence[tuple[Aggregate, Scope]], column: Type) -> None:
        first = arguments[0][0]
        self.function, self.distinct = first.function, first.distinct
        given = [scope.type_of(term.argument) for term, scope in arguments if term.argument is not None]
        # The rules' arguments meet in one type before they are compared or added up.
        self.input = common_type(given) if given else None
        self.output = aggregate_type(self.function, self.input, first.span)
        self.arguments: list[Computed | None] = [
            None if term.argument is None else scope.compute(term.argument, self.input) for term, scope in arguments
        ]
        self.convert = conversion(self.output, column)

    def result(self, values: Sequence[tuple[Value, int]]) -> Value:
        if self.input is None:
            return count_rows(count for _, count in values)
        folded = fold(self.function, self.distinct, values, self.output)
        return folded if self.convert is None else self.convert(folded)


class GroupBindings:
    """Bindings by group: per fold, the argument's value and how often it counts."""

    def __init__(self, folds: Sequence[NaiveFold], positions: Sequence[int], arity: int) -> None:
        self.folds = folds
        self.positions = positions
        self.values: dict[Row, list[list[tuple[Value, int]]]] = {}
        self.totals: dict[Row, int] = {}
        if arity == len(folds):
            # Without group terms there is one group, even of nothing.
            self._open(())

    def add(self, group: Row, rule: int, binding: Binding) -> None:
        """A binding of the rule of that number."""
        environment, count = binding
        if group not in self.values:
            self._open(group)
        self.totals[group] += count
        for each, values in zip(self.folds, self.values[group], strict=True):
            argument = each.arguments[rule]
            values.append((None if argument is None else argument(environment), count))

    def rows(self) -> Iterator[Row]:
        """The group terms and the aggregates, each in its place of the head."""
        for group, lists in self.values.items():
            if self.totals[group] > 0 or not group:
                yield self._row(group, lists)

    def _open(self, group: Row) -> None:
        self.values[group] = [[] for _ in self.folds]
        self.totals[group] = 0

    def _row(self, group: Row, lists: Sequence[Sequence[tuple[Value, int]]]) -> Row:
        row = list(group)
        for position, each, values in zip(self.positions, self.folds, lists, strict=True):
            row.insert(position, each.result(values))
        return tuple(row)


class Matches:
    """Counts partial matches of bodies with rows, and stops when there are too many."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.count = 0

    def of(self, rule: Rule) -> Tally:
        def counted(bindings: Iterable[Binding]) -> Iterator[Binding]:
            for binding in bindings:
                self.count += 1
                if self.count > self.most:
                    raise too_much_work(rule, self.most)
                yield binding

        return counted


class ViewRule:
    """A rule, ready to be evaluated."""

    def __init__(self, typed: TypedRule, functions: Functions) -> None:
        rule = self.rule = typed.rule
        self.scope = Scope(typed, functions)
        self.body = Body(typed, self.scope)
        self.plain = [
            self.scope.compute(term, column.type)
            for term, column in zip(rule.head.terms, typed.relations[rule.head.relation].columns, strict=True)
            if not isinstance(term, Aggregate)
        ]

    def bindings(self, tables: Mapping[str, Table], matches: Matches | None = None) -> Iterator[tuple[Row, Binding]]:
        """The head's plain terms for every binding of the body, whose count has the rule's sign."""
        tally = None if matches is None else matches.of(self.rule)
        for environment, count in self.body.bindings(tables, tally):
            yield tuple([value(environment) for value in self.plain]), (environment, self.rule.sign * count)


class View:
    """A relation and all its rules."""

    def __init__(self, relation: Relation, rules: Sequence[ViewRule]) -> None:
        self.name = relation.name
        self.relation = relation
        self.rules = rules
        self.folds = [
            NaiveFold(
                [(term, rule.scope) for rule in rules if isinstance(term := rule.rule.head.terms[position], Aggregate)],
                relation.columns[position].type,
            )
            for position in rules[0].rule.aggregates
        ]

    def counts(
        self, tables: Mapping[str, Table], most: int | None = None, matches: Matches | None = None
    ) -> dict[Row, int]:
        """The view over these tables; with more than `most` rows it counts as endless."""
        return self._grouped(tables, matches) if self.folds else self._summed(tables, most, matches)

    def _summed(self, tables: Mapping[str, Table], most: int | None, matches: Matches | None) -> dict[Row, int]:
        sums: dict[Row, int] = {}
        for rule in self.rules:
            for row, (_, count) in rule.bindings(tables, matches):
                sums[row] = sums.get(row, 0) + count
                if most is not None and len(sums) > most:
                    raise too_large(rule.rule, most)
        if self.relation.distinct:
            return {row: 1 for row, count in sums.items() if count > 0}
        return {row: count for row, count in sums.items() if count}

    def _grouped(self, tables: Mapping[str, Table], matches: Matches | None) -> dict[Row, int]:
        groups = GroupBindings(self.folds, self.rules[0].rule.aggregates, self.relation.arity)
        for number, rule in enumerate(self.rules):
            for group, binding in rule.bindings(tables, matches):
                groups.add(group, number, binding)
        return dict.fromkeys(groups.rows(), 1)
