"""Plans: how to find all ways to satisfy a rule's body, one step after the other.

A plan works on bindings. A binding is a row of slots that grows to the right: every step goes through the bindings of
the step before, drops those that do not fit, and puts what it found behind the others. No step changes a slot.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from whence.analysis.typed_rules import TypedRule
from whence.functions.types import Typed
from whence.model.rules import Atom, Literal, Negation
from whence.model.terms import Term
from whence.model.types import Type


@dataclass(frozen=True, slots=True)
class Probe:
    """Goes on with every row of the relation that holds the keys at the positions; without positions, with all.

    The columns `binds` of the row take the next slots; if `counted`, how often the row is there takes the one after.
    """

    literal: int
    relation: str
    positions: tuple[int, ...]
    keys: tuple[Term, ...]
    binds: tuple[int, ...]
    counted: bool


@dataclass(frozen=True, slots=True)
class Pattern:
    """What a negated atom asks a relation for: rows that hold a key at some columns.

    A key has the values for `positions`, which are compared as they are stored, and then those for `widened`, which
    are compared after the column's value has been converted to the type beside it.
    """

    relation: str
    positions: tuple[int, ...]
    widened: tuple[tuple[int, Type], ...]


@dataclass(frozen=True, slots=True)
class Missing:
    """Goes on if no row fits the pattern with these keys."""

    literal: int
    pattern: Pattern
    keys: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Flip:
    """Goes on with every key for which a row came to fit the pattern, or none does any more; it takes the next slots.

    Only ever the first step: it is how a change of a negated relation enters a rule.
    """

    literal: int
    pattern: Pattern


@dataclass(frozen=True, slots=True)
class Compute:
    """The term's value takes the next slot."""

    term: Term


@dataclass(frozen=True, slots=True)
class Filter:
    """Goes on if the condition is TRUE."""

    condition: Term


Step: TypeAlias = Probe | Missing | Flip | Compute | Filter


@dataclass(frozen=True, slots=True)
class Plan:
    """The steps, and where the rule's variables are after the last one.

    `counts` are the slots that hold how often a row is there: a binding counts as often as their product says. `types`
    has every variable that occurs in a step, which are more than those of the rule.
    """

    rule: TypedRule
    steps: tuple[Step, ...]
    slots: Mapping[str, int]
    counts: tuple[int, ...]
    types: Mapping[str, Typed]


def relation_of(literal: Literal) -> str | None:
    """The relation that a literal reads, if it reads any."""
    match literal:
        case Atom(relation=relation) | Negation(atom=Atom(relation=relation)):
            return relation
    return None
