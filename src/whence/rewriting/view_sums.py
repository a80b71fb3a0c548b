"""Which views are sums that can be unfolded and folded, and what each is the sum of.

A bag is: its counts are the sum of what its rules give. A set is one only where no row has two derivations, because
then it is a bag of which every count is 1. Of any other set the counts of derivations are a sum, which the engine keeps
beside the rows, but what its readers see is not: to them it is a relation like a table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from whence.analysis.components import Component
from whence.analysis.typed_rules import TypedRule
from whence.functions.widening import is_integer
from whence.model.rules import Atom, Literal, Negation, Rule
from whence.model.schema import Relation
from whence.model.terms import Constant, Skolem, Term, Variable, Wildcard, variable_names
from whence.model.types import Type
from whence.model.types.numbers import FloatingType
from whence.planning.join_order import key_columns
from whence.rewriting.conjunction import Sets
from whence.rewriting.signed_union import SignedUnion, summed
from whence.rewriting.substitution import with_names


def is_sum(component: Component) -> bool:
    """Whether the counts of its rows, or of their derivations, are the sum of what its rules give."""
    is_folded = component.aggregated or component.windowed or component.unnested
    return bool(component.rules) and not component.recursive and not is_folded


def is_readable_as_sum(component: Component, relations: Mapping[str, Relation]) -> bool:
    """Whether that is also what its readers see: in a bag, and in a set whose rows have one derivation each."""
    (name,) = component.relations
    return is_sum(component) and (not relations[name].distinct or _is_duplicate_free(component, relations))


def is_plain(component: Component) -> bool:
    """Whether the rows of a view hold the values of its rules' bodies as they are, none converted to another type."""
    return all(map(is_plain_rule, component.typed))


def is_plain_rule(typed: TypedRule) -> bool:
    columns = typed.relations[typed.rule.head.relation].columns
    atoms = [literal for literal in typed.rule.body if isinstance(literal, Atom)]
    pairs = [*zip(typed.rule.head.terms, columns, strict=True)]
    for atom in atoms:
        pairs += zip(atom.terms, typed.relations[atom.relation].columns, strict=True)
    return all(
        typed.type_of(term) == column.type or _is_whole_number(term, column.type)
        for term, column in pairs
        if not isinstance(term, Wildcard)
    )


def _is_whole_number(term: Term, kind: Type) -> bool:
    """Whether it is written as one, which is the same value in all widths."""
    return isinstance(term, Constant) and is_integer(term.type) and is_integer(kind)


def _is_duplicate_free(component: Component, relations: Mapping[str, Relation]) -> bool:
    """Whether the head of its one rule tells the rows of all atoms, which are those of sets."""
    if len(component.rules) > 1 or component.rules[0].sign < 0:
        return False
    (rule,) = component.rules
    are_sets = all(relations[literal.relation].distinct for literal in rule.body if isinstance(literal, Atom))
    return are_sets and tells_rows(rule, relations)


def tells_rows(rule: Rule, relations: Mapping[str, Relation]) -> bool:
    """Whether the head of a rule tells the row of each atom, copies aside, by the keys of these."""
    rule = with_names(rule)
    atoms = [literal for literal in rule.body if isinstance(literal, Atom)]
    known = {name for term in rule.head.terms for name in _told(term)}
    learned = True
    while learned:
        before = len(known)
        for atom in atoms:
            key = [atom.terms[at] for at in key_columns(relations[atom.relation])]
            if variable_names(key) <= known:
                known |= variable_names(atom.terms)
        learned = len(known) > before
    return all(variable_names(atom.terms) <= known for atom in atoms)


def gives_different_rows(typed: TypedRule) -> bool:
    """Whether no two bindings of a rule give the same row. Of the floating numbers zero is two, which join."""
    kinds = [column.type for atom in typed.rule.body_atoms for column in typed.relations[atom.relation].columns]
    has_two_zeros = any(isinstance(kind, FloatingType) for kind in kinds)
    is_invented = any(isinstance(term, Skolem) for term in typed.rule.head.terms)
    is_told = not has_two_zeros and not is_invented and is_plain_rule(typed)
    return is_told and tells_rows(typed.rule, typed.relations)


def _told(term: Term) -> set[str]:
    """The variables that a value tells: an invented one tells all that it was made from."""
    if isinstance(term, Variable):
        return {term.name}
    return {name for each in term.arguments for name in _told(each)} if isinstance(term, Skolem) else set()


def sum_of(component: Component, state: Callable[[str], str], sets: Sets) -> SignedUnion:
    """What the view is the sum of, over the states of the relations that it reads."""
    return summed((_renamed(rule, state) for rule in component.rules), sets)


def _renamed(rule: Rule, state: Callable[[str], str]) -> Rule:
    def renamed(literal: Literal) -> Literal:
        if isinstance(literal, Negation):
            return replace(literal, atom=replace(literal.atom, relation=state(literal.atom.relation)))
        return replace(literal, relation=state(literal.relation)) if isinstance(literal, Atom) else literal

    return replace(rule, body=tuple(map(renamed, rule.body)))
