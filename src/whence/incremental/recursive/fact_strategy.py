"""Strategies that work on facts: the four walks, over facts and groups that can be undone.

They differ in what they keep on record, and in how far deletion spreads.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence

from whence.analysis.components import Component
from whence.incremental.recursive.bests import moving_columns
from whence.incremental.recursive.fixpoint import LiveDerivations, over_delete
from whence.incremental.recursive.matcher import BodyMatch, Matcher
from whence.incremental.recursive.records import DerivationRecords, Fact, Group, Head, StoredDerivation
from whence.incremental.recursive.steps import InputChange, Sources
from whence.incremental.recursive.strategy import Strategy
from whence.model.schema import Relation
from whence.model.types import Row
from whence.model.updates import Delta


class FactStrategy(LiveDerivations[Fact, Group, StoredDerivation], Strategy[Fact, Group]):
    """When a group settles on a better row, the former one retires.

    Plain relations that hold a min or max lose the rows that came from a retired one, unless those have another reason
    to be there. Such rows are in doubt until everything else has come to rest.
    """

    def prepare(self, component: Component, relations: Mapping[str, Relation]) -> None:  # noqa: ARG002 - for others
        below = [*self._inputs, *(pattern for matcher in self._rules.all for pattern in matcher.absences)]
        self._records = DerivationRecords(component.relations, below, self._rules.bests, self._journal)
        self._following = {
            name for name, columns in moving_columns(component).items() if columns and name not in component.aggregated
        }
        # The rules whose every derivation is on record, by number; the others are probed backwards.
        self._kept = [self.keeps(matcher) for matcher in self._rules.all]
        self._probed = {
            name: [matcher for matcher in matchers if not self._kept[matcher.number]]
            for name, matchers in self._rules.deriving.items()
        }
        self.start(self._inputs, self._inputs)

    @abstractmethod
    def keeps(self, matcher: Matcher) -> bool:
        """Whether every derivation by this rule is kept on record; otherwise they are searched for again."""

    @abstractmethod
    def broken(self, change: InputChange) -> Iterable[Fact]:
        """The facts that may rest on what a change of the input takes away."""

    @abstractmethod
    def above(self, fact: Fact) -> Iterable[Fact]:
        """The facts that may rest on one which is dead."""

    @abstractmethod
    def followers(self, fact: Fact) -> Iterable[Head]:
        """The heads of derivations that need a fact to be visible."""

    @abstractmethod
    def body(self, matcher: Matcher, found: BodyMatch) -> tuple[Fact, ...]:
        """The facts that a match of a rule consists of, as far as the strategy keeps them."""

    @abstractmethod
    def adopt(self, fact: Fact, proof: tuple[StoredDerivation, ...]) -> None:
        """The fact is alive by these derivations."""

    @abstractmethod
    def release(self, fact: Fact) -> None:
        """The fact is dead."""

    @abstractmethod
    def hide(self, fact: Fact) -> None:
        """The fact is no longer visible, though it has its proof."""

    @abstractmethod
    def discard(self, fact: Fact) -> None:
        """The commit ends, and the fact is not visible."""

    def start(self, before: Sources, after: Sources) -> None:
        self._restart({**after, **self._own})
        self._before: Sources = {**before, **self._own}
        self._dead: list[Head] = []
        # Everything that may have to be removed in the end, and the facts that are new to their relation.
        self._pending_removal: list[Head] = []
        self._fresh: dict[Fact, None] = {}
        self._doubtful: list[Fact] = []

    def finish(self) -> Mapping[str, Delta]:
        self._recheck_doubtful()
        return self._remove_pending()

    def group(self, relation: str, key: Row) -> Group:
        return self._records.group(relation, key)

    # Dead

    def delete(self, change: InputChange) -> None:
        over_delete(self.broken(change), self.above, self._mark_dead)

    def _mark_dead(self, fact: Fact) -> bool:
        if not fact.alive:
            return False
        group = fact.group
        if group is None:
            self._dead.append(fact)
        elif group.fact is fact:
            for at in range(len(group.chosen)):
                self._records.choose(group, at, None)
            self._dead.append(group)
            self._pending_removal.append(group)
        self.release(fact)
        self._records.mark_dead(fact)
        self._pending_removal.append(fact)
        return True

    # Re-prove

    def reprove(self) -> None:
        lost: dict[str, list[Row]] = {}
        for head in self._dead:
            if isinstance(head, Fact):
                if not head.visible:
                    known = next((each for each in head.derivations.values() if each.holds), None)
                    if known is not None:
                        self._offer(head, known, 1)
                    else:
                        lost.setdefault(head.relation, []).append(head.row)
                continue
            for derivation in [each for each in head.derivations.values() if each.holds]:
                self._offer_group(head, derivation, 1)
            lost.setdefault(head.relation, []).append(head.key)
            if self._rules.bests[head.relation].always:
                self._wait(head, head.rank, 1)
        for relation, keys in lost.items():
            self._probe(relation, keys, first_will_do=relation not in self._rules.bests)

    # Spread

    def carry_on(self, rows: Sequence[Fact], depth: int) -> None:
        new: dict[str, list[Row]] = {}
        back: dict[str, list[Row]] = {}
        for fact in rows:
            if not fact.visible:
                continue
            counts = self._own[fact.relation].counts
            if fact.row in counts:
                back.setdefault(fact.relation, []).append(fact.row)
                for derivation in list(fact.users):
                    if derivation.holds:
                        self._offer(derivation.head, derivation, depth)
                continue
            new.setdefault(fact.relation, []).append(fact.row)
            self._add(fact.relation, fact.row)
            self._fresh[fact] = None
            if fact.group is None:
                # Some of what has died may still be among the rows.
                self._limit.check_size(len(counts) - len(self._pending_removal), fact.proof[0].rule.rule)
        for relation, found in new.items():
            self._derive_from(self._rules.readers[relation], found, depth)
        for relation, found in back.items():
            places = [place for place in self._rules.readers[relation] if not self._kept[place[0].number]]
            self._derive_from(places, found, depth)

    def derive(self, matcher: Matcher, matches: Sequence[BodyMatch], depth: int) -> list[Row]:
        is_kept = self._kept[matcher.number]
        bests = self._rules.bests.get(matcher.relation)
        derived: list[Row] = []
        # Most matches of a rule that joins a relation with itself derive what is there, which needs no more of them.
        proved = self._records.facts[matcher.relation] if bests is None and not is_kept else {}
        for found in matches:
            there = proved.get(found.head)
            if there is not None and there.visible:
                derived.append(found.head)
                continue
            body = self.body(matcher, found)
            if not is_kept and not all(fact.visible for fact in body):
                # What comes back will find it again.
                continue
            head: Head
            if bests is None:
                head = self._records.fact(matcher.relation, found.head)
                derivation = StoredDerivation(matcher, head, body, found.values, ())
            else:
                head = self._records.group(matcher.relation, found.head)
                derivation = StoredDerivation(matcher, head, body, found.values, bests.ranks(found.values))
            if is_kept:
                known = head.derivations.get(derivation.key)
                if known is None:
                    self._records.record(derivation)
                else:
                    derivation = known
                if not derivation.holds:
                    if not head.visible:
                        self._pending_removal.append(head)
                    continue
            derived.append(found.head)
            if isinstance(head, Group) or not head.visible:
                self._offer(head, derivation, depth)
        return derived

    def _offer(self, head: Head, derivation: StoredDerivation, depth: int) -> None:
        """A derivation whose body is visible. A visible fact has no use for it."""
        if isinstance(head, Group):
            self._offer_group(head, derivation, depth)
        elif not head.visible:
            self._offer_rows({head: derivation}, derivation.rule, head.row, depth)

    def enter(self, offers: Mapping[Fact, StoredDerivation], matcher: Matcher) -> None:  # noqa: ARG002 - each says it
        for fact, derivation in offers.items():
            self._show(fact, (derivation,))

    def _show(self, fact: Fact, proof: tuple[StoredDerivation, ...]) -> None:
        if not fact.alive:
            # One that has retired keeps its proof: the new one may rest on it.
            self.adopt(fact, proof)
        self._records.show(fact, visible=True)
        self._limit.grew()

    def choose(self, group: Group, at: int, derivation: StoredDerivation) -> None:
        self._records.choose(group, at, derivation)

    def replace(self, group: Group, row: Row) -> Fact:
        if group.fact is not None and group.fact.visible:
            self._retire(group.fact)
        proof = tuple(dict.fromkeys(best for best in group.chosen if best is not None))
        fact = self._records.fact(group.relation, row, group)
        self._records.represent(group, fact)
        self._show(fact, proof)
        return fact

    # Doubt

    def _retire(self, fact: Fact) -> None:
        self._doubtful += self._in_doubt(self.followers(fact))
        self.hide(fact)
        self._pending_removal.append(fact)

    def _in_doubt(self, heads: Iterable[Head]) -> list[Fact]:
        """Of heads that lose a derivation, those that must have one whose body is visible."""
        if not self._following:
            return []
        return [head for head in heads if isinstance(head, Fact) and head.relation in self._following]

    def _recheck_doubtful(self) -> None:
        # It grows while it is read.
        for fact in self._doubtful:
            if fact.visible and not self._is_derived(fact):
                self._retire(fact)

    def _is_derived(self, fact: Fact) -> bool:
        return any(derivation.holds for derivation in fact.derivations.values()) or any(
            all(other.visible for other in self.body(matcher, found))
            for matcher in self._probed[fact.relation]
            for found in matcher.backwards(fact.row, self._after)
        )

    # Gone

    def _remove_pending(self) -> Mapping[str, Delta]:
        deltas: dict[str, dict[Row, int]] = {}
        for fact in self._fresh:
            if fact.visible:
                deltas.setdefault(fact.relation, {})[fact.row] = 1
        # It grows while it is read.
        for head in self._pending_removal:
            if head.visible:
                continue
            if isinstance(head, Fact):
                if head.row in self._own[head.relation].counts:
                    self._remove(head.relation, head.row)
                    if head not in self._fresh:
                        deltas.setdefault(head.relation, {})[head.row] = -1
                if self._records.facts[head.relation].get(head.row) is head:
                    self.discard(head)
                    if head.group is not None:
                        self._pending_removal.append(head.group)
            elif not head.versions and self._records.groups[head.relation].get(head.key) is head:
                self._records.remove(head)
        for fact in self._fresh:
            if fact.visible and fact.group is None:
                self._limit.check_size(len(self._own[fact.relation].counts), fact.proof[0].rule.rule)
        return deltas
