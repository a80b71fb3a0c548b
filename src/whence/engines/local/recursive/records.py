"""The facts, groups and derivations of a component, every change of which is noted in a journal."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping

from whence.engines.local.recursive.bests import Bests
from whence.engines.local.recursive.facts import Derivation, Fact, Group, Head
from whence.engines.local.recursive.journal import Journal
from whence.model.types import Row


class Records:
    """Facts by relation and row, and those of the relations below as far as a derivation uses them."""

    def __init__(
        self, own: Iterable[str], below: Iterable[Hashable], bests: Mapping[str, Bests], journal: Journal
    ) -> None:
        self.facts: dict[str, dict[Row, Fact]] = {name: {} for name in own}
        self.below: dict[Hashable, dict[Row, Fact]] = {name: {} for name in below}
        self.groups: dict[str, dict[Row, Group]] = {name: {} for name in bests}
        self._bests = bests
        self._journal = journal

    def heads(self, relation: str) -> Mapping[Row, Head]:
        """The facts of a relation by row, or its groups by their key."""
        return self.groups[relation] if relation in self.groups else self.facts[relation]

    def fact(self, relation: str, row: Row, group: Group | None = None) -> Fact:
        """The fact of a row of the component; one that was unknown is not alive yet."""
        facts = self.facts[relation]
        fact = facts.get(row)
        if fact is None:
            fact = facts[row] = Fact(relation, row, group)
            self._journal.note(facts.pop, row)
        return fact

    def group(self, relation: str, key: Row) -> Group:
        groups = self.groups[relation]
        group = groups.get(key)
        if group is None:
            group = groups[key] = Group(relation, key, len(self._bests[relation].positions))
            self._journal.note(groups.pop, key)
        return group

    def input(self, origin: Hashable, row: Row) -> Fact:
        """The fact that a row of a relation below is there, or for a pattern that no row has the key."""
        facts = self.below[origin]
        fact = facts.get(row)
        if fact is None:
            fact = facts[row] = Fact(str(origin), row, present=True)
            self._journal.note(facts.pop, row)
        return fact

    def drop_input(self, origin: Hashable, row: Row) -> list[Derivation]:
        """That is no longer so; the derivations that used it, which are no longer on record either."""
        facts = self.below[origin]
        fact = facts.pop(row, None)
        if fact is None:
            return []
        self._journal.note(facts.__setitem__, row, fact)
        used = list(fact.users)
        for derivation in used:
            self.forget(derivation)
        return used

    def record(self, derivation: Derivation) -> None:
        _link(derivation)
        self._journal.note(_unlink, derivation)

    def forget(self, derivation: Derivation) -> None:
        if derivation.head.derivations.get(derivation.key) is derivation:
            _unlink(derivation)
            self._journal.note(_link, derivation)

    def prove(self, fact: Fact, proof: tuple[Derivation, ...]) -> None:
        self._change(fact, fact.visible, True, proof)

    def show(self, fact: Fact, visible: bool) -> None:
        self._change(fact, visible, fact.alive, fact.proof)

    def kill(self, fact: Fact) -> None:
        self._change(fact, False, False, ())

    def _change(self, fact: Fact, visible: bool, alive: bool, proof: tuple[Derivation, ...]) -> None:
        self._journal.note(self._set, fact, fact.visible, fact.alive, fact.proof)
        self._set(fact, visible, alive, proof)

    def _set(self, fact: Fact, visible: bool, alive: bool, proof: tuple[Derivation, ...]) -> None:
        fact.visible = visible
        fact.alive = alive
        fact.proof = proof
        if fact.group is not None:
            if alive:
                fact.group.versions[fact] = None
            else:
                fact.group.versions.pop(fact, None)

    def choose(self, group: Group, at: int, derivation: Derivation | None) -> None:
        """The best derivation for an aggregate of the group."""
        self._journal.note(group.chosen.__setitem__, at, group.chosen[at])
        group.chosen[at] = derivation

    def represent(self, group: Group, fact: Fact) -> None:
        """The fact that stands for the group."""
        self._journal.note(setattr, group, "fact", group.fact)
        group.fact = fact

    def count_live(self, derivation: Derivation, change: int) -> None:
        self._journal.note(setattr, derivation, "live", derivation.live)
        derivation.live += change

    def remove(self, head: Head) -> None:
        """A fact or group that is gone, with all derivations from it and of it."""
        for derivation in list(head.derivations.values()):
            self.forget(derivation)
        if isinstance(head, Fact):
            for derivation in list(head.users):
                self.forget(derivation)
            facts = self.facts[head.relation]
            del facts[head.row]
            self._journal.note(facts.__setitem__, head.row, head)
        else:
            groups = self.groups[head.relation]
            del groups[head.key]
            self._journal.note(groups.__setitem__, head.key, head)


def _link(derivation: Derivation) -> None:
    derivation.head.derivations[derivation.key] = derivation
    for fact in derivation.body:
        fact.users[derivation] = None


def _unlink(derivation: Derivation) -> None:
    del derivation.head.derivations[derivation.key]
    for fact in derivation.body:
        # A row that stands in the body twice is used once.
        fact.users.pop(derivation, None)
