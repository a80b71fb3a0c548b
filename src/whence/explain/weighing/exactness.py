"""Whether the derivations of now tell what would be there with fewer base rows.

They do where base rows that go can only take rows away. A rule that negates or takes away, and an aggregate that adds
up, give other rows instead. With min and max, too, another value takes the place of the one that goes; but what is
computed from it by sums alone is then another row as well, and no other derivation of the row in question.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from whence.analysis.safety import literal_variables
from whence.explain.proofs.backwards import EXTREMES, Backwards
from whence.explain.proofs.words import relation_name
from whence.model.rules import Atom, Negation, Rule
from whence.model.terms import Aggregate, Call, Constant, Term, Variable, variables


def inexact(backwards: Backwards, relations: Iterable[str]) -> str | None:
    """Why the derivations of rows of these relations do not tell what fewer base rows give; None if they do.

    All rules count, also those that derive nothing now: what holds them back may go.
    """
    seen: set[str] = set()
    todo = list(relations)
    while todo:
        relation = todo.pop()
        if relation in seen:
            continue
        seen.add(relation)
        why = _inexact(backwards, relation)
        if why is not None:
            return why
        todo.extend(
            literal.relation for rule in backwards.rules(relation) for literal in rule.body if isinstance(literal, Atom)
        )
    return None


def _inexact(backwards: Backwards, relation: str) -> str | None:
    if backwards.is_table(relation):
        return None
    name, rules = relation_name(relation), backwards.rules(relation)
    if any(isinstance(literal, Negation) for rule in rules for literal in rule.body):
        return f"a rule of {name} negates"
    if backwards.is_signed(relation):
        return f"a rule takes away from {name}"
    if backwards.is_aggregated(relation) and not backwards.is_extreme(relation):
        return f"{name} adds up the members of groups"
    if backwards.is_aggregated(relation) and not _has_groups(rules[0]):
        return f"{name} has a row even without members"
    if not all(_is_passed_on(rule, place, backwards) for rule in rules for place in _extremes(rule, backwards)):
        return f"a rule of {name} reads a min or max"
    return None


def _has_groups(rule: Rule) -> bool:
    return len(rule.aggregates) < len(rule.head.terms)


def _extremes(rule: Rule, backwards: Backwards) -> Iterator[tuple[Atom, int]]:
    """The columns of the body that hold a min or max."""
    for literal in rule.body:
        if isinstance(literal, Atom) and not backwards.is_table(literal.relation):
            for position in backwards.rules(literal.relation)[0].aggregates:
                yield literal, position


def _is_passed_on(rule: Rule, place: tuple[Atom, int], backwards: Backwards) -> bool:
    """Whether a value only goes, by sums, into a value of the same kind in the head."""
    atom, position = place
    value = atom.terms[position]
    if not isinstance(value, Variable) or len(rule.aggregates) != 1:
        return False
    source = backwards.rules(atom.relation)[0].head.terms[position]
    target = rule.head.terms[rule.aggregates[0]]
    if not (isinstance(source, Aggregate) and isinstance(target, Aggregate) and target.argument is not None):
        return False
    if source.function != target.function or source.function not in EXTREMES or not _is_sum(target.argument):
        return False
    uses = [variable for literal in rule.body for variable in literal_variables(literal) if variable.name == value.name]
    in_head = [v for term in rule.head.terms if term is not target for v in variables(term) if v.name == value.name]
    return len(uses) == 1 and not in_head and any(v.name == value.name for v in variables(target.argument))


def _is_sum(term: Term) -> bool:
    match term:
        case Variable() | Constant():
            return True
        case Call(function="+", arguments=(left, right)):
            return _is_sum(left) and _is_sum(right)
    return False
