"""The relations of one view in the order in which they need each other."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from whence.lang.sql.block import Block, rename
from whence.model.program import Program
from whence.model.rules import COMPARISONS, Atom, Comparison, Condition, Literal, Negation, Rule, literal_terms
from whence.model.schema import Relation
from whence.model.span import Span
from whence.model.terms import Call, Constant, Term, Variable, Wildcard, variables


def in_order(view: str, relations: Mapping[str, Relation], rules: Iterable[Rule]) -> Program:
    """What the view needs, each relation after those it reads, the view last, rules by relation.

    The order follows from the rules alone, so that a program and what it reads back as are in the same order.
    """
    grouped: dict[str, list[Rule]] = {name: [] for name in relations}
    for rule in rules:
        grouped[rule.head.relation].append(rule)
    found: list[str] = []
    entered = {view}
    todo = [(view, _reads(grouped[view]))]
    while todo:
        name, reads = todo[-1]
        for other in reads:
            if other in relations and other not in entered:
                entered.add(other)
                todo.append((other, _reads(grouped[other])))
                break
        else:
            found.append(name)
            todo.pop()
    return Program(tuple(relations[n] for n in found), tuple(rule for n in found for rule in grouped[n]))


def is_recursive(program: Program) -> set[str]:
    """The relations that read themselves, directly or through others."""
    reads: dict[str, set[str]] = {}
    for rule in program.rules:
        reads.setdefault(rule.head.relation, set()).update(rule.reads)
    return {name for name in reads if reaches(reads, name, {name})}


def reaches(reads: Mapping[str, Iterable[str]], start: str, goals: set[str]) -> bool:
    seen, todo = set[str](), [start]
    while todo:
        for name in reads.get(todo.pop(), ()):
            if name in goals:
                return True
            if name not in seen:
                seen.add(name)
                todo.append(name)
    return False


def _reads(rules: Iterable[Rule]) -> Iterator[str]:
    return (name for rule in rules for name in rule.reads)


# Words that mean something else where a term stands in Datalog.
_RESERVED = {"true", "false", "null", "nil", "and", "or", "not", "as"}


def finish(block: Block, head: Atom, relations: Callable[[str], Relation], span: Span | None) -> Rule:
    """The rule that derives `head` (over the block's variables) from what the block has collected."""
    head = _resolved(block, head)
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
    terms = [*(term for literal in literals for term in literal_terms(literal)), *head.terms]
    names = _readable_names(atoms, terms, relations)
    guards = [
        Condition(Call("isnotnull", (Variable(name),)))
        for name in sorted(guarded, key=lambda n: list(names).index(n) if n in names else len(names))
    ]
    once = Counter(v.name for t in (*terms, *(guard.term for guard in guards)) for v in variables(t))

    def change(variable: Variable) -> Term:
        return Variable(names[variable.name], span=variable.span)

    body = [_renamed(literal, change, once) for literal in [*literals[: len(atoms) + len(negations)], *guards, *rest]]
    return Rule(_changed(head, change), tuple(body), span=span)


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


def _renamed(literal: Literal, change: Callable[[Variable], Term], once: Counter[str]) -> Literal:
    match literal:
        case Atom():
            terms = tuple(
                Wildcard(span=t.span) if isinstance(t, Variable) and once[t.name] == 1 else rename(t, change)
                for t in literal.terms
            )
            return replace(literal, terms=terms)
        case Negation(atom=atom):
            return replace(literal, atom=_changed(atom, change))
        case Comparison():
            return replace(literal, left=rename(literal.left, change), right=rename(literal.right, change))
        case Condition():
            return replace(literal, term=rename(literal.term, change))


def _changed(atom: Atom, change: Callable[[Variable], Term]) -> Atom:
    return replace(atom, terms=tuple(rename(t, change) for t in atom.terms))
