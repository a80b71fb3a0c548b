"""View unfolding: an atom of a view replaced by the bodies of the view's rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeAlias

from whence.model.rules import Atom, Literal, Rule, rule_terms
from whence.model.terms import Variable
from whence.rewriting.conjunction import Conjunction, Sets, conjunction
from whence.rewriting.signed_union import NOTHING, SignedUnion, one
from whence.rewriting.substitution import (
    Binding,
    NotUnifiedError,
    all_substituted,
    fresh_names,
    literal_with,
    names_in,
    unified,
)

# Views that can be unfolded, each with what it is the sum of.
ViewDefinitions: TypeAlias = Mapping[str, SignedUnion]

# A union of so many rules is not unfolded further: no plan over it would be found in time.
MAX_UNFOLDED_RULES = 256


def unfold_atom(query: Conjunction, at: int, definition: SignedUnion, sets: Sets = ()) -> SignedUnion:
    """The sum that the query is when the view of its literal number `at` is replaced by its definition.

    Raises NotUnifiedError where an atom asks for a computed value.
    """
    atom = query.body[at]
    assert isinstance(atom, Atom)
    rest = (*query.body[:at], *query.body[at + 1 :])
    taken = set(names_in(query.head, query.body))
    total = NOTHING
    for part, times in definition:
        apart = fresh_names(names_in(part.head, part.body), taken)
        binding = unified(all_substituted(part.head, apart), atom.terms)
        if binding is None:
            continue
        inner = [literal_with(literal_with(literal, apart), binding) for literal in part.body]
        body: list[Literal] = [literal_with(literal, binding) for literal in rest]
        total += one(conjunction(all_substituted(query.head, binding), [*body, *inner], sets), times)
    return total


def unfold(
    query: SignedUnion, views: ViewDefinitions, sets: Sets = (), most: int | None = MAX_UNFOLDED_RULES
) -> SignedUnion:
    """The query with every view replaced by its rules, again and again; equal rules of different signs are gone.

    An atom that asks for a value which a rule computes stays as it is, and all of them where there are too many rules.
    Without a limit nothing stays, and NotUnifiedError is raised instead.
    """
    done: dict[Conjunction, int] = {}
    todo = dict(query.terms)
    while todo:
        each, times = todo.popitem()
        unfolded = None
        if most is None or len(done) + len(todo) < most:
            unfolded = _once(each, views, sets, is_forced=most is None)
        if unfolded is None:
            done[each] = done.get(each, 0) + times
            continue
        for part, factor in unfolded:
            total = todo.get(part, 0) + times * factor
            if total:
                todo[part] = total
            else:
                todo.pop(part, None)
    return SignedUnion(done)


def _once(query: Conjunction, views: ViewDefinitions, sets: Sets, *, is_forced: bool) -> SignedUnion | None:
    """With the first view replaced that can be; None if there is none."""
    for at, literal in enumerate(query.body):
        if isinstance(literal, Atom) and literal.relation in views:
            try:
                return unfold_atom(query, at, views[literal.relation], sets)
            except NotUnifiedError:
                if is_forced:
                    raise
    return None


def unfolded_rule(rule: Rule, at: int, other: Rule) -> Rule:
    """The rule with an atom of its body replaced by the body of another rule, which gives the rows of that atom.

    Literals keep their places. The other rule's head has variables only, each a different one.
    """
    atom = rule.body[at]
    assert isinstance(atom, Atom) and atom.relation == other.head.relation
    binding: Binding = {name: Variable(f"{name}.{at}") for name in names_in(rule_terms(other))} | {
        term.name: given for term, given in zip(other.head.terms, atom.terms, strict=True) if isinstance(term, Variable)
    }
    body = [literal_with(literal, binding) for literal in other.body]
    return replace(rule, body=(*rule.body[:at], *body, *rule.body[at + 1 :]))
