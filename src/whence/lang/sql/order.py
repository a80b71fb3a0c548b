"""The relations of one view in the order in which they need each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from whence.model.program import Program
from whence.model.rules import Atom, Negation, Rule
from whence.model.schema import Relation


def in_order(view: str, relations: Mapping[str, Relation], rules: Iterable[Rule]) -> Program:
    """What the view needs, each relation after those it reads, the view last, rules by relation.

    The order follows from the rules alone, so that a program and what it reads back as are in the same order.
    """
    grouped: dict[str, list[Rule]] = {name: [] for name in relations}
    for rule in rules:
        grouped[rule.head.relation].append(rule)
    found: list[str] = []
    entered = {view}
    todo = [(view, iter(_reads(grouped[view])))]
    while todo:
        name, reads = todo[-1]
        for other in reads:
            if other in relations and other not in entered:
                entered.add(other)
                todo.append((other, iter(_reads(grouped[other]))))
                break
        else:
            found.append(name)
            todo.pop()
    return Program(tuple(relations[n] for n in found), tuple(rule for n in found for rule in grouped[n]))


def is_recursive(program: Program) -> set[str]:
    """The relations that read themselves, directly or through others."""
    reads: dict[str, set[str]] = {}
    for rule in program.rules:
        reads.setdefault(rule.head.relation, set()).update(_reads([rule]))
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


def _reads(rules: Iterable[Rule]) -> list[str]:
    atoms = (a.atom if isinstance(a, Negation) else a for rule in rules for a in rule.body)
    return list(dict.fromkeys(a.relation for a in atoms if isinstance(a, Atom)))
