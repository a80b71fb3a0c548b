"""Strategies that keep derivations on record: what a delete breaks is found without a look at rules or rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator

from whence.incremental.recursive.fact_strategy import FactStrategy
from whence.incremental.recursive.matcher import BodyMatch, Matcher
from whence.incremental.recursive.records import Fact, Head, StoredDerivation
from whence.incremental.recursive.steps import InputChange
from whence.model.rules import Rule
from whence.model.types import Row


class RecordedStrategy(FactStrategy):
    """Deletion follows the recorded derivations from body to head. Whatever is in a proof is always on record."""

    @abstractmethod
    def resting_on(self, derivation: StoredDerivation) -> Iterable[Fact]:
        """The facts that die when this derivation breaks."""

    def broken(self, change: InputChange) -> list[Fact]:
        lost: list[StoredDerivation] = []
        for name, rows in change.vanished.items():
            for row in rows:
                lost += self._records.drop_input(name, row)
        for pattern, key in self._rules.refuted(change):
            lost += self._records.drop_input(pattern, key)
        return self._hit(lost)

    def above(self, fact: Fact) -> list[Fact]:
        return self._hit(fact.users)

    def followers(self, fact: Fact) -> list[Head]:
        return [derivation.head for derivation in fact.users]

    def body(self, matcher: Matcher, found: BodyMatch) -> tuple[Fact, ...]:
        own, records = self._records.facts, self._records
        body = [
            own[name][row] if name in own else records.input(name, row)
            for name, row in zip(matcher.positive, found.body, strict=True)
        ]
        if found.absent:
            body += map(records.input, matcher.absences, found.absent)
        return tuple(body)

    def adopt(self, fact: Fact, proof: tuple[StoredDerivation, ...]) -> None:
        self._records.prove(fact, proof)
        for derivation in proof:
            self._records.count_live(derivation, 1)
            if derivation.live == 1 and not self._kept[derivation.rule.number]:
                self._records.record(derivation)

    def release(self, fact: Fact) -> None:
        for derivation in fact.proof:
            self._records.count_live(derivation, -1)
            if not derivation.live:
                if not self._kept[derivation.rule.number]:
                    self._records.forget(derivation)
                # What has retired may have been here for this one only.
                self._pending_removal += [other for other in derivation.body if not other.visible]

    def hide(self, fact: Fact) -> None:
        self._records.show(fact, visible=False)

    def discard(self, fact: Fact) -> None:
        if fact.alive:
            for derivation in [*fact.users, *fact.derivations.values()]:
                if not derivation.live:
                    self._records.forget(derivation)
            if fact.users:
                return
            self.release(fact)
            self._records.mark_dead(fact)
        self._records.remove(fact)

    def _hit(self, derivations: Iterable[StoredDerivation]) -> list[Fact]:
        lost = list(derivations)
        self._doubtful += self._in_doubt(derivation.head for derivation in lost)
        return [fact for derivation in lost for fact in self.resting_on(derivation)]


class Absorption(RecordedStrategy):
    """The proofs form a forest, whose leaves are input rows: no cycle keeps itself alive.

    A new derivation of a fact that is there is a spare and goes no further. Spares of linear rules are kept. Those of
    non-linear rules outnumber the facts they derive, and are searched for when they are needed.
    """

    def keeps(self, matcher: Matcher) -> bool:
        return len(matcher.own) <= 1 or matcher.relation in self._following

    def resting_on(self, derivation: StoredDerivation) -> list[Fact]:
        if not derivation.live:
            return []
        head = derivation.head
        return [head] if isinstance(head, Fact) else [fact for fact in head.versions if derivation in fact.proof]

    def derivations(self, relation: str, row: Row) -> Iterator[tuple[Rule, tuple[tuple[str, Row], ...]]]:
        """The rules by which a row follows, each with the rows of its positive atoms, those of its proof first.

        To follow proofs always ends. A proof can go through rows of a min or max that better ones have replaced since;
        so such rows have derivations, too. There are none where the component is recomputed.
        """
        fact = self._records.facts[relation].get(row)
        if fact is None or self.reason is not None:
            return
        listed: set[tuple[int, tuple[Row, ...]]] = set()
        for matcher, body in self._matches(fact):
            if (matcher.number, body) not in listed:
                listed.add((matcher.number, body))
                yield matcher.rule, tuple(zip(matcher.positive, body, strict=True))

    def proof(self, relation: str, row: Row) -> tuple[tuple[Rule, tuple[Row, ...]], ...]:
        """What a row rests on: one use of a rule with the rows of its positive atoms, or one for each min and max.

        None where the component is recomputed.
        """
        fact = self._records.facts[relation].get(row) if self.reason is None else None
        return () if fact is None else tuple([(each.rule.rule, each.positive_rows) for each in fact.proof])

    def _matches(self, fact: Fact) -> Iterator[tuple[Matcher, tuple[Row, ...]]]:
        group = fact.group
        recorded = (fact if group is None else group).derivations.values()
        for derivation in (*fact.proof, *(each for each in recorded if each.holds)):
            if derivation.live or group is None or group.has_best(derivation.ranks):
                yield derivation.rule, derivation.positive_rows
        for matcher in self._probed[fact.relation]:
            for found in matcher.backwards(fact.row if group is None else group.key, {**self._inputs, **self._own}):
                if group is None or group.has_best(self._rules.bests[fact.relation].ranks(found.values)):
                    yield matcher, found.body
