"""The delta of a rule: which of its ways to hold came and went, when several of its literals change at once.

Let literals 1..n of the body change, each from `old` to `new`. A way to satisfy the body differs before and after only
if one of the rows it uses has changed, and it belongs to the first literal for which that is so. Hence the delta is

    sum over i of   kept(1..i-1) x new rows of i that changed x new(i+1..n)
                  - kept(1..i-1) x old rows of i that changed x old(i+1..n)

where `kept` are the rows that did not change. Every way that is looked at holds in the state before or in the state
after. With the textbook's mixture of new(1..i-1) and old(i+1..n) some would hold in neither, and a condition could
fail on values that never met: 7 / 0, where a divisor becomes 0 in the same commit that takes the 7 away.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from whence.model.rules import Atom, Literal, Negation


class State(Enum):
    """Which rows of a relation a literal reads. A negation that is KEPT holds both before and after."""

    OLD = "old"
    KEPT = "kept"
    NEW = "new"


@dataclass(frozen=True, slots=True)
class Part:
    """One summand: the literal whose change it starts from, its sign, and what the other changed literals read.

    The trigger yields its changed rows as they were before if the sign is -1, and as they are after if it is 1.
    Literals that are not mentioned have not changed.
    """

    trigger: int
    sign: int
    states: Mapping[int, State]


def delta_parts(changed: Sequence[int]) -> Iterator[Part]:
    """The summands of a rule's delta when these of its literals change."""
    for place, trigger in enumerate(changed):
        kept = dict.fromkeys(changed[:place], State.KEPT)
        for sign, after in ((-1, State.OLD), (1, State.NEW)):
            yield Part(trigger, sign, kept | dict.fromkeys(changed[place + 1 :], after))


def relation_of(literal: Literal) -> str | None:
    """The relation that a literal reads, if it reads any."""
    match literal:
        case Atom(relation=relation) | Negation(atom=Atom(relation=relation)):
            return relation
    return None
