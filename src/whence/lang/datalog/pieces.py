"""Pieces of rule bodies: literals, and what is yet to become relations of its own, with the variables they bind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, TypeAlias

from whence.model.rules import Atom, Comparison, Literal, literal_terms, literal_variables
from whence.model.span import Span
from whence.model.terms import Term, Variable, variable_names, variables


@dataclass(frozen=True, slots=True)
class BodyAggregate:
    """`result = function argument : { alternatives }`."""

    result: Variable
    function: str
    argument: Term | None
    alternatives: Alternatives
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class NegatedGroup:
    """`!(a(x, y), b(y))`."""

    alternatives: Alternatives
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class RangePiece:
    """`result = range(start, end, step)`, for each of the values in turn."""

    result: Variable
    start: Term
    end: Term
    step: Term
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class OpenedAtom:
    """An atom with what holds of the fields of its records: a relation of their values, to be joined with by those."""

    terms: tuple[Variable, ...]
    pieces: Pieces
    span: Span = field(compare=False)


Piece: TypeAlias = Literal | BodyAggregate | NegatedGroup | RangePiece | OpenedAtom
Pieces: TypeAlias = tuple[Piece, ...]
# What `;` separates.
Alternatives: TypeAlias = tuple[Pieces, ...]


def variables_of(pieces: Iterable[Piece]) -> Iterator[Variable]:
    """Every variable that is written in the pieces, in order, with repetitions."""
    for piece in pieces:
        match piece:
            case BodyAggregate(result=result, argument=argument, alternatives=alternatives):
                yield result
                if argument is not None:
                    yield from variables(argument)
                yield from (each for alternative in alternatives for each in variables_of(alternative))
            case NegatedGroup(alternatives=alternatives):
                yield from (each for alternative in alternatives for each in variables_of(alternative))
            case OpenedAtom(terms=terms):
                yield from terms
            case RangePiece():
                yield piece.result
                yield from (each for term in (piece.start, piece.end, piece.step) for each in variables(term))
            case _:
                yield from literal_variables(piece)


def bound_by(pieces: Iterable[Piece]) -> set[str]:
    """The variables that positive atoms, aggregates and equations give a value to."""
    pieces = tuple(pieces)
    bound = {name for piece in pieces if isinstance(piece, Atom) for name in _gives(piece)}
    bound |= {piece.result.name for piece in pieces if isinstance(piece, BodyAggregate | RangePiece)}
    bound |= {term.name for piece in pieces if isinstance(piece, OpenedAtom) for term in piece.terms}
    equations = [piece for piece in pieces if isinstance(piece, Comparison) and piece.op == "="]
    growing = True
    while growing:
        before = len(bound)
        for equation in equations:
            for side, other in ((equation.left, equation.right), (equation.right, equation.left)):
                if isinstance(side, Variable) and all(each.name in bound for each in variables(other)):
                    bound.add(side.name)
        growing = len(bound) > before
    return bound


def binders(pieces: Iterable[Piece], wanted: Iterable[str]) -> Pieces:
    """The atoms and equations that give the wanted variables their values, in their order."""
    literals = [p for p in pieces if isinstance(p, Atom) or (isinstance(p, Comparison) and p.op == "=")]
    needed = set(wanted)
    chosen: set[int] = set()
    growing = True
    while growing:
        growing = False
        for index, literal in enumerate(literals):
            if index not in chosen and needed & _gives(literal):
                chosen.add(index)
                needed |= {each.name for each in _takes(literal)}
                growing = True
    return tuple(literals[index] for index in sorted(chosen))


def _gives(literal: Atom | Comparison) -> set[str]:
    return {term.name for term in literal_terms(literal) if isinstance(term, Variable)}


def _takes(literal: Atom | Comparison) -> Iterator[Variable]:
    """What has to have a value before the literal gives one: an equation's other side, an atom's compound terms."""
    for term in literal_terms(literal):
        if isinstance(literal, Comparison) or not isinstance(term, Variable):
            yield from variables(term)


def with_witnesses(head: Atom, pieces: Pieces) -> Pieces:
    """With the body of each aggregate that has witnesses beside it: variables of a minimum's or maximum's braces that
    the rest of the rule uses.

        tallest(s, h) :- h = max x : { student(s, x) }.

        tallest(s, h) :- h = max x : { student(s, x) }, student(s, x1), x1 = h.

    In the aggregate such a variable is one of its own, and the rule holds for all of its values that have the best one.
    """
    found: list[Piece] = []
    for number, piece in enumerate(pieces):
        found.append(piece)
        if isinstance(piece, BodyAggregate) and piece.function in ("min", "max") and len(piece.alternatives) == 1:
            inside = _names(piece)
            others = (each for each in pieces if each is not piece)
            wanted = variable_names(head.terms) | _outside(others)
            witnesses = (inside & wanted) - bound_by(pieces)
            if witnesses:
                own = {name: f"{name}$w{number}" for name in inside - bound_by(pieces)}
                found[-1] = replace(_renamed(piece, own), result=piece.result)
                local = {name: f"{name}$u{number}" for name in own.keys() - witnesses}
                found += (_renamed(each, local) for each in piece.alternatives[0])
                assert piece.argument is not None
                found.append(Comparison("=", _renamed(piece.argument, local), piece.result, span=piece.span))
    return tuple(found)


def _names(aggregate: BodyAggregate) -> set[str]:
    """The variables of the braces, and of what is aggregated."""
    assert aggregate.argument is not None
    names = {each.name for each in variables(aggregate.argument)}
    return names | {each.name for each in variables_of(aggregate.alternatives[0])}


def _outside(pieces: Iterable[Piece]) -> set[str]:
    """The variables of a rule that stand in no braces."""
    return {each.name for each in variables_of(p for p in pieces if not isinstance(p, BodyAggregate | NegatedGroup))}


def _renamed(node: Any, names: Mapping[str, str]) -> Any:
    match node:
        case Variable(name=name):
            return replace(node, name=names.get(name, name))
        case tuple():
            return tuple(_renamed(each, names) for each in node)
    if not is_dataclass(node) or isinstance(node, type) or not _is_part(node):
        return node
    changed = {field.name: _renamed(getattr(node, field.name), names) for field in fields(node)}
    return replace(node, **changed)


def _is_part(node: Any) -> bool:
    return isinstance(node, Term | Piece)
