"""Witnesses: variables of a minimum's or maximum's braces that the rest of the rule uses.

    tallest(s, h) :- h = max x : { student(s, x) }.

    tallest(s, h) :- h = max x : { student(s, x) }, student(s, x1), x1 = h.

In the aggregate such a variable is one of its own, and the rule holds for all of its values that have the best one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from whence.lang.datalog.auxiliary import BodyAggregate, NegatedGroup, Piece, Pieces, bound_by, variables_of
from whence.model.rules import Atom, Comparison
from whence.model.terms import Term, Variable, variable_names, variables


def with_witnesses(head: Atom, pieces: Pieces) -> Pieces:
    """With the body of each aggregate that has witnesses beside it."""
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
