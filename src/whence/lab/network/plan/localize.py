"""From an analyzed program to stages of local rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from whence.analysis.analyze import Analysis
from whence.analysis.components import Component, owing_bags
from whence.analysis.typed_rules import typed_rule
from whence.errors import UnknownNameError, UnsupportedError
from whence.incremental.aggregates import typed_aggregates
from whence.lab.network.plan.chain import JoinChain
from whence.lab.network.plan.placements import (
    Best,
    Column,
    LocalProgram,
    Placements,
    Selection,
    Stage,
    StageKind,
    aggregated_selections,
    selection,
    without_aggregates,
)
from whence.model.program import Functions
from whence.model.rules import Atom, Literal, Negation, Rule
from whence.model.schema import Column as Schema
from whence.model.schema import Relation
from whence.model.terms import Aggregate, Constant, Term, Variable
from whence.model.types import NULL, STRING


class Localizer:
    """`partition` names the home column of relations that are not at home at the one that is declared, or the first.

    Of the relations in `best` only some rows matter. `selects` tells whether selections are possible at all.
    """

    def __init__(
        self,
        analysis: Analysis,
        functions: Functions,
        partition: Mapping[str, str],
        best: Mapping[str, Best],
        selects: bool,
    ) -> None:
        self._analysis = analysis
        self._best = best
        self._selects = selects
        self._signatures = {name: function.signature for name, function in functions.items()}
        homes = {name: _home(relation, partition.get(name)) for name, relation in analysis.relations.items()}
        self._placements = Placements(dict(analysis.relations), homes)
        self._owing = owing_bags(analysis.components, analysis.relations)
        self._stages: list[Stage] = []

    def program(self) -> LocalProgram:
        recursive = {name for each in self._analysis.components if each.recursive for name in each.relations}
        for name in sorted((self._best.keys() & self._analysis.relations.keys()) - recursive):
            raise UnsupportedError(
                f"rows are selected while they are derived from each other, and {name!r} has none such"
            )
        for component in self._analysis.components:
            if not component.rules:
                continue
            if not component.recursive:
                self._count(component)
            else:
                self._recur(component)
        of_copy = {name: home for home, names in self._placements.copies.items() for name in names}
        return LocalProgram(
            self._placements,
            tuple(self._stages),
            tuple(
                name for component in self._analysis.components if not component.rules for name in component.relations
            ),
            frozenset(
                of_copy.get(name, name)
                for stage in self._stages
                if stage.kind is StageKind.RECURSIVE
                for name in stage.reads
            ),
        )

    def _count(self, component: Component) -> None:
        name = component.relations[0]
        if not component.aggregated:
            self._counted(name, component.rules)
            return
        found = f"{name}$found"
        folding, finding = self._staged(name, found, component.rules)
        self._counted(found, finding)
        self._add(StageKind.COUNTED, (name,), (folding,))

    def _counted(self, name: str, rules: Iterable[Rule]) -> None:
        local: list[Rule] = []
        for number, rule in enumerate(rules):
            chain = JoinChain(rule, self._placements, self._signatures, frozenset(), f"{name}$join{number + 1}_")
            local.append(chain.run())
            for between, inner in zip(chain.between, chain.rules, strict=True):
                self._add(StageKind.COUNTED, (between,), (inner,))
        self._add(StageKind.COUNTED, (name,), local)

    def _recur(self, component: Component) -> None:
        selections = self._selections(component)
        if selections is None or self._owing.intersection(name for rule in component.rules for name in rule.reads):
            self._gather(component)
            return
        own = frozenset(component.relations)
        local: list[Rule] = []
        between: list[str] = []
        for number, rule in enumerate(component.rules):
            name = f"{rule.head.relation}$join{number + 1}_"
            chain = JoinChain(without_aggregates(rule), self._placements, self._signatures, own, name)
            local += [chain.run(), *chain.rules]
            between += chain.between
        self._add(StageKind.RECURSIVE, (*component.relations, *between), local, selections)

    def _selections(self, component: Component) -> list[Selection] | None:
        """Which rows of a recursion matter; None if it has aggregates that are no matter of single rows."""
        relations = self._placements.relations
        asked = [selection(relations[name], self._best[name]) for name in component.relations if name in self._best]
        for each in asked:
            if self._placements.homes[each.relation] not in each.group:
                raise UnsupportedError(
                    f"the rows of a group of {each.relation!r} are on different nodes, so that none can tell the best",
                    hint="partition it on a column of the group",
                )
        if not component.aggregated:
            return asked
        if not self._selects:
            return None
        folds = {
            name: typed_aggregates([each for each in component.typed if each.rule.head.relation == name], relations)
            for name in component.aggregated
        }
        found = aggregated_selections(component, relations, folds)
        if found is None or any(self._placements.homes[each.relation] not in each.group for each in found):
            return None
        return [*asked, *found]

    def _gather(self, component: Component) -> None:
        rules = [
            replace(rule, body=tuple(self._gathered(literal, component) for literal in rule.body))
            for rule in component.rules
        ]
        self._add(StageKind.GATHERED, component.relations, rules)

    def _gathered(self, literal: Literal, component: Component) -> Literal:
        match literal:
            case Atom(relation=name) if name not in component.relations:
                return replace(literal, relation=self._placements.at(name, None))
            case Negation(atom=atom):
                return replace(literal, atom=replace(atom, relation=self._placements.at(atom.relation, None)))
        return literal

    def _staged(self, name: str, found: str, rules: tuple[Rule, ...]) -> tuple[Rule, list[Rule]]:
        """An aggregate over all that its rules find: the rule that folds, and those that find.

        What they find is a relation, held where the groups are.
        """
        relation = self._placements.relations[name]
        relations = self._placements.relations
        typed = [typed_rule(rule, relations, self._signatures) for rule in rules]
        folds = iter(typed_aggregates(typed, relations))
        head = rules[0].head
        columns: list[Schema] = []
        folded: list[Term] = []
        sources: list[list[Term]] = [[] for _ in rules]
        for position, term in enumerate(head.terms):
            column = relation.columns[position]
            if not isinstance(term, Aggregate):
                columns.append(column)
                folded.append(Variable(column.name))
                for source, rule in zip(sources, rules, strict=True):
                    source.append(rule.head.terms[position])
                continue
            arguments = [each for rule in rules if isinstance(each := rule.head.terms[position], Aggregate)]
            fold = next(folds)
            if fold.input is None:
                # A count of rows, whatever they hold.
                folded.append(Aggregate("count", None, span=term.span))
                continue
            variable = f"{column.name}$of"
            columns.append(Schema(variable, STRING if fold.input == NULL else fold.input))
            folded.append(replace(term, argument=Variable(variable)))
            for source, aggregate in zip(sources, arguments, strict=True):
                assert aggregate.argument is not None, "all arguments of a fold, or none"
                source.append(aggregate.argument)
        if not columns:
            # A count of everything needs something to count.
            columns.append(Schema("one", STRING))
            for source in sources:
                source.append(Constant("", STRING))
        self._placements.relations[found] = Relation(found, tuple(columns))
        self._placements.homes[found] = self._group_column(name, head, columns)
        finding = [
            replace(rule, head=Atom(found, tuple(source), span=rule.head.span))
            for rule, source in zip(rules, sources, strict=True)
        ]
        body = Atom(found, tuple(Variable(column.name) for column in columns))
        return Rule(Atom(name, tuple(folded), span=head.span), (body,), span=rules[0].span), finding

    def _group_column(self, name: str, head: Atom, columns: list[Schema]) -> Column:
        """Groups are held where their result is at home, or else by their first column; without groups, together."""
        plain = [at for at, term in enumerate(head.terms) if not isinstance(term, Aggregate)]
        home = self._placements.homes[name]
        if not plain:
            return None
        wanted = self._placements.relations[name].columns[home if home in plain else plain[0]].name
        return [column.name for column in columns].index(wanted)

    def _add(
        self, kind: StageKind, relations: tuple[str, ...], rules: Iterable[Rule], selections: Iterable[Selection] = ()
    ) -> None:
        rules = tuple(rules)
        names = {name for relation in relations for name in (relation, *self._placements.copies.get(relation, ()))}
        reads = tuple(dict.fromkeys(name for rule in rules for name in rule.reads if name not in names))
        self._stages.append(Stage(kind, relations, rules, reads, tuple(selections)))


def _home(relation: Relation, wanted: str | None) -> Column:
    name = wanted or relation.partition
    if name is not None and name not in relation.column_names:
        raise UnknownNameError(f"{relation.name!r} has no column {name!r} to be partitioned on")
    if name is not None:
        return relation.column_names.index(name)
    return 0 if relation.columns else None
