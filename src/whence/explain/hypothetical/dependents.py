"""The rows that some derivation leads to from given rows, whether or not there are other derivations."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from operator import itemgetter
from typing import TypeAlias

from whence.analysis.components import Component
from whence.deadline import end_of_search
from whence.engines.engine import Dependents, Readable, Rows, RowsMissingError
from whence.errors import UnsupportedError
from whence.explain.hypothetical.contents import DatabaseContents, LimitReachedError
from whence.explain.proofs.backwards import Backwards
from whence.explain.proofs.reasons import positive
from whence.incremental.keyed import Key
from whence.incremental.recursive.matcher import Matcher
from whence.model.rules import Atom, Rule, literal_terms
from whence.model.terms import Aggregate, Variable, Wildcard, variables
from whence.model.types import Row

# So many rows are followed together.
_TOGETHER = 5_000


class RowSet(set[Row]):
    """Rows that are at hand."""

    def differing(self, positions: Sequence[int]) -> Iterator[Row]:
        if not positions:
            return iter([next(iter(self))] if self else [])
        value_of = itemgetter(*positions)
        return iter({value_of(row): row for row in self}.values())


def dependents(
    contents: DatabaseContents, backwards: Backwards, table: str, rows: Iterable[Row], *, steps: int, seconds: float
) -> tuple[dict[str, Rows], frozenset[str]]:
    """The rows that are there and have a derivation in which one of the table's rows takes part, by view; and the views
    of which there may be more.

    A derivation is a tree of uses of rules over rows that are there; it may use a row to derive that row. Members of
    an aggregate take part in the row of their group, and what is absent takes part in nothing. What the engine cannot
    follow by itself is followed row by row, for so many seconds, with so many steps in each component.
    """
    evidence = backwards.evidence
    found: dict[str, Rows] = {table: RowSet(rows)}
    partly: set[str] = set()
    end = end_of_search(seconds)
    for component in evidence.analysis.components:
        read = {name for rule in component.rules for name in positive(rule)}
        if not partly.isdisjoint(read):
            partly.update(component.relations)
        below = {name: found[name] for name in read if name in found}
        if below:
            own = evidence.dependents_within(component, below)
            if own is None:
                own = _Walk(contents, backwards, component, steps, end).run(below)
            found.update((name, of_name) for name, of_name in own.rows.items() if of_name)
            if not own.is_complete:
                partly.update(component.relations)
    del found[table]
    return found, frozenset(partly)


class _Walk:
    """Row by row through one component, from what it reads."""

    def __init__(
        self, contents: DatabaseContents, backwards: Backwards, component: Component, steps: int, end: float
    ) -> None:
        self._evidence = backwards.evidence
        self._steps = steps
        self._end = end
        self._found = {name: RowSet() for name in component.relations}
        # Heads, as rules give them.
        self._given: dict[str, set[Row]] = {name: set() for name in component.relations}
        self._readers: dict[str, list[_Reader]] = {}
        sources = {name: _Source(contents, name) for name in backwards.relations}
        for name in component.relations:
            for matcher in backwards.matchers(name):
                for place, relation in enumerate(matcher.positive):
                    if matcher.rule.sign > 0:
                        reader = _Reader(matcher, place, contents, sources, is_signed=backwards.is_signed(name))
                        self._readers.setdefault(relation, []).append(reader)

    def run(self, below: Mapping[str, Rows]) -> Dependents:
        first = self._first(below)
        todo: list[_Step] = []
        try:
            while layer := todo[:_TOGETHER] or list(islice(first, _TOGETHER)):
                todo[:_TOGETHER] = self._follow(layer)
        except (LimitReachedError, UnsupportedError):
            # One of steps and time, or of what is brought from a cluster.
            return Dependents(self._found, is_complete=False)
        return Dependents(self._found, is_complete=True)

    def _first(self, below: Mapping[str, Rows]) -> Iterator[_Step]:
        for name, rows in below.items():
            for reader in self._readers.get(name, ()):
                yield from ((reader, row) for row in (rows if reader.sees is None else rows.differing(reader.sees)))

    def _follow(self, layer: list[_Step]) -> list[_Step]:
        """Many steps together, since what they need is then fetched together; returns the next ones."""
        if time.monotonic() > self._end:
            raise LimitReachedError
        within = layer[: self._steps]
        self._steps -= len(within)
        heads: list[_Step] = []
        for reader, head in self._evidence.gather(partial(_taken, _Reader.heads, within)):
            given = self._given[reader.relation]
            if head not in given:
                given.add(head)
                heads.append((reader, head))
        following: list[_Step] = []
        for reader, row in self._evidence.gather(partial(_taken, _Reader.present, heads)):
            known = self._found[reader.relation]
            if row not in known:
                known.add(row)
                following += [(each, row) for each in self._readers.get(reader.relation, ())]
        if len(within) < len(layer):
            raise LimitReachedError
        return following


def _taken(take: Callable[[_Reader, Row], Iterable[Row]], steps: list[_Step]) -> list[_Step]:
    """What steps lead to. Those whose rows have to be fetched first come when it is done again."""
    found: list[_Step] = []
    for reader, row in steps:
        with suppress(RowsMissingError):
            found += [(reader, each) for each in take(reader, row)]
    return found


@dataclass(frozen=True)
class _Source(Readable):
    """A relation as matchers look it up."""

    contents: DatabaseContents
    relation: str

    def matching(self, positions: tuple[int, ...], key: Key) -> Mapping[Row, int]:
        values = key if len(positions) != 1 else (key,)
        assert isinstance(values, tuple), "only the key of one column is a bare value"
        return self.contents.matching(self.relation, positions, values)


class _Reader:
    """One atom of a rule: from a row for it to the rows that the rule gives then.

    `sees` are the columns that the heads depend on; None if these are all.
    """

    def __init__(
        self,
        matcher: Matcher,
        place: int,
        contents: DatabaseContents,
        sources: Mapping[str, _Source],
        *,
        is_signed: bool,
    ) -> None:
        self.relation = matcher.relation
        self.sees = _seen(matcher.rule, place)
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
        """What the rule gives, without the values of aggregates."""
        return (found.head for found in self._matcher.through(self._place, row, self._sources))

    def present(self, head: Row) -> Iterable[Row]:
        """The rows of the view that a head stands for."""
        if self._group is not None:
            return self._contents.matching(self.relation, self._group, head)
        return () if self._is_signed and not self._contents.count(self.relation, head) else (head,)


# A row to be taken through an atom of a rule.
_Step: TypeAlias = tuple[_Reader, Row]


def _seen(rule: Rule, place: int) -> tuple[int, ...] | None:
    """The columns of an atom that decide which heads follow from a row; what is only aggregated does not."""
    atom = [literal for literal in rule.body if isinstance(literal, Atom)][place]
    named = Counter(each.name for literal in rule.body for term in literal_terms(literal) for each in variables(term))
    named.update(each.name for term in rule.head.terms if not isinstance(term, Aggregate) for each in variables(term))
    seen = tuple(
        at
        for at, term in enumerate(atom.terms)
        if not isinstance(term, Wildcard) and not (isinstance(term, Variable) and named[term.name] == 1)
    )
    return None if len(seen) == len(atom.terms) else seen
