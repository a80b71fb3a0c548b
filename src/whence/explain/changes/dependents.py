"""The rows that some derivation leads to from given rows, whether or not there are other derivations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from whence.engines.local.recursive.matching import Matcher
from whence.errors import UnsupportedError
from whence.explain.changes.contents import Contents, LimitReachedError
from whence.explain.changes.world import World
from whence.explain.proofs.backwards import Backwards
from whence.explain.proofs.reasons import Fact
from whence.incremental.keyed import Key
from whence.model.types import Row


def dependents(world: World, backwards: Backwards, facts: list[Fact]) -> tuple[dict[str, set[Row]], bool]:
    """The rows that are there and have a derivation in which one of the facts takes part, by view; and whether these
    are all, which they are not where the world has reached its limit.

    A derivation is a tree of uses of rules over rows that are there; it may use a row to derive that row. Members of
    an aggregate take part in the row of their group, and what is absent takes part in nothing.
    """
    found: dict[str, set[Row]] = {}
    try:
        _follow(world, _readers(world, backwards), list(facts), found)
    except (LimitReachedError, UnsupportedError):
        # One of steps and time, or of what is brought from a cluster.
        return found, False
    return found, True


def _follow(world: World, readers: Mapping[str, list[_Reader]], todo: list[Fact], found: dict[str, set[Row]]) -> None:
    while todo:
        world.step()
        relation, row = todo.pop()
        for reader in readers.get(relation, ()):
            known = found.setdefault(reader.relation, set())
            for head in reader.heads(row):
                if head not in known:
                    known.add(head)
                    todo.append((reader.relation, head))


def _readers(world: World, backwards: Backwards) -> dict[str, list[_Reader]]:
    """Per relation, the atoms that read it, in rules that add rows."""
    readers: dict[str, list[_Reader]] = {}
    sources = {name: _Source(world.contents, name) for name in world.relations}
    for name in world.rules:
        for matcher in backwards.matchers(name):
            for place, relation in enumerate(matcher.positive):
                if matcher.rule.sign > 0:
                    reader = _Reader(matcher, place, world.contents, sources, is_signed=backwards.is_signed(name))
                    readers.setdefault(relation, []).append(reader)
    return readers


class _Source:
    """A relation as matchers look it up."""

    def __init__(self, contents: Contents, relation: str) -> None:
        self._contents = contents
        self._relation = relation

    def matching(self, positions: tuple[int, ...], key: Key) -> Mapping[Row, int]:
        values = key if len(positions) != 1 else (key,)
        assert isinstance(values, tuple), "only the key of one column is a bare value"
        return self._contents.matching(self._relation, positions, values)


class _Reader:
    """One atom of a rule: from a row for it to the rows that the rule gives then."""

    def __init__(
        self, matcher: Matcher, place: int, contents: Contents, sources: Mapping[str, _Source], *, is_signed: bool
    ) -> None:
        self.relation = matcher.relation
        self._matcher = matcher
        self._place = place
        self._contents = contents
        self._sources = sources
        # Where rules take away, not all rows that others give are there.
        self._is_signed = is_signed
        aggregates = matcher.rule.aggregates
        arity = len(matcher.rule.head.terms)
        self._group = tuple(at for at in range(arity) if at not in aggregates) if aggregates else None

    def heads(self, row: Row) -> Iterator[Row]:
        for found in self._matcher.through(self._place, row, self._sources):
            if self._group is not None:
                yield from self._contents.matching(self.relation, self._group, found.head)
            elif not self._is_signed or self._contents.count(self.relation, found.head):
                yield found.head
