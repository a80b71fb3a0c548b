"""Datalog programs, each of them one commit."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from whence.analysis.analyze import Analysis, analyze
from whence.analysis.limits import DEFAULT_LIMITS
from whence.errors import DuplicateNameError, ParseError, StateError, UnsupportedError, WhenceError
from whence.incremental.counting.counting import Counting
from whence.model.program import Directive, Program
from whence.model.rules import Rule
from whence.model.schema import Relation, is_auxiliary, owner
from whence.model.types import Row
from whence.model.updates import Commit
from whence.session.definitions import Definitions
from whence.session.session import Session
from whence.sources.source import input_source, read_rows, read_source


def apply_rules(session: Session, program: Program, directory: Path, *, outside: bool = False) -> Commit:
    """Add the program to what is there."""
    if program == Program():
        raise ParseError("the program is empty")
    before = session.definitions
    facts = _facts(program.rules)
    rules = tuple(rule for rule in program.rules if rule.head.relation not in facts)
    _check_declarations(program.relations, before)
    _check_heads(rules, facts, before)
    _check_keys(program.relations, rules)
    declared = [relation for relation in program.relations if relation.name not in before.relations]
    analysis = _analyzed(program, declared, before)
    views = frozenset(rule.head.relation for rule in rules)
    added = [relation for name, relation in analysis.relations.items() if name not in before.relations]
    after = before.adding(added, rules, views, _unseen(program, views))
    draft = session.draft()
    for name, rows in _rows(analysis, facts, before).items():
        draft.table(analysis.relations[name]).insert(read_rows(rows, analysis.relations[name]))
    notices = [
        f"{each.relation!r} is marked magic, and all of its rows are needed"
        for each in program.directives
        if each.kind == "magic" and each.relation in after.views
    ]
    for directive in program.directives:
        if directive.kind == "input":
            relation = _input_relation(directive, after)
            source = input_source(directive, relation, directory, outside=outside)
            if source is None:
                notices.append(f"there is no file for {relation.name!r}, which is empty")
            else:
                draft.table(relation).insert(read_source(source, relation))
    return session.define(after, draft, notices=(*program.notices, *notices))


def _unseen(program: Program, views: frozenset[str]) -> frozenset[str]:
    """The views that are no output. A program that does not say what its output is has all of them for it, but those
    that it marks as magic.
    """
    outputs = {each.relation for each in program.directives if each.kind not in ("input", "magic")}
    marked = frozenset(each.relation for each in program.directives if each.kind == "magic")
    return (views if outputs else views & marked) - outputs


def _check_keys(relations: Iterable[Relation], rules: Iterable[Rule]) -> None:
    """What the rules of a relation yield is not looked at for keys."""
    ruled = {rule.head.relation: rule for rule in rules}
    for relation in relations:
        if relation.key and relation.name in ruled:
            raise UnsupportedError(
                f"{relation.name!r} has a key and rules, and a key is checked where rows are inserted",
                span=relation.span,
                related=[("this rule defines it", ruled[relation.name].span)],
                hint="give the key to the relations that the rules read, or keep one row of each with choice-domain",
            )


def _analyzed(program: Program, declared: Sequence[Relation], before: Definitions) -> Analysis:
    """The program beside what it reads. Facts take part, so that relations that nobody declared get their columns."""
    named = {name for rule in program.rules for name in (rule.head.relation, *rule.reads)}
    named.update(each.relation for each in program.directives)
    # Names that differ from them in letter case alone are looked for as well, to be refused.
    found = [before.find(name) or before.relations.get(name) for name in (*named, *(each.name for each in declared))]
    known = {relation.name: relation for relation in found if relation is not None}
    try:
        return analyze(Program((*known.values(), *declared), program.rules, program.directives), before.signatures)
    except WhenceError:
        # What is wrong is said with all in view that could have been meant.
        whole = Program((*before.relations.values(), *declared), before.rules + program.rules, program.directives)
        return analyze(whole, before.signatures)


def _facts(rules: Iterable[Rule]) -> dict[str, list[Rule]]:
    """The facts of those relations that have nothing but facts: they are base tables, and the facts their rows."""
    facts: dict[str, list[Rule]] = {}
    ruled: set[str] = set()
    for rule in rules:
        name = rule.head.relation
        if rule.is_fact and rule.sign > 0 and not is_auxiliary(name):
            facts.setdefault(name, []).append(rule)
        else:
            ruled.add(name)
    return {name: found for name, found in facts.items() if name not in ruled}


def _rows(analysis: Analysis, facts: dict[str, list[Rule]], definitions: Definitions) -> dict[str, list[Row]]:
    """The rows that the facts say."""
    components = {component.relations[0]: component for component in analysis.components}
    rows = {}
    for name in facts:
        counts = Counting(components[name], analysis.relations, definitions.functions, {}, DEFAULT_LIMITS).build()[name]
        rows[name] = [row for row, count in counts.items() for _ in range(count)]
    return rows


def _check_declarations(relations: Iterable[Relation], definitions: Definitions) -> None:
    """A declaration of what exists must say the same."""
    for relation in relations:
        existing = definitions.relations.get(relation.name)
        if existing is not None and _columns(existing) != _columns(relation):
            raise DuplicateNameError(
                f"there is a relation {relation.name!r} already, with other columns",
                span=relation.span,
                related=[(f"it is {_written(existing)}", existing.span)],
                hint="declare it the same, leave the declaration out, or give it another name",
            )


def _columns(relation: Relation) -> list[tuple[str, str]]:
    return [(column.name, column.type.name) for column in relation.columns]


def _written(relation: Relation) -> str:
    return f"{relation.name}({', '.join(f'{name} {kind}' for name, kind in _columns(relation))})"


def _check_heads(rules: Iterable[Rule], facts: dict[str, list[Rule]], definitions: Definitions) -> None:
    """Rules are added for relations that have none yet, and facts for tables."""
    for rule in (*rules, *(found[0] for found in facts.values())):
        name = rule.head.relation
        if name in definitions.views:
            places = (each.span for each in definitions.rules if each.head.relation == name)
            place = next(places, definitions.relations[name].span)
            raise DuplicateNameError(
                f"there is a view {owner(name)!r} already",
                span=rule.span,
                related=[("its definition is here", place)],
                hint="give this one another name, or drop the view first",
            )
        if name in definitions.relations and name not in facts:
            raise DuplicateNameError(
                f"{name!r} is a table, and a table gets no rules",
                span=rule.span,
                related=[("it is declared here", definitions.relations[name].span)],
                hint="give the view another name",
            )


def _input_relation(directive: Directive, definitions: Definitions) -> Relation:
    if directive.relation in definitions.views:
        raise StateError(
            f"{directive.relation!r} has rules, and only relations without rules have input", span=directive.span
        )
    return definitions.relations[directive.relation]
