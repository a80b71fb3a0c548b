"""A rule whose atoms live apart, cut into rules that each run where their atoms meet.

Atoms are joined one after the other. Two that share a variable meet where its value leads: each is read at the column
that holds it, at home or from a copy. When the next atom shares only other variables with what is joined, this becomes
a relation of its own and is shipped to where the next one is. What shares no variable is gathered on one node.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from whence.analysis.order import Absent, Define, Match, Test
from whence.analysis.typed_rules import typed_rule
from whence.analysis.typing import condition_term
from whence.functions.types import Typed
from whence.incremental.planner import equality, is_same
from whence.lab.network.plan.placements import Column, Placements
from whence.model.program import Signature
from whence.model.rules import Atom, Comparison, Literal, Negation, Rule, literal_terms
from whence.model.schema import Column as Schema
from whence.model.schema import Relation
from whence.model.terms import Constant, Variable, Wildcard, variable_names
from whence.model.types import INT, Type

# Costs of a join, in copies of a relation that the rules only read. What recursion derives is shipped more often, an
# intermediate relation must be made and shipped, and one node that gathers everything is the last resort. They are
# weights and no statistics: a program is cut when it is defined, before there are rows to count, and alike on all
# nodes; to cut it otherwise later would be to ship everything again.
COST_OF_COPY = 1
COST_OF_DERIVED_COPY = 2
COST_OF_INTERMEDIATE = 4
COST_OF_GATHERING = 100


@dataclass(frozen=True, slots=True)
class Meeting:
    """A place where joined atoms are: where this variable, or one equal to it, leads; None for the gathering node."""

    variable: str | None
    type: Type | None = None


Offer: TypeAlias = tuple[int, Meeting, Column]


class JoinChain:
    def __init__(
        self,
        rule: Rule,
        placements: Placements,
        signatures: Mapping[str, Signature],
        own: frozenset[str],
        name: str,
    ) -> None:
        typed = typed_rule(rule, placements.relations, signatures)
        steps = typed.steps
        self._rule = rule
        self._placements = placements
        self._signatures = signatures
        self._own = own
        self._name = name
        self._types = typed.types
        self._atoms = [step.atom for step in steps if isinstance(step, Match)]
        self._others = [_literal(step) for step in steps if not isinstance(step, Match)]
        self._tests = [step.literal for step in steps if isinstance(step, Test)]
        self._equal = _equal_variables(self._others, self._types)
        # What is joined so far: its literals, and where; the first atom is still free to be read at any column.
        self._free: Atom | None = None
        self._meeting: Meeting | None = None
        self._joined: list[Literal] = []
        self._bound: set[str] = set()
        self.rules: list[Rule] = []
        self.between: list[str] = []

    def run(self) -> Rule:
        """The last rule, for the head itself; those before it are in `rules`, and their relations in `between`."""
        if self._atoms:
            self._free = self._atoms.pop(0)
            self._bind(self._free)
        else:
            self._meeting = Meeting(None)
        self._attach(at_any_cost=False)
        while self._atoms:
            (_, meeting, column), atom = min(
                ((self._best_offer(atom), atom) for atom in self._atoms if self._can_join(atom)),
                key=lambda each: each[0][0],
            )
            self._meet(meeting)
            self._atoms.remove(atom)
            self._joined.append(self._placed(atom, column))
            self._bind(atom)
            self._attach(at_any_cost=False)
        self._attach(at_any_cost=True)
        if self._free is not None:
            # It met no other, and is read at home.
            self._joined.insert(0, self._free)
        return Rule(self._rule.head, tuple(self._joined), self._rule.sign, span=self._rule.span)

    def _can_join(self, atom: Atom) -> bool:
        """Whether what it computes in its columns can be computed."""
        computed = [term for term in atom.terms if not isinstance(term, Variable | Wildcard)]
        return variable_names(computed) <= self._bound | _bound_by(atom)

    def _best_offer(self, atom: Atom) -> Offer:
        return min(self._offers(atom), key=lambda offer: offer[0])

    def _offers(self, atom: Atom) -> Iterator[Offer]:
        """Where an atom can meet what is joined, at which of its columns, and at what cost."""
        yield COST_OF_GATHERING, Meeting(None), None
        for column, variable, kind in self._columns(atom):
            cost = self._cost(atom.relation, column)
            for name in self._equal.get(variable, {variable}) & self._bound:
                yield from self._meetings(name, kind, cost, column)

    def _meetings(self, name: str, kind: Type, cost: int, column: int) -> Iterator[Offer]:
        """Where this bound variable leads: what is joined is there, can be read there, or must be shipped there."""
        if self._free is not None:
            for at, variable, own_kind in self._columns(self._free):
                if variable == name and is_same(own_kind, kind):
                    yield cost + self._cost(self._free.relation, at), Meeting(name, own_kind), column
        if self._meeting is not None and self._leads_to(self._meeting, name, kind):
            yield cost, self._meeting, column
        if self._free is None and is_same(self._types[name].type, kind):
            yield cost + COST_OF_INTERMEDIATE, Meeting(name, self._types[name].type), column

    def _leads_to(self, meeting: Meeting, name: str, kind: Type) -> bool:
        if meeting.variable is None or meeting.type is None:
            return False
        return name in self._equal.get(meeting.variable, {meeting.variable}) and is_same(meeting.type, kind)

    def _cost(self, relation: str, column: int) -> int:
        if column == self._placements.homes[relation]:
            return 0
        return COST_OF_DERIVED_COPY if relation in self._own else COST_OF_COPY

    def _meet(self, meeting: Meeting) -> None:
        """Bring what is joined to a place."""
        if self._free is not None:
            here = (meeting.variable, meeting.type)
            columns = [at for at, variable, kind in self._columns(self._free) if (variable, kind) == here]
            home = self._placements.homes[self._free.relation]
            column = home if home in columns else next(iter(columns), None)
            self._joined.insert(0, self._placed(self._free, column))
            self._free = None
        elif meeting != self._meeting:
            self._close(meeting)
        self._meeting = meeting

    def _columns(self, atom: Atom) -> list[tuple[int, str, Type]]:
        """The columns in which an atom has a variable, with its name and their type."""
        columns = zip(atom.terms, self._placements.relations[atom.relation].columns, strict=True)
        return [(at, term.name, each.type) for at, (term, each) in enumerate(columns) if isinstance(term, Variable)]

    def _close(self, meeting: Meeting) -> None:
        """What is joined becomes a relation, at home where the next atom is."""
        names = [name for name in sorted(self._bound) if name in self._needed()]
        terms = tuple(Variable(name) for name in names) or (Constant(1, INT),)
        name = f"{self._name}{len(self.between) + 1}"
        rule = Rule(Atom(name, terms), tuple(self._joined), span=self._rule.span)
        types = typed_rule(rule, self._placements.relations, self._signatures).types
        columns = tuple(Schema(each, types[each].type, types[each].nullable) for each in names)
        self._placements.relations[name] = Relation(
            name, columns or (Schema("one", INT, nullable=False),), distinct=bool(self._own)
        )
        self._placements.homes[name] = None if meeting.variable is None else names.index(meeting.variable)
        self.rules.append(rule)
        self.between.append(name)
        # Conditions are asked again, because they may keep later ones from failing.
        asked = [test for test in self._tests if test not in self._others and _names(test) <= set(names)]
        self._joined = [Atom(name, tuple(Variable(each) for each in names) or (Wildcard(),)), *asked]

    def _needed(self) -> set[str]:
        """By what is to come, by the head, and every bound variable that an atom to come could meet by."""
        return variable_names(self._rule.head.terms).union(
            self._bound & self._equal.keys(), *map(_names, (*self._atoms, *self._others))
        )

    def _placed(self, atom: Atom, column: Column) -> Atom:
        return Atom(self._placements.at(atom.relation, column), atom.terms, span=atom.span)

    def _bind(self, atom: Atom) -> None:
        self._bound |= _bound_by(atom)

    def _attach(self, at_any_cost: bool) -> None:
        """Conditions, definitions and negations, as far as their variables have values.

        A negation is asked where its rows are. As long as atoms are to come, this is done only if it is here.
        """
        attached = True
        while attached:
            attached = False
            for literal in list(self._others):
                if not self._is_ready(literal):
                    continue
                if isinstance(literal, Negation):
                    cost, meeting, column = self._best_offer(literal.atom)
                    if not at_any_cost and (cost > COST_OF_COPY or self._free is not None):
                        continue
                    self._meet(meeting)
                    self._others.remove(literal)
                    self._joined.append(Negation(self._placed(literal.atom, column), span=literal.span))
                else:
                    self._others.remove(literal)
                    self._joined.append(literal)
                    self._bound |= _names(literal)
                attached = True

    def _is_ready(self, literal: Literal) -> bool:
        missing = _names(literal) - self._bound
        if isinstance(literal, Comparison) and literal.op == "=" and len(missing) == 1:
            sides = ((literal.left, literal.right), (literal.right, literal.left))
            awaited = any(missing & _bound_by(atom) for atom in self._atoms)
            # What atoms to come bind, an `=` compares and does not define.
            return not awaited and any(
                isinstance(one, Variable) and one.name in missing and not missing & variable_names([other])
                for one, other in sides
            )
        return not missing


def _names(literal: Literal) -> set[str]:
    return variable_names(literal_terms(literal))


def _bound_by(atom: Atom) -> set[str]:
    """The variables that are whole columns of an atom, which it binds."""
    return {term.name for term in atom.terms if isinstance(term, Variable)}


def _literal(step: Define | Absent | Test | Match) -> Literal:
    match step:
        case Define(variable=variable, term=term):
            return Comparison("=", variable, term, span=term.span)
        case Absent(atom=atom):
            return Negation(atom, span=atom.span)
        case Test(literal=literal):
            return literal
        case Match(atom=atom):
            return atom


def _equal_variables(literals: Iterable[Literal], types: Mapping[str, Typed]) -> dict[str, set[str]]:
    """Variables that a condition holds equal to others, as Python calls values equal: each with its whole class."""
    classes: dict[str, set[str]] = {}
    for literal in literals:
        if isinstance(literal, Atom | Negation):
            continue
        for one, other, _ in equality(condition_term(literal)):
            if not isinstance(one, Variable) or not isinstance(other, Variable):
                continue
            if is_same(types[one.name].type, types[other.name].type):
                merged = classes.get(one.name, {one.name}) | classes.get(other.name, {other.name})
                classes.update(dict.fromkeys(merged, merged))
    return classes
