"""What a database has been told: its tables, its views with their rules, its functions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import is_

from whence.analysis.analyze import Analysis, analyze
from whence.analysis.comparisons import Pairings
from whence.analysis.existence import with_existence_tests
from whence.analysis.selection import selected_by, with_aggregate_selection
from whence.errors import DataError, UnknownNameError, did_you_mean
from whence.model.graphs import reached
from whence.model.program import Catalog, Functions, Program, Signature
from whence.model.rules import Rule
from whence.model.schema import Relation, has_same_values, is_auxiliary, owner
from whence.rewriting.magic_sets import magic_notice, with_magic_sets
from whence.rewriting.pushdown import push_conditions
from whence.session.functions import WaitingViews


@dataclass(frozen=True)
class Definitions:
    """The program so far, analyzed; the names of those relations that are views, auxiliary ones included; functions."""

    analysis: Analysis = field(default_factory=lambda: Analysis(Program(), {}, ()))
    views: frozenset[str] = frozenset()
    functions: Functions = field(default_factory=dict)

    @cached_property
    def relations(self) -> Mapping[str, Relation]:
        return self.analysis.relations

    @property
    def rules(self) -> tuple[Rule, ...]:
        return self.analysis.program.rules

    @cached_property
    def differential(self) -> frozenset[str]:
        """The relations with rules that take away, whose counts can fall below zero."""
        return _differential(self.rules)

    @cached_property
    def auxiliary(self) -> frozenset[str]:
        """The relations that users do not know of."""
        return frozenset(filter(is_auxiliary, self.relations))

    @cached_property
    def waiting(self) -> WaitingViews:
        """The views that wait for a function."""
        return WaitingViews(self.analysis, self.functions)

    @property
    def signatures(self) -> dict[str, Signature]:
        return {name: function.signature for name, function in self.functions.items()}

    @cached_property
    def catalog(self) -> Catalog:
        """The relations that users know of, and functions."""
        visible = _visible(self.relations)
        return Catalog(visible, self.views.intersection(visible), self.signatures)

    @property
    def visible(self) -> Mapping[str, Relation]:
        """The relations that users know of."""
        return self.catalog.relations

    @cached_property
    def tables(self) -> Mapping[str, Relation]:
        """The base tables, the only kind of relation that takes changes."""
        return {name: relation for name, relation in self.visible.items() if name not in self.views}

    def find(self, name: str) -> Relation | None:
        """The visible relation of that name, in any letter case."""
        return self.catalog.find(name)

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
        """The base table of that name, which must exist."""
        if isinstance(name, str) and name in self.tables:
            return self.tables[name]
        relation = self.relation(name)
        if relation.name in self.views:
            tables = sorted(self.below({relation.name}) - self.views)
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
        readers = {owner(rule.head.relation) for rule in self.rules if any(owner(read) == name for read in rule.reads)}
        return sorted(readers - {name})

    def below(self, names: set[str]) -> set[str]:
        """The relations and all that they read, directly or not, by the names that users know."""
        return {*reached(names, lambda name: (owner(read) for rule in self.rules_of(name) for read in rule.reads))}

    def calling(self, function: str) -> list[str]:
        """The views that call a function."""
        return sorted({owner(rule.head.relation) for rule in self.rules if function in rule.calls})

    def adding(
        self,
        relations: Iterable[Relation],
        rules: tuple[Rule, ...],
        views: Iterable[str],
        unseen: Collection[str] = frozenset(),
    ) -> Definitions:
        """With more relations, and rules for no others than those; `unseen` are those that only the rules read.

        Nothing that was there reads them, so they are analyzed alone: a script of many views takes linear time.
        """
        read = {name for rule in rules for name in rule.reads if name in self.relations}
        part = self._analyzed(Program(tuple(self.relations[name] for name in read)), relations, rules, unseen)
        merged = {**self.relations, **part.relations}
        new = tuple(component for component in part.components if read.isdisjoint(component.relations))
        components = (*self.analysis.components, *new)
        added = {name: relation for name, relation in part.relations.items() if name not in read}
        more = {*views, *filter(is_auxiliary, added)} & added.keys()
        after = replace(
            self,
            analysis=Analysis(
                Program(tuple(merged.values()), self.rules + part.program.rules),
                merged,
                components,
                (*part.notices, *(each.notice for each in Pairings(components, merged).of(new))),
            ),
            views=self.views | more,
        )
        # What follows from all definitions follows from those that were there, and these.
        visible = _visible(added)
        vars(after)["catalog"] = self.catalog.extended(visible, more.intersection(visible))
        vars(after)["differential"] = self.differential | _differential(rules)
        return after

    def without(self, name: str) -> Definitions:
        """Without a relation that no other reads, and what serves it."""
        return self._keeping({known: each for known, each in self.relations.items() if owner(known) != name})

    def only(self, names: Collection[str]) -> Definitions:
        """Relations that read no others, and what serves them."""
        return self._keeping({known: each for known, each in self.relations.items() if owner(known) in names})

    def beside(self, other: Definitions) -> Definitions:
        """With all that others have, of which none has the name of one of these."""
        relations = {**self.relations, **other.relations}
        return replace(
            self,
            analysis=Analysis(
                Program(tuple(relations.values()), self.rules + other.rules),
                relations,
                (*self.analysis.components, *other.analysis.components),
            ),
            views=self.views | other.views,
            functions={**self.functions, **other.functions},
        )

    def _keeping(self, kept: Mapping[str, Relation]) -> Definitions:
        components = tuple(each for each in self.analysis.components if each.relations[0] in kept)
        rules = tuple(rule for rule in self.rules if rule.head.relation in kept)
        return replace(
            self,
            analysis=Analysis(Program(tuple(kept.values()), rules), kept, components),
            views=self.views.intersection(kept),
        )

    def redefined(
        self, known: Program, relations: Iterable[Relation], rules: tuple[Rule, ...], owners: Collection[str]
    ) -> Definitions:
        """With what is `known`, as it is, and new relations and rules; `owners` are the views that these are for."""
        relations = tuple(relations)
        analysis = self._analyzed(known, relations, rules)
        kept = self.views.intersection(relation.name for relation in known.relations)
        # What serves a table is hidden, and the table itself is none.
        tables = {relation.name for relation in relations} - {rule.head.relation for rule in rules}
        views = kept.union(name for name in analysis.relations if owner(name) in owners and name not in tables)
        new = (component for component in analysis.components if owner(component.relations[0]) in owners)
        pairings = Pairings(analysis.components, analysis.relations).of(new)
        notices = (*analysis.notices, *(each.notice for each in pairings))
        return replace(self, analysis=replace(analysis, notices=notices), views=views)

    def _analyzed(
        self,
        known: Program,
        relations: Iterable[Relation],
        rules: tuple[Rule, ...],
        unseen: Collection[str] = frozenset(),
    ) -> Analysis:
        """New relations and rules beside what is known. What is wrong is said of the rules as they were written."""
        whole = analyze(Program((*known.relations, *relations), known.rules + rules), self.signatures)

        def is_hidden(name: str) -> bool:
            return is_auxiliary(name) or name in unseen

        new, whole, selected = with_aggregate_selection(known.rules, rules, whole, is_hidden, self.signatures)
        together = {name: each.relations for each in whole.components if each.recursive for name in each.relations}
        tests = with_existence_tests(push_conditions(new, is_auxiliary, together), whole.relations, together)
        if tests.rules != tuple(new):
            new = tests.rules
            whole = analyze(
                Program((*whole.program.relations, *tests.relations), (*known.rules, *new)), self.signatures
            )
        _, whole, asked = with_magic_sets(known.rules, new, whole, is_hidden, self.signatures)
        notices = (
            *(_selection_notice(old, name) for old, name in selected.items() if old in unseen),
            *(magic_notice(old, name) for old, name in asked.items() if old in unseen),
        )
        return replace(whole, notices=(*whole.notices, *notices)) if notices else whole


def _selection_notice(old: str, new: str) -> str:
    function = selected_by(new)
    why = "its rows are passed on to such a relation" if function is None else f"only {function} reads it"
    return f"{old!r} is no output and {why}, so it keeps the best rows alone, and is called {new!r}"


def _visible(relations: Mapping[str, Relation]) -> dict[str, Relation]:
    return {name: relation for name, relation in relations.items() if not is_auxiliary(name)}


def _differential(rules: Iterable[Rule]) -> frozenset[str]:
    return frozenset(rule.head.relation for rule in rules if rule.sign < 0)


def renewed(before: Definitions, after: Definitions) -> list[str]:
    """Relations that are gone, or are others under the same name: what is kept beside their rows goes too."""
    if after is before:
        return []
    now = after.relations
    if all(map(is_, map(now.get, before.relations), before.relations.values())):
        return []
    views = before.views & after.views
    return [
        name
        for name, old in before.relations.items()
        if name not in now
        or (now[name].columns != old.columns and not (name in views and has_same_values(old, now[name])))
    ]
