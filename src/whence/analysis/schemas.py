"""Schemas: those of undeclared relations are found, those of declared ones are held against their rules."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

from whence.analysis.components import Component
from whence.analysis.order import Step
from whence.analysis.typing import column_place, conversion, row_types, term_place
from whence.errors import TypeMismatchError
from whence.functions.types import Typed, common_type, fits
from whence.model.program import Program, Signature
from whence.model.rules import Rule
from whence.model.schema import Column, Relation, relation_named
from whence.model.terms import Aggregate, Variable
from whence.model.types import NULL, has_null

# Widening ends after a few steps, except for arrays that nest deeper with every round of a recursion.
MOST_WIDENINGS = 100


def find_schemas(
    program: Program,
    components: Sequence[Component],
    orders: Mapping[int, Sequence[Step]],
    signatures: Mapping[str, Signature],
) -> dict[str, Relation]:
    """All relations by name, declared ones first. `orders` holds the steps of every rule by its identity."""
    relations = {relation.name: relation for relation in program.relations}
    for component in components:
        _Inference(component, relations, orders, signatures).run()
    return relations


class _Inference:
    """A fixpoint over the rules of a component: a rule is looked at again when a relation it reads has widened."""

    def __init__(
        self,
        component: Component,
        relations: dict[str, Relation],
        orders: Mapping[int, Sequence[Step]],
        signatures: Mapping[str, Signature],
    ) -> None:
        self.component = component
        self.relations = relations
        self.orders = orders
        self.signatures = signatures
        self.first_rules: dict[str, Rule] = {}
        self.readers: dict[str, list[int]] = {}
        self.widenings: dict[str, int] = {}
        for position, rule in enumerate(component.rules):
            if rule.head.relation not in relations:
                self.first_rules.setdefault(rule.head.relation, rule)
            for name in rule.reads:
                self.readers.setdefault(name, []).append(position)

    def run(self) -> None:
        rules = self.component.rules
        todo = deque(range(len(rules)))
        queued = set(todo)
        while todo:
            position = next((each for each in todo if not self.reads_untyped(rules[each])), todo[0])
            todo.remove(position)
            queued.discard(position)
            # A rule that reads a relation of which nothing is known yet is woken by its first schema.
            rule = rules[position]
            if not all(name in self.relations for name in rule.reads):
                continue
            row = row_types(rule, self.orders[id(rule)], self.relations, self.signatures)
            if rule.head.relation not in self.first_rules:
                _check_row(rule, row, self.relations[rule.head.relation])
            elif self.widen(rule, row):
                woken = [reader for reader in self.readers.get(rule.head.relation, ()) if reader not in queued]
                todo.extend(woken)
                queued.update(woken)
        for name, rule in self.first_rules.items():
            self.check_found(name, rule)

    def reads_untyped(self, rule: Rule) -> bool:
        """Whether the rule reads a column that is nothing but NULL so far.

        Such rules come last: x + x of a bare NULL is a DOUBLE, and another rule may yet say that x is an INT.
        """
        found = (self.relations[name] for name in rule.reads if name in self.relations)
        return any(column.type == NULL for relation in found for column in relation.columns)

    def widen(self, rule: Rule, row: Sequence[Typed]) -> bool:
        """Make the head's relation wide enough for the row; tell whether it changed."""
        name = rule.head.relation
        known = self.relations.get(name)
        if known is None:
            names = _column_names(self.first_rules[name])
            columns = tuple(
                Column(names[i], typed.type, typed.nullable, span=term_place(rule.head, i))
                for i, typed in enumerate(row)
            )
            self.relations[name] = Relation(name, columns, distinct=True, span=self.first_rules[name].head.span)
            return True
        columns = tuple(_wider(rule, i, known, typed) for i, typed in enumerate(row))
        if columns == known.columns:
            return False
        self.relations[name] = Relation(name, columns, distinct=True, span=known.span)
        self.widenings[name] = self.widenings.get(name, 0) + 1
        if self.widenings[name] > MOST_WIDENINGS:
            raise TypeMismatchError(
                f"the types of {relation_named(name)} grow with every round of its recursion",
                span=rule.head.span,
                hint=f"declare {relation_named(name)} with the types of its columns",
            )
        return True

    def check_found(self, name: str, first: Rule) -> None:
        relation = self.relations.get(name)
        if relation is None:
            raise TypeMismatchError(
                f"the column types of {relation_named(name)} cannot be told: every rule for it depends on itself",
                span=first.head.span,
                hint=f"declare {relation_named(name)} with the types of its columns, or add a rule that starts it off",
            )
        for column in relation.columns:
            if has_null(column.type):
                raise TypeMismatchError(
                    f"the type of column {column.name!r} of {relation_named(name)} cannot be told: it is always NULL",
                    span=column.span,
                    hint=f"declare {relation_named(name)} with the types of its columns, or cast the NULL",
                )


def _column_names(rule: Rule) -> list[str]:
    """The head's variables, aggregated ones too, and `_1`, `_2`, ... where the head has something else."""
    names: list[str] = []
    taken: set[str] = set()
    for position, term in enumerate(rule.head.terms, start=1):
        named = term.argument if isinstance(term, Aggregate) else term
        name = named.name if isinstance(named, Variable) else f"_{position}"
        # Without regard to case, as Spark reads column names.
        while name.lower() in taken:
            name = f"{name}_{position}"
        taken.add(name.lower())
        names.append(name)
    return names


def _wider(rule: Rule, position: int, known: Relation, typed: Typed) -> Column:
    column = known.columns[position]
    wider = common_type([column.type, typed.type])
    if wider is None:
        raise TypeMismatchError(
            f"column {column.name!r} of {relation_named(known.name)} is {typed.type} here and {column.type} in another "
            "rule",
            span=term_place(rule.head, position),
            related=[column_place(known, position)],
            hint="convert one of them, so that all rules agree",
        )
    return Column(column.name, wider, column.nullable or typed.nullable, span=column.span)


def _check_row(rule: Rule, row: Sequence[Typed], relation: Relation) -> None:
    for position, (typed, column) in enumerate(zip(row, relation.columns, strict=True)):
        what = f"column {column.name!r} of {relation_named(relation.name)}"
        if not fits(typed.type, column.type):
            raise TypeMismatchError(
                f"{what} is {column.type}, but this is {typed.type}",
                span=term_place(rule.head, position),
                related=[column_place(relation, position)],
                hint=conversion(rule.head.terms[position], typed.type, column.type, "change the declared type"),
            )
        if typed.nullable and not column.nullable:
            raise TypeMismatchError(
                f"{what} is NOT NULL, but this can be NULL",
                span=term_place(rule.head, position),
                related=[column_place(relation, position)],
                hint=_not_null_hint(rule, position),
            )


def _not_null_hint(rule: Rule, position: int) -> str:
    term = rule.head.terms[position]
    if isinstance(term, Aggregate) and len(rule.aggregates) == len(rule.head.terms):
        return f"{term.function} of no rows is NULL; declare the column nullable"
    return "keep NULL out with isnotnull(...) in the body, or declare the column nullable"
