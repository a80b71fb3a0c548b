"""What a database has been told: its tables, its views with their rules, its functions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from whence.analysis.analyze import Analysis, analyze
from whence.engines.engine import Functions
from whence.errors import DataError, UnknownNameError, did_you_mean
from whence.model.catalog import Catalog
from whence.model.program import Program, Signature
from whence.model.rules import Atom, Negation, Rule, rule_terms
from whence.model.schema import Relation, is_auxiliary, owner
from whence.model.terms import Call, walk


@dataclass(frozen=True)
class Definitions:
    """The program so far, analyzed; the names of those relations that are views, auxiliary ones included; functions."""

    analysis: Analysis = field(default_factory=lambda: Analysis(Program(), {}, ()))
    views: frozenset[str] = frozenset()
    functions: Functions = field(default_factory=dict)

    @property
    def relations(self) -> Mapping[str, Relation]:
        return self.analysis.relations

    @property
    def rules(self) -> tuple[Rule, ...]:
        return self.analysis.program.rules

    @cached_property
    def differential(self) -> frozenset[str]:
        """The relations with rules that take away, whose counts can fall below zero."""
        return frozenset(rule.head.relation for rule in self.rules if rule.sign < 0)

    @property
    def signatures(self) -> dict[str, Signature]:
        return {name: function.signature for name, function in self.functions.items()}

    @property
    def visible(self) -> dict[str, Relation]:
        """The relations that users know of."""
        return {name: relation for name, relation in self.relations.items() if not is_auxiliary(name)}

    def catalog(self) -> Catalog:
        return Catalog(self.visible, frozenset(filter(self.visible.__contains__, self.views)), self.signatures)

    def find(self, name: str) -> Relation | None:
        """The visible relation of that name. Letter case does not matter, and no two names differ in it alone."""
        if name in self.relations and not is_auxiliary(name):
            return self.relations[name]
        return next((found for known, found in self.visible.items() if known.lower() == name.lower()), None)

    def relation(self, name: object) -> Relation:
        """The relation of that name, which must exist."""
        if not isinstance(name, str):
            raise UnknownNameError(f"a relation goes by a name, not by a {type(name).__name__}")
        found = self.find(name)
        if found is None:
            known = ", ".join(sorted(self.visible)) or "no relation yet: create a table first"
            raise UnknownNameError(
                f"there is no relation {name!r}", hint=did_you_mean(name, self.visible) or f"there is {known}"
            )
        return found

    def table(self, name: object) -> Relation:
        """The base table of that name, the only kind of relation that takes changes."""
        relation = self.relation(name)
        if relation.name in self.views:
            tables = sorted(self._tables_under(relation.name))
            raise DataError(
                f"{relation.name!r} is a view, and its rows follow from its definition",
                hint=f"change the tables it reads: {', '.join(tables)}" if tables else None,
            )
        return relation

    def rules_of(self, name: str) -> Iterator[Rule]:
        """The rules of a view and of what serves it."""
        return (rule for rule in self.rules if owner(rule.head.relation) == name)

    def dependents(self, name: str) -> list[str]:
        """The other views that read a relation."""
        readers = {owner(rule.head.relation) for rule in self.rules if any(owner(read) == name for read in reads(rule))}
        return sorted(readers - {name})

    def calling(self, function: str) -> list[str]:
        """The views that call a function."""
        return sorted({owner(rule.head.relation) for rule in self.rules if function in calls(rule)})

    def adding(self, relations: Iterable[Relation], rules: tuple[Rule, ...], views: Iterable[str]) -> Definitions:
        """With more relations, and rules for no others than those.

        Nothing that was there reads them, so they are analyzed alone: a script of many views takes linear time.
        """
        read = {name for rule in rules for name in reads(rule) if name in self.relations}
        part = analyze(Program((*(self.relations[name] for name in read), *relations), rules), self.signatures)
        merged = {**self.relations, **part.relations}
        new = (component for component in part.components if read.isdisjoint(component.relations))
        return replace(
            self,
            analysis=Analysis(
                Program(tuple(merged.values()), self.rules + rules),
                merged,
                (*self.analysis.components, *new),
                part.notices,
            ),
            views=self.views.union(views),
        )

    def without(self, name: str) -> Definitions:
        """Without a relation that no other reads, and what serves it."""
        kept = {known: relation for known, relation in self.relations.items() if owner(known) != name}
        components = tuple(each for each in self.analysis.components if each.relations[0] in kept)
        rules = tuple(rule for rule in self.rules if rule.head.relation in kept)
        return replace(
            self,
            analysis=Analysis(Program(tuple(kept.values()), rules), kept, components),
            views=self.views.intersection(kept),
        )

    def replacing(self, name: str, definition: Program) -> Definitions:
        """With another definition for a view that others may read."""
        kept = self.without(name)
        relations = (*kept.relations.values(), *definition.relations)
        return replace(
            kept,
            analysis=analyze(Program(relations, kept.rules + definition.rules), self.signatures),
            views=kept.views.union(relation.name for relation in definition.relations),
        )

    def _tables_under(self, view: str) -> set[str]:
        """The base tables that a view reads, directly or through other views."""
        read_by: dict[str, set[str]] = {}
        for rule in self.rules:
            read_by.setdefault(rule.head.relation, set()).update(reads(rule))
        todo, seen = [view], {view}
        while todo:
            for name in read_by.get(todo.pop(), set()) - seen:
                seen.add(name)
                todo.append(name)
        return seen - self.views


def reads(rule: Rule) -> Iterator[str]:
    for literal in rule.body:
        if isinstance(literal, Atom):
            yield literal.relation
        elif isinstance(literal, Negation):
            yield literal.atom.relation


def calls(rule: Rule) -> set[str]:
    """The functions that a rule calls."""
    return {inner.function for term in rule_terms(rule) for inner in walk(term) if isinstance(inner, Call)}
