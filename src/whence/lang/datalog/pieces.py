"""A body on its way to the model: literals, and what still has to become relations of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from whence.model.rules import Atom, Comparison, Condition, Literal, Negation
from whence.model.span import Span
from whence.model.terms import Term, Variable, variables


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


Piece: TypeAlias = Literal | BodyAggregate | NegatedGroup
Pieces: TypeAlias = tuple[Piece, ...]
# What `;` separates.
Alternatives: TypeAlias = tuple[Pieces, ...]


def variables_of(pieces: Iterable[Piece]) -> Iterator[Variable]:
    """Every variable that is written in the pieces, in order, with repetitions."""
    for piece in pieces:
        match piece:
            case Negation(atom=Atom(terms=terms)) | Atom(terms=terms):
                for term in terms:
                    yield from variables(term)
            case Comparison(left=left, right=right):
                yield from variables(left)
                yield from variables(right)
            case Condition(term=term):
                yield from variables(term)
            case BodyAggregate(result=result, argument=argument, alternatives=alternatives):
                yield result
                if argument is not None:
                    yield from variables(argument)
                for alternative in alternatives:
                    yield from variables_of(alternative)
            case NegatedGroup(alternatives=alternatives):
                for alternative in alternatives:
                    yield from variables_of(alternative)


def bound_by(pieces: Iterable[Piece]) -> set[str]:
    """The variables that positive atoms, aggregates and equations give a value to."""
    pieces = tuple(pieces)
    bound = {name for piece in pieces if isinstance(piece, Atom) for name in _gives(piece)}
    bound |= {piece.result.name for piece in pieces if isinstance(piece, BodyAggregate)}
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
    terms = literal.terms if isinstance(literal, Atom) else (literal.left, literal.right)
    return {term.name for term in terms if isinstance(term, Variable)}


def _takes(literal: Atom | Comparison) -> Iterator[Variable]:
    """What has to have a value before the literal gives one: an equation's other side, an atom's compound terms."""
    terms = literal.terms if isinstance(literal, Atom) else (literal.left, literal.right)
    for term in terms:
        if isinstance(literal, Comparison) or not isinstance(term, Variable):
            yield from variables(term)
