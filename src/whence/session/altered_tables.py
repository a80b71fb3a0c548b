"""Tables that get other columns: which changes there can be, and what the rows are then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from whence.errors import StateError
from whence.model.program import AlteredColumn, AlterTable
from whence.model.rules import Atom, Rule
from whence.model.schema import Relation
from whence.model.terms import Constant, Term, Variable


def composed(later: AlteredColumn, earlier: AlteredColumn) -> AlteredColumn:
    """A column that comes from one that was altered before."""
    return replace(later, source=earlier.source, default=earlier.default)


def check_alterable(relation: Relation, statement: AlterTable) -> None:
    """What is kept beside the rows of a table must not be lost."""
    kept = {each.source for each in statement.columns}
    needed = {*relation.key, relation.partition, relation.ttl and relation.ttl.column}
    for at, column in enumerate(relation.columns):
        if column.name in needed and at not in kept:
            raise StateError(
                f"column {column.name!r} of {relation.name!r} cannot be dropped: it is part of its key, its partition "
                "or its time to live",
                span=statement.span,
            )
    if relation.window is not None or (relation.ttl is not None and relation.ttl.column is None):
        raise StateError(
            f"{relation.name!r} cannot get other columns: when its rows came is kept beside them",
            span=statement.span,
            hint="make another table, and insert the rows into it",
        )


def altered_rule(old: Relation, new: Relation, columns: Sequence[AlteredColumn]) -> Rule:
    """What a table with other columns holds, as a rule over what it holds now."""
    head: list[Term] = [
        Constant(each.default, each.column.type) if each.source is None else Variable(old.columns[each.source].name)
        for each in columns
    ]
    body = Atom(old.name, tuple(Variable(column.name) for column in old.columns))
    return Rule(Atom(new.name, tuple(head)), (body,))
