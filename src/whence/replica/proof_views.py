"""Views that tell how their rows came about: for each rule a hidden view that has one row for each derivation.

    r4(b, c) :- r0(a, b, c).            r4$proof1(b, c, a) :- r0(a, b, c).

The engine maintains these like any other view, so that what changes in them in a commit are the derivations that came
and went. A row of them names the rows that its rule took, and with them their ids.

A rule with an aggregate has no derivations that stay true: one more row in the group, and the value is another. Rows of
such a relation are told by this site as if it inserted and deleted them: they are leaves, *owned* by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count, repeat
from operator import itemgetter
from typing import TypeAlias

from whence.errors import UnsupportedError
from whence.model.graphs import reached
from whence.model.rules import Atom, Literal, Negation, Rule, literal_variables
from whence.model.schema import AUXILIARY_MARK, owner
from whence.model.terms import Constant, Term, Variable, Wildcard
from whence.model.types import Row, Value
from whence.replica.knowledge import Told
from whence.replica.presence import Derivation
from whence.replica.rows import Id, RowText, ids_of
from whence.session.definitions import Definitions

_MARK = f"{AUXILIARY_MARK}proof"

# The texts and ids of a relation's rows.
Spaces = Callable[[str], RowText]
Ids: TypeAlias = tuple[Id, ...]
# From rows of a hidden view, and the number that they are told as, to the space of the heads and derivations.
ReadProofs: TypeAlias = Callable[[Sequence[Row], int], tuple[str, dict[Derivation, Told]]]
IdReader: TypeAlias = Callable[[Sequence[Row]], list[Id]]


@dataclass(frozen=True)
class Proofs:
    """The hidden view of a rule: the head's terms come first, then the variables of the body."""

    name: str
    rule: Rule

    @property
    def definition(self) -> Rule:
        head = Atom(self.name, (*self.rule.head.terms, *map(Variable, self.variables)), span=self.rule.head.span)
        return replace(self.rule, head=head)

    @property
    def variables(self) -> tuple[str, ...]:
        atoms = (literal for literal in self.rule.body if isinstance(literal, Atom | Negation))
        return tuple(dict.fromkeys(variable.name for atom in atoms for variable in literal_variables(atom)))

    def reader(self, spaces: Spaces) -> ReadProofs:
        """What turns rows of the hidden view, told as that number, into the derivations that they stand for."""
        arity = len(self.rule.head.terms)
        places = {name: arity + at for at, name in enumerate(self.variables)}
        head = spaces(self.rule.head.relation)
        needs = [_id_reader(atom, places, spaces) for atom in self.rule.body if isinstance(atom, Atom)]
        without = [_id_reader(each.atom, places, spaces) for each in self.rule.body if isinstance(each, Negation)]

        def read(rows: Sequence[Row], number: int) -> tuple[str, dict[Derivation, Told]]:
            texts = head.texts([row[:arity] for row in rows])
            heads = ids_of(head.space, texts)
            needed, refused = _sorted_ids(needs, rows), _sorted_ids(without, rows)
            derivations = map(_derivation, zip(heads, needed, refused, strict=True))
            told = map(_told, zip(repeat(head.space), texts, repeat(number), needed, refused))
            return head.space, dict(zip(derivations, told, strict=True))

        return read


# Without the checks of arguments, which take as long again.
_derivation: Callable[[tuple[Id, Ids, Ids]], Derivation] = partial(tuple.__new__, Derivation)
_told: Callable[[tuple[str, str, int, Ids, Ids]], Told] = partial(tuple.__new__, Told)


def _sorted_ids(readers: Sequence[IdReader], rows: Sequence[Row]) -> list[Ids]:
    """For each row the ids that the readers find, in order and without repetition."""
    found = [read(rows) for read in readers]
    match found:
        case []:
            return [()] * len(rows)
        case [one]:
            return list(zip(one, strict=True))
        case [one, other]:
            return [(a, b) if a < b else (b, a) if b < a else (a,) for a, b in zip(one, other, strict=True)]
    return [tuple(sorted(set(each))) for each in zip(*found, strict=True)]


