"""One attempt to follow a change of a recursive component in the driver, over rows that are paged in."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from whence.engines.spark.pages import TooLargeError
from whence.engines.spark.supported import Support, Supported
from whence.incremental.recursive.bests import Rank
from whence.incremental.recursive.convergence import ConvergenceLimit
from whence.incremental.recursive.fixpoint import BestGroup, LiveDerivations
from whence.incremental.recursive.matcher import BodyMatch, Matcher
from whence.incremental.recursive.rules import Rules
from whence.incremental.recursive.steps import InputChange, RelationSource
from whence.incremental.store import Key, Store
from whence.model.types import Row
from whence.model.updates import Delta

# Rows that may be there already are carried on before it is known, as soon as others have turned out to be new: for
# each of these so many, and no more than that in all. A wrong guess costs time for nothing, a right one saves a job.
GUESSES = 5
MOST_GUESSES = 5_000

# A row of a relation of the component.
Place: TypeAlias = tuple[str, Row]


class Gains:
    """What a change adds to the input: rows that appear, and keys that no row has any more."""

    def __init__(self, rules: Rules, change: InputChange) -> None:
        self._rows = {name: frozenset(rows) for name, rows in change.appeared.items()}
        self._absences = {matcher.number for name in change.vanished for matcher, _ in rules.absences[name]}
        self.is_empty = not self._rows and not self._absences

    def have_part_in(self, matcher: Matcher, found: BodyMatch) -> bool:
        """Whether the derivation may be one that was none before; not counting the component's own rows."""
        if matcher.number in self._absences:
            return True
        return bool(self._rows) and any(
            row in self._rows.get(name, ()) for name, row in zip(matcher.positive, found.body, strict=True)
        )


class Remembered:
    """A relation below, which does not change during an attempt, and is asked for the same keys again and again."""

    def __init__(self, source: RelationSource) -> None:
        self._source = source
        self._found: dict[tuple[int, ...], dict[Key, Collection[Row]]] = {}

    def matching_all(self, positions: tuple[int, ...], keys: Sequence[Key]) -> list[Collection[Row]]:
        found = self._found.setdefault(positions, {})
        missing = [key for key in dict.fromkeys(keys) if key not in found]
        if missing:
            found.update(zip(missing, self._source.matching_all(positions, missing), strict=True))
        return list(map(found.__getitem__, keys))


class AttemptedRelation:
    """A relation of the component during an attempt: as it was, without what is dead or replaced, with what is new."""

    def __init__(self, state: Supported) -> None:
        self.state = state
        self.rows_before = len(state.counts)
        self.dead: dict[Row, None] = {}
        self.replaced: set[Row] = set()
        self.new: dict[Row, Support] = {}
        # What the rows rest on that were looked at, and of these the new ones.
        self.supports: dict[Row, Support] = {}
        self._index = Store()

    def matching_all(self, positions: tuple[int, ...], keys: Sequence[Key]) -> list[list[Row]]:
        """Copies, because rows come while they are read."""
        dead, replaced, new, supports = self.dead, self.replaced, self.new, self.supports
        found = list(map(list, self._index.matching_all(positions, keys)))
        for rows, known in zip(found, self.state.find(positions, keys), strict=True):
            for row, support in known.items():
                if row not in new and row not in dead and row not in replaced:
                    supports[row] = support
                    rows.append(row)
        return found

    def is_gain(self, row: Row) -> bool:
        return row in self.new and row not in self.dead

    def add(self, rows: Mapping[Row, Support]) -> None:
        """Rows that are not there, or only as dead ones."""
        self._index.apply(dict.fromkeys(rows, 1))
        self.new.update(rows)
        self.supports.update(rows)

    def replace(self, row: Row) -> None:
        """A better row has come for its group."""
        if row in self.new:
            del self.new[row]
            self._index.apply({row: -1})
        else:
            self.replaced.add(row)

    def gone(self) -> Iterator[Row]:
        return (row for row in (*self.dead, *self.replaced) if row not in self.new)


