"""One attempt to follow a change of a recursive component in the driver, over rows that are paged in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
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
        self._found: dict[tuple[tuple[int, ...], Key], Mapping[Row, int]] = {}

    def matching(self, positions: tuple[int, ...], key: Key) -> Mapping[Row, int]:
        place = (positions, key)
        found = self._found.get(place)
        if found is None:
            found = self._found[place] = self._source.matching(positions, key)
        return found


class AttemptedRelation:
    """A relation of the component during an attempt: as it was, without what is dead or replaced, with what is new."""

    def __init__(self, state: Supported) -> None:
        self.state = state
        self.rows_before = len(state.counts)
        self.dead: dict[Row, None] = {}
        self.replaced: set[Row] = set()
        self.new: dict[Row, Support] = {}
        self._found: dict[Row, Support] = {}
        self._index = Store()

    def matching(self, positions: tuple[int, ...], key: Key) -> Mapping[Row, int]:
        rows = dict(self._index.matching(positions, key))
        for row, support in self.state.find(positions, key).items():
            if row not in self.dead and row not in self.replaced and row not in self.new:
                self._found[row] = support
                rows[row] = 1
        return rows

    def is_gain(self, row: Row) -> bool:
        return row in self.new and row not in self.dead

    def add(self, row: Row, support: Support) -> None:
        if row not in self.new:
            self._index.apply({row: 1})
        self.new[row] = support

    def replace(self, row: Row) -> None:
        """A better row has come for its group."""
        if row in self.new:
            del self.new[row]
            self._index.apply({row: -1})
        else:
            self.replaced.add(row)

    def support(self, row: Row) -> Support:
        return self.new[row] if row in self.new else self._found[row]

    def gone(self) -> Iterator[Row]:
        return (row for row in (*self.dead, *self.replaced) if row not in self.new)


class FlatSupports(Protocol):
    """What the rows of the component rest on."""

    def support_of(self, matcher: Matcher, found: BodyMatch, own: Mapping[str, AttemptedRelation]) -> Support:
        """What a derivation rests on, given what the rows of the component in its body do."""

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
            for row in relation.dead:
                if bests is not None:
                    self._probe(name, bests.group(row), first_will_do=False)
                elif row not in relation.new:
                    self._probe(name, row, first_will_do=True)

    def carry_on(self, row: Place, depth: int) -> None:
        self._steps_left -= 1
        if self._steps_left < 0:
            raise TooLargeError
        name, values = row
        if values in self._relations[name].new:
            for matcher, position in self._rules.readers[name]:
                for found in matcher.through(position, values, self._after):
                    self.derive(matcher, found, depth + 1)

    def derive(self, matcher: Matcher, found: BodyMatch, depth: int) -> bool:
        name, head = matcher.relation, found.head
        bests = self._rules.bests.get(name)
        if bests is None:
            relation = self._relations[name]
            # Most derivations end here, so that this calls nothing while it can.
            is_there = head in relation.new or (
                head not in relation.dead and (self._only_loses or self._is_known(matcher, found))
            )
            if not is_there:
                self._offer_row((name, head), head, FlatDerivation(matcher, found), depth)
        else:
            group = self._known_group(matcher, found)
            if group is not None:
                derivation = FlatDerivation(matcher, found, bests.ranks(found.values))
                self._offer_group(group, derivation, depth)
        return True

    def enter(self, row: Place, proof: tuple[FlatDerivation, ...]) -> None:
        (derivation,) = proof
        relation = self._relations[row[0]]
        relation.add(row[1], self._supports.support_of(derivation.rule, derivation.found, self._relations))
        self._limit.grew()
        self._limit.check_size(relation.rows_before + len(relation.new), derivation.rule.rule)

    def choose(self, group: FlatGroup, at: int, derivation: FlatDerivation) -> None:
        if derivation.support is None:
            # At once, because rows of its body may be replaced before the group settles.
            derivation.support = self._supports.support_of(derivation.rule, derivation.found, self._relations)
        group.chosen[at] = derivation

    def replace(self, group: FlatGroup, row: Row) -> Place:
        relation = self._relations[group.relation]
        if group.row is not None:
            relation.replace(group.row)
        group.row = row
        supports = {best.support or () for best in group.chosen if best is not None}
        relation.add(row, supports.pop() if len(supports) == 1 else tuple(sorted(set().union(*supports))))
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