def _id_reader(atom: Atom, places: Mapping[str, int], spaces: Spaces) -> IdReader:
    text = spaces(atom.relation)
    columns = text.relation.columns
    cells: list[tuple[int, Value]] = []
    for term, column in zip(atom.terms, columns, strict=True):
        if isinstance(term, Variable):
            cells.append((places[term.name], None))
        else:
            assert isinstance(term, Constant)
            cells.append((-1, None if term.value is None else column.type.accept(term.value)))

    positions = [at for at, _ in cells]
    if len(positions) > 1 and min(positions) >= 0:
        take = itemgetter(*positions)
        return lambda rows: text.ids(list(map(take, rows)))
    return lambda rows: text.ids([tuple([value if at < 0 else row[at] for at, value in cells]) for row in rows])


@dataclass(frozen=True)
class Tracked:
    """What a followed view rests on: rules with hidden views, and relations whose rows this site owns."""

    view: str
    proofs: tuple[Proofs, ...]
    rules: tuple[Rule, ...]
    owned: frozenset[str]
    # Tables and views below, itself included, by the names that the engine knows.
    relations: frozenset[str]


def tracked(view: str, definitions: Definitions) -> Tracked:
    """How a view tells its derivations. Raises for one that replicas cannot have."""
    if not definitions.relations[view].distinct:
        raise UnsupportedError(
            f"{view!r} can have several copies of a row, and a replica has each row once",
            hint="define it with SELECT DISTINCT, or in Datalog",
        )
    rules: dict[str, list[Rule]] = {}
    for rule in definitions.rules:
        if _MARK not in rule.head.relation:
            rules.setdefault(rule.head.relation, []).append(rule)
    owned = frozenset(name for name, found in rules.items() if not all(map(_is_told_by_derivations, found)))
    below = [*reached([view], lambda name: () if name in owned else _read(rules.get(name, ())))]
    told = [rule for name in below if name not in owned for rule in rules.get(name, ())]
    proofs = (Proofs(f"{owner(view)}{_MARK}{number}", _named(rule)) for number, rule in enumerate(told, 1))
    return Tracked(view, tuple(proofs), tuple(told), owned.intersection(below), frozenset(below))


def with_proofs(definitions: Definitions, proofs: Sequence[Proofs]) -> Definitions:
    """With the hidden views. Their columns are found by analysis."""
    rules = tuple(each.definition for each in proofs)
    return definitions.adding((), rules, [each.name for each in proofs])


def _is_told_by_derivations(rule: Rule) -> bool:
    """Not where it aggregates, takes away, or asks for the absence of anything like a pattern."""
    negations = (literal.atom for literal in rule.body if isinstance(literal, Negation))
    return (
        not rule.aggregates
        and rule.sign > 0
        and all(isinstance(term, Variable | Constant) for atom in negations for term in atom.terms)
        and all(isinstance(term, Variable | Constant | Wildcard) for term in _positive_terms(rule))
    )


def _positive_terms(rule: Rule) -> Iterator[Term]:
    return (term for literal in rule.body if isinstance(literal, Atom) for term in literal.terms)


def _read(rules: Sequence[Rule]) -> list[str]:
    return [name for rule in rules for name in rule.reads]


def _named(rule: Rule) -> Rule:
    """With a variable in the place of each wildcard: which row was taken has to be known."""
    numbers = count(1)

    def named(literal: Literal) -> Literal:
        if not isinstance(literal, Atom):
            return literal
        terms = [Variable(f"any${next(numbers)}") if isinstance(term, Wildcard) else term for term in literal.terms]
        return replace(literal, terms=tuple(terms))

    return replace(rule, body=tuple(map(named, rule.body)))
