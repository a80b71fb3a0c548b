"""Parts of a body that only have to exist become relations of their own.

    q(x) :- k(x), e(y, _), f(y), g(_).

    q$some1(1) :- e(y, _), f(y).
    q$some2(1) :- g(_).
    q(x) :- k(x), q$some1(1), q$some2(1).

Literals that share no variable with the head, nor with anything that does, only say whether there is a match, and for a
bag how often. Joined in place they multiply the matches of the rule by all of theirs: k times e times g of them,
each of which would be looked at, and counted. In a relation of their own they are matched once. A set needs one row of
it, so that it is a set; a bag needs as many as there are matches, and has them as the count of that one row.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import count

from whence.model import types
from whence.model.program import Program
from whence.model.rules import Atom, Literal, Negation, Rule, literal_terms
from whence.model.schema import AUXILIARY_MARK, Column, Relation, owner
from whence.model.terms import Constant, Variable, Wildcard, variable_names, walk

_FOUND = Constant(1, types.INT)


def with_existence_tests(
    rules: Sequence[Rule], relations: Mapping[str, Relation], recursive_with: Mapping[str, Collection[str]]
) -> Program:
    """The rules, with what only has to exist in relations of its own, and those relations.

    `recursive_with` names the relations that depend on each other, for each that does: what a rule reads of its own
    recursion stays where it is.
    """
    differential = {rule.head.relation for rule in rules if rule.sign < 0}
    made: dict[tuple[str, bool, tuple[Literal, ...]], Relation] = {}
    found: list[Rule] = []
    taken = set(relations)
    for rule in rules:
        head = rule.head.relation
        body = list(rule.body)
        # What is taken away is counted, in a set too.
        tests = [] if head in differential else _tests(rule, recursive_with.get(head, ()))
        for group in tests:
            literals = tuple(rule.body[at] for at in group)
            # An aggregate is told by how many there are, whatever it is an aggregate of.
            distinct = relations[head].distinct and not rule.aggregates
            key = (owner(head), distinct, literals)
            if key not in made:
                names = (f"{owner(head)}{AUXILIARY_MARK}some{number}" for number in count(1))
                name = next(name for name in names if name not in taken)
                taken.add(name)
                span = literals[0].span if len(literals) == 1 else rule.span
                made[key] = Relation(name, (Column("found", types.INT),), distinct=distinct, span=span)
                found.append(Rule(Atom(name, (_FOUND,), span=span), literals, span=span))
            body[group[0]] = Atom(made[key].name, (_FOUND,), span=rule.body[group[0]].span)
        gone = {at for group in tests for at in group[1:]}
        kept = tuple(literal for at, literal in enumerate(body) if at not in gone)
        found.append(replace(rule, body=kept) if tests else rule)
    return Program(tuple(made.values()), tuple(found))


def _tests(rule: Rule, own: Collection[str]) -> list[list[int]]:
    """The literals of each part that only has to exist, by their places in the body."""
    needed = variable_names(rule.head.terms)
    groups = _connected(rule.body)
    tests = [group for group, names in groups if needed.isdisjoint(names) and _is_test(rule, group, own)]
    if not any(isinstance(rule.body[at], Atom) for group, _ in groups if group not in tests for at in group):
        # Something has to be matched in place, and one part alone multiplies nothing.
        tests = tests[1:]
    return tests


def _is_test(rule: Rule, group: list[int], own: Collection[str]) -> bool:
    literals = [rule.body[at] for at in group]
    if any(isinstance(each, Negation) and each.atom.relation in own for each in literals):
        return False
    atoms = [each for each in literals if isinstance(each, Atom)]
    # One without anything open is looked up, and is there once.
    is_open = any(isinstance(part, Variable | Wildcard) for atom in atoms for term in atom.terms for part in walk(term))
    return is_open and not any(atom.relation in own for atom in atoms)


def _connected(body: Sequence[Literal]) -> list[tuple[list[int], set[str]]]:
    """The places of literals that share variables, directly or through others, and these, in the order of the body."""
    groups: list[tuple[list[int], set[str]]] = []
    for at, literal in enumerate(body):
        names = variable_names(literal_terms(literal))
        touching = [group for group in groups if not names.isdisjoint(group[1])]
        groups = [group for group in groups if group not in touching]
        places = sorted([at, *(place for group in touching for place in group[0])])
        groups.append((places, names.union(*(group[1] for group in touching))))
    return sorted(groups, key=lambda group: group[0])
