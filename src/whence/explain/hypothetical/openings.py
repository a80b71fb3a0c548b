"""The uses of a rule that would give a row, and what each of them still lacks.

Every atom of the body is either met by a row that is there, or left open: then its row is one that would be needed.
Variables that no row gives a value take those that the database knows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain

from whence.analysis.order import binds
from whence.engines.engine import RowsMissingError
from whence.errors import UnsupportedError
from whence.explain.hypothetical.atoms import Environment
from whence.explain.hypothetical.rules import ReadyRule, ReadyRules
from whence.explain.hypothetical.world import ColumnPlace, Hypothesis
from whence.explain.proofs.reasons import Fact
from whence.explain.proofs.text import Pattern
from whence.model.types import Row

# So many times a search goes on beside what cannot be looked up yet. What it comes to may turn out to be of no use.
_MOST_LEFT = 500


@dataclass(frozen=True, slots=True)
class RuleUse:
    """A use of a rule, and how far it has come: what has a value, which steps wait, which atoms will be left open;
    and the rows of tables and of views that it lacks.
    """

    values: Environment
    waiting: tuple[int, ...]
    postponed: tuple[int, ...] = ()
    tables: frozenset[Fact] = frozenset()
    views: frozenset[Fact] = frozenset()
    # Variables whose value does not matter: any would have done.
    free: frozenset[str] = frozenset()


class Openings:
    """The uses of a program's rules.

    Those that need rows which have to be fetched first are `left` out; then it all has to be done again. `is_partial`
    tells whether there are others, which would need more rows than can be looked at.
    """

    def __init__(self, world: Hypothesis) -> None:
        self._world = world
        self._rules = ReadyRules(world)
        self.left = 0
        self.is_partial = False

    def leave(self) -> None:
        """Leave out what has just missed rows; raises if enough has been left out."""
        self.left += 1
        if self.left > _MOST_LEFT:
            raise RowsMissingError

    def uses(self, relation: str, row: Pattern, budget: int) -> Iterator[RuleUse]:
        """Those to a row that lack up to `budget` rows of tables, beside those that the world assumes."""
        for rule in self._rules.of(relation):
            yield from self._through(rule, row, budget)

    def _through(self, rule: ReadyRule, row: Pattern, budget: int) -> Iterator[RuleUse]:
        values = rule.begin(row)
        if values is not None:
            for use in _Opening(rule, self._world, self, budget).walk(RuleUse(values, tuple(range(len(rule.steps))))):
                if rule.gives(row, use.values):
                    yield use

    def rows(self, relation: str, row: Pattern, budget: int) -> Iterator[tuple[Row, RuleUse]]:
        """The same for a row of which not all is known, each with what the row is then; it is not there yet."""
        for rule in self._rules.of(relation):
            for use in self._through(rule, row, budget):
                found = rule.head_row(use.values)
                if found is not None and self._is_absent(relation, found):
                    yield found, use

    def _is_absent(self, relation: str, row: Row) -> bool:
        try:
            return not self._world.has(relation, row)
        except RowsMissingError:
            self.leave()
            return False


@dataclass(frozen=True, slots=True)
class _Opening:
    """One rule, opened step by step."""

    _rule: ReadyRule
    _world: Hypothesis
    _others: Openings
    _budget: int

    def walk(self, use: RuleUse) -> Iterator[RuleUse]:
        self._world.step()
        try:
            yield from self._walked(use)
        except RowsMissingError:
            self._others.leave()
        except UnsupportedError:
            self._others.is_partial = True

    def _walked(self, use: RuleUse) -> Iterator[RuleUse]:
        settled = self._settled(use)
        if settled is None or len(settled.tables - self._world.assumed) > self._budget:
            return
        atoms = [at for at in settled.waiting if self._rule.cells[at] is not None]
        if atoms:
            yield from self._take(settled, min(atoms, key=lambda at: self._rank(at, settled)))
        elif settled.postponed or settled.waiting:
            yield from self._guess(settled)
        else:
            yield settled

    def _settled(self, use: RuleUse) -> RuleUse | None:
        """Everything that can be decided; None if it is decided against this use."""
        values, waiting = use.values, list(use.waiting)
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
        return self._opened(replace(use, values=values, waiting=tuple(waiting)))

    def _opened(self, use: RuleUse) -> RuleUse | None:
        """Atoms that were postponed and now have all their values are open."""
        tables, views, postponed = set(use.tables), set(use.views), []
        for at in use.postponed:
            atom = self._rule.atom(at)
            if not atom.names <= use.values.keys():
                postponed.append(at)
                continue
            row = atom.row(use.values)
            # A row that is there is found as such, and need not be left open.
            if row is None or self._world.has(atom.relation, row):
                return None
            if self._world.is_table(atom.relation):
                tables.add((atom.relation, row))
                self._world.note_free((atom.relation, row), atom.positions_of(use.free))
            else:
                views.add((atom.relation, row))
        return replace(use, postponed=tuple(postponed), tables=frozenset(tables), views=frozenset(views))

    def _rank(self, at: int, use: RuleUse) -> tuple[int, bool]:
        return self._rule.unbound(at, use.values), not self._world.is_table(self._rule.atom(at).relation)

    def _take(self, use: RuleUse, at: int) -> Iterator[RuleUse]:
        """Go on with every row that fits an atom, and then without one."""
        atom = self._rule.atom(at)
        rest = replace(use, waiting=tuple(each for each in use.waiting if each != at))
        is_known, is_free = atom.names <= use.values.keys(), self._is_free(at, rest)
        for values in self._rule.matches(at, use.values):
            yield from self.walk(replace(rest, values=values))
            if is_known or is_free:
                # What else the row holds is of no interest, and with it there nothing has to be left open.
                return
        if not is_known and atom.relation in self._world.plain and self._rule.can_match(at, use.values):
            yield from self._unfold(rest, at)
        elif self._budget or not self._world.is_table(atom.relation):
            yield from self.walk(replace(rest, postponed=(*rest.postponed, at)))

    def _is_free(self, at: int, use: RuleUse) -> bool:
        """Whether no other part of the rule reads what an atom would still give values."""
        given = self._rule.atom(at).names - use.values.keys()
        others = [self._rule.needs[each] | binds(self._rule.steps[each]) for each in (*use.waiting, *use.postponed)]
        return given.isdisjoint(self._rule.of_head.union(*others))

    def _unfold(self, use: RuleUse, at: int) -> Iterator[RuleUse]:
        """Go on with every row that the rules of an atom's view could give, and with what these rules lack for it.

        They often leave few values for the variables that the atom has in common with others.
        """
        atom = self._rule.atom(at)
        for row, lacking in self._others.rows(atom.relation, atom.pattern(use.values), self._budget):
            opened = replace(use, tables=use.tables | lacking.tables, views=use.views | lacking.views)
            for values in self._rule.matches(at, use.values, row):
                yield from self.walk(replace(opened, values=values))

    def _guess(self, use: RuleUse) -> Iterator[RuleUse]:
        """Give a variable without a value every one that is known."""
        name = self._unknown(use)
        if name is None:
            return
        is_free, home = self._rule.uses[name] == 1, self._home(name, use)
        values = self._world.known.of(self._rule.scope.types[name].type, home)
        if is_free and home is not None and self._world.is_key(*home):
            # Others are taken.
            new = self._world.known.new(home)
            values = values if new is None else chain([new], values)
        for value in values:
            free = use.free | {name} if is_free else use.free
            yield from self.walk(replace(use, values={**use.values, name: value}, free=free))

    def _home(self, name: str, use: RuleUse) -> ColumnPlace | None:
        for at in use.postponed:
            atom = self._rule.atom(at)
            position = atom.position_of(name)
            if position is not None and self._world.is_table(atom.relation):
                return ColumnPlace(atom.relation, position)
        return None

    def _unknown(self, use: RuleUse) -> str | None:
        for at in (*use.postponed, *use.waiting):
            cells = self._rule.cells[at]
            wanted = self._rule.needs[at] if cells is None else cells.names
            missing = sorted(name for name in wanted - use.values.keys() if name in self._rule.scope.types)
            if missing:
                return missing[0]
        return None
