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
    """Which rows of a changed relation a literal reads, beside a changed row of the trigger.

    KEPT are those that do not change; a negation that is KEPT holds both before and after. With ITS the literal reads
    the relation as it was, for a row that goes, and as it will be, for one that comes.
    """

    KEPT = "kept"
    ITS = "its"


@dataclass(frozen=True, slots=True)
class Part:
    """Two summands: the literal whose change they start from, and what the other changed literals read.

    Literals that are not mentioned have not changed.
    """

    trigger: int
    states: Mapping[int, State]


def delta_parts(changed: Sequence[int]) -> Iterator[Part]:
    """The summands of a rule's delta when these of its literals change."""
    for place, trigger in enumerate(changed):
        kept, its = dict.fromkeys(changed[:place], State.KEPT), dict.fromkeys(changed[place + 1 :], State.ITS)
        yield Part(trigger, kept | its)


def relation_of(literal: Literal) -> str | None:
    """The relation that a literal reads, if it reads any."""
    match literal:
        case Atom(relation=relation) | Negation(atom=Atom(relation=relation)):
            return relation
    return None
