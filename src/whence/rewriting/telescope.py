"""A query over relations that have changed, as the query over what they were and the changes.

    q' :- r'(x, y), s'(y).    is    q' :- r(x, y), s(y).   q' :- Δr(x, y), s(y).   q' :- r'(x, y), Δs(y).

A summand for each changed atom, which reads those before it as they will be and those after it as they were: one more
rule per atom, where replacing r' by r and Δr everywhere would double their number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from whence.model.rules import Atom, Literal
from whence.rewriting import states
from whence.rewriting.conjunction import Conjunction, Sets, conjunction
from whence.rewriting.signed_union import NOTHING, SignedUnion, one


def telescoped(query: SignedUnion, changed: Mapping[str, str], sets: Sets = ()) -> SignedUnion:
    """The same sum; `changed` has, by the name of their state afterwards, the relations that a change leads from."""
    total = NOTHING
    for each, times in query:
        total += _telescoped(each, changed, sets).times(times)
    return total


def _telescoped(each: Conjunction, changed: Mapping[str, str], sets: Sets) -> SignedUnion:
    body = list(each.body)
    places = [at for at, literal in enumerate(body) if isinstance(literal, Atom) and literal.relation in changed]
    before = list(body)
    for at in places:
        before[at] = _as(body[at], changed, "before")
    total = one(conjunction(each.head, before, sets))
    for number, at in enumerate(places):
        summand = list(before)
        summand[at] = _as(body[at], changed, "change")
        for earlier in places[:number]:
            summand[earlier] = body[earlier]
        total += one(conjunction(each.head, summand, sets))
    return total


def _as(literal: Literal, changed: Mapping[str, str], state: str) -> Literal:
    assert isinstance(literal, Atom)
    name = changed[literal.relation]
    return replace(literal, relation=name if state == "before" else states.change(name))
