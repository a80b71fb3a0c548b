"""From a rule and the literal that changes to a plan.

Conditions, definitions and negations come as soon as they can be decided, in the order of the text. Atoms come in the
order that `planning.join_order` finds the cheapest.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from whence.analysis.order import Absent, Define, Match, Test, needs
from whence.analysis.order import Step as BodyPart
from whence.analysis.typed_rules import TypedRule
from whence.analysis.typing import condition_term
from whence.functions.types import Typed, common_type, fits
from whence.functions.widening import is_exact
from whence.incremental.plan import Compute, Filter, Flip, Missing, Pattern, Plan, Probe, Step
from whence.model.rules import Atom, Condition
from whence.model.schema import Column, Relation
from whence.model.terms import Call, Cast, Term, Variable, Wildcard, variables
from whence.model.types import DOUBLE, INT, NULL, Type
from whence.model.types.base import converter, unchanged
from whence.planning.join_order import Definition, JoinAtom, Lookup, as_read, join_order, key_columns
from whence.planning.statistics import Statistics

# By which columns the rows of a relation can be looked up at no cost.
Indexes: TypeAlias = Callable[[str], Collection[tuple[int, ...]]]


def _no_indexes(_: str) -> Collection[tuple[int, ...]]:
    return ()


def make_plan(
    rule: TypedRule,
    statistics: Statistics,
    trigger: int | None = None,
    bound: Sequence[str] = (),
    indexes: Indexes = _no_indexes,
    lookup: Lookup = as_read,
) -> Plan:
    """The plan that starts from the literal of number `trigger`, an atom or a negation; from the best one if None.

    The variables in `bound` have values from the start, in the first slots. `indexes` tells what there is to look up
    constants by.
    """
    return _Planning(rule, statistics, bound, indexes, lookup).plan(trigger)


def make_delta_plan(rule: TypedRule, statistics: Statistics, trigger: int) -> Plan:
    """The plan that starts from a change of the literal: the first slot tells how often its row comes or goes."""
    return _Planning(rule, statistics, (), changes=True).plan(trigger)


@dataclass(frozen=True, slots=True)
class _Key:
    """The value that a column must have. `test` is the condition that says so, if it is not the atom itself, and
    `implied` whether that condition holds for every row found under the key.
    """

    term: Term
    test: int | None = None
    implied: bool = False


class _Planning:
    def __init__(
        self,
        rule: TypedRule,
        statistics: Statistics,
        bound: Sequence[str],
        indexes: Indexes = _no_indexes,
        lookup: Lookup = as_read,
        *,
        changes: bool = False,
    ) -> None:
        self.rule = rule
        self.statistics = statistics
        self.indexes = indexes
        self.lookup = lookup
        self.types = dict(rule.types)
        # What is still to be placed, by its number in the body; comparisons that atoms leave behind come after.
        self.waiting: dict[int, BodyPart] = dict(rule.parts)
        self.next_number = len(rule.parts)
        self.steps: list[Step] = []
        self.slots = {name: slot for slot, name in enumerate(bound)}
        self.width = len(bound) + changes
        self.counts: list[int] = [0] if changes else []
        self.changes = changes

    def plan(self, trigger: int | None) -> Plan:
        if trigger is not None:
            match self.waiting.pop(trigger):
                case Match(atom=atom):
                    self.probe(trigger, atom, is_trigger=True)
                case Absent(atom=atom):
                    self.flip(trigger, atom)
        self.place_ready()
        for number, atom in self.ordered():
            del self.waiting[number]
            self.probe(number, atom)
            self.place_ready()
        return Plan(self.rule, tuple(self.steps), self.slots, tuple(self.counts), self.types)

    def ordered(self) -> list[tuple[int, Atom]]:
        """The atoms that are left, as they should be joined."""
        atoms = [(number, part.atom) for number, part in self.waiting.items() if isinstance(part, Match)]
        if len(atoms) < 2:
            return atoms
        definitions = [
            Definition(part.variable.name, frozenset(needs(part)))
            for part in self.waiting.values()
            if isinstance(part, Define)
        ]
        joins = [self.join_atom(atom) for _, atom in atoms]
        started = bool(self.steps) or bool(self.slots)
        bound = self.slots.keys()
        order = join_order(joins, self.statistics, bound, definitions, is_started=started, lookup=self.lookup)
        return [atoms[at] for at in order]

    def join_atom(self, atom: Atom) -> JoinAtom:
        relation = self.rule.relations[atom.relation]
        columns = tuple(
            tuple(frozenset(v.name for v in variables(key)) for key in self.possible_keys(term, column))
            for term, column in zip(atom.terms, relation.columns, strict=True)
        )
        return JoinAtom(relation, columns, frozenset(t.name for t in atom.terms if isinstance(t, Variable)))

    def possible_keys(self, term: Term, column: Column) -> Iterator[Term]:
        """What a column can be looked up by once it is known: the term itself, or what a condition says it equals."""
        if isinstance(term, Wildcard):
            return
        if as_key(term, self.typed(term).type, column.type) is not None:
            yield term
        if isinstance(term, Variable) and is_same(self.types[term.name].type, column.type):
            for part in self.waiting.values():
                if isinstance(part, Test):
                    for one, other, _ in equality(condition_term(part.literal)):
                        if one == term and as_key(other, self.typed(other).type, column.type) is not None:
                            yield other

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

    def probe(self, number: int, atom: Atom, *, is_trigger: bool = False) -> None:
        relation = self.rule.relations[atom.relation]
        keys = self.keys(atom)
        positions = self.probed(relation, keys, is_trigger=is_trigger)
        for position in positions:
            key = keys[position]
            if key.test is not None and key.implied:
                self.waiting.pop(key.test, None)
        binds: dict[str, int] = {}
        widened: list[tuple[str, Term]] = []
        for position, term, column in self.compared(atom):
            if position in positions and keys[position].test is None:
                continue
            if not isinstance(term, Variable) or term.name in self.slots or term.name in binds:
                raw = self.column_variable(number, position, column)
                binds[raw.name] = position
                self.test_later(raw, term)
            elif not self.rule.is_used_again(term.name):
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
        for position, term, column in self.compared(atom):
            if self.is_known(term):
                key = as_key(term, self.typed(term).type, column.type)
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
                    typed = self.typed(other)
                    key = as_key(other, typed.type, column)
                    if key is not None:
                        return _Key(key, number, null_equals_null or not typed.nullable)
        return None

    def probed(self, relation: Relation, keys: Mapping[int, _Key], *, is_trigger: bool) -> tuple[int, ...]:
        """The columns to look rows up by: a key of the relation if it is known, so that plans share the index."""
        if not self.slots:
            # Only constants are known, and every row is looked at once: no reason to keep an index that is not there.
            usable = () if is_trigger else self.indexes(relation.name)
            return max((each for each in usable if keys.keys() >= set(each)), key=len, default=())
        unique = key_columns(relation)
        return tuple(position for position in keys if not (unique <= keys.keys()) or position in unique)

    def flip(self, number: int, atom: Atom) -> None:
        pattern, keys = self.pattern(atom)
        self.steps.append(Flip(number, pattern))
        columns = self.rule.relations[atom.relation].columns
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
        for position, term, column in self.compared(atom):
            given = self.typed(term).type
            key = as_key(term, given, column.type)
            if key is not None:
                as_stored[position] = key
            else:
                common = common_type([given, column.type])
                assert common is not None, "analysis lets no other comparison pass"
                widened[position, common] = term if given == common else Cast(term, common, span=term.span)
        pattern = Pattern(atom.relation, tuple(as_stored), tuple(widened))
        return pattern, (*as_stored.values(), *widened.values())

    def compared(self, atom: Atom) -> Iterator[tuple[int, Term, Column]]:
        """The columns of which an atom says what they hold."""
        columns = self.rule.relations[atom.relation].columns
        for position, (term, column) in enumerate(zip(atom.terms, columns, strict=True)):
            if not isinstance(term, Wildcard):
                yield position, term, column

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

    def typed(self, term: Term) -> Typed:
        """The rule's own terms have their types, and a column is what the plan made it."""
        return self.types[term.name] if isinstance(term, Variable) else self.rule.typed(term)

    def is_known(self, term: Term) -> bool:
        return all(variable.name in self.slots for variable in variables(term))


def _same(left: Term, right: Term) -> Call:
    """Terms in atoms match by identity: NULL is the same as NULL."""
    return Call("<=>", (left, right), span=right.span)


def as_key(term: Term, given: Type, column: Type) -> Term | None:
    """The term, of type `given`, as a column holds values equal to it; None if the column would have to be widened."""
    if is_same(given, column):
        return term
    return Cast(term, column, span=term.span) if fits(given, column) else None


def is_same(left: Type, right: Type) -> bool:
    """Whether values of the two types are equal exactly if Python says so. A DOUBLE holds every INT."""
    return (
        left == right or NULL in (left, right) or (is_exact(left) and is_exact(right)) or {left, right} == {INT, DOUBLE}
    )


def equality(condition: Term) -> Iterator[tuple[Term, Term, bool]]:
    """The sides of `a = b` and `a <=> b`, both ways round, and whether NULL equals NULL."""
    match condition:
        case Call(function="=" | "<=>" as function, arguments=(left, right)):
            yield left, right, function == "<=>"
            yield right, left, function == "<=>"
