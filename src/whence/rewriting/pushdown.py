"""Conditions go down to where rows come from: what a rule throws away is not kept below it first.

    v$join(x, y) :- a(x), b(x, y).          v$join(x, y) :- a(x), b(x, y), x < 3.
    v$join(x, NULL) :- a(x), !v$some(x).    v$join(x, NULL) :- a(x), !v$some(x), x < 3.
    v(y) :- v$join(x, y), x < 3.            v(y) :- v$join(x, y), x < 3.

The relation in between must be hidden, so that nobody misses the rows, and everyone who reads it must want the
condition. In SQL that is WHERE over outer joins, derived tables and the like. The condition stays above as well, since
it tells which values can be NULL there. One that can fail, such as one that divides, is not asked below: there are rows
that it was never meant for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

from whence.model.rules import Atom, Comparison, Condition, Literal, Rule, literal_terms
from whence.model.terms import Constant, Variable, variable_names
from whence.rewriting.sideways import is_total
from whence.rewriting.substitution import literal_with


def push_conditions(
    rules: Sequence[Rule], is_hidden: Callable[[str], bool], recursive: Collection[str]
) -> tuple[Rule, ...]:
    """The rules, with conditions as far down as they go. What is `recursive` stays as it is."""
    found = list(rules)
    made = {rule.head.relation for rule in rules}
    todo = {name for name in made if is_hidden(name) and name not in recursive}
    while todo:
        # Those above first, so that what reaches a relation from there goes on.
        above = [name for name in todo if not any(name in rule.reads for rule in found if rule.head.relation in todo)]
        for name in above:
            _push(found, name)
        todo.difference_update(above)
    return tuple(found)


def _push(rules: list[Rule], name: str) -> None:
    """Let the rules of a relation have the conditions that all of its readers have."""
    own = [at for at, rule in enumerate(rules) if rule.head.relation == name]
    readers = [at for at, rule in enumerate(rules) if name in rule.reads]
    if not readers or any(not _takes(rules[at]) for at in own):
        return
    first, *others = [dict.fromkeys(_asked(rules[at], atom)) for at in readers for atom in _atoms(rules[at], name)]
    wanted = [each for each in first if all(each in other for other in others)]
    for at in own:
        binding = {str(place): term for place, term in enumerate(rules[at].head.terms)}
        body = rules[at].body
        more = dict.fromkeys(literal_with(each, binding) for each in wanted if _fits(each, rules[at]))
        rules[at] = replace(rules[at], body=(*body, *(each for each in more if each not in body)))


def _takes(rule: Rule) -> bool:
    """Whether a condition can be asked of the rows of a rule before it is finished with them."""
    return rule.sign > 0 and bool(rule.body) and not rule.windows and not rule.unnests


def _fits(condition: Literal, rule: Rule) -> bool:
    """Whether the columns that a condition is about are at hand in the rule's body."""
    places = map(int, variable_names(literal_terms(condition)))
    terms = [rule.head.terms[place] for place in places]
    return all(isinstance(term, Variable | Constant) for term in terms) and any(
        isinstance(term, Variable) for term in terms
    )


def _atoms(rule: Rule, name: str) -> list[Atom]:
    return [atom for atom in rule.body_atoms if atom.relation == name]


def _asked(rule: Rule, atom: Atom) -> Iterator[Literal]:
    """The conditions of a rule that are about the columns of an atom alone, with their numbers for variables. None
    where the rule negates the atom.
    """
    if atom not in rule.body:
        return
    columns = {term.name: Variable(str(place)) for place, term in enumerate(atom.terms) if isinstance(term, Variable)}
    for literal in rule.body:
        names = variable_names(literal_terms(literal))
        if isinstance(literal, Comparison | Condition) and names and names <= columns.keys() and is_total(literal):
            yield literal_with(literal, columns)
