"""The types of a rule's variables, and of the row that its head makes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from whence.analysis.order import Absent, Define, Match, Step, Test
from whence.errors import TypeMismatchError
from whence.functions.resolve import cast_hint
from whence.functions.types import Typed, aggregate_type, common_type, infer
from whence.model.program import Signature
from whence.model.rules import COMPARISONS, Atom, Comparison, Condition, Rule
from whence.model.schema import Relation, relation_named
from whence.model.span import Span
from whence.model.terms import Aggregate, Call, Constant, Term, Variable, Wildcard
from whence.model.types import BOOLEAN, NULL, Type
from whence.model.types.base import castable


def row_types(
    rule: Rule, steps: Sequence[Step], relations: Mapping[str, Relation], signatures: Mapping[str, Signature]
) -> tuple[Typed, ...]:
    """What the head's columns hold once all steps have passed."""
    types = passing_types(steps, relations, signatures)
    grouped = len(rule.aggregates) < len(rule.head.terms)
    return tuple(_head_type(term, types, signatures, grouped) for term in rule.head.terms)


def passing_types(
    steps: Sequence[Step], relations: Mapping[str, Relation], signatures: Mapping[str, Signature]
) -> Mapping[str, Typed]:
    """The types of all variables in a binding that passes every step."""
    return body_types(steps, relations, signatures, never_null=frozenset(_never_null(steps, relations)))


def body_types(
    steps: Sequence[Step],
    relations: Mapping[str, Relation],
    signatures: Mapping[str, Signature],
    never_null: Collection[str] = (),
) -> Mapping[str, Typed]:
    """The type of every variable, as wide as the widest column that binds it; every term of the steps is checked on the
    way. A variable is nullable if it can be NULL at any step, also where a later step lets no NULL pass.
    """
    types = _bound_by_atoms(steps, relations, never_null)
    for step in steps:
        match step:
            case Define(variable=variable, term=term):
                typed = infer(term, types, signatures)
                types[variable.name] = Typed(typed.type, typed.nullable and variable.name not in never_null)
            case Match(atom=atom) | Absent(atom=atom):
                _check_atom(atom, relations[atom.relation], types, signatures)
            case Test(literal=literal):
                typed = infer(condition_term(literal), types, signatures)
                if typed.type not in (BOOLEAN, NULL):
                    raise TypeMismatchError(
                        f"a condition is BOOLEAN, but this is {typed.type}",
                        span=literal.span,
                        hint="compare it with something",
                    )
    return types


def defined_types(
    steps: Sequence[Step], relations: Mapping[str, Relation], signatures: Mapping[str, Signature]
) -> Mapping[str, Typed]:
    """The same where everything has been checked before."""
    types = _bound_by_atoms(steps, relations, ())
    for step in steps:
        if isinstance(step, Define):
            types[step.variable.name] = infer(step.term, types, signatures)
    return types


def _bound_by_atoms(
    steps: Sequence[Step], relations: Mapping[str, Relation], never_null: Collection[str]
) -> dict[str, Typed]:
    # Before any definition is looked at, since an atom that comes later can still widen a variable.
    types: dict[str, Typed] = {}
    places: dict[str, tuple[Atom, int]] = {}
    for step in steps:
        if not isinstance(step, Match):
            continue
        for position, (term, column) in enumerate(
            zip(step.atom.terms, relations[step.atom.relation].columns, strict=True)
        ):
            if not isinstance(term, Variable):
                continue
            nullable = column.nullable and term.name not in never_null
            known = types.get(term.name)
            if known is None:
                types[term.name] = Typed(column.type, nullable)
                places[term.name] = (step.atom, position)
                continue
            wider = common_type([known.type, column.type])
            if wider is None:
                raise _different(term, (step.atom, position), places[term.name], relations)
            types[term.name] = Typed(wider, known.nullable or nullable)
    return types


def _check_atom(
    atom: Atom, relation: Relation, types: Mapping[str, Typed], signatures: Mapping[str, Signature]
) -> None:
    for position, (term, column) in enumerate(zip(atom.terms, relation.columns, strict=True)):
        if isinstance(term, Wildcard):
            continue
        given = infer(term, types, signatures).type
        if common_type([given, column.type]) is None:
            raise TypeMismatchError(
                f"column {column.name!r} of {relation_named(relation.name)} is {column.type}, but this is {given}",
                span=term_place(atom, position),
                related=[column_place(relation, position)],
                hint=conversion(term, given, column.type, "compare it with a column of its own type"),
            )


def _different(
    variable: Variable, here: tuple[Atom, int], there: tuple[Atom, int], relations: Mapping[str, Relation]
) -> TypeMismatchError:
    (note, place), (other_note, other_place) = (
        (column_place(relations[atom.relation], position)[0], term_place(atom, position))
        for atom, position in (here, there)
    )
    return TypeMismatchError(
        f"{variable.name!r} stands for two columns that never match: {note}, and {other_note}",
        span=place,
        related=[(f"{variable.name!r} stands here, too", other_place)],
        hint="use two variables, and convert one before they are compared",
    )


def condition_term(literal: Comparison | Condition) -> Term:
    """The Boolean term that a comparison or condition is."""
    if isinstance(literal, Condition):
        return literal.term
    return Call(literal.op, (literal.left, literal.right), span=literal.span)


def _head_type(term: Term, types: Mapping[str, Typed], signatures: Mapping[str, Signature], grouped: bool) -> Typed:
    if not isinstance(term, Aggregate):
        return infer(term, types, signatures)
    argument = None if term.argument is None else infer(term.argument, types, signatures)
    result = aggregate_type(term.function, None if argument is None else argument.type, term.span)
    # Without groups there is a row even over nothing, and only count has a value then.
    nullable = term.function != "count" and (not grouped or (argument is not None and argument.nullable))
    return Typed(result, nullable)


def _never_null(steps: Sequence[Step], relations: Mapping[str, Relation]) -> Iterator[str]:
    """Variables that cannot be NULL in a binding that passes every step."""
    for step in steps:
        match step:
            case Match(atom=atom):
                for term, column in zip(atom.terms, relations[atom.relation].columns, strict=True):
                    if isinstance(term, Variable) and not column.nullable:
                        yield term.name
            case Test(literal=literal):
                yield from _true_only_if_not_null(condition_term(literal))


def _true_only_if_not_null(condition: Term) -> Iterator[str]:
    todo = [condition]
    while todo:
        match todo.pop():
            case Call(function="and", arguments=parts):
                todo.extend(parts)
            case Call(function=function, arguments=sides) if function == "isnotnull" or function in COMPARISONS:
                yield from (side.name for side in sides if isinstance(side, Variable))


# Places and hints of messages.


def column_place(relation: Relation, position: int) -> tuple[str, Span | None]:
    """A note that shows a column where it comes from."""
    column = relation.columns[position]
    return f"column {column.name!r} of {relation_named(relation.name)} is {column.type}", column.span or relation.span


def conversion(term: Term, given: Type, wanted: Type, otherwise: str) -> str:
    """A hint for a term of another type than its place."""
    if isinstance(term, Constant):
        return f"write a value of type {wanted}, or {otherwise}"
    if isinstance(term, Aggregate) or not castable(given, wanted):
        return otherwise
    return f"{cast_hint(term, wanted)}, or {otherwise}"


def term_place(atom: Atom, position: int) -> Span | None:
    return atom.terms[position].span or atom.span
