"""From a rule and the literal that changes to a plan.

The order is greedy. Conditions, definitions and negations come as soon as they can be decided, in the order of the
text. Of the atoms, one that shares a variable with what is there comes before one that does not, then the one that
should find the fewest rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from whence.analysis.order import Absent, Define, Match, Test
from whence.analysis.order import Step as BodyPart
from whence.analysis.typing import condition_term
from whence.functions.cast import converter, unchanged
from whence.functions.typing import Typed, infer
from whence.incremental.body import Body, needs
from whence.incremental.keys import as_key, equality, is_same, meeting_type
from whence.incremental.plan import Compute, Filter, Flip, Missing, Pattern, Plan, Probe, Step
from whence.model.rules import Atom, Condition
from whence.model.schema import Column, Relation
from whence.model.terms import Call, Cast, Term, Variable, Wildcard, variables
from whence.model.types import Type

Size: TypeAlias = Callable[[str], int]


def make_plan(body: Body, size: Size, trigger: int | None = None, bound: Sequence[str] = ()) -> Plan:
    """The plan that starts from the literal of number `trigger`, an atom or a negation; from the best one if None.

    The variables in `bound` have values from the start, in the first slots. `size` tells how many rows a relation has.
    """
    return _Planning(body, size, bound).plan(trigger)


def make_delta_plan(body: Body, size: Size, trigger: int) -> Plan:
    """The plan that starts from a change of the literal: the first slot tells how often its row comes or goes."""
    return _Planning(body, size, (), changes=True).plan(trigger)


@dataclass(frozen=True, slots=True)
class _Key:
    """The value that a column must have. `test` is the condition that says so, if it is not the atom itself, and
    `implied` whether that condition holds for every row found under the key.
    """

    term: Term
    test: int | None = None
    implied: bool = False


class _Planning:
    def __init__(self, body: Body, size: Size, bound: Sequence[str], *, changes: bool = False) -> None:
        self.body = body
        self.size = size
        self.types = dict(body.types)
        # What is still to be placed, by its number in the body; comparisons that atoms leave behind come after.
        self.waiting: dict[int, BodyPart] = dict(body.parts)
        self.next_number = len(body.parts)
        self.steps: list[Step] = []
        self.slots = {name: slot for slot, name in enumerate(bound)}
        self.width = len(bound) + changes
        self.counts: list[int] = [0] if changes else []
        self.changes = changes

    def plan(self, trigger: int | None) -> Plan:
        if trigger is not None:
            match self.waiting.pop(trigger):
                case Match(atom=atom):
                    self.probe(trigger, atom)
                case Absent(atom=atom):
                    self.flip(trigger, atom)
        self.place_ready()
        while atoms := [(number, part.atom) for number, part in self.waiting.items() if isinstance(part, Match)]:
            number, atom = min(atoms, key=lambda each: self.rank(each[1]))
            del self.waiting[number]
            self.probe(number, atom)
            self.place_ready()
        return Plan(tuple(self.steps), self.slots, tuple(self.counts), self.types)

    def rank(self, atom: Atom) -> tuple[bool, float]:
        keys = self.keys(atom)
        relation = self.body.relations[atom.relation]
        if keys and _key_positions(relation) <= keys.keys():
            return False, 1.0
        # A guess, and enough to tell a probe from a scan: each known column leaves one row in ten.
        return bool(self.steps) and not keys, self.size(atom.relation) / 10.0 ** len(keys)

    def place_ready(self) -> None:
        """Everything but atoms, as far as its variables have values; a definition can make others ready."""
        placed = True
        while placed:
            placed = False
            for number, part in sorted(self.waiting.items(), key=lambda each: each[0]):
                if not isinstance(part, Match) and needs(part) <= self.slots.keys():
                    del self.waiting[number]
                    self.place(number, part)
                    placed = True

    def place(self, number: int, part: BodyPart) -> None:
        match part:
            case Define(variable=variable, term=term) if variable.name in self.slots:
                # Its value is given from the start, so it is no definition here.
                self.steps.append(Filter(_same(variable, term)))
            case Define(variable=variable, term=term):
                self.compute(variable.name, term)
            case Absent(atom=atom):
                pattern, keys = self.pattern(atom)
                self.steps.append(Missing(number, pattern, keys))
            case Test(literal=literal):
                self.steps.append(Filter(condition_term(literal)))

    def probe(self, number: int, atom: Atom) -> None:
        relation = self.body.relations[atom.relation]
        keys = self.keys(atom)
        positions = self.probed(relation, keys)
        for position in positions:
            key = keys[position]
            if key.test is not None and key.implied:
                self.waiting.pop(key.test, None)
        binds: dict[str, int] = {}
        widened: list[tuple[str, Term]] = []
        for position, (term, column) in enumerate(zip(atom.terms, relation.columns, strict=True)):
            if isinstance(term, Wildcard) or (position in positions and keys[position].test is None):
                continue
            if not isinstance(term, Variable) or term.name in self.slots or term.name in binds:
                raw = self.column_variable(number, position, column)
                binds[raw.name] = position
                self.test_later(raw, term)
            elif not self.body.is_used_again(term.name):
                continue
            elif converter(column.type, self.types[term.name].type) is unchanged:
                binds[term.name] = position
            else:
                raw = self.column_variable(number, position, column)
                binds[raw.name] = position
                widened.append((term.name, Cast(raw, self.types[term.name].type, span=term.span)))
        # The trigger of a change has its own slot for that.
        counted = not relation.distinct and not (self.changes and not self.steps)
        self.steps.append(
            Probe(
                number,
                relation.name,
                positions,
                tuple(keys[position].term for position in positions),
                tuple(binds.values()),
                counted,
            )
        )
        for name in binds:
            self.take_slot(name)
        if counted:
            self.counts.append(self.width)
            self.width += 1
        for name, term in widened:
            if name in self.slots:
                self.steps.append(Filter(_same(Variable(name), term)))
            else:
                self.compute(name, term)

    def keys(self, atom: Atom) -> dict[int, _Key]:
        """The columns of the atom whose values are known before it, and can be looked up."""
        found: dict[int, _Key] = {}
        for position, (term, column) in enumerate(
            zip(atom.terms, self.body.relations[atom.relation].columns, strict=True)
        ):
            if isinstance(term, Wildcard):
                continue
            if self.is_known(term):
                key = as_key(term, self.type_of(term), column.type)
                if key is not None:
                    found[position] = _Key(key)
            elif isinstance(term, Variable) and is_same(self.types[term.name].type, column.type):
                equal = self.equal_to(term, column.type)
                if equal is not None:
                    found[position] = equal
        return found

    def equal_to(self, variable: Variable, column: Type) -> _Key | None:
        """The value that a condition demands of a variable which only the next atom will bind."""
        for number, part in self.waiting.items():
            if not isinstance(part, Test):
                continue
            for one, other, null_equals_null in equality(condition_term(part.literal)):
                if one == variable and self.is_known(other):
                    typed = infer(other, self.types, self.body.signatures)
                    key = as_key(other, typed.type, column)
                    if key is not None:
                        return _Key(key, number, null_equals_null or not typed.nullable)
        return None

    def probed(self, relation: Relation, keys: Mapping[int, _Key]) -> tuple[int, ...]:
        """The columns to look rows up by: a key of the relation if it is known, so that plans share the index."""
        if not self.slots:
            # Only constants are known, and every row is looked at once: no reason to keep an index.
            return ()
        unique = _key_positions(relation)
        return tuple(position for position in keys if not (unique <= keys.keys()) or position in unique)

    def flip(self, number: int, atom: Atom) -> None:
        pattern, keys = self.pattern(atom)
        self.steps.append(Flip(number, pattern))
        columns = self.body.relations[atom.relation].columns
        parts = [(position, columns[position].type) for position in pattern.positions] + list(pattern.widened)
        for (position, kind), term in zip(parts, keys, strict=True):
            if isinstance(term, Variable) and term.name not in self.slots and self.types[term.name].type == kind:
                self.take_slot(term.name)
            else:
                raw = self.column_variable(number, position, Column("", kind, columns[position].nullable))
                self.take_slot(raw.name)
                self.test_later(raw, term)

    def pattern(self, atom: Atom) -> tuple[Pattern, tuple[Term, ...]]:
        as_stored: dict[int, Term] = {}
        widened: dict[tuple[int, Type], Term] = {}
        for position, (term, column) in enumerate(
            zip(atom.terms, self.body.relations[atom.relation].columns, strict=True)
        ):
            if isinstance(term, Wildcard):
                continue
            given = self.type_of(term)
            key = as_key(term, given, column.type)
            if key is not None:
                as_stored[position] = key
            else:
                common = meeting_type(given, column.type)
                widened[position, common] = term if given == common else Cast(term, common, span=term.span)
        pattern = Pattern(atom.relation, tuple(as_stored), tuple(widened))
        return pattern, (*as_stored.values(), *widened.values())

    def column_variable(self, number: int, position: int, column: Column) -> Variable:
        """A name for a column's value as it is stored."""
        name = f"#{number}.{position}"
        self.types[name] = Typed(column.type, column.nullable)
        return Variable(name)

    def test_later(self, column: Variable, term: Term) -> None:
        self.waiting[self.next_number] = Test(Condition(_same(column, term)))
        self.next_number += 1

    def compute(self, name: str, term: Term) -> None:
        self.steps.append(Compute(term))
        self.take_slot(name)

    def take_slot(self, name: str) -> None:
        self.slots[name] = self.width
        self.width += 1

    def type_of(self, term: Term) -> Type:
        return infer(term, self.types, self.body.signatures).type

    def is_known(self, term: Term) -> bool:
        return all(variable.name in self.slots for variable in variables(term))


def _same(left: Term, right: Term) -> Call:
    """Terms in atoms match by identity: NULL is the same as NULL."""
    return Call("<=>", (left, right), span=right.span)


def _key_positions(relation: Relation) -> frozenset[int]:
    """Columns that tell the rows apart. Without a declared key, all of them do, copies aside."""
    names = relation.key or relation.column_names
    return frozenset(position for position, name in enumerate(relation.column_names) if name in names)
