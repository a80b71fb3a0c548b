"""The min and max of a relation's head: which value of a group is best, and the row that the best ones make."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from whence.analysis.components import Component
from whence.analysis.order import Define, Match
from whence.analysis.typed_rules import TypedRule
from whence.functions.widening import is_number
from whence.incremental.aggregates import TypedAggregate, best_first
from whence.model.rules import Atom
from whence.model.schema import Relation, relation_named
from whence.model.terms import Aggregate, Call, Cast, Skolem, Term, variables, walk
from whence.model.types import Row, Value

# Ranks compare with `<`, the better first: (0, key of a value), or (1,) for NULL.
Rank: TypeAlias = tuple[Any, ...]
NO_VALUE: Rank = (1,)


class Bests:
    """The aggregates of one relation."""

    def __init__(self, relation: Relation, positions: Sequence[int], folds: Sequence[TypedAggregate]) -> None:
        self.positions = tuple(positions)
        self.group_positions = tuple([at for at in range(relation.arity) if at not in self.positions])
        self._folds = tuple(folds)
        self._keys = [best_first(fold.function, fold.output) for fold in folds]
        # A relation of aggregates only has one row, even over nothing.
        self.always = relation.arity == len(folds)
        # What can share a priority queue: values that compare with each other.
        self.kind = (folds[0].function, "number" if is_number(folds[0].output) else str(folds[0].output))

    def ranks(self, values: Row) -> tuple[Rank, ...]:
        return tuple(
            [NO_VALUE if value is None else (0, key(value)) for key, value in zip(self._keys, values, strict=True)]
        )

    def row(self, group: Row, values: Sequence[Value]) -> Row:
        """The group terms and the best values, each in its place of the head."""
        row = list(group)
        for position, fold, value in zip(self.positions, self._folds, values, strict=True):
            row.insert(position, value if fold.convert is None else fold.convert(value))
        return tuple(row)

    def group(self, row: Row) -> Row:
        """The group terms of a row."""
        return tuple([row[position] for position in self.group_positions])


# The variables of a body with a moving value, and where it comes from: a relation, and the variable it was read into.
Sources: TypeAlias = dict[str, set[tuple[str, str]]]


def unfounded(component: Component) -> str | None:
    """Why rows of the component might support themselves; None if they never do."""
    passed = _passed_on(component)
    for start in passed:
        todo, seen = list(passed[start]), set()
        while todo:
            here = todo.pop()
            if here == start:
                return f"{relation_named(start)} passes a value of min or max around a cycle without aggregating it"
            if here not in seen:
                seen.add(here)
                todo.extend(passed.get(here, ()))
    return None


def moving_columns(component: Component) -> dict[str, set[int]]:
    """The columns of each relation that hold, or are computed from, a min or max of the component."""
    columns: dict[str, set[int]] = {name: set() for name in component.relations}
    changed = True
    while changed:
        changed = False
        for typed in component.typed:
            rule, sources = typed.rule, _sources(typed, columns)
            found = columns[rule.head.relation]
            more = {at for at, term in enumerate(rule.head.terms) if any(_read(term, sources))} | set(rule.aggregates)
            changed = changed or not more <= found
            found |= more
    return columns


def saturates(component: Component, relations: Mapping[str, Relation]) -> bool:
    """Whether a value could improve upon itself around a cycle and then come to rest.

    It cannot if each value is computed from a value of every atom of the component in the body, and either by sums
    alone, which never come to rest, or by bounds that only make values worse, `greatest` for min and `least` for max.
    Both pass over NULL, so a value that can be NULL could improve by them.
    """
    aggregates = {term.function for rule in component.rules for term in rule.head.terms if isinstance(term, Aggregate)}
    bounds = {"greatest"} if aggregates == {"min"} else {"least"} if aggregates == {"max"} else set()
    columns = moving_columns(component)
    if any(relations[name].columns[at].nullable for name, moving in columns.items() for at in moving):
        bounds = set()
    used = {name for rule in component.typed for name in _computing(rule, _sources(rule, columns))}
    is_passed_on = all(_passes_on(rule, columns) for rule in component.typed)
    return not (is_passed_on and (used <= {"+", "-"} or used <= bounds))


def _passes_on(typed: TypedRule, columns: Mapping[str, set[int]]) -> bool:
    """Whether every value of the head depends on one of each atom of the component."""
    rule, sources = typed.rule, _sources(typed, columns)
    terms = [rule.head.terms[at] for at in rule.aggregates] or rule.head.terms
    for literal in rule.body:
        if isinstance(literal, Atom) and literal.relation in columns:
            read = {variable.name for at in columns[literal.relation] for variable in variables(literal.terms[at])}
            depends = [any(read & {name for _, name in found} for found in _read(term, sources)) for term in terms]
            if not (all(depends) if rule.aggregates else any(depends)):
                return False
    return True


def _computing(typed: TypedRule, sources: Sources) -> Iterator[str]:
    """By what moving values are computed from moving ones."""
    defined = [step.term for step in typed.steps if isinstance(step, Define)]
    for term in (*typed.rule.head.terms, *defined):
        for part in walk(term):
            if isinstance(part, Call | Cast | Skolem) and any(_read(part, sources)):
                yield part.function if isinstance(part, Call) else type(part).__name__


def _passed_on(component: Component) -> dict[str, set[str]]:
    """Plain relations, and the plain relations of the component that they take a moving value from."""
    columns = moving_columns(component)
    passed: dict[str, set[str]] = {}
    for typed in component.typed:
        rule = typed.rule
        if rule.head.relation not in component.aggregated:
            sources = _sources(typed, columns)
            for term in rule.head.terms:
                for read in _read(term, sources):
                    plain = {relation for relation, _ in read} - component.aggregated
                    passed.setdefault(rule.head.relation, set()).update(plain)
    return passed


def _sources(rule: TypedRule, columns: Mapping[str, set[int]]) -> Sources:
    sources: Sources = {}
    for step in rule.steps:
        match step:
            case Match(atom=atom):
                for position in columns.get(atom.relation, ()):
                    for variable in variables(atom.terms[position]):
                        sources.setdefault(variable.name, set()).add((atom.relation, variable.name))
            case Define(variable=variable, term=term):
                for read in _read(term, sources):
                    sources.setdefault(variable.name, set()).update(read)
    return sources


def _read(term: Term, sources: Sources) -> Iterator[set[tuple[str, str]]]:
    return (sources[variable.name] for variable in variables(term) if variable.name in sources)
