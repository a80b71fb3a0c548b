"""A program: relations and the rules that define some of them."""

from __future__ import annotations

from dataclasses import dataclass, field

from whence.model.rules import Rule
from whence.model.schema import Relation
from whence.model.span import Span
from whence.model.types import Type


@dataclass(frozen=True, slots=True)
class Signature:
    """A registered function as rules see it."""

    name: str
    returns: Type


@dataclass(frozen=True, slots=True)
class Directive:
    """`.input link(filename="links.csv")` or `.output reachable`."""

    kind: str
    relation: str
    parameters: tuple[tuple[str, str], ...] = ()
    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Program:
    """Relations without rules are base tables; those with rules are views.

    In a Datalog program relations may be left undeclared; analysis finds their schemas.
    """

    relations: tuple[Relation, ...] = ()
    rules: tuple[Rule, ...] = ()
    directives: tuple[Directive, ...] = ()
