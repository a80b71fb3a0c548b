"""Why rows are there, as a graph: one reason for each row that a proof mentions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from whence.engines.evidence import Derivation
from whence.model.rules import Atom, Rule
from whence.model.types import Row

# A relation, and a row of it.
Fact: TypeAlias = tuple[str, Row]


class Kind(Enum):
    """How a reason shows that a row is there."""

    BASE = "base"  # it is a row of a table
    RULE = "rule"  # one use of a rule
    AGGREGATE = "aggregate"  # the members of its group
    SUM = "sum"  # all uses of rules, those that add and those that take away
    OPEN = "open"  # a limit was reached before it could be told


@dataclass(frozen=True, slots=True)
class Reason:
    """`ways` is one use of a rule, or the members of an aggregate, or all that a count is the sum of.

    `partial` where there are more than these. `count` is how often the row is there.
    """

    kind: Kind
    count: int = 1
    ways: tuple[Derivation, ...] = ()
    partial: bool = False


Reasons: TypeAlias = Mapping[Fact, Reason]

BASE = Reason(Kind.BASE)
OPEN = Reason(Kind.OPEN)


def positive(rule: Rule) -> tuple[str, ...]:
    """The relations of a rule's positive atoms."""
    return tuple([literal.relation for literal in rule.body if isinstance(literal, Atom)])


def facts_of(way: Derivation) -> tuple[Fact, ...]:
    """The rows that one use of a rule rests on."""
    return tuple(zip(positive(way.rule), way.body, strict=True))


def distinct(ways: Iterable[Derivation]) -> tuple[Derivation, ...]:
    """Each use of a rule once. Rules are told apart by identity: to hash one would walk all of it."""
    return tuple({(id(way.rule), way.body): way for way in ways}.values())


def needs(reason: Reason) -> Iterator[Fact]:
    return (fact for way in reason.ways for fact in facts_of(way))
