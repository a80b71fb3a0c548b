"""Strategies that keep derivations on record: what a delete breaks is found without a look at rules or rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable

from whence.engines.local.recursive.facts import Derivation, Fact, Head
from whence.engines.local.recursive.inputs import Change
from whence.engines.local.recursive.matching import Found, Matcher
from whence.engines.local.recursive.walks import Walks


class Recorded(Walks):
    """Death follows the recorded derivations from body to head. Whatever is in a proof is always on record."""

    @abstractmethod
    def resting_on(self, derivation: Derivation) -> Iterable[Fact]:
        """The facts that die when this derivation breaks."""

    def broken(self, change: Change) -> list[Fact]:
        lost: list[Derivation] = []
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

    def body(self, matcher: Matcher, found: Found) -> tuple[Fact, ...]:
        own, records = self._records.facts, self._records
        body = [
            own[name][row] if name in own else records.input(name, row)
            for name, row in zip(matcher.positive, found.body, strict=True)
        ]
        if found.absent:
            body += map(records.input, matcher.absences, found.absent)
        return tuple(body)

    def adopt(self, fact: Fact, proof: Iterable[Derivation]) -> None:
        proof = tuple(proof)
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
                self._mortal += [other for other in derivation.body if not other.visible]

    def retire(self, fact: Fact) -> None:
        self._records.show(fact, visible=False)

    def bury(self, fact: Fact) -> None:
        if fact.alive:
            for derivation in [*fact.users, *fact.derivations.values()]:
                if not derivation.live:
                    self._records.forget(derivation)
            if fact.users:
                return
            self.release(fact)
            self._records.kill(fact)
        self._records.remove(fact)

    def _hit(self, derivations: Iterable[Derivation]) -> list[Fact]:
        lost = list(derivations)
        self._doubtful += self._in_doubt(derivation.head for derivation in lost)
        return [fact for derivation in lost for fact in self.resting_on(derivation)]
