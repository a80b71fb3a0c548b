"""Facts and the reasons for them, and how far an answer may go before it says that there is more."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from whence.deadline import end_of_search
from whence.engines.engine import Derivation
from whence.model.rules import Atom, Rule
from whence.model.types import Row

_FEW_STEPS = 10_000


@dataclass(frozen=True, slots=True)
class ProofLimits:
    """`rows` of a view that a question matches and are proved; `members` of a group that are listed; `steps` in all;
    and `seconds`.
    """

    rows: int = 10
    members: int = 1_000
    steps: int = 10_000
    seconds: float = 30.0


class Watch:
    """Tells when a number of steps or a time is over, and remembers that it was."""

    def __init__(self, steps: int, seconds: float) -> None:
        self._steps = steps
        self._stride = 64 if steps > _FEW_STEPS else 1
        self._end = end_of_search(seconds)
        self.is_over = False

    def step(self) -> bool:
        """One step more; whether that is one too many."""
        self._steps -= 1
        # The clock is asked now and then, since it costs as much as a small step. Where steps are few, they are large.
        if self._steps < 0 or (self._steps % self._stride == 0 and time.monotonic() > self._end):
            self.is_over = True
        return self.is_over


# A relation, and a row of it.
Fact: TypeAlias = tuple[str, Row]


class ReasonKind(Enum):
    """How a reason shows that a row is there."""

    BASE = "base"  # it is a row of a table
    RULE = "rule"  # one use of a rule
    AGGREGATE = "aggregate"  # the members of its group
    SUM = "sum"  # all uses of rules, those that add and those that take away
    OPEN = "open"  # a limit was reached before it could be told


@dataclass(frozen=True, slots=True)
class Reason:
    """`derivations` is one use of a rule, or the members of an aggregate, or all that a count is the sum of.

    `partial` where there are more than these. `count` is how often the row is there.
    """

    kind: ReasonKind
    count: int = 1
    derivations: tuple[Derivation, ...] = ()
    partial: bool = False


Reasons: TypeAlias = Mapping[Fact, Reason]

BASE = Reason(ReasonKind.BASE)
OPEN = Reason(ReasonKind.OPEN)


def positive(rule: Rule) -> tuple[str, ...]:
    """The relations of a rule's positive atoms."""
    return tuple([literal.relation for literal in rule.body if isinstance(literal, Atom)])


def facts_of(derivation: Derivation) -> tuple[Fact, ...]:
    """The rows that one use of a rule rests on."""
    return tuple(zip(positive(derivation.rule), derivation.body, strict=True))


def distinct(derivations: Iterable[Derivation]) -> tuple[Derivation, ...]:
    """Each use of a rule once. Rules are told apart by identity: to hash one would walk all of it."""
    return tuple({(id(derivation.rule), derivation.body): derivation for derivation in derivations}.values())


def needs(reason: Reason) -> Iterator[Fact]:
    return (fact for derivation in reason.derivations for fact in facts_of(derivation))
