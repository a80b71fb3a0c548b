"""The ways to make a rule give a row, and what each of them still lacks.

Every atom of the body is either met by a row that is there, or left open: then its row is one that would be needed.
Variables that no row gives a value take those that the database knows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain

from whence.engines.evidence import RowsMissingError
from whence.engines.reference.joins import binds
from whence.engines.reference.tables import Table
from whence.errors import UnsupportedError
from whence.explain.changes.cells import Environment
from whence.explain.changes.known import Home
from whence.explain.changes.rules import ReadyRule, Rules
from whence.explain.changes.world import World
from whence.explain.proofs.reasons import Fact
from whence.explain.proofs.words import Pattern
from whence.model.types import Row

# So many times a search goes on beside what cannot be looked up yet. What it comes to may turn out to be of no use.
_MOST_LEFT = 500


@dataclass(frozen=True, slots=True)
class Way:
    """A way to use a rule, and how far it has come: what has a value, which steps wait, which atoms will be left open;
    and the rows of tables and of views that it lacks.
    """

    values: Environment
    waiting: tuple[int, ...]
    postponed: tuple[int, ...] = ()
    tables: frozenset[Fact] = frozenset()
    views: frozenset[Fact] = frozenset()
    # Variables whose value nobody looks at: any would have done.
    free: frozenset[str] = frozenset()


class Openings:
    """The ways to use a program's rules.

    Those that need rows which have to be fetched first are `left` out; then it all has to be done again. `is_partial`
    tells whether there are others, which would need more rows than can be looked at.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._rules = Rules(world)
        self.left = 0
        self.is_partial = False

    def leave(self) -> None:
        """Leave out what has just missed rows; raises if enough has been left out."""
        self.left += 1
        if self.left > _MOST_LEFT:
            raise RowsMissingError

    def ways(self, relation: str, row: Pattern, budget: int) -> Iterator[Way]:
        """Those to a row that lack up to `budget` rows of tables, beside those that the world assumes."""
        for rule in self._rules.of(relation):
            yield from self._through(rule, row, budget)

    def _through(self, rule: ReadyRule, row: Pattern, budget: int) -> Iterator[Way]:
        values = rule.begin(row)
        if values is not None:
            for way in _Opening(rule, self._world, self, budget).walk(Way(values, tuple(range(len(rule.steps))))):
                if rule.gives(row, way.values):
                    yield way

    def rows(self, relation: str, row: Pattern, budget: int) -> Iterator[tuple[Table, Way]]:
        """The same for a row of which not all is known, each with what the row is then; it is not there yet."""
        for rule in self._rules.of(relation):
            for way in self._through(rule, row, budget):
                found = rule.head_row(way.values)
                if found is not None and self._is_absent(relation, found):
                    yield Table({found: 1}), way

    def _is_absent(self, relation: str, row: Row) -> bool:
        try:
            return not self._world.has(relation, row)
        except RowsMissingError:
            self.leave()
            return False


