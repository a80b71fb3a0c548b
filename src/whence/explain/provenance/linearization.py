"""Rules that join a recursive relation with itself, as rules that do not.

    reachable(x, z) :- reachable(x, y), reachable(y, z).

A path of many steps is put together from two paths in very many orders, and the rows behind one row are all pairs.
Where the order does not matter, the first part can always be a single step: a proof whose first part consists of two
parts is turned, as (a b) c into a (b c), until it is none of those. What is left rests on the same base rows, or fewer.

Rules are put into rules, and compared: does one hold wherever another does? They are plain: heads have variables only,
each a different one, and bodies have variables, constants, wildcards and calls of functions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from whence.analysis.typed_rules import TypedRule, typed_rule
from whence.engines.engine import Derivation
from whence.explain.proofs.backwards import Absences, Backwards
from whence.explain.proofs.reasons import Fact
from whence.incremental.recursive.matcher import Matcher
from whence.model.rules import Atom, Literal, Rule, rule_terms
from whence.model.terms import Call, Constant, Term, Variable, Wildcard, walk
from whence.rewriting.literal_matches import same_literal
from whence.rewriting.substitution import Binding, with_names
from whence.rewriting.unfold import unfolded_rule

_TWO = 2
_NEVER_FAIL = ("isnull", "isnotnull")


class LinearRules:
    """The relations of a program for which there are such rules, found when they are first asked for."""

    def __init__(self, backwards: Backwards) -> None:
        self._backwards = backwards
        self._matchers: dict[str, tuple[Matcher, ...] | None] = {}
        # What is kept of a rule is kept by its identity, which these rules have no longer than this.
        self.absences = Absences(backwards.relations, backwards.evidence.functions)

    def derivations(self, fact: Fact) -> Iterator[Derivation] | None:
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
        evidence = backwards.evidence
        signatures = {name: function.signature for name, function in evidence.functions.items()}
        rules = [with_names(rule) for rule in backwards.rules(relation)]
        if not all(_is_plain(typed_rule(rule, backwards.relations, signatures)) for rule in rules):
            return None
        found = linearized(rules)
        if found is None:
            return None
        typed = [typed_rule(rule, backwards.relations, signatures) for rule in found]
        return tuple([Matcher(0, rule, evidence.functions, (), (), evidence.statistics) for rule in typed])


def _is_plain(typed: TypedRule) -> bool:
    """Whether the head and atoms of its relation have variables of the columns' types, which atoms give values; and
    nothing is computed that could fail on other rows than those on which it was computed so far.
    """
    rule = typed.rule
    columns = typed.relations[rule.head.relation].columns
    atoms = [literal for literal in rule.body if isinstance(literal, Atom)]
    given = {term.name for atom in atoms for term in atom.terms if isinstance(term, Variable)}
    heads = [term.name for term in rule.head.terms if isinstance(term, Variable)]
    if not len(rule.head.terms) == len(heads) == len(set(heads)) or not given.issuperset(heads):
        return False
    return all(_cannot_fail(term) for term in rule_terms(rule)) and all(
        isinstance(term, Variable) and typed.types[term.name].type == column.type
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
            return [*kept, *(unfolded_rule(rule, _own(rule)[part], other) for rule in joining for other in first)]
    return None


def _can_be_turned(rule: Rule, part: int, other: Rule, recursive: Sequence[Rule]) -> bool:
    """Whether a use of the rule, of which one part comes from the other rule, can be replaced: by one in which that
    part is a part of the former one, or which has but one part.
    """
    at = _own(rule)[part]
    use = unfolded_rule(rule, at, other)
    inside = [at + place for place in _own(other)]
    for top in recursive:
        own = _own(top)
        below = own[1 - part] if len(own) == _TWO else own[0]
        for each in recursive:
            turned = unfolded_rule(top, below, each)
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


def holds_wherever(rule: Rule, other: Rule, once: str, places: Mapping[int, Collection[int]]) -> bool:
    """Whether the rule gives a row wherever the other one does, from some of the same rows.

    Each literal of the rule is one of the other's; atoms of the relation `once` are all different ones. `places` limits
    which literals of the other one a literal may be.
    """
    return _fits(rule.body, 0, other.body, _of_head(rule, other.head), once, places, frozenset())


def _of_head(rule: Rule, row: Atom) -> dict[str, Term]:
    """What the variables of a rule's head are where the head is this atom."""
    return {
        term.name: given for term, given in zip(rule.head.terms, row.terms, strict=True) if isinstance(term, Variable)
    }


def _fits(
    body: Sequence[Literal],
    at: int,
    others: Sequence[Literal],
    binding: Binding,
    once: str,
    places: Mapping[int, Collection[int]],
    taken: frozenset[int],
) -> bool:
    if at == len(body):
        return True
    literal = body[at]
    is_once = isinstance(literal, Atom) and literal.relation == once
    for place, other in enumerate(others):
        if place not in places.get(at, (place,)) or (is_once and place in taken):
            continue
        for bound in same_literal(literal, other, binding):
            if _fits(body, at + 1, others, bound, once, places, taken | {place}):
                return True
    return False
