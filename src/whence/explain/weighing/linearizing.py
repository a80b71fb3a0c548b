"""Rules that join a recursive relation with itself, as rules that do not.

    reachable(x, z) :- reachable(x, y), reachable(y, z).

A way of many steps is put together from two ways in very many orders, and the rows behind one row are all pairs. Where
the order does not matter, the first part can always be a single step: a proof whose first part consists of two parts is
turned, as (a b) c into a (b c), until it is none of those. What is left rests on the same base rows, or fewer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from whence.engines.evidence import Derivation
from whence.engines.local.recursive.matching import Matcher
from whence.engines.reference.terms import Scope
from whence.explain.proofs.absences import Absences
from whence.explain.proofs.backwards import Backwards
from whence.explain.proofs.reasons import Fact
from whence.explain.weighing.unfolding import holds_wherever, unfolded, with_names
from whence.model.rules import Atom, Rule, rule_terms
from whence.model.terms import Call, Constant, Term, Variable, Wildcard, walk

_TWO = 2
_NEVER_FAIL = ("isnull", "isnotnull")


class Linear:
    """The relations of a program for which there are such rules, found when they are first asked for."""

    def __init__(self, backwards: Backwards) -> None:
        self._backwards = backwards
        self._matchers: dict[str, tuple[Matcher, ...] | None] = {}
        # What is kept of a rule is kept by its identity, which these rules have no longer than this.
        self.absences = Absences(backwards.relations, backwards.evidence.functions)

    def ways(self, fact: Fact) -> Iterator[Derivation] | None:
        """Uses of other rules that give the row, and have the same minimal supports as all uses of its own rules; None
        where there are none.
        """
        relation, row = fact
        if relation not in self._matchers:
            self._matchers[relation] = self._made(relation)
        matchers = self._matchers[relation]
        if matchers is None:
            return None
        sources = self._backwards.sources
        return (Derivation(each.rule, found.body) for each in matchers for found in each.backwards(row, sources))

    def _made(self, relation: str) -> tuple[Matcher, ...] | None:
        backwards = self._backwards
        component = backwards.component[relation]
        if len(component.relations) > 1 or backwards.is_aggregated(relation) or backwards.is_signed(relation):
            return None
        rules = [with_names(rule) for rule in backwards.rules(relation)]
        found = linearized(rules) if all(self._is_plain(rule) for rule in rules) else None
        if found is None:
            return None
        evidence = backwards.evidence
        return tuple(
            [Matcher(0, rule, backwards.relations, evidence.functions, (), (), evidence.size) for rule in found]
        )

    def _is_plain(self, rule: Rule) -> bool:
        """Whether the head and atoms of its relation have variables of the columns' types, which atoms give values; and
        nothing is computed that could fail on other rows than those on which it was computed so far.
        """
        relations = self._backwards.relations
        columns = relations[rule.head.relation].columns
        atoms = [literal for literal in rule.body if isinstance(literal, Atom)]
        given = {term.name for atom in atoms for term in atom.terms if isinstance(term, Variable)}
        heads = [term.name for term in rule.head.terms if isinstance(term, Variable)]
        if not len(rule.head.terms) == len(heads) == len(set(heads)) or not given.issuperset(heads):
            return False
        if not all(_cannot_fail(term) for term in rule_terms(rule)):
            return False
        types = Scope(rule, relations, self._backwards.evidence.functions).types
        return all(
            isinstance(term, Variable) and types[term.name].type == column.type
            for atom in (rule.head, *(each for each in atoms if each.relation == rule.head.relation))
            for term, column in zip(atom.terms, columns, strict=True)
        )


def linearized(rules: Sequence[Rule]) -> list[Rule] | None:
    """Rules of which none joins the relation with itself, and by which rows have the same minimal supports; None if
    there are no rules that do, or if it cannot be told.
    """
    recursive = [rule for rule in rules if _own(rule)]
    joining = [rule for rule in recursive if len(_own(rule)) == _TWO]
    if not joining or any(len(_own(rule)) > _TWO for rule in recursive):
        return None
    first = [rule for rule in rules if not _own(rule)]
    for part in range(_TWO):
        if all(_can_be_turned(rule, part, other, recursive) for rule in joining for other in recursive):
            kept = [rule for rule in rules if len(_own(rule)) < _TWO]
            return [*kept, *(unfolded(rule, _own(rule)[part], other) for rule in joining for other in first)]
    return None


def _can_be_turned(rule: Rule, part: int, other: Rule, recursive: Sequence[Rule]) -> bool:
    """Whether a use of the rule, of which one part comes from the other rule, can be replaced: by one in which that
    part is a part of the former one, or which has but one part.
    """
    at = _own(rule)[part]
    use = unfolded(rule, at, other)
    inside = [at + place for place in _own(other)]
    for top in recursive:
        own = _own(top)
        below = own[1 - part] if len(own) == _TWO else own[0]
        for each in recursive:
            turned = unfolded(top, below, each)
            places = {}
            if len(own) == _TWO:
                kept = own[part]
                places = {kept if kept < below else kept + len(each.body) - 1: inside}
            if holds_wherever(turned, use, rule.head.relation, places):
                return True
    return False


def _cannot_fail(term: Term) -> bool:
    return all(
        isinstance(part, Variable | Constant | Wildcard) or (isinstance(part, Call) and part.function in _NEVER_FAIL)
        for part in walk(term)
    )


def _own(rule: Rule) -> list[int]:
    """Where the body has atoms of the relation that the rule is for."""
    return [
        at
        for at, literal in enumerate(rule.body)
        if isinstance(literal, Atom) and literal.relation == rule.head.relation
    ]
