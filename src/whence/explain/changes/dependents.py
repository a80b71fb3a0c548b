"""The rows that some derivation leads to from given rows, whether or not there are other derivations."""

from __future__ import annotations

from collections.abc import Iterator

from whence.analysis.order import Match
from whence.engines.reference.tables import Table
from whence.engines.reference.terms import Computed
from whence.errors import EvaluationError
from whence.explain.changes.openings import Environment, OpenRule
from whence.explain.changes.world import LimitReachedError, World
from whence.explain.proofs.reasons import Fact
from whence.model.rules import Atom
from whence.model.terms import Aggregate
from whence.model.types import Row


def dependents(world: World, facts: list[Fact]) -> tuple[dict[str, set[Row]], bool]:
    """The rows that are there and have a derivation in which one of the facts takes part, by view; and whether these
    are all, which they are not where the world has reached its limit.

    A derivation is a tree of uses of rules over rows that are there; it may use a row to derive that row. Members of
    an aggregate take part in the row of their group, and what is absent takes part in nothing.
    """
    found: dict[str, set[Row]] = {}
    try:
        _follow(world, list(facts), found)
    except LimitReachedError:
        return found, False
    return found, True


def _follow(world: World, todo: list[Fact], found: dict[str, set[Row]]) -> None:
    readers = _readers(world)
    while todo:
        world.step()
        relation, row = todo.pop()
        for reader in readers.get(relation, ()):
            for head in reader.heads(row):
                known = found.setdefault(reader.relation, set())
                if head not in known:
                    known.add(head)
                    todo.append((reader.relation, head))


def _readers(world: World) -> dict[str, list[_Reader]]:
    """Per relation, the atoms that read it."""
    readers: dict[str, list[_Reader]] = {}
    for rules in world.rules.values():
        for rule in rules:
            if rule.sign > 0 and any(isinstance(literal, Atom) for literal in rule.body):
                rewritten = OpenRule(rule, world)
                for at, step in enumerate(rewritten.steps):
                    if isinstance(step, Match):
                        readers.setdefault(step.atom.relation, []).append(_Reader(rewritten, at, world))
    return readers


class _Reader:
    """One atom of a rule: from a row for it to the rows that the rule gives then."""

    def __init__(self, rule: OpenRule, at: int, world: World) -> None:
        self.relation = rule.rule.head.relation
        self._rule = rule
        self._at = at
        self._world = world
        self._rest = tuple(each for each in range(len(rule.steps)) if each != at)
        self._plain: list[tuple[int, Computed]] = [
            (position, rule.scope.compute(term, column.type))
            for position, (term, column) in enumerate(zip(rule.head, rule.columns, strict=True))
            if not isinstance(term, Aggregate)
        ]
        self._is_aggregated = len(self._plain) < len(rule.head)

    def heads(self, row: Row) -> Iterator[Row]:
        for values in self._rule.given(self._at, Table({row: 1})):
            for complete in self._complete(values, self._rest):
                yield from self._rows(complete)

    def _complete(self, values: Environment, waiting: tuple[int, ...]) -> Iterator[Environment]:
        """All ways to satisfy what is left of the body by rows that are there."""
        rule = self._rule
        for at in waiting:
            try:
                holds = rule.holds(at, values)
            except EvaluationError:
                return
            if holds is not None:
                after, is_true = holds
                if is_true:
                    yield from self._complete(after, tuple([each for each in waiting if each != at]))
                return
        if not waiting:
            yield values
            return
        atoms = [at for at in waiting if rule.can_match(at, values)]
        at = min(atoms, key=lambda each: rule.unbound(each, values))
        rest = tuple([each for each in waiting if each != at])
        for after in rule.matches(at, values):
            yield from self._complete(after, rest)

    def _rows(self, values: Environment) -> Iterator[Row]:
        key = tuple([compute(values) for _, compute in self._plain])
        if self._is_aggregated:
            positions = tuple([position for position, _ in self._plain])
            yield from self._world.contents.matching(self.relation, positions, key)
        elif self._world.contents.count(self.relation, key):
            yield key
