"""Proofs from what an engine maintains: where it keeps a live derivation that is the proof, and elsewhere the rules are
followed backwards over the rows that are there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from whence.engines.evidence import Derivation, Readable
from whence.explain.proofs.backwards import Backwards
from whence.explain.proofs.limits import Limits, Watch
from whence.explain.proofs.reasons import BASE, OPEN, Fact, Kind, Reason, distinct, needs
from whence.explain.proofs.replaying import Replay
from whence.explain.proofs.searching import Search, under


def prove(backwards: Backwards, roots: Iterable[Fact], limits: Limits) -> dict[Fact, Reason]:
    """A reason for every root, and for every row that a reason rests on.

    Rows that were not reached within the limits have an open reason.
    """
    proving = _Proving(backwards, limits)
    layer = list(dict.fromkeys(roots))
    while layer:
        explained = proving.explain(layer)
        following = (need for fact in explained for need in needs(proving.reasons[fact]))
        layer = [need for need in dict.fromkeys(following) if need not in proving.reasons]
    return proving.reasons


class _Proving:
    def __init__(self, backwards: Backwards, limits: Limits) -> None:
        self._backwards = backwards
        self._members = limits.members
        self._watch = Watch(limits.steps, limits.seconds)
        self._search = Search(backwards, Watch(limits.steps, limits.seconds).step)
        self.reasons: dict[Fact, Reason] = {}

    def explain(self, facts: Sequence[Fact]) -> list[Fact]:
        """Find reasons for rows, together, and return all rows that have one now."""
        within = [fact for fact in facts if not self._watch.step()]
        self.reasons.update(dict.fromkeys(facts[len(within) :], OPEN))
        gather = self._backwards.evidence.gather
        found = gather(lambda: [self._reason(fact) for fact in within])
        self.reasons.update((fact, reason) for fact, reason in zip(within, found, strict=True) if reason is not None)
        explained = [*facts]
        sought = [fact for fact in within if fact not in self.reasons]
        for fact, basis in zip(sought, self._backwards.evidence.bases(sought), strict=True):
            if fact not in self.reasons:
                explained += self._search_for(fact, basis)
        return explained

    def _reason(self, fact: Fact) -> Reason | None:
        """Why a row is there; None where it takes a search to tell."""
        relation, backwards = fact[0], self._backwards
        if backwards.is_table(relation):
            return Reason(Kind.BASE, backwards.count(fact)) if self._is_bag(relation) else BASE
        if backwards.is_recursive(relation):
            live = backwards.evidence.live(*fact)
            return self._recursive(relation, live) if live else None
        if backwards.is_aggregated(relation):
            return self._aggregate(fact)
        return self._all(fact, Kind.SUM) if backwards.is_signed(relation) else self._rule(fact)

    def _is_bag(self, relation: str) -> bool:
        return not self._backwards.relations[relation].distinct

    def _rule(self, fact: Fact) -> Reason:
        """One use of a rule; of a bag, all of them if the row is there more than once."""
        count = self._backwards.count(fact) if self._is_bag(fact[0]) else 1
        if count > 1:
            found = self._all(fact, Kind.SUM)
            return Reason(Kind.RULE, count, found.ways) if len(found.ways) == 1 else found
        way = next(self._backwards.ways(fact), None)
        return OPEN if way is None else Reason(Kind.RULE, count, (way,))

    def _aggregate(self, fact: Fact) -> Reason:
        backwards = self._backwards
        if not backwards.is_extreme(fact[0]):
            return self._all(fact, Kind.AGGREGATE)
        found = [next(ways, None) for ways in backwards.witnesses(fact)]
        # Over nothing at all, min and max are NULL, and have no member to show for it.
        return Reason(Kind.AGGREGATE, 1, distinct(way for way in found if way is not None))

    def _all(self, fact: Fact, kind: Kind) -> Reason:
        ways = list(islice(self._backwards.ways(fact), self._members + 1))
        return Reason(kind, self._backwards.count(fact), tuple(ways[: self._members]), len(ways) > self._members)

    def _recursive(self, relation: str, ways: Iterable[Derivation]) -> Reason:
        kind = Kind.AGGREGATE if self._backwards.is_aggregated(relation) else Kind.RULE
        return Reason(kind, 1, distinct(ways))

    def _search_for(self, fact: Fact, basis: Mapping[str, Readable] | None) -> Iterable[Fact]:
        proved = self._proved(fact, basis)
        if fact not in proved:
            self.reasons[fact] = OPEN
            return ()
        found = under(proved, fact)
        for each, ways in found.items():
            self.reasons.setdefault(each, self._recursive(each[0], ways))
        return found

    def _proved(self, fact: Fact, basis: Mapping[str, Readable] | None) -> Mapping[Fact, tuple[Derivation, ...]]:
        """What a search has proved, the row among it if there is a proof within the limits."""
        if basis is not None:
            replay = self._backwards.evidence.gather(lambda: self._replayed(Replay(self._backwards, fact, basis=basis)))
            if fact in replay.proved:
                return replay.proved
        component = self._backwards.component[fact[0]]
        if not self._search.prove(fact, component.relations) and component.aggregated:
            replay = self._backwards.evidence.gather(lambda: self._replayed(Replay(self._backwards, fact)))
            return replay.proved
        return self._search.proved

    def _replayed(self, replay: Replay) -> Replay:
        replay.prove(self._watch.step)
        return replay