class _Opening:
    """One rule, opened step by step."""

    def __init__(self, rule: ReadyRule, world: World, others: Openings, budget: int) -> None:
        self._rule = rule
        self._world = world
        self._others = others
        self._budget = budget

    def walk(self, way: Way) -> Iterator[Way]:
        self._world.step()
        try:
            yield from self._walked(way)
        except RowsMissingError:
            self._others.leave()
        except UnsupportedError:
            self._others.is_partial = True

    def _walked(self, way: Way) -> Iterator[Way]:
        settled = self._settled(way)
        if settled is None or len(settled.tables - self._world.assumed) > self._budget:
            return
        atoms = [at for at in settled.waiting if self._rule.cells[at] is not None]
        if atoms:
            yield from self._take(settled, min(atoms, key=lambda at: self._rank(at, settled)))
        elif settled.postponed or settled.waiting:
            yield from self._guess(settled)
        else:
            yield settled

    def _settled(self, way: Way) -> Way | None:
        """Everything that can be decided; None if it is decided against this way."""
        values, waiting = way.values, list(way.waiting)
        progress = True
        while progress:
            progress = False
            for at in tuple(waiting):
                told = self._rule.holds(at, values)
                if told is not None:
                    values, holds = told
                    if not holds:
                        return None
                    waiting.remove(at)
                    progress = True
                    continue
                solved = self._rule.solved(at, values)
                if solved is None:
                    return None
                progress = progress or len(solved) > len(values)
                values = solved
        return self._opened(replace(way, values=values, waiting=tuple(waiting)))

    def _opened(self, way: Way) -> Way | None:
        """Atoms that were postponed and now have all their values are open."""
        tables, views, postponed = set(way.tables), set(way.views), []
        for at in way.postponed:
            atom = self._rule.atom(at)
            if not atom.names <= way.values.keys():
                postponed.append(at)
                continue
            row = atom.row(way.values)
            # A row that is there is found as such, and need not be left open.
            if row is None or self._world.has(atom.relation, row):
                return None
            if self._world.is_table(atom.relation):
                tables.add((atom.relation, row))
                self._world.note_free((atom.relation, row), atom.positions_of(way.free))
            else:
                views.add((atom.relation, row))
        return replace(way, postponed=tuple(postponed), tables=frozenset(tables), views=frozenset(views))

    def _rank(self, at: int, way: Way) -> tuple[int, bool]:
        return self._rule.unbound(at, way.values), not self._world.is_table(self._rule.atom(at).relation)

    def _take(self, way: Way, at: int) -> Iterator[Way]:
        """Go on with every row that fits an atom, and then without one."""
        atom = self._rule.atom(at)
        rest = replace(way, waiting=tuple(each for each in way.waiting if each != at))
        is_known, is_free = atom.names <= way.values.keys(), self._is_free(at, rest)
        for values in self._rule.matches(at, way.values):
            yield from self.walk(replace(rest, values=values))
            if is_known or is_free:
                # What else the row holds is of no interest, and with it there nothing has to be left open.
                return
        if not is_known and atom.relation in self._world.plain and self._rule.can_match(at, way.values):
            yield from self._unfold(rest, at)
        elif self._budget or not self._world.is_table(atom.relation):
            yield from self.walk(replace(rest, postponed=(*rest.postponed, at)))

    def _is_free(self, at: int, way: Way) -> bool:
        """Whether nobody else looks at what an atom would still give values."""
        given = self._rule.atom(at).names - way.values.keys()
        others = [self._rule.needs[each] | binds(self._rule.steps[each]) for each in (*way.waiting, *way.postponed)]
        return given.isdisjoint(self._rule.of_head.union(*others))

    def _unfold(self, way: Way, at: int) -> Iterator[Way]:
        """Go on with every row that the rules of an atom's view could give, and with what these rules lack for it.

        They often leave few values for the variables that the atom has in common with others.
        """
        atom = self._rule.atom(at)
        for table, lacking in self._others.rows(atom.relation, atom.pattern(way.values), self._budget):
            opened = replace(way, tables=way.tables | lacking.tables, views=way.views | lacking.views)
            for values in self._rule.matches(at, way.values, table):
                yield from self.walk(replace(opened, values=values))

    def _guess(self, way: Way) -> Iterator[Way]:
        """Give a variable without a value every one that is known."""
        name = self._unknown(way)
        if name is None:
            return
        is_free, home = self._rule.uses[name] == 1, self._home(name, way)
        values = self._world.known.of(self._rule.scope.types[name].type, home)
        if is_free and home is not None and self._world.is_key(*home):
            # Others are taken.
            new = self._world.known.new(home)
            values = values if new is None else chain([new], values)
        for value in values:
            free = way.free | {name} if is_free else way.free
            yield from self.walk(replace(way, values={**way.values, name: value}, free=free))

    def _home(self, name: str, way: Way) -> Home | None:
        for at in way.postponed:
            atom = self._rule.atom(at)
            position = atom.position_of(name)
            if position is not None and self._world.is_table(atom.relation):
                return Home(atom.relation, position)
        return None

    def _unknown(self, way: Way) -> str | None:
        for at in (*way.postponed, *way.waiting):
            cells = self._rule.cells[at]
            wanted = self._rule.needs[at] if cells is None else cells.names
            missing = sorted(name for name in wanted - way.values.keys() if name in self._rule.scope.types)
            if missing:
                return missing[0]
        return None
