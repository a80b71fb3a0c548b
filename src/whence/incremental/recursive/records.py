"""What a component knows of its tuples: facts, groups with a best value, and the derivations between them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TypeAlias

from whence.incremental.recursive.bests import Bests, Rank
from whence.incremental.recursive.fixpoint import BestGroup
from whence.incremental.recursive.journal import UndoLog
from whence.incremental.recursive.matcher import Matcher
from whence.model.types import Row


class Fact:
    """A tuple, of the component or of a relation below it.

    It is `alive` while the derivations of its `proof` are: one, or in a group one per aggregate. It is `visible` while
    it is a row of its relation. A row of a group that a better one has replaced is not, but what was concluded from it
    still stands, since a min or max that improves takes no conclusion away; so it lives on as long as proofs need it.

    `derivations` are those on record, by key, and `users` the recorded derivations that it is in the body of.
    """

    __slots__ = ("alive", "derivations", "group", "proof", "relation", "row", "users", "visible")

    def __init__(self, relation: str, row: Row, group: Group | None = None, present: bool = False) -> None:
        self.relation = relation
        self.row = row
        self.group = group
        self.visible = self.alive = present
        self.proof: tuple[StoredDerivation, ...] = ()
        self.derivations: dict[tuple[object, ...], StoredDerivation] = {}
        self.users: dict[StoredDerivation, None] = {}


class Group(BestGroup["StoredDerivation"]):
    """Of its facts only the best is visible: `fact`. `versions` are all that are alive."""

    __slots__ = ("derivations", "fact", "versions")

    def __init__(self, relation: str, key: Row, aggregates: int) -> None:
        super().__init__(relation, key, aggregates)
        self.fact: Fact | None = None
        self.versions: dict[Fact, None] = {}
        self.derivations: dict[tuple[object, ...], StoredDerivation] = {}

    @property
    def row(self) -> Row | None:
        return self.fact.row if self.fact is not None and self.fact.visible else None

    @property
    def visible(self) -> bool:
        return self.fact is not None and self.fact.visible

    def has_best(self, ranks: tuple[Rank, ...]) -> bool:
        """Whether one of these is as good as the chosen one."""
        return any(
            chosen is not None and rank == chosen.ranks[at]
            for at, (rank, chosen) in enumerate(zip(ranks, self.chosen, strict=True))
        )


Head: TypeAlias = Fact | Group


class StoredDerivation:
    """A match of a rule: the facts of its body, in the order of the text. `live` counts the proofs that it is in."""

    __slots__ = ("body", "head", "key", "live", "ranks", "rule", "values")

    def __init__(self, rule: Matcher, head: Head, body: tuple[Fact, ...], values: Row, ranks: tuple[Rank, ...]) -> None:
        self.rule = rule
        self.head = head
        self.body = body
        self.key = (rule.number, *body)
        self.values = values
        self.ranks = ranks
        self.live = 0

    @property
    def holds(self) -> bool:
        """Whether all of the body is visible."""
        for fact in self.body:  # noqa: SIM110 - a generator costs too much here
            if not fact.visible:
                return False
        return True

    @property
    def positive_rows(self) -> tuple[Row, ...]:
        """The rows of the rule's positive atoms."""
        return tuple([fact.row for fact in self.body[: len(self.rule.positive)]])


class DerivationRecords:
    """Facts by relation and row, and those of the relations below as far as a derivation uses them."""

    def __init__(
        self, own: Iterable[str], below: Iterable[Hashable], bests: Mapping[str, Bests], journal: UndoLog
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

    def drop_input(self, origin: Hashable, row: Row) -> list[StoredDerivation]:
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

    def record(self, derivation: StoredDerivation) -> None:
        _link(derivation)
        self._journal.note(_unlink, derivation)

    def forget(self, derivation: StoredDerivation) -> None:
        if derivation.head.derivations.get(derivation.key) is derivation:
            _unlink(derivation)
            self._journal.note(_link, derivation)

    def prove(self, fact: Fact, proof: tuple[StoredDerivation, ...]) -> None:
        self._change(fact, fact.visible, True, proof)

    def show(self, fact: Fact, visible: bool) -> None:
        self._change(fact, visible, fact.alive, fact.proof)

    def mark_dead(self, fact: Fact) -> None:
        self._change(fact, False, False, ())

    def _change(self, fact: Fact, visible: bool, alive: bool, proof: tuple[StoredDerivation, ...]) -> None:
        self._journal.note(self._set, fact, fact.visible, fact.alive, fact.proof)
        self._set(fact, visible, alive, proof)

    def _set(self, fact: Fact, visible: bool, alive: bool, proof: tuple[StoredDerivation, ...]) -> None:
        fact.visible = visible
        fact.alive = alive
        fact.proof = proof
        if fact.group is not None:
            if alive:
                fact.group.versions[fact] = None
            else:
                fact.group.versions.pop(fact, None)

    def choose(self, group: Group, at: int, derivation: StoredDerivation | None) -> None:
        """The best derivation for an aggregate of the group."""
        self._journal.note(group.chosen.__setitem__, at, group.chosen[at])
        group.chosen[at] = derivation

    def represent(self, group: Group, fact: Fact) -> None:
        """The fact that stands for the group."""
        self._journal.note(setattr, group, "fact", group.fact)
        group.fact = fact

    def count_live(self, derivation: StoredDerivation, change: int) -> None:
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


def _link(derivation: StoredDerivation) -> None:
    derivation.head.derivations[derivation.key] = derivation
    for fact in derivation.body:
        fact.users[derivation] = None


def _unlink(derivation: StoredDerivation) -> None:
    del derivation.head.derivations[derivation.key]
    for fact in derivation.body:
        # A row that stands in the body twice is used once.
        fact.users.pop(derivation, None)
