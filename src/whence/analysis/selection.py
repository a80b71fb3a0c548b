"""Aggregate selection: a recursion that is only read through min or max keeps the best row of each group.

    path(x, y, c) :- link(x, y, c).
    path(x, y, c + d) :- path(x, z, c), link(z, y, d).
    best(x, y, min<c>) :- path(x, y, c).

    best$path$min(x, y, min<c>) :- link(x, y, c).
    best$path$min(x, y, min<c + d>) :- best$path$min(x, z, c), link(z, y, d).
    best(x, y, min<c>) :- best$path$min(x, y, c).

Around a cycle the costs of paths have no end; the least ones do. The two programs mean the same where every rule that
reads `path`, directly or through relations that nobody else sees, follows an improvement of the cost: for each row that
is left out there is one that differs in the cost alone, has a better one, and so gives all that the other gave, or
something better. Whether rules do so is what `monotone` asks of a min that was written into a recursion. A relation has
one such column: with two, the best values need not be those of one row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from whence.analysis.analyze import Analysis, analyze
from whence.analysis.components import IMPROVING, Component
from whence.analysis.limits import is_leveled
from whence.analysis.monotone import Flow
from whence.analysis.order import Define, order_body
from whence.errors import StratificationError
from whence.model.program import Program, Signature
from whence.model.rules import Atom, Literal, Negation, Rule
from whence.model.schema import AUXILIARY_MARK, Relation, owner
from whence.model.terms import Aggregate, Term, Variable, Wildcard, variable_names

# The column that improves, of each relation of a recursion.
Columns = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Selection:
    """A recursion that keeps the best rows: all relations and rules with it, and what it was called before."""

    relations: tuple[Relation, ...]
    rules: tuple[Rule, ...]
    renamed: Mapping[str, str]


def selected_by(relation: str) -> str | None:
    """The min or max through which alone a relation is read, which it keeps the best rows for."""
    added = relation.split(AUXILIARY_MARK)[2:]
    return next((each for each in added if each in IMPROVING), None)


def select_best(
    rules: Sequence[Rule], analysis: Analysis, hidden: AbstractSet[str], signatures: Mapping[str, Signature]
) -> Selection | None:
    """One recursion of the rules that can keep its best rows only; None if there is none, or none any more.

    `hidden` are relations that nobody reads but the rules.
    """
    for component in analysis.components:
        if component.recursive and component.monotone and not component.aggregated and hidden >= {*component.relations}:
            attempt = _Attempt(component, rules, analysis.relations, hidden, signatures)
            found = attempt.first()
            if found is not None:
                return found
    return None


class _Attempt:
    """To let one recursion keep its best rows."""

    def __init__(
        self,
        component: Component,
        rules: Sequence[Rule],
        relations: Mapping[str, Relation],
        hidden: AbstractSet[str],
        signatures: Mapping[str, Signature],
    ) -> None:
        self.members = frozenset(component.relations)
        self.hidden = hidden
        self.signatures = signatures
        self.rules = tuple(rules)
        self.relations = dict(relations)
        self.is_possible = True
        if is_leveled(component.relations, component.rules):
            self.drop_levels(component.relations[0])
        elif any(not relations[name].distinct for name in self.members):
            self.is_possible = False

    def drop_levels(self, name: str) -> None:
        """The best of a bag is that of the set of its rows, and a set needs no levels to come to an end."""
        outside = (rule for rule in self.rules if rule.head.relation != name)
        read = (atom for rule in outside for atom in rule.body_atoms if atom.relation == name)
        if not all(isinstance(atom.terms[0], Wildcard) for atom in read):
            self.is_possible = False
            return
        relation = self.relations[name]
        self.relations[name] = replace(relation, columns=relation.columns[1:], distinct=True)
        shorter = _on_atoms(lambda atom: replace(atom, terms=atom.terms[1:]) if atom.relation == name else atom)
        self.rules = tuple(map(shorter, self.rules))

    def first(self) -> Selection | None:
        if not self.is_possible:
            return None
        for relation, position in self.candidates():
            for function in IMPROVING:
                found = self.selection(relation, position, function)
                if found is not None:
                    return found
        return None

    def candidates(self) -> Iterator[tuple[str, int]]:
        """The columns of the recursion that some min or max outside it is computed from."""
        todo = [
            source
            for rule in self.rules
            if rule.head.relation not in self.members
            for term in rule.head.terms
            if isinstance(term, Aggregate) and term.function in IMPROVING and term.argument is not None
            for source in column_sources(rule, term.argument)
        ]
        seen = set(todo)
        for name, position in todo:
            if name in self.members:
                yield name, position
                continue
            for rule in self.rules:
                if rule.head.relation == name and not rule.aggregates:
                    fresh = [each for each in column_sources(rule, rule.head.terms[position]) if each not in seen]
                    seen.update(fresh)
                    todo += fresh

    def selection(self, relation: str, position: int, function: str) -> Selection | None:
        columns = self.columns(relation, position)
        if columns is None:
            return None
        rules = [_aggregated(rule, columns, function) for rule in self.rules]
        changed = self.changed(rules)
        if changed is None:
            return None
        return self.renamed(rules, columns, changed, function)

    def columns(self, relation: str, position: int) -> Columns | None:
        """With this column, those that it is computed from in the recursion: one of each relation, or it fails."""
        columns = {relation: position}
        todo = [relation]
        for name in todo:
            for rule in self.rules:
                if rule.head.relation != name:
                    continue
                for source, at in column_sources(rule, rule.head.terms[columns[name]]):
                    if source in self.members and columns.setdefault(source, at) != at:
                        return None
                    if source in self.members and source not in todo:
                        todo.append(source)
        return columns

    def changed(self, rules: Sequence[Rule]) -> AbstractSet[str] | None:
        """The relations that get other rows by that, if all that reads them stays the same or improves with them.

        A relation that takes on rows of the recursion, or their copies, has fewer of them too, so that it must be
        hidden as well.
        """
        changed = {*self.members}
        while True:
            readers = [rule for rule in rules if not changed.isdisjoint(rule.reads)]
            if any(not self.may_read(rule) for rule in readers):
                return None
            flow = self.flow(rules, {*changed, *(rule.head.relation for rule in readers)})
            if flow is None or any(_negates_moving(rule, flow) for rule in readers):
                return None
            more = {
                rule.head.relation
                for rule in readers
                if not rule.aggregates
                and (flow.columns[rule.head.relation] or not self.relations[rule.head.relation].distinct)
            }
            if more <= changed:
                return changed
            if not more <= self.hidden:
                return None
            changed |= more

    def may_read(self, rule: Rule) -> bool:
        """Whether copies of rows do not matter to the rule, nor which they are but for what is checked elsewhere."""
        aggregates = [term for term in rule.head.terms if isinstance(term, Aggregate)]
        return (
            rule.sign > 0
            and not rule.windows
            and not rule.unnests
            and all(term.function in IMPROVING for term in aggregates)
        )

    def flow(self, rules: Sequence[Rule], names: AbstractSet[str]) -> Flow | None:
        """How columns move with the best rows; None if something could be lost by it, or is taken on trust."""
        own = tuple(rule for rule in rules if rule.head.relation in names and self.may_read(rule))
        aggregated = frozenset(rule.head.relation for rule in own if rule.aggregates)
        component = Component(tuple(names), own, recursive=True, linear=False, monotone=True, aggregated=aggregated)
        flow = Flow(component, {id(rule): order_body(rule) for rule in own}, self.relations, self.signatures)
        try:
            trusted = any(True for _ in flow.run())
        except StratificationError:
            return None
        return None if trusted else flow

    def renamed(self, rules: Sequence[Rule], columns: Columns, changed: AbstractSet[str], function: str) -> Selection:
        view = next(
            owner(rule.head.relation)
            for rule in rules
            if rule.head.relation not in changed and not changed.isdisjoint(rule.reads)
        )
        mark = AUXILIARY_MARK
        names: dict[str, str] = {}
        for name in self.relations:
            if name in columns:
                names[name] = f"{view}{mark}{name.removeprefix(view + mark)}{mark}{function}"
            elif owner(name) != view and owner(name) in changed:
                names[name] = f"{view}{mark}{name}"
        rename = _on_atoms(lambda atom: replace(atom, relation=names.get(atom.relation, atom.relation)))
        relations = (replace(each, name=names.get(each.name, each.name)) for each in self.relations.values())
        return Selection(tuple(relations), tuple(map(rename, rules)), names)


def with_aggregate_selection(
    known: Sequence[Rule],
    rules: Sequence[Rule],
    analysis: Analysis,
    is_hidden: Callable[[str], bool],
    signatures: Mapping[str, Signature],
) -> tuple[Sequence[Rule], Analysis, Mapping[str, str]]:
    """The rules and the analysis of them and of what is known, once every recursion that can keeps its best rows only;
    and the names that relations got by that.
    """
    renamed: dict[str, str] = {}
    while any(part.recursive for part in analysis.components):
        hidden = {rule.head.relation for rule in rules if is_hidden(rule.head.relation)}
        best = select_best(rules, analysis, hidden, signatures)
        if best is None:
            break
        rules = best.rules
        renamed |= best.renamed
        analysis = analyze(Program(best.relations, (*known, *rules)), signatures)
    return rules, analysis, renamed


def _on_atoms(change: Callable[[Atom], Atom]) -> Callable[[Rule], Rule]:
    """What changes the atoms of a rule."""

    def of(literal: Literal) -> Literal:
        match literal:
            case Atom():
                return change(literal)
            case Negation(atom=atom):
                return replace(literal, atom=change(atom))
        return literal

    return lambda rule: replace(rule, head=change(rule.head), body=tuple(map(of, rule.body)))


def _aggregated(rule: Rule, columns: Columns, function: str) -> Rule:
    position = columns.get(rule.head.relation)
    if position is None:
        return rule
    terms = list(rule.head.terms)
    terms[position] = Aggregate(function, terms[position], span=terms[position].span)
    return replace(rule, head=replace(rule.head, terms=tuple(terms)))


def column_sources(rule: Rule, term: Term) -> list[tuple[str, int]]:
    """The columns that the term is computed from in the rule's body."""
    names = variable_names([term])
    for step in reversed(order_body(rule)):
        if isinstance(step, Define) and step.variable.name in names:
            names |= variable_names([step.term])
    return [
        (literal.relation, position)
        for literal in rule.body
        if isinstance(literal, Atom)
        for position, each in enumerate(literal.terms)
        if isinstance(each, Variable) and each.name in names
    ]


def _negates_moving(rule: Rule, flow: Flow) -> bool:
    """Whether the rule asks that there be no row with some value in a column that moves."""
    negated = (literal.atom for literal in rule.body if isinstance(literal, Negation))
    return any(
        not isinstance(atom.terms[position], Wildcard)
        for atom in negated
        for position in flow.columns.get(atom.relation, {})
    )


def selected_text(relation: Relation, rules: Iterable[Rule]) -> str | None:
    """For those who ask how a relation is kept."""
    function = selected_by(relation.name)
    aggregates = next((rule.aggregates for rule in rules if rule.head.relation == relation.name), ())
    if function is None or not aggregates:
        return None
    position = aggregates[0]
    names = relation.column_names
    others = ", ".join(name for name in names if name != names[position])
    best = "least" if function == "min" else "greatest"
    per = f" for each {others}" if others else ""
    return f"aggregate selection: only {function} reads it, so it keeps the {best} {names[position]}{per}"
