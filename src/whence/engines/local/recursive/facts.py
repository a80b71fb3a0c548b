"""What a component knows of its tuples: facts, groups with a best value, and the derivations between them."""

from __future__ import annotations

from typing import TypeAlias

from whence.engines.local.recursive.bests import Rank
from whence.engines.local.recursive.matching import Matcher
from whence.model.types import Row


class Fact:
    """A tuple, of the component or of a relation below it.

    It is `alive` while the derivations of its `proof` are: one, or in a group one per aggregate. It is `visible` while
    it is a row of its relation. A row of a group that a better one has replaced is not, but what was concluded from it
    still stands, since a min or max that improves takes no conclusion away; so it lives on as long as proofs need it.

    `derivations` are those on record, by key, and `users` the recorded derivations that it is in the body of. `depth`
    tells how many steps of the running commit led to it.
    """

    __slots__ = ("alive", "depth", "derivations", "group", "proof", "relation", "row", "users", "visible")

    def __init__(self, relation: str, row: Row, group: Group | None = None, present: bool = False) -> None:
        self.relation = relation
        self.row = row
        self.group = group
        self.visible = self.alive = present
        self.proof: tuple[Derivation, ...] = ()
        self.derivations: dict[tuple[object, ...], Derivation] = {}
        self.users: dict[Derivation, None] = {}
        self.depth = 0


class Group:
    """The facts of an aggregated relation that share their group terms, of which only the best is visible: `fact`.

    `chosen` holds per aggregate the derivation with the best value, and `versions` all facts that are alive.
    """

    __slots__ = ("chosen", "depth", "derivations", "fact", "key", "relation", "versions")

    def __init__(self, relation: str, key: Row, aggregates: int) -> None:
        self.relation = relation
        self.key = key
        self.chosen: list[Derivation | None] = [None] * aggregates
        self.fact: Fact | None = None
        self.versions: dict[Fact, None] = {}
        self.derivations: dict[tuple[object, ...], Derivation] = {}
        self.depth = 0

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


class Derivation:
    """One way to satisfy a rule's body: its facts, in the order of the text. `live` counts the proofs that it is in."""

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
