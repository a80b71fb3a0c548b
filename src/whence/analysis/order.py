"""The order in which a rule's body is evaluated, so that every step finds its variables bound.

Conditions and definitions come as early as they can, atoms with the most bound terms first. Greedy, deterministic, and
where it does not matter in the order of the text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import TypeAlias

from whence.analysis.safety import unsafe
from whence.model.rules import Atom, Comparison, Condition, Literal, Negation, Rule, literal_terms
from whence.model.terms import Call, Term, Variable, Wildcard, variable_names


@dataclass(frozen=True, slots=True)
class Match:
    """For every row that fits the atom: unbound variables take the row's values, all other terms must equal them.

    Every variable inside a computed term is bound by an earlier step.
    """

    atom: Atom


@dataclass(frozen=True, slots=True)
class Define:
    """The variable takes the term's value, NULL included."""

    variable: Variable
    term: Term


@dataclass(frozen=True, slots=True)
class Absent:
    """Go on only if no row fits the atom."""

    atom: Atom


@dataclass(frozen=True, slots=True)
class Test:
    """Go on only if the comparison or condition is TRUE."""

    literal: Comparison | Condition


Step: TypeAlias = Match | Define | Absent | Test


def needs(step: Step) -> set[str]:
    """The variables that must have a value before the step."""
    match step:
        case Match(atom):
            return variable_names(term for term in atom.terms if not isinstance(term, Variable))
        case Define(_, term):
            return variable_names([term])
        case Absent(atom):
            return variable_names(atom.terms)
        case Test(literal):
            return variable_names(literal_terms(literal))


def binds(step: Step) -> set[str]:
    """The variables that have a value after the step."""
    match step:
        case Match(atom):
            return {term.name for term in atom.terms if isinstance(term, Variable)}
        case Define(variable):
            return {variable.name}
    return set()


def order_body(rule: Rule) -> tuple[Step, ...]:
    """The body as steps. Raises UnsafeRuleError for a variable, of the head or the body, that no step binds."""
    ordering = _Ordering(rule)
    steps = tuple(ordering.steps())
    if ordering.waiting or not variable_names(rule.head.terms) <= ordering.bound:
        raise unsafe(rule, ordering.bound)
    return steps


@dataclass(slots=True)
class _Waiting:
    literal: Negation | Comparison | Condition
    missing: set[str]


class _Ordering:
    """Literals wait for their variables, and a binding wakes those that waited for it: no literal is polled."""

    def __init__(self, rule: Rule) -> None:
        self.bound: set[str] = set()
        atoms = [literal for literal in rule.body if isinstance(literal, Atom)]
        self.bound_by_atoms = {term.name for atom in atoms for term in atom.terms if isinstance(term, Variable)}
        # Literals by their position in the body: positive atoms, and everything else with what it still misses.
        self.atoms: dict[int, Atom] = {}
        self.waiting: dict[int, _Waiting] = {}
        self.users: dict[str, list[int]] = {}
        # Both are heaps. An atom's entry is stale once its rank has changed; then there is another one.
        self.ready: list[int] = []
        self.ranked: list[tuple[bool, int, int]] = []
        for position, literal in enumerate(rule.body):
            self.add(position, literal)
        self.next_position = len(rule.body)

    def add(self, position: int, literal: Literal) -> None:
        names = variable_names(literal_terms(literal))
        if isinstance(literal, Atom):
            self.atoms[position] = literal
        else:
            self.waiting[position] = _Waiting(literal, names - self.bound)
        for name in names - self.bound:
            self.users.setdefault(name, []).append(position)
        self.wake(position)

    def steps(self) -> Iterator[Step]:
        while self.ready or self.ranked:
            if self.ready:
                position = heappop(self.ready)
                if position in self.waiting:
                    yield self.place(position)
            else:
                rank = heappop(self.ranked)
                if rank[-1] in self.atoms and rank == self.rank(rank[-1]):
                    yield self.match(rank[-1])

    def bind(self, names: set[str]) -> None:
        woken: set[int] = set()
        for name in names - self.bound:
            for position in self.users.pop(name, ()):
                woken.add(position)
                if position in self.waiting:
                    self.waiting[position].missing.discard(name)
        self.bound |= names
        for position in woken:
            self.wake(position)

    def wake(self, position: int) -> None:
        if position in self.atoms:
            heappush(self.ranked, self.rank(position))
        elif position in self.waiting:
            waiting = self.waiting[position]
            if not waiting.missing or self.definition(waiting) is not None:
                heappush(self.ready, position)

    def rank(self, position: int) -> tuple[bool, int, int]:
        """Atoms whose computed terms can all be computed come first, then those with more bound terms."""
        terms = [term for term in self.atoms[position].terms if not isinstance(term, Wildcard)]
        unbound = [term for term in terms if not self.is_bound(term)]
        return any(not isinstance(term, Variable) for term in unbound), len(unbound) - len(terms), position

    def is_bound(self, term: Term) -> bool:
        return variable_names([term]) <= self.bound

    def definition(self, waiting: _Waiting) -> Define | None:
        """What an `=` defines once it misses nothing but the variable on one of its sides."""
        literal = waiting.literal
        if len(waiting.missing) != 1 or not isinstance(literal, Comparison) or literal.op != "=":
            return None
        for one, other in ((literal.left, literal.right), (literal.right, literal.left)):
            # A variable that an atom binds is compared, not defined: no NULL in a(x) passes `x = y`.
            if isinstance(one, Variable) and one.name in waiting.missing - self.bound_by_atoms and self.is_bound(other):
                return Define(one, other)
        return None

    def place(self, position: int) -> Step:
        waiting = self.waiting.pop(position)
        definition = self.definition(waiting)
        if definition is not None:
            self.bind({definition.variable.name})
            return definition
        if isinstance(waiting.literal, Negation):
            return Absent(waiting.literal.atom)
        return Test(waiting.literal)

    def match(self, position: int) -> Step:
        atom = self.atoms.pop(position)
        terms = list(atom.terms)
        late: list[Condition] = []
        for i, term in enumerate(terms):
            if not isinstance(term, Variable | Wildcard) and not self.is_bound(term):
                # `a(x, x + 1)` and the like: take the column as it comes and compare once x is bound, with `<=>`
                # because terms in atoms match by identity.
                column = Variable(f"{atom.relation}${position}.{i + 1}", span=term.span)
                terms[i] = column
                late.append(Condition(Call("<=>", (column, term), span=term.span), span=term.span))
        self.bind({term.name for term in terms if isinstance(term, Variable)})
        for condition in late:
            self.add(self.next_position, condition)
            self.next_position += 1
        return Match(Atom(atom.relation, tuple(terms), span=atom.span) if late else atom)
