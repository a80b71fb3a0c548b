"""Names: everything a program speaks of exists, once, and with the columns it is given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from whence.errors import (
    ArityError,
    DataError,
    DuplicateNameError,
    TypeMismatchError,
    UnknownNameError,
    UnsupportedError,
    did_you_mean,
)
from whence.model.program import Program
from whence.model.rules import Atom, Rule
from whence.model.schema import Column, Relation, RowWindow, is_auxiliary, relation_named
from whence.model.span import Span


def check_names(program: Program) -> None:
    """Refuse unknown and ambiguous names. A relation without a declaration is known by the head of its first rule."""
    known: dict[str, Relation | Atom] = {}
    for relation in program.relations:
        if relation.name in known:
            raise DuplicateNameError(
                f"relation {relation.name!r} is declared twice",
                span=relation.span,
                related=[("it is declared here already", known[relation.name].span)],
                hint="remove one of the declarations, or give it another name",
            )
        known[relation.name] = relation
        _check_declaration(relation)
    for rule in program.rules:
        head = known.setdefault(rule.head.relation, rule.head)
        if isinstance(head, Relation) and (not rule.is_fact or rule.sign < 0):
            _check_rows_follow(head, rule)
    _check_case(known)
    for rule in program.rules:
        for atom in (rule.head, *rule.body_atoms):
            _check_atom(atom, known)
    for directive in program.directives:
        if directive.relation not in known:
            raise _unknown(directive.relation, directive.span, known)


def _check_case(known: Mapping[str, Relation | Atom]) -> None:
    """Spark finds tables whatever their case, so two such names would mean one table there."""
    spelled: dict[str, str] = {}
    for name, place in known.items():
        other = spelled.setdefault(name.lower(), name)
        if other != name:
            raise DuplicateNameError(
                f"relations {other!r} and {name!r} differ only in case",
                span=place.span,
                related=[(f"{other!r} is here", known[other].span)],
                hint="spell them the same if they are one relation, or give one of them another name",
            )


def _check_atom(atom: Atom, known: Mapping[str, Relation | Atom]) -> None:
    place = known.get(atom.relation)
    if place is None:
        raise _unknown(atom.relation, atom.span, known)
    expected = place.arity if isinstance(place, Relation) else len(place.terms)
    given = len(atom.terms)
    if given == expected:
        return
    columns = _count(expected, "column")
    if isinstance(place, Relation):
        columns += f" ({', '.join(place.column_names)})"
    raise ArityError(
        f"{relation_named(atom.relation)} has {columns}, but is given {given}",
        span=atom.span,
        related=[("it is declared here" if isinstance(place, Relation) else "it is first defined here", place.span)],
        hint="write _ for a column that does not matter" if given < expected else None,
    )


def _unknown(name: str, span: Span | None, known: Iterable[str]) -> UnknownNameError:
    users = [word for word in known if not is_auxiliary(word)]
    return UnknownNameError(
        f"there is no relation {name!r}",
        span=span,
        hint=did_you_mean(name, users) or f"declare {name!r}, or write a rule that defines it",
    )


def _check_declaration(relation: Relation) -> None:
    columns: dict[str, Column] = {}
    for column in relation.columns:
        # Without regard to case, as Spark reads column names.
        other = columns.setdefault(column.name.lower(), column)
        if other is not column:
            raise DuplicateNameError(
                f"{relation_named(relation.name)} has two columns {column.name!r}",
                span=column.span or relation.span,
                related=[("the other one is here", other.span)],
                hint="give one of them another name",
            )
    for name in relation.key:
        _column(relation, name, "key")
    if len(set(relation.key)) < len(relation.key):
        raise DuplicateNameError(f"the key of {relation.name!r} names a column twice", span=relation.span)
    if relation.partition is not None:
        _column(relation, relation.partition, "partition")
    if relation.ttl is not None and relation.ttl.column is not None:
        column = _column(relation, relation.ttl.column, "time to live")
        if not column.type.is_time:
            raise TypeMismatchError(
                f"the time to live of {relation.name!r} counts from column {column.name!r}, which is {column.type}",
                span=column.span or relation.span,
                hint="name a column of type TIMESTAMP or DATE, or none to count from when a row was inserted",
            )

    if relation.window is not None:
        _check_window(relation, relation.window)


def _check_window(relation: Relation, window: RowWindow) -> None:
    if window.rows < 1:
        raise DataError(
            f"the window of {relation.name!r} holds {_count(window.rows, 'row')}",
            span=relation.span,
            hint="it has to hold at least one row",
        )
    for name in window.partition:
        _column(relation, name, "window")
    if len(set(window.partition)) < len(window.partition):
        raise DuplicateNameError(f"the window of {relation.name!r} names a column twice", span=relation.span)


def _check_rows_follow(relation: Relation, rule: Rule) -> None:
    """The rows of a view leave when what they follow from leaves, and not otherwise."""
    what = "a time to live" if relation.ttl is not None else "a window" if relation.window is not None else None
    if what is not None:
        raise UnsupportedError(
            f"{relation.name!r} has {what} and rules, and the rows of a relation with rules follow from them alone",
            span=relation.span,
            related=[("this rule defines it", rule.span)],
            hint="give it to the relations that the rules read",
        )


def _column(relation: Relation, name: str, role: str) -> Column:
    for column in relation.columns:
        if column.name == name:
            return column
    raise UnknownNameError(
        f"the {role} of {relation.name!r} names column {name!r}, which it does not have",
        span=relation.span,
        hint=did_you_mean(name, relation.column_names) or f"its columns are {', '.join(relation.column_names)}",
    )


def _count(number: int, noun: str) -> str:
    """`1 column`, `2 columns`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
