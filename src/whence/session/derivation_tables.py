"""Provenance tables: for every rule of a view the derivations by it, with the values of all variables of its body.

    gene(E, N) :- bioentry(E, T, N), term(T, "gene").

    gene$rule1(E, T, N) :- bioentry(E, T, N), term(T, "gene").
    gene(E, N) :- gene$rule1(E, T, N).

They are just more views. A plan for another definition can take one rule's part of a view, or a column that the view
does not show, from there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count

from whence.analysis.order import order_body
from whence.analysis.typing import passing_types
from whence.model.graphs import reached
from whence.model.program import Program, Signature
from whence.model.rules import Atom, Literal, Rule, literal_variables, rule_terms
from whence.model.schema import AUXILIARY_MARK, Column, Relation, is_auxiliary, owner
from whence.model.terms import Variable, Wildcard, variable_names

# The word in the names of these tables.
RULE = "rule"


def with_derivations(
    definition: Program,
    known: Mapping[str, Relation],
    signatures: Mapping[str, Signature],
    former: Sequence[Rule] = (),
) -> Program:
    """The definition of a view with a table for each of its rules that joins or selects.

    A rule that has an aggregate, or takes part in a recursion, or reads one relation as it is, has none. Among the
    `former` rules are those of tables that the view has: one with the same variables goes on to be that table.
    """
    relations = {**known, **{relation.name: relation for relation in definition.relations}}
    named = {
        at: _with_names(rule)
        for at, rule in enumerate(definition.rules)
        if not is_auxiliary(rule.head.relation)
        and _is_worth_it(rule)
        and not _is_recursive(definition, rule.head.relation)
    }
    tables = _tables(named, [rule for rule in former if _is_table(rule.head.relation)])
    made: list[Relation] = []
    rules: list[Rule] = []
    for at, rule in enumerate(definition.rules):
        if at not in named:
            rules.append(rule)
            continue
        table, body = replace(tables[at], span=rule.span), named[at].body
        name, names = table.relation, _names(table)
        types = passing_types(order_body(named[at]), relations, signatures)
        columns = [Column(name, types[name].type, types[name].nullable) for name in names]
        made.append(Relation(name, tuple(columns), span=rule.span))
        rules.append(Rule(table, body, span=rule.span))
        computed = [each for each in body if not isinstance(each, Atom) and _defines(each, names)]
        rules.append(replace(rule, body=(table, *computed)))
    *auxiliary, view = definition.relations
    return Program((*auxiliary, *made, view), tuple(rules))


def _is_table(name: str) -> bool:
    return owner(name) != name and name.removeprefix(f"{owner(name)}{AUXILIARY_MARK}{RULE}").isdecimal()


def _tables(named: Mapping[int, Rule], former: Sequence[Rule]) -> dict[int, Atom]:
    """For every rule the head of its table: the one of a former table where that has the same variables, if there are
    several the one whose body has most in common.
    """
    found: dict[int, Atom] = {}
    free = {rule.head.relation: rule for rule in former}
    names = {
        at: list(dict.fromkeys(name for each in rule.body if isinstance(each, Atom) for name in _names(each)))
        for at, rule in named.items()
    }
    alike = [
        (-sum(literal in table.body for literal in rule.body), at, name)
        for at, rule in named.items()
        for name, table in free.items()
        if set(_names(table.head)) == set(names[at])
    ]
    for _, at, name in sorted(alike):
        if at not in found and name in free:
            found[at] = free.pop(name).head
    taken = {atom.relation for atom in found.values()}
    for at, rule in named.items():
        if at not in found:
            numbered = (f"{rule.head.relation}{AUXILIARY_MARK}{RULE}{number}" for number in count(1))
            name = next(each for each in numbered if each not in taken)
            taken.add(name)
            found[at] = Atom(name, tuple(map(Variable, names[at])))
    return found


def _is_worth_it(rule: Rule) -> bool:
    atoms = [literal for literal in rule.body if isinstance(literal, Atom)]
    return bool(atoms) and len(rule.body) > 1 and not rule.aggregates and rule.sign > 0


def _is_recursive(definition: Program, name: str) -> bool:
    reads: dict[str, set[str]] = {}
    for rule in definition.rules:
        reads.setdefault(rule.head.relation, set()).update(rule.reads)
    return name in reached(reads.get(name, set()), lambda each: reads.get(each, ()))


def _with_names(rule: Rule) -> Rule:
    """With a variable for every wildcard, called as a name that can be written."""
    taken = variable_names(rule_terms(rule))
    free = (name for name in (f"w{number}" for number in count(1)) if name not in taken)
    body: list[Literal] = []
    for literal in rule.body:
        if isinstance(literal, Atom):
            terms = tuple(Variable(next(free)) if isinstance(term, Wildcard) else term for term in literal.terms)
            body.append(replace(literal, terms=terms))
        else:
            body.append(literal)
    return replace(rule, body=tuple(body))


def _names(atom: Atom) -> list[str]:
    return [term.name for term in atom.terms if isinstance(term, Variable)]


def _defines(literal: Literal, names: list[str]) -> bool:
    """Whether it gives a variable its value that no atom gives one."""
    return any(variable.name not in names for variable in literal_variables(literal))
