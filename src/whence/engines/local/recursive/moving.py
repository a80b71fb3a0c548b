"""Values that can still improve, and whether they could keep themselves alive.

A min or max that improves takes its former row away, and with it the rows of plain relations that were made from it.
Where plain relations pass such a value around a cycle, what was made from the former value could go on supporting
itself, and what is left depends on the order of events.
"""

from __future__ import annotations

from collections.abc import Iterator

from whence.analysis.components import Component
from whence.analysis.order import Define, Match, order_body
from whence.analysis.wording import relation_named
from whence.model.rules import Rule
from whence.model.terms import Term, variables


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
        for rule in component.rules:
            found = columns[rule.head.relation]
            sources = _sources(rule, columns)
            more = {at for at, term in enumerate(rule.head.terms) if any(_read(term, sources))} | set(rule.aggregates)
            changed = changed or not more <= found
            found |= more
    return columns


def _passed_on(component: Component) -> dict[str, set[str]]:
    """Plain relations, and the plain relations of the component that they take a moving value from."""
    columns = moving_columns(component)
    passed: dict[str, set[str]] = {}
    for rule in component.rules:
        if rule.head.relation not in component.aggregated:
            sources = _sources(rule, columns)
            for term in rule.head.terms:
                for relations in _read(term, sources):
                    passed.setdefault(rule.head.relation, set()).update(relations - component.aggregated)
    return passed


def _sources(rule: Rule, columns: dict[str, set[int]]) -> dict[str, set[str]]:
    """The variables with a moving value, and the relations that it comes from."""
    sources: dict[str, set[str]] = {}
    for step in order_body(rule):
        match step:
            case Match(atom=atom):
                for position in columns.get(atom.relation, ()):
                    for variable in variables(atom.terms[position]):
                        sources.setdefault(variable.name, set()).add(atom.relation)
            case Define(variable=variable, term=term):
                for relations in _read(term, sources):
                    sources.setdefault(variable.name, set()).update(relations)
    return sources


def _read(term: Term, sources: dict[str, set[str]]) -> Iterator[set[str]]:
    return (sources[variable.name] for variable in variables(term) if variable.name in sources)