class FlatSupports(Protocol):
    """What the rows of the component rest on."""

    def supports_of(
        self, matcher: Matcher, matches: Sequence[BodyMatch], own: Mapping[str, AttemptedRelation]
    ) -> list[Support]:
        """What derivations rest on, given what the rows of the component in their bodies do."""

    def dead(self, change: InputChange) -> Iterable[Place]:
        """The rows that have lost their proof."""


@dataclass(slots=True, eq=False)
class FlatDerivation:
    """A derivation that is offered. Its support is told when it is taken."""

    rule: Matcher
    found: BodyMatch
    ranks: tuple[Rank, ...] = ()
    support: Support | None = None

    @property
    def values(self) -> Row:
        return self.found.values


class FlatGroup(BestGroup[FlatDerivation]):
    __slots__ = ("row",)

    def __init__(self, relation: str, key: Row, aggregates: int) -> None:
        super().__init__(relation, key, aggregates)
        self.row: Row | None = None


class DriverAttempt(LiveDerivations[Place, FlatGroup, FlatDerivation]):
    """Changes nothing but what it says itself: it is made again when rows that it missed are there.

    What follows from rows that were all there before the change was there as well: it is dead, or nothing new. So only
    what a gain has a part in is looked up.
    """

    def __init__(
        self,
        rules: Rules,
        own: Mapping[str, Supported],
        inputs: Mapping[str, RelationSource],
        supports: FlatSupports,
        limit: ConvergenceLimit,
        change: InputChange | None = None,
    ) -> None:
        super().__init__(rules, limit)
        self._supports = supports
        self._gains = None if change is None else Gains(rules, change)
        self._only_loses = self._gains is not None and self._gains.is_empty
        self._relations = {name: AttemptedRelation(state) for name, state in own.items()}
        limit.begin(sum(relation.rows_before for relation in self._relations.values()))
        self._restart({**{name: Remembered(source) for name, source in inputs.items()}, **self._relations})
        self._groups: dict[Place, FlatGroup] = {}
        self._dead_groups: set[Place] = set()
        self._steps_left: float = float("inf")
        self._guesses = 0
        self._guessed = 0

    def build(self, most: int) -> None:
        """The component from scratch; raises if it has more rows than so many."""
        self._steps_left = most
        self._derive_all()

    def follow(self, change: InputChange) -> None:
        self._follow(change)

    def delete(self, change: InputChange) -> None:
        for name, row in self._supports.dead(change):
            self._relations[name].dead[row] = None
            bests = self._rules.bests.get(name)
            if bests is not None:
                self._dead_groups.add((name, bests.group(row)))

    def reprove(self) -> None:
        for name, relation in self._relations.items():
            bests = self._rules.bests.get(name)
            if bests is None:
                self._probe(name, [row for row in relation.dead if row not in relation.new], first_will_do=True)
            else:
                self._probe(name, map(bests.group, relation.dead), first_will_do=False)

    def carry_on(self, rows: Sequence[Place], depth: int) -> None:
        self._steps_left -= len(rows)
        if self._steps_left < 0:
            raise TooLargeError
        for name, relation in self._relations.items():
            found = [row for of, row in rows if of == name and row in relation.new]
            if found:
                self._derive_from(self._rules.readers[name], found, depth)

    def derive(self, matcher: Matcher, matches: Sequence[BodyMatch], depth: int) -> Iterable[Row]:
        name = matcher.relation
        relation, bests = self._relations[name], self._rules.bests.get(name)
        offers: dict[Place, FlatDerivation] = {}
        for found in matches:
            head = found.head
            if bests is not None:
                group = self._known_group(matcher, found)
                if group is not None:
                    self._offer_group(group, FlatDerivation(matcher, found, bests.ranks(found.values)), depth)
            # Most derivations end here, so that this calls nothing while it can.
            elif (
                head not in relation.new
                and (name, head) not in offers
                and (head in relation.dead or not (self._only_loses or self._is_known(matcher, found)))
            ):
                offers[name, head] = FlatDerivation(matcher, found)
        if offers:
            self._offer_rows(offers, matcher, next(iter(offers))[1], depth)
        return [found.head for found in matches]

    def enter(self, offers: Mapping[Place, FlatDerivation], matcher: Matcher) -> None:
        relation = self._relations[matcher.relation]
        matches = [derivation.found for derivation in offers.values()]
        supports = self._supports.supports_of(matcher, matches, self._relations)
        relation.add({row: support for (_, row), support in zip(offers, supports, strict=True)})
        self._limit.grew(len(offers))
        self._limit.check_size(relation.rows_before + len(relation.new), matcher.rule)

    def choose(self, group: FlatGroup, at: int, derivation: FlatDerivation) -> None:
        if derivation.support is None:
            # At once, because rows of its body may be replaced before the group settles.
            (derivation.support,) = self._supports.supports_of(derivation.rule, [derivation.found], self._relations)
        group.chosen[at] = derivation

    def replace(self, group: FlatGroup, row: Row) -> Place:
        relation = self._relations[group.relation]
        if group.row is not None:
            relation.replace(group.row)
        group.row = row
        supports = {best.support or () for best in group.chosen if best is not None}
        relation.add({row: supports.pop() if len(supports) == 1 else tuple(sorted(set().union(*supports)))})
        return group.relation, row

    def group(self, relation: str, key: Row) -> FlatGroup:
        group = self._groups.get((relation, key))
        if group is None:
            aggregates = len(self._rules.bests[relation].positions)
            group = self._groups[relation, key] = FlatGroup(relation, key, aggregates)
        return group

    def _known_group(self, matcher: Matcher, found: BodyMatch) -> FlatGroup | None:
        """The group of the head with what is known of it; None if the derivation is nothing new to it."""
        name, key = matcher.relation, found.head
        known = self._groups.get((name, key))
        if known is not None:
            return known
        is_dead = (name, key) in self._dead_groups
        if not is_dead and (self._only_loses or self._was_there(matcher, found)):
            return None
        bests = self._rules.bests[name]
        state = self._relations[name].state
        misses = state.base.misses
        row, support = (None, ()) if is_dead else state.row_of(bests.group_positions, key)
        if state.base.misses == misses:
            self._guesses += GUESSES
        elif not self._may_guess():
            return None
        group = self.group(name, key)
        if row is not None:
            group.row = row
            values = tuple([row[position] for position in bests.positions])
            # By whatever rules it was derived: only what it is worth is asked of it.
            stored = FlatDerivation(matcher, BodyMatch(key, values, (), ()), bests.ranks(values), support)
            group.chosen = [stored] * len(values)
        return group

    def _is_known(self, matcher: Matcher, found: BodyMatch) -> bool:
        """Whether the head is there that is neither new nor dead; True also if that has to be found out first."""
        if self._was_there(matcher, found):
            return True
        state = self._relations[matcher.relation].state
        misses = state.base.misses
        is_known = state.get(found.head) is not None
        if state.base.misses != misses:
            return not self._may_guess()
        if not is_known:
            self._guesses += GUESSES
        return is_known

    def _was_there(self, matcher: Matcher, found: BodyMatch) -> bool:
        """Whether the head must have been there before the change, since nothing in the body is a gain."""
        gains = self._gains
        if gains is None or gains.have_part_in(matcher, found):
            return False
        return not any(self._relations[matcher.positive[at]].is_gain(found.body[at]) for at in matcher.own)

    def _may_guess(self) -> bool:
        self._guessed += 1
        return self._guessed <= min(self._guesses, MOST_GUESSES)

    def deltas(self) -> dict[str, Delta]:
        """What changes for those who read the component."""
        found: dict[str, Delta] = {}
        for name, relation in self._relations.items():
            came = {row: 1 for row in relation.new if row not in relation.dead and row not in relation.replaced}
            went = dict.fromkeys(relation.gone(), -1)
            if came or went:
                found[name] = {**went, **came}
        return found

    def changes(self) -> dict[str, dict[Row, Support | None]]:
        """What changes in the component's state, supports included."""
        return {
            name: {**dict.fromkeys(relation.gone()), **relation.new}
            for name, relation in self._relations.items()
            if relation.new or relation.dead or relation.replaced
        }
