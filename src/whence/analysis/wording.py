"""How messages speak of relations: by the user's names, also where a front end made a relation of its own."""

from __future__ import annotations

from whence.functions.cast import castable
from whence.functions.resolve import cast_hint
from whence.model.rules import Atom
from whence.model.schema import Column, Relation, is_auxiliary, owner
from whence.model.span import Span
from whence.model.terms import Aggregate, Constant, Term
from whence.model.types import Type


def relation_named(name: str) -> str:
    return f"a subquery of {owner(name)!r}" if is_auxiliary(name) else repr(name)


def count(number: int, noun: str) -> str:
    """`1 column`, `2 columns`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def column_place(relation: Relation, position: int) -> tuple[str, Span | None]:
    """A note that shows a column where it comes from."""
    column: Column = relation.columns[position]
    place = column.span if column.span is not None else relation.span
    return f"column {column.name!r} of {relation_named(relation.name)} is {column.type}", place


def conversion(term: Term, given: Type, wanted: Type, otherwise: str) -> str:
    """A hint for a term of another type than its place."""
    if isinstance(term, Constant):
        return f"write a value of type {wanted}, or {otherwise}"
    if isinstance(term, Aggregate) or not castable(given, wanted):
        return otherwise
    return f"{cast_hint(term, wanted)}, or {otherwise}"


def term_place(atom: Atom, position: int) -> Span | None:
    term_span = atom.terms[position].span
    return term_span if term_span is not None else atom.span
