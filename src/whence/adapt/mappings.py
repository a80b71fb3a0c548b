"""Mappings and rules as definitions of views, in a step to other definitions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from whence.analysis.analyze import analyze
from whence.errors import StateError, UnsupportedError
from whence.lang.datalog.mappings import MappingProgram
from whence.model.program import CreateTable, Program, Signature
from whence.model.rules import Rule
from whence.model.schema import Relation, is_auxiliary, owner
from whence.session.redefinition import Redefinition


def add_mappings(redefinition: Redefinition, mappings: MappingProgram) -> None:
    """Targets become views, and bags; what is only declared is a table. Together with all other rules they must not be
    cyclic.
    """
    program = mappings.program
    targets = dict.fromkeys(owner(rule.head.relation) for rule in program.rules)
    for relation in program.relations:
        if relation.name not in targets:
            _add_table(redefinition, relation)
    rules = [rule for rule in redefinition.rules if owner(rule.head.relation) not in targets]
    found = cycle([*rules, *program.rules], targets)
    if found is not None:
        place = next(rule.span for rule in program.rules if owner(rule.head.relation) == found[0])
        raise UnsupportedError(
            f"these mappings are cyclic: {' <- '.join(found)}",
            span=place,
            hint="values could be invented for ever; write rules for a recursion, with db.rules(...)",
        )
    declared = {relation.name for relation in program.relations}

    def as_target(relation: Relation) -> Relation:
        if is_auxiliary(relation.name) or relation.name in declared:
            return relation
        known = redefinition.before.relations.get(relation.name)
        if known is not None and known.arity == relation.arity:
            # Mappings know columns by their positions, so that those that there were are the same ones.
            names = list(known.column_names)
        else:
            wanted = zip(relation.columns, mappings.columns.get(relation.name, ()), strict=True)
            names = _different([name or column.name for column, name in wanted])
        columns = [replace(column, name=name) for column, name in zip(relation.columns, names, strict=True)]
        return replace(relation, columns=tuple(columns), distinct=False)

    add_views(redefinition, program, as_target)


def _add_table(redefinition: Redefinition, relation: Relation) -> None:
    known = redefinition.catalog.find(relation.name)
    if known is None:
        redefinition.apply(CreateTable(relation, span=relation.span))
    elif known.columns != relation.columns:
        raise StateError(f"there is a relation {known.name!r} already, with other columns", span=relation.span)


def _different(names: Sequence[str]) -> list[str]:
    """Names of columns, with a number where one comes again."""
    found: list[str] = []
    for name in names:
        free, number = name, 1
        while free.lower() in map(str.lower, found):
            number += 1
            free = f"{name}_{number}"
        found.append(free)
    return found


def add_views(
    redefinition: Redefinition, program: Program, shown: Callable[[Relation], Relation] = lambda relation: relation
) -> None:
    """The relations with rules become views, `shown` like this, in the place of those that have their names."""
    if not program.rules:
        return
    catalog, before = redefinition.catalog, redefinition.before
    whole = described(program, {**before.relations, **catalog.relations}, before.signatures)
    for head in dict.fromkeys(owner(relation.name) for relation in whole.relations):
        rules = tuple(rule for rule in whole.rules if owner(rule.head.relation) == head)
        if head in catalog.relations and head not in catalog.views:
            raise StateError(f"{head!r} is a table, and a table gets no rules", span=rules[0].span)
        own = [shown(each) for each in whole.relations if owner(each.name) == head]
        own.sort(key=lambda each: not is_auxiliary(each.name))
        redefinition.define_view(Program(tuple(own), rules), None)


def described(program: Program, known: Mapping[str, Relation], signatures: Mapping[str, Signature]) -> Program:
    """A Datalog program with the columns of relations that nobody declared, as analysis finds them."""
    named = {name for rule in program.rules for name in (rule.head.relation, *rule.reads)}
    heads = {rule.head.relation for rule in program.rules}
    declared = {relation.name for relation in program.relations}
    read = tuple(known[name] for name in sorted(named - heads - declared) if name in known)
    analysis = analyze(replace(program, relations=(*read, *program.relations)), signatures)
    return replace(program, relations=tuple(each for name, each in analysis.relations.items() if name in heads))


def cycle(rules: Iterable[Rule], starts: Iterable[str]) -> list[str] | None:
    """Relations that read each other, from one of the starts and back to it."""
    reads: dict[str, dict[str, None]] = {}
    for rule in rules:
        reads.setdefault(owner(rule.head.relation), {}).update(dict.fromkeys(map(owner, rule.reads)))
    for start in starts:
        paths = [[start]]
        seen: set[str] = set()
        while paths:
            path = paths.pop()
            for name in reads.get(path[-1], ()):
                if name == start:
                    return [*path, start]
                if name not in seen:
                    seen.add(name)
                    paths.append([*path, name])
    return None
