"""A collected block becomes a rule: one name per value, guards against NULL, wildcards, names that people read.

The outcome depends only on the structure of the block, never on how it was come by, so that a rule written out as SQL
and read again is the same rule.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from whence.lang.sql.block import Block, rename
from whence.model.rules import COMPARISONS, Atom, Comparison, Condition, Literal, Negation, Rule
from whence.model.schema import Relation
from whence.model.span import Span
from whence.model.terms import Call, Constant, Term, Variable, Wildcard, variables

# Words that mean something else where a term stands in Datalog.
_RESERVED = {"true", "false", "null", "nil", "and", "or", "not", "as"}


def finish(block: Block, head: Atom, relations: Callable[[str], Relation], span: Span | None) -> Rule:
    """The rule that derives `head` (over the block's variables) from what the block has collected."""
    head = Atom(head.relation, tuple(block.resolve_term(t) for t in head.terms), span=head.span)
    atoms = [_resolved(block, atom) for atom in block.atoms]
    negations = [_resolved(block, atom) for atom in block.negations]
    conditions = [_without_repetition(block.resolve_term(c)) for c in block.conditions]

    never_null = block.never_null_in_atoms(relations)
    guarded = {name: None for name in block.must_not_be_null() if name not in never_null}
    rest: list[Literal] = []
    for condition in conditions:
        match condition:
            case Constant(value=True):
                continue
            case Call(function="isnotnull", arguments=(Variable(name=name),)):
                if block.typed(name).nullable and name not in never_null:
                    guarded[name] = None
            case _:
                rest.append(as_literal(condition))

    literals = [*atoms, *(Negation(a, span=a.span) for a in negations), *rest]
    names = _readable_names(atoms, [*_terms_of(literals), *head.terms], relations)
    guards = [
        Condition(Call("isnotnull", (Variable(name),)))
        for name in sorted(guarded, key=lambda n: list(names).index(n) if n in names else len(names))
    ]
    once = Counter(v.name for t in [*_terms_of(literals), *_terms_of(guards), *head.terms] for v in variables(t))
    body = [_renamed(literal, names, once) for literal in [*literals[: len(atoms) + len(negations)], *guards, *rest]]
    return Rule(_rename_atom(head, names), tuple(body), span=span)


def _without_repetition(term: Term) -> Term:
    """`a OR a` is a: columns that are joined can turn out to be the same."""
    if isinstance(term, Call) and term.function in ("and", "or"):
        parts = tuple(dict.fromkeys(_without_repetition(a) for a in term.arguments))
        return parts[0] if len(parts) == 1 else Call(term.function, parts, span=term.span)
    return term


def as_literal(condition: Term) -> Literal:
    """A comparison stands as one, every other Boolean term as a condition."""
    match condition:
        case Call(function=op, arguments=(left, right)) if op in COMPARISONS:
            return Comparison(op, left, right, span=condition.span)
    return Condition(condition, span=condition.span)


def _resolved(block: Block, atom: Atom) -> Atom:
    return Atom(atom.relation, tuple(block.resolve_term(t) for t in atom.terms), span=atom.span)


def _terms_of(literals: Iterable[Literal]) -> list[Term]:
    terms: list[Term] = []
    for literal in literals:
        match literal:
            case Atom():
                terms.extend(literal.terms)
            case Negation():
                terms.extend(literal.atom.terms)
            case Comparison():
                terms.extend((literal.left, literal.right))
            case Condition():
                terms.append(literal.term)
    return terms


def _readable_names(atoms: list[Atom], others: list[Term], relations: Callable[[str], Relation]) -> dict[str, str]:
    """A variable is named after the first column it stands in."""
    names: dict[str, str] = {}
    taken: set[str] = set()

    def give(variable: str, wish: str) -> None:
        base = re.sub(r"\W", "_", wish) or "x"
        base = f"_{base}" if base[0].isdigit() else base
        base = f"{base}_" if base in _RESERVED or base == "_" else base
        name, number = base, 1
        while name in taken:
            number += 1
            name = f"{base}_{number}"
        taken.add(name)
        names[variable] = name

    for atom in atoms:
        for column, term in zip(relations(atom.relation).columns, atom.terms, strict=True):
            if isinstance(term, Variable) and term.name not in names:
                give(term.name, column.name)
    for term in others:
        for variable in variables(term):
            if variable.name not in names:
                give(variable.name, variable.name.partition("#")[0])
    return names


def _renamed(literal: Literal, names: Mapping[str, str], once: Counter[str]) -> Literal:
    def change(variable: Variable) -> Term:
        return Variable(names[variable.name], span=variable.span)

    match literal:
        case Atom():
            terms = tuple(
                Wildcard(span=t.span) if isinstance(t, Variable) and once[t.name] == 1 else rename(t, change)
                for t in literal.terms
            )
            return Atom(literal.relation, terms, span=literal.span)
        case Negation(atom=atom):
            return Negation(_rename_atom(atom, names), span=literal.span)
        case Comparison():
            return Comparison(
                literal.op, rename(literal.left, change), rename(literal.right, change), span=literal.span
            )
        case Condition():
            return Condition(rename(literal.term, change), span=literal.span)


def _rename_atom(atom: Atom, names: Mapping[str, str]) -> Atom:
    def change(variable: Variable) -> Term:
        return Variable(names[variable.name], span=variable.span)

    return Atom(atom.relation, tuple(rename(t, change) for t in atom.terms), span=atom.span)
